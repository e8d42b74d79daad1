from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fctlab import studies
from fctlab.studies import conduct
from fctlab.studies.swp import capacity, isolation, shaping


def test_every_claim_that_the_model_can_answer_is_a_row() -> None:
    plan = studies.load("swp").plan("quick")
    ids = {claim.id for claim in plan.claims}
    assert ids == {f"swp-{i}" for i in (1, 2, 3, 4, 5, 9, 10, 11, 12, 13, 14, 15, "x2", "x3", "x4")}
    assert {figure.id for figure in plan.figures} == {f"figure-{i}" for i in (1, 2, 8, 9, 10)}


def test_a_part_may_measure_once_per_seed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(shaping.MESSAGES, "quick", 40_000)
    report = conduct.study("swp", "quick", only=["swp-5"], out=tmp_path)
    (claim,) = report.json["claims"]
    parts = {part["part"]: part for part in claim["parts"]}
    trade = parts["source delay, twice the bucket"]
    assert trade["verdict"] == "agrees"
    worst = parts["worst case of 1,000 senders x 10 KB at 100 Gbps (ms)"]
    assert worst["verdict"] == "agrees"
    assert (tmp_path / "figures" / "figure-2.png").exists()
    # Checks of claims that were not asked for are not computed.
    assert len(report.json["checks"]) == 1


def test_backlog_by_hand() -> None:
    at, work = np.array([0.0, 1.0, 5.0]), np.array([3.0, 1.0, 2.0])
    # 3, then 3 - 1 + 1, then all is served before 5.
    assert shaping._backlog(at, work).tolist() == [3.0, 3.0, 2.0]


def test_random_scenarios_are_those_of_table_4() -> None:
    for classes, (low, high) in capacity.RATES.items():
        for number in range(1, 30):
            spec = capacity.draw_spec(classes, number)
            assert spec == capacity.draw_spec(classes, number)
            assert len(spec["classes"]) == classes
            for each in spec["classes"]:
                assert each["flowsizes"] in capacity.SIZES
                assert 1 <= each["interarrivals"]["sigma"] <= 2
                assert low <= float(each["rate"].removesuffix("Gbps")) <= high
                small, large = (float(part.split("<")[1]) for part in each["slo"].split("and"))
                assert 3 <= small <= 8 and large == pytest.approx(2 * small, rel=1e-5)


def test_subsets_of_figure_8() -> None:
    def made(thresholds: tuple[float, ...], sigmas: tuple[float, ...]) -> capacity.Scenario:
        least = {"fifo": 60e9, "weights": 40e9}
        return capacity.Scenario({}, thresholds, sigmas, (5.0,), least)

    hard = made((3.5, 6), (1.8, 1.2))
    assert hard.hard and hard.tight and not hard.easy
    # The bursty class is not the one with the tight SLO.
    apart = made((3.5, 6), (1.2, 1.8))
    assert not apart.hard and apart.tight and not apart.easy
    assert made((4, 6), (1.2, 1.7)).easy
    assert hard.inflation("fifo", "weights") == 1.5


def test_isolation_measures_both_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(isolation.FLOWS, "quick", 20_000)
    found = isolation._predict("CC + PQ", 40, 0.5, 1, "quick")
    assert 1 <= found["foreground"] < found["background"]
