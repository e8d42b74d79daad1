"""Lines of answers that outlive the engine, and what they say of swp's figures 8 to 10."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from fctlab.errors import SpecError
from fctlab.jobs import Told, deaf
from fctlab.studies.framework import docs, evidence
from fctlab.studies.framework.asked import asked
from fctlab.studies.framework.evidence import Evidence
from fctlab.studies.swp import beside, capacity
from fctlab.studies.swp import evidence as swp

ROOT = Path(__file__).parents[2]
KEPT = "docs/evidence/swp-capacity.jsonl"

computed: list[int] = []


@asked("squares")
def square(number: int, told: Told = deaf) -> int:
    """An answer."""
    computed.append(number)
    return number * number


def asking(*numbers: int) -> Iterator[tuple[str, Callable[[], object]]]:
    for number in numbers:
        yield f"square of {number}", partial(square, number)


def test_what_is_there_is_not_computed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    computed.clear()
    file = tmp_path / "new" / "squares.jsonl"
    filling = Evidence(file).fill(asking(2, 3, 4), 1)
    assert next(filling).answer == 4
    filling.close()  # killed after the first
    assert computed == [2]
    monkeypatch.setattr(evidence, "engine", lambda: "another")
    first = Evidence(file)
    assert [line.answer for line in first.fill(asking(2, 3, 4), 0)] == []
    assert [line.answer for line in first.fill(asking(2, 3), 1)] == [9]
    assert computed == [2, 3]
    again = Evidence(file)
    with again.given():
        assert [square(2), square(3)] == [4, 9]
    assert again.has(partial(square, 3)) and not again.has(partial(square, 4))
    assert [line.name for line in again.lines()] == ["square of 2", "square of 3"]
    assert again.lines()[1].engine == "another" != again.lines()[0].engine


def test_a_line_that_is_none_is_named(tmp_path: Path) -> None:
    file = tmp_path / "squares.jsonl"
    list(Evidence(file).fill(asking(2), 1))
    file.write_text(file.read_text() + '{"name": "cut sh')
    with pytest.raises(SpecError, match=r"squares.jsonl:2: is no line of evidence"):
        Evidence(file)


def test_both_ends_get_verdicts_of_what_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def least(spec: dict[str, Any], precision: float, told: Told = deaf) -> dict[str, float]:
        assert precision == capacity.PRECISION["full"]
        one_way = "fct_ends" in spec["network"]
        spread = 1 + spec["seed"] / 1000
        return {
            "fifo": 1.44e11 * spread if one_way else 1.2e11 * spread,
            "static": 1.3e11,
            "weights": 1e11,
            "weights-fq": 4e10,
        }

    monkeypatch.setattr(capacity.least_links, "__wrapped__", least)
    file = tmp_path / "capacity.jsonl"
    filling = Evidence(file).fill(swp.asking(), 1)
    # Ten scenarios at both ends, and one at one.
    names = [next(filling).name for _ in range(21)]
    assert names[:2] == [f"3 classes, scenario 1, {end}" for end in ("to the ACK", "one way")]
    found = Evidence(file)
    assert swp.there(found) == {3: 10, 5: 0}
    block = swp.block(found, "capacity.jsonl")
    assert "10 of 150 scenarios with 3 classes, 0 of 150 scenarios with 5 classes" in block
    row = next(line for line in block.splitlines() if line.startswith("| swp-9 "))
    assert "FIFO over weights +20" in row and "FIFO over weights +44" in row
    assert row.count("| direction |") + row.count("| agrees |") == 2, row


@pytest.mark.parametrize("page", [swp.PAGE, beside.PAGE], ids=lambda page: page.name)
def test_the_docs_show_what_the_lines_say(page: evidence.Page) -> None:
    file = f"docs/evidence/{page.name}.jsonl"
    shown = {"swp-capacity": "swp"}.get(page.name, page.name)
    text = (ROOT / f"docs/evidence/{shown}.md").read_text(encoding="utf-8")
    made = page.block(Evidence(ROOT / file), file)
    assert docs.between(text, page.name, made) == text, f"made by: {page.program} {file} --docs"


def test_the_command_fills_a_file_and_writes_a_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def block(found: Evidence, file: str) -> str:
        return f"{file}: {[line.answer for line in found.lines()]}"

    page = evidence.Page("squares", "squares", partial(asking, 2, 3), block)
    text, lines = tmp_path / "page.md", tmp_path / "squares.jsonl"
    text.write_text("before\n<!-- begin squares -->\n<!-- end squares -->\nafter\n")
    evidence.command(page, [str(lines), "--cpu-hours", "1", "--docs", str(text)])
    assert capsys.readouterr().out.startswith("square of 2: ")
    assert f"{lines}: [4, 9]" in text.read_text() and text.read_text().endswith("-->\nafter\n")


def test_the_cheapest_line_is_what_this_engine_finds() -> None:
    lines = {line.name: line for line in Evidence(ROOT / KEPT).lines()}
    name = min(lines, key=lambda name: lines[name].cpu_s)
    ask = dict(swp.asking())[name]
    found = ask()
    assert isinstance(found, capacity.Scenario)
    # Sums of losses may be made in another order: the last digits are not an answer.
    assert found.least == pytest.approx(lines[name].answer, rel=1e-12), json.dumps(found.least)
