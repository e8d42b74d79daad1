"""More seeds for undecided claims: a rule that is right however often one looks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import fctlab
from fctlab.studies.framework import regions
from fctlab.studies.framework.cells import Cell
from fctlab.studies.framework.conduct import study
from fctlab.studies.framework.judged import Judged
from fctlab.studies.framework.report.json import claim as claim_of
from fctlab.studies.framework.runs import Results, Run
from fctlab.studies.framework.settle import FIRST, RULE, settle
from fctlab.studies.framework.study import Claim, ratio
from fctlab.studies.framework.verdict import (
    Apart,
    Band,
    Expectation,
    Finding,
    Number,
    Range,
    Sign,
    Verdict,
    judge,
)
from tests.test_study import TWO

ONE, OTHER = Cell("one", {}), Cell("other", {})


class Made:
    """Runs whose logs of slowdowns are drawn from normal numbers."""

    def __init__(self, mean: float, spread: float, number: int) -> None:
        self.drawn = np.random.default_rng(number).normal(mean, spread, 1000)
        self.asked: list[int] = []

    def run(self, cells: Sequence[Cell], seeds: int) -> Results:
        """Under the first seeds."""
        self.asked.append(seeds)
        return Results(self._run(cell, seed) for cell in cells for seed in range(1, seeds + 1))

    def _run(self, cell: Cell, seed: int) -> Run:
        value = 1.0 if cell is OTHER else float(np.exp(self.drawn[seed]))
        row = {"class": "all", "traffic_class": "all", "avg_slowdown": value}
        found = {
            "summary": [row],
            "counters": {"flows_started": 2},
            "extras": {"measured": {"flows": 2}},
        }
        scenario = {"topology": {"kind": "star", "senders": 1}}
        return Run(cell.id, seed, scenario, found, cpu_s=36.0)

    def judged(self, expected: Expectation, most: int, hours: float = math.inf) -> Judged:
        """The claim that ONE / OTHER is as expected."""
        claim = Claim("c-1", "", "", (ratio("r", ONE, OTHER, expected),), why=lambda _: "")
        first = self.run([ONE, OTHER], FIRST)
        (found,), _ = settle([claim], first, self.run, most, hours)
        return found


def test_a_clear_effect_needs_no_more_seeds() -> None:
    made = Made(0.5, 0.05, 1)
    found = made.judged(Sign(1), 80)
    assert (found.verdict, found.seeds, made.asked) == (Verdict.AGREES, 5, [5])
    assert found.confidence == pytest.approx(0.975)


def test_a_small_effect_gets_seeds_until_it_is_decided() -> None:
    made = Made(0.05, 0.1, 2)
    found = made.judged(Sign(1), 640)
    assert found.verdict is Verdict.AGREES
    assert made.asked == [5 * 2**k for k in range(len(made.asked))] and len(made.asked) > 2
    assert found.confidence == pytest.approx(1 - 0.05 / len(made.asked) / (len(made.asked) + 1))


def test_what_stays_open_says_what_it_would_take() -> None:
    made = Made(0.004, 0.1, 3)
    found = made.judged(Sign(1), 20)
    assert (found.verdict, found.seeds, made.asked) == (Verdict.UNDECIDED, 20, [5, 10, 20])
    needed = found.decisive[1].seeds_needed
    assert needed is not None and needed > 20
    hours = (needed - 20) * 2 * 36 / 3600
    assert f"{needed} seeds would settle it, {hours:.2g} CPU hours more" in found.why


def test_no_look_leads_beyond_the_budget() -> None:
    # 5 seeds of two cells take a tenth of an hour, 10 seeds as much again.
    made = Made(0.0, 0.1, 4)
    made.judged(Sign(1), 640, hours=0.25)
    assert made.asked == [5, 10]


def test_what_a_limit_says_is_within_it() -> None:
    # Ten seeds take 0.2 hours, to the last bit: 20 runs of 36 s.
    for most, hours in ((10, math.inf), (12, math.inf), (640, 0.2)):
        made = Made(0.0, 0.1, 4)
        made.judged(Sign(1), most, hours)
        assert made.asked == [5, 10]
    for most, hours in ((8, math.inf), (640, 0.19999)):
        made = Made(0.0, 0.1, 4)
        made.judged(Sign(1), most, hours)
        assert made.asked == [5]


def test_where_the_budget_does_not_do_for_all_the_nearest_to_being_settled_goes_on() -> None:
    # By their prices at 14 and at 610 seeds. Five take 0.15 hours, five more of one claim 0.1.
    near, far = Made(0.06, 0.08, 4), Made(0.001, 0.1, 4)
    third = Cell("third", {})
    asked: list[tuple[set[str], int]] = []

    def run(cells: Sequence[Cell], seeds: int) -> Results:
        asked.append(({cell.id for cell in cells}, seeds))
        of_near = near.run([cell for cell in cells if cell is not third], seeds)
        return of_near.with_more(far.run([cell for cell in cells if cell is third], seeds))

    claims = [
        Claim(id, "", "", (ratio("r", cell, OTHER, Sign(1)),), why=lambda _: "")
        for id, cell in (("far", third), ("near", ONE))
    ]
    found, _ = settle(claims, run([ONE, OTHER, third], FIRST), run, 640, 0.26)
    assert asked[1:] == [({"one", "other"}, 10)]
    assert [(each.claim.id, each.seeds) for each in found] == [("far", 5), ("near", 10)]
    assert found[0].is_open and found[0].price


@pytest.mark.parametrize(
    ("expected", "share"),
    [
        (Number(2.0), 0.25),
        (Number(1.02), 0.01),
        (Number(0.6), 0.1),
        (Range(1.5, 2.0), 0.125),  # the end that is nearer to none
        (Range(0.5, 0.8), 0.05),
        (Range(1.0, 2.0), 0.01),
        (Sign(1), 0.01),
        (Band.within(0.02), None),
    ],
)
def test_no_effect_is_a_quarter_of_the_papers_and_at_least_a_percent(
    expected: Expectation, share: float | None
) -> None:
    assert regions.nothing(expected) == (share and pytest.approx(share))


@pytest.mark.parametrize(
    ("expected", "verdicts"),
    [
        # At 0.4, 0.7, 0.98, 1.02, 1.3, 1.7 and 3.
        (Range(1.5, 2.0), "xxxddad"),
        (Range(0.5, 0.8), "dadxxxx"),
        (Range(1.0, 2.0), "xxxaaad"),
        (Band(0.5, 2.0), "xaaaaax"),
        (Apart(0.5), "axxxxaa"),
    ],
)
def test_regions_leave_no_gap(expected: Range | Band | Apart, verdicts: str) -> None:
    letters = {Verdict.AGREES: "a", Verdict.DIRECTION: "d", Verdict.DIFFERS: "x"}
    known = regions.regions(expected)

    def at(effect: float) -> str:
        there = (each for each in known if each.low <= math.log(effect) <= each.high)
        return letters[next(there).verdict]

    assert "".join(map(at, (0.4, 0.7, 0.98, 1.02, 1.3, 1.7, 3.0))) == verdicts
    assert min(each.low for each in known) == -math.inf
    assert max(each.high for each in known) == math.inf


def test_a_band_is_open_until_the_whole_interval_lies_inside() -> None:
    made = Made(0.0, 0.04, 5)
    found = made.judged(Band.within(0.02), 640)
    assert found.verdict is Verdict.AGREES and found.seeds > 5


def first_settled(expected: Expectation, mean: float, number: int) -> Finding | None:
    """Of a made-up effect whose log is `mean`: what the first look that settles it finds."""
    drawn = np.exp(np.random.default_rng(number).normal(mean, 0.1, 80)).tolist()
    for look, seeds in enumerate((5, 10, 20, 40, 80), 1):
        found = regions.judge(drawn[:seeds], expected, RULE.confidence(look))
        if found.settled:
            return found
    return None


@pytest.mark.parametrize("expected", [Sign(1), Number(1.3), Number(0.7), Range(1.2)])
def test_without_an_effect_few_are_given_a_sign(expected: Expectation) -> None:
    found = [first_settled(expected, 0.0, number) for number in range(400)]
    signs = [each for each in found if each and each.nothing is None]
    none = [each for each in found if each and each.nothing is not None]
    assert len(signs) <= 0.05 * len(found)
    assert all(each.verdict is Verdict.DIFFERS for each in none)
    # 80 seeds tell that there is less than 7.5%, a quarter of 30%, and not less than 1%.
    assert (len(none) > 300) == isinstance(expected, Number)


@pytest.mark.parametrize(
    ("expected", "edge"),
    [
        (Number(1.4), 1.3),
        (Number(1.4), 1.5),
        (Number(0.8), 0.85),
        (Range(1.2), 1.2),
        (Band(0.9, 1.2), 1.2),
    ],
)
def test_on_the_edge_few_are_called_settled_inside_or_outside(
    expected: Expectation, edge: float
) -> None:
    found = [first_settled(expected, float(np.log(edge)), number) for number in range(400)]
    inside = sum(each is not None and each.verdict is Verdict.AGREES for each in found)
    outside = sum(each is not None and each.verdict is not Verdict.AGREES for each in found)
    assert inside + outside > 0 and max(inside, outside) <= 0.05 * len(found)


EVEN = (0.98, 0.99, 1.0, 1.01, 1.02)


@pytest.mark.parametrize(
    ("point", "expected", "verdict", "settled"),
    [
        (1.4, Number(1.4), Verdict.AGREES, True),
        (1.32, Number(1.4), Verdict.AGREES, False),  # the interval reaches below 1.3
        (1.1, Number(1.4), Verdict.DIRECTION, True),
        (1.6, Number(1.4), Verdict.DIRECTION, True),
        (0.9, Number(1.4), Verdict.DIFFERS, True),
        (1.01, Number(1.4), Verdict.DIFFERS, True),  # a quarter of 40% is 10%
        (1.01, Sign(1), Verdict.UNDECIDED, False),
        (0.9, Sign(-1), Verdict.AGREES, True),
        (2.0, Range(1.5), Verdict.AGREES, True),
        (1.04, Band.within(0.05), Verdict.DIRECTION, False),
        (1.0, Band.within(0.05), Verdict.AGREES, True),
        (1.3, Band.within(0.05), Verdict.DIFFERS, True),
        (1.2, Apart(0.05), Verdict.AGREES, True),
        (1.0, Apart(0.05), Verdict.DIFFERS, True),
        (1.06, Apart(0.05), Verdict.AGREES, False),
    ],
)
def test_settled_is_what_lies_in_one_region_as_a_whole(
    point: float, expected: Expectation, verdict: Verdict, settled: bool
) -> None:
    found = regions.judge([point * each for each in EVEN], expected)
    assert (found.verdict, found.settled) == (verdict, settled)
    assert (found.seeds_needed is None) == settled
    if settled and found.nothing is None:
        ordinary = judge([point * each for each in EVEN], expected)
        assert found.verdict is ordinary.verdict, "as without settling"


def test_an_open_claim_has_its_price_also_where_it_agrees() -> None:
    made = Made(float(np.log(1.3)), 0.05, 6)
    found = made.judged(Number(1.4), 10)
    assert found.verdict in (Verdict.AGREES, Verdict.DIRECTION) and found.is_open
    assert found.price is not None and f"About {found.price[0]} seeds" in found.why
    plain = claim_of(found)
    assert plain["settled"] is False
    assert plain["price"] == {"seeds": found.price[0], "cpu_hours": pytest.approx(found.price[1])}


def test_no_effect_is_told() -> None:
    found = Made(0.0, 0.01, 7).judged(Number(2.0), 10)
    assert (found.verdict, found.is_open) == (Verdict.DIFFERS, False)
    assert "No effect: less than 25.0% either way." in found.why
    assert claim_of(found)["parts"][0]["no_effect"] is True


def test_a_study_is_settled_and_goes_on_from_what_is_there(tmp_path: Path) -> None:
    found = study(TWO, out=tmp_path, settled=True, max_seeds=10, only=["two-1", "two-2"])
    told = found.json
    assert "--settle --max-seeds=10" in told["command"]
    claims = {claim["id"]: claim for claim in told["claims"]}
    assert claims["two-1"]["verdict"] == "agrees"
    assert claims["two-1"]["confidence"] == pytest.approx(0.975)
    again = study(TWO, out=tmp_path, settled=True, max_seeds=10, only=["two-1", "two-2"])
    assert again.json["claims"] == told["claims"]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"seeds": 3, "settled": True}, "seeds: are what is settled finds out"),
        ({"max_seeds": 10}, "max_seeds: is a limit of settled"),
        ({"max_seeds": 0, "settled": True}, "max_seeds: 0 is not at least 1"),
        ({"max_cpu_hours": 0.0, "settled": True}, "max_cpu_hours: 0 is not above 0"),
    ],
)
def test_limits_that_mean_nothing_are_refused(
    arguments: dict[str, int], error: str, tmp_path: Path
) -> None:
    with pytest.raises(fctlab.SpecError, match=error):
        study(TWO, out=tmp_path / "out", **arguments)  # type: ignore[arg-type]
    assert not (tmp_path / "out").exists()
