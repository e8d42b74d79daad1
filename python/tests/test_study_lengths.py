"""Whether effects are converged: runs twice as long."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

import fctlab
from fctlab import studies
from fctlab.studies.framework import lengths, readings
from fctlab.studies.framework.cells import Cell
from fctlab.studies.framework.conduct import study
from fctlab.studies.framework.left_open import got
from fctlab.studies.framework.longer import LONGER
from fctlab.studies.framework.report import lengths as told
from fctlab.studies.framework.report import terminal
from fctlab.studies.framework.runs import Results, Run
from fctlab.studies.framework.study import Claim, ratio
from fctlab.studies.framework.verdict import Number
from tests.test_study import TWO

BASE = Cell("base", {"traffic": {"flows": 100}})
CELLS = {
    name: Cell(name, {"traffic": {"flows": 100}, "grows": grows, "noise": noise})
    for name, grows, noise in (("still", 1.0, 0.01), ("grows", 1.2, 0.01), ("noisy", 1.0, 0.3))
}


def run(cells: Sequence[Cell]) -> Results:
    """Slowdowns of 2 against 1, that grow with the number of flows or are noisy."""
    return Results(_run(cell, seed) for cell in cells for seed in range(1, 6))


def _run(cell: Cell, seed: int) -> Run:
    doublings = cell.scenario["traffic"]["flows"] / 100 - 1
    value = 1.0
    if cell.id != "base":
        noise = np.random.default_rng([seed, int(doublings)]).normal(0, cell.scenario["noise"])
        value = 2.0 * cell.scenario["grows"] ** doublings * float(np.exp(noise))
    row = {"class": "all", "traffic_class": "all", "avg_slowdown": value}
    found = {"summary": [row], "counters": {}, "extras": {}}
    return Run(cell.id, seed, cell.scenario, found, 3600.0 * (1 + doublings))


CLAIMS = [
    Claim(f"c-{name}", "", "1.4x", (ratio("r", cell, BASE, Number(1.4)),))
    for name, cell in CELLS.items()
]


def test_converged_is_what_a_doubling_moves_by_less_than_counts_and_surely_so() -> None:
    found = lengths.double(CLAIMS, run([BASE, *CELLS.values()]), run, 1000)
    plain = told.plain(found)
    assert {each["id"]: each["converged"] for each in plain["claims"]} == {
        "c-still": True,
        "c-grows": False,
        "c-noisy": False,
    }
    grows = plain["claims"][1]
    assert grows["moved"] == pytest.approx(1.2, rel=0.03) and grows["limit"] == pytest.approx(0.1)
    assert plain["cpu_hours"] == pytest.approx(4 * 5 * 2)
    assert told.summary(plain).startswith("Runs 2 times as long (40 CPU hours): 1 of 3 claims are")


def test_what_takes_too_long_is_not_run_and_has_its_price() -> None:
    own = run([BASE, *CELLS.values()])
    found = lengths.double(CLAIMS, own, lambda _: pytest.fail("was run"), 39)
    assert not found.done and found.claims == {}
    assert told.summary(told.plain(found)).endswith("were not done: they take about 40 CPU hours.")


@pytest.mark.parametrize("name", ["ads", "ascc", "awafs", "dsrtf"])
def test_cells_of_studies_can_be_made_longer(name: str) -> None:
    tried = readings.tried(studies.load(name).plan("quick").claims)
    cells = list(dict.fromkeys(cell for claim in tried for cell in claim.cells))
    same = []
    for before, after in zip(cells, LONGER.cells(cells), strict=True):
        amounts = [
            (got(before.scenario, path), got(after.scenario, path))
            for path in ("traffic.flows", "traffic.duration")
        ]
        same += [before.id] if all(a == b for a, b in amounts) else []
    assert [id for id in same if not id.startswith(("case study", "shift"))] == []


def test_the_flows_of_a_seed_begin_alike_at_both_lengths(tmp_path: Path) -> None:
    cell = TWO.plan("quick").cells()[0]
    scenario = {**cell.scenario, "traffic": {**cell.scenario["traffic"], "workload": "websearch"}}
    (longer,) = LONGER.cells([replace(cell, scenario=scenario)])
    one, two = (
        fctlab.run({**each, "seed": 3}, out=tmp_path / str(i)).flows.select("start_s", "size_bytes")
        for i, each in enumerate((scenario, longer.scenario))
    )
    assert 2 * len(one) == len(two) and one.equals(two.head(len(one)))


def test_a_study_says_which_claims_are_converged(tmp_path: Path) -> None:
    found = study(TWO, out=tmp_path / "two", seeds=2, only=["two-1", "two-2"], doubled=True)
    assert "--double" in found.json["command"]
    rows = {each["id"]: each for each in found.json["lengths"]["claims"]}
    assert list(rows) == ["two-1", "two-2"] and rows["two-2"]["moved"] == 1.0
    assert "Converged" in (tmp_path / "two" / "report.html").read_text()
    assert "## Converged" in (tmp_path / "two" / "report.md").read_text()
    console = Console(width=80, no_color=True)
    with console.capture() as capture:
        console.print(terminal.table(found.json))
    assert "moved by" in capture.get()
    assert max(map(len, capture.get().splitlines())) <= 80
    with pytest.raises(fctlab.SpecError, match="doubled: compares the same seeds"):
        study(TWO, out=tmp_path / "no", settled=True, doubled=True)
