"""What is kept of reports, the pages that are made of it, and the overview of all papers."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

from fctlab import studies
from fctlab.cli.app import app
from fctlab.errors import SpecError
from fctlab.studies.framework import docs, kept
from fctlab.studies.framework.conduct import study
from fctlab.studies.framework.left_open import Choice, LeftOpen, OpenSetting
from fctlab.studies.framework.report import overview
from tests.test_study import TWO

EVIDENCE = Path(__file__).parents[2] / "docs" / "evidence"
KEPT = sorted((EVIDENCE / docs.FOLDER).glob("*.json"))


def test_the_page_of_studies_says_what_was_kept() -> None:
    text = (EVIDENCE / "studies.md").read_text()
    for file in KEPT:
        assert docs.put(text, kept.read(file)) == text, f"{file.name}: run the command of the page"
    assert set(re.findall("<!-- begin (.*) -->", text)) == {file.stem for file in KEPT}


@pytest.mark.parametrize("file", KEPT, ids=lambda file: file.stem)
def test_every_claim_that_differs_names_what_decides_it_or_how_many_readings_do_not(
    file: Path,
) -> None:
    found = kept.read(file)
    block, untried = docs.block(found), kept.untried(found)
    assert untried in block
    if not studies.load(file.stem).left_open.settings:
        assert "no reading was tried" not in block
        return
    for row in overview.rows(found):
        if row["verdict"] == "differs" and not re.search(rf"\b{row['id']}\b", untried):
            last = kept.trial(found, "readings", row["id"])
            assert last
            (one,) = [each for each in last["claims"] if each["id"] == row["id"]]
            never = f"none of {one['readings']} readings reproduces it"
            named = one["deciding"] and one["deciding"][0]["words"] in row["decides"]
            assert named or never in row["decides"] or row["decides"].startswith("only together")


@pytest.mark.parametrize("file", KEPT, ids=lambda file: file.stem)
def test_what_is_kept_has_every_claim_of_its_study(file: Path) -> None:
    found = kept.read(file)
    plan = studies.load(file.stem).plan(found["mode"])
    ids = [(c.id, c.text, c.paper, c.beyond) for c in plan.claims if "." not in c.id]
    keys = ("id", "claim", "paper", "beyond_the_paper")
    assert [tuple(claim[key] for key in keys) for claim in found["claims"]] == ids
    assert f"fctlab study {file.stem} --{found['mode']}" in found["command"]


def test_what_is_kept_is_what_the_report_says(tmp_path: Path) -> None:
    report = study(TWO, out=tmp_path, seeds=3, only=["two-1", "two-10"]).json
    found = kept.read(tmp_path)
    assert found == kept.kept(report)
    one, ten = found["claims"]
    part = report["claims"][0]["decided_by"]
    assert one["found"] == f"{part['here']} {part['interval']}"
    assert (one["verdict"], one["settled"], one["price"]) == ("agrees", True, None)
    assert ten["verdict"] == "differs"
    file = tmp_path / "kept.json"
    file.write_text(json.dumps(found))
    assert kept.read(file) == found


def test_some_claims_bring_what_was_tried_of_them_and_no_rows(tmp_path: Path) -> None:
    choice = Choice("delivery", "FCTs end at delivery", {"measure.fct_ends": "delivery"})
    left = LeftOpen((OpenSetting("end of an FCT", "the last ACK", "", (choice,)),))
    page = tmp_path / "studies.md"
    page.write_text("<!-- begin two -->\n<!-- end two -->\n")
    for name, arguments in (
        ("all", {}),
        ("some", {"only": ["two-1"], "settings": True, "doubled": True}),
    ):
        report = study(replace(TWO, left_open=left), out=tmp_path / name, seeds=2, **arguments)  # type: ignore[arg-type]
        docs.main([str(page), str(tmp_path / name)])
    found = kept.read(tmp_path / "claims" / "two.json")
    assert [claim["id"] for claim in found["claims"]] == ["two-1", "two-2", "two-10", "two-x1"]
    assert found["command"].endswith("--seeds 2")
    assert [each["command"] for each in found["readings"]] == [report.json["command"]]
    text = page.read_text()
    row = next(line for line in text.splitlines() if line.startswith("| two-1 |"))
    assert "of 2: " in row and f"`{report.json['command']}`: Readings tried: 2." in text
    moved = next(each for each in found["lengths"][0]["claims"] if each["id"] == "two-1")
    assert ("not converged" in row) is not moved["converged"]


def test_every_claim_of_every_paper_is_on_one_page(tmp_path: Path) -> None:
    page = tmp_path / "claims.html"
    arguments = ["claims", str(EVIDENCE / docs.FOLDER), "--all", "--out", str(page)]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    text = page.read_text()
    papers = ("ads", "dsrtf", "awafs", "ascc", "swp", "bigswitch")
    ids = [
        claim.id
        for name in papers
        for claim in studies.load(name).plan("quick").claims
        if not claim.beyond and "." not in claim.id
    ]
    # Theorem 7 of ASCC has a row of its own for weights.
    assert len(ids) == 83 + 1
    assert all(f'<tr id="{id}">' in text for id in ids)
    assert not re.search(r'(src|href)="(?!#)', text), "nothing links to what is not there"


def test_the_overview_links_to_reports_and_says_the_same_in_every_form(tmp_path: Path) -> None:
    study(TWO, out=tmp_path / "two", seeds=2, only=["two-1"])
    found = kept.read(tmp_path / "two")
    made = overview.page([found], {"two": "two/report.html"}, "").html()
    assert 'href="two/report.html#two-1"' in made
    row = overview.plain([found])["studies"][0]["claims"][0]
    assert row["found"] in made and row["verdict"] == "agrees"
    console = Console(width=80, no_color=True)
    with console.capture() as capture:
        console.print(overview.table([found]))
    assert max(map(len, capture.get().splitlines())) <= 80 and "two-1" in capture.get()


def test_claims_refuses_what_is_no_report_of_a_study(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{"claims": []}')
    with pytest.raises(SpecError, match="is no report of a study"):
        kept.read(tmp_path / "x.json")
    result = CliRunner().invoke(app, ["claims", str(tmp_path / "none")])
    assert isinstance(result.exception, SpecError) and "cannot be read" in str(result.exception)
    twice = [str(KEPT[0]), str(KEPT[0])]
    result = CliRunner().invoke(app, ["claims", *twice])
    assert isinstance(result.exception, SpecError) and "listed 2 times" in str(result.exception)


def test_a_report_in_another_mode_takes_the_place_of_what_was_kept() -> None:
    nothing: dict[str, list[object]] = {"lengths": [], "readings": [], "settling": []}
    quick = {"mode": "quick", "claims": [{"id": "a-1"}, {"id": "a-2"}], **nothing}
    full = {"mode": "full", "claims": [{"id": "a-1"}], **nothing}
    assert kept.merged(quick, full) == full
    again = {**quick, "seeds": 7}
    assert kept.merged(quick, again) == again


def test_what_was_tried_of_other_claims_stays() -> None:
    def some(*ids: str) -> dict[str, Any]:
        claims = [{"id": id} for id in ids]
        trial = {"claims": claims, "command": ",".join(ids)}
        lists: dict[str, Any] = {"lengths": [], "readings": [trial], "settling": []}
        return {"mode": "quick", "claims": claims, **lists}

    found: Mapping[str, Any] = {**some("a-1", "a-2", "a-3"), "readings": []}
    for ids, commands in (
        (("a-1", "a-2"), ["a-1,a-2"]),
        (("a-3",), ["a-1,a-2", "a-3"]),
        (("a-2", "a-3"), ["a-1,a-2", "a-2,a-3"]),
    ):
        found = kept.merged(found, some(*ids))
        assert [each["command"] for each in found["readings"]] == commands
    last = kept.trial(found, "readings", "a-2")
    assert last and last["command"] == "a-2,a-3" and len(found["claims"]) == 3


def test_more_seeds_stand_beside_rows_of_as_many_seeds_for_each(tmp_path: Path) -> None:
    page = tmp_path / "studies.md"
    page.write_text("<!-- begin two -->\n<!-- end two -->\n")
    study(TWO, out=tmp_path / "all", seeds=2)
    report = study(TWO, out=tmp_path / "more", settled=True, max_seeds=10).json
    docs.main([str(page), str(tmp_path / "all"), str(tmp_path / "more")])
    found, text = kept.read(tmp_path / "claims" / "two.json"), page.read_text()
    assert found["command"].endswith("--seeds 2") and f"`{report['command']}`: Settled: " in text
    for claim in report["claims"]:
        row = next(line for line in text.splitlines() if line.startswith(f"| {claim['id']} |"))
        told = kept.settled(found, claim["id"])
        assert f"| {told} |" in row and f"{claim['seeds']} seeds" in told
        assert told.startswith(claim["verdict"] if claim["settled"] else "open at ")
    made = overview.page([found], {}, "").html()
    assert f"with more seeds: {kept.settled(found, 'two-1')}" in made
