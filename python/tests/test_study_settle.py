"""More seeds for undecided claims: a rule that is right however often one looks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import fctlab
from fctlab.studies.framework.cells import Cell
from fctlab.studies.framework.conduct import study
from fctlab.studies.framework.judged import Judged
from fctlab.studies.framework.runs import Results, Run
from fctlab.studies.framework.settle import FIRST, settle
from fctlab.studies.framework.study import Claim, ratio
from fctlab.studies.framework.verdict import Band, Expectation, Sign, Verdict
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
        value = float(np.exp(self.drawn[seed])) if cell is ONE else 1.0
        row = {"class": "all", "traffic_class": "all", "avg_slowdown": value}
        return Run(cell.id, seed, {}, {"summary": [row], "counters": {}, "extras": {}}, cpu_s=36.0)

    def judged(self, expected: Expectation, most: int, hours: float | None = None) -> Judged:
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


def test_no_look_follows_beyond_the_budget() -> None:
    # 5 seeds of two cells take a tenth of an hour, 10 seeds another fifth.
    made = Made(0.0, 0.1, 4)
    made.judged(Sign(1), 640, hours=0.15)
    assert made.asked == [5, 10]


def test_a_band_is_open_until_the_whole_interval_lies_inside() -> None:
    made = Made(0.0, 0.04, 5)
    found = made.judged(Band.within(0.02), 640)
    assert found.verdict is Verdict.AGREES and found.seeds > 5


def test_without_an_effect_few_are_decided() -> None:
    decided = sum(
        Made(0.0, 0.1, number).judged(Sign(1), 80).verdict is not Verdict.UNDECIDED
        for number in range(1000)
    )
    assert 0 < decided <= 50


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
