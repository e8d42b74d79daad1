"""Claims are functions of a lab: the same one under any reading of the paper."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from fctlab.studies.framework.lab import TEXT, Lab, Reading, beside, claim
from fctlab.studies.framework.runs import Results
from fctlab.studies.framework.study import Check, Claim, Figure, Part, Plan, Table, ratio
from fctlab.studies.framework.verdict import Exact, Sign, Verdict


@dataclass(frozen=True)
class Settings:
    """What is open in a paper about sums."""

    start: int = 1
    step: int = 1


STEEP = Reading("-steep", "steps of two", {"step": 2})


@claim("sum-1", "Two steps lead to 3", "3", why=lambda lab, _: f"From {lab.settings.start}.")
def two_steps(lab: Lab[Settings]) -> Iterator[Part]:
    """Where two steps lead."""
    settings = lab.settings
    yield Part("end", "3", Exact(3), (), lambda: settings.start + 2 * settings.step)


def test_a_reading_changes_settings_and_marks_the_claim() -> None:
    lab = Lab("quick", Settings())
    own, other = (two_steps.under(reading).of(lab) for reading in (TEXT, STEEP))
    assert (own.id, own.text, own.beyond) == ("sum-1", "Two steps lead to 3", False)
    assert (other.id, other.beyond) == ("sum-1-steep", True)
    assert other.text == "... steps of two: Two steps lead to 3"
    nothing = Results([])
    found = [each.judge(nothing).verdict for each in (own, other)]
    assert found == [Verdict.AGREES, Verdict.DIFFERS]
    assert other.why and other.why(nothing) == "From 1."
    assert lab.settings == Settings(), "the lab itself is as it was"
    assert lab.read(STEEP).read(TEXT).settings == Settings(), "readings do not add up"
    with pytest.raises(TypeError, match="height"):
        lab.read(Reading("x", "x", {"height": 1}))


def test_cells_that_come_to_the_same_are_the_same() -> None:
    lab = Lab("quick", Settings())
    cell = lab.cells.cell("a", {"load": 0.5})
    assert lab.read(STEEP).cells.cell("a", {"load": 0.5}) is cell
    part = ratio("r", cell, cell, Sign(1))
    assert [each.counts for each in beside([part])] == [False]


def test_only_takes_what_is_shown_of_its_runs_alone() -> None:
    one, other, third = (Lab("quick", Settings()).cells.cell(n, {"n": n}) for n in "abc")
    claims = [
        Claim("c-1", "", "", (ratio("r", one, other, Sign(1)),)),
        Claim("c-2", "", "", (ratio("r", one, third, Sign(1)),)),
    ]

    def figure(id: str, cells: str, *claims: str) -> Figure:
        chosen = tuple(cell for cell in (one, other, third) if cell.id in cells)
        return Figure(id, "", "", chosen, lambda _: pytest.fail("drawn"), claims)

    tables = [
        Table("free", "", "", (one,), (), lambda _: [], ("c-1", "c-2")),
        Table("asks", "", "", (), (), lambda _: [], ("c-1", "c-2")),
    ]
    checks = [
        Check("own", "", (other,), lambda _: ""),
        Check("others'", "", (third,), lambda _: ""),
        Check("asks", "", (), lambda _: "", ("c-2",)),
    ]
    figures = [figure("one", "ab", "c-1", "c-2"), figure("all", "abc", "c-1", "c-2")]
    plan = Plan(claims, figures, checks, tables=tables)
    chosen = plan.only(["c-1"])
    assert [cell.id for cell in chosen.cells()] == ["a", "b"]
    assert [figure.id for figure in chosen.figures] == ["one"]
    assert [table.id for table in chosen.tables] == ["free"]
    assert [check.text for check in chosen.checks] == ["own"]
    both = plan.only(["c-1", "c-2"])
    assert [len(each) for each in (both.figures, both.tables, both.checks)] == [2, 2, 3]
