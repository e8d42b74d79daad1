from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import linregress

from fctlab import studies
from fctlab.peers import ns3
from fctlab.studies.framework import conduct
from fctlab.studies.swp import accuracy, capacity, compared, isolation, shaping, timing
from fctlab.studies.swp.readings import ALL, BOTH, DELIVERY, Lab


def test_every_claim_is_a_row() -> None:
    plan = studies.load("swp").plan("quick")
    ids = {claim.id for claim in plan.claims}
    of_paper = {f"swp-{i}" for i in range(1, 16)}
    one_way = {f"swp-{i}-delivery" for i in (1, 2, 3, 4, 9, 10, 11, 12, 13, 14)}
    from_r = {f"swp-{i}-ideal" for i in (1, 6, 7, 14)}
    both = {"swp-1-ideal-delivery", "swp-14-ideal-delivery"}
    windows = {"swp-1-hpcc", "swp-6-windows", "swp-7-windows"}
    ours = one_way | from_r | both | windows | {"swp-x1", "swp-x2", "swp-x3", "swp-x4"}
    assert {claim.id for claim in plan.claims if claim.beyond} == ours
    assert ids == of_paper | ours
    assert {figure.id for figure in plan.figures} == {f"figure-{i}" for i in (1, 2, 6, 7, 8, 9, 10)}
    assert {"accuracy", "accuracy-weights", "table-3"} <= {table.id for table in plan.tables}


def test_a_part_may_measure_once_per_seed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(shaping.MESSAGES, "quick", 40_000)
    report = conduct.study("swp", "quick", only=["swp-5"], out=tmp_path)
    (claim,) = report.json["claims"]
    parts = {part["part"]: part for part in claim["parts"]}
    trade = parts["source delay, twice the bucket"]
    assert trade["verdict"] == "agrees"
    assert (tmp_path / "figures" / "figure-2.png").exists()
    # Checks of claims that were not asked for are not computed.
    buckets, worst = report.json["checks"]
    assert "160: " in buckets["here"]
    assert worst["here"] == "0.8 ms"


def test_backlog_by_hand() -> None:
    at, work = np.array([0.0, 1.0, 5.0]), np.array([3.0, 1.0, 2.0])
    # 3, then 3 - 1 + 1, then all is served before 5.
    assert shaping._backlog(at, work).tolist() == [3.0, 3.0, 2.0]


def test_random_scenarios_are_those_of_table_4() -> None:
    for classes, (low, high) in capacity.RATES.items():
        for number in range(1, 30):
            drawn = capacity.draw(classes, number)
            assert drawn == capacity.draw(classes, number)
            spec = drawn.spec
            assert len(spec["classes"]) == classes
            for k, each in enumerate(spec["classes"]):
                assert each["flowsizes"] in capacity.SIZES
                assert 1 <= each["interarrivals"]["sigma"] <= 2
                assert low <= float(each["rate"].removesuffix("Gbps")) <= high
                small, large = (float(part.split("<")[1]) for part in each["slo"].split("and"))
                assert small == pytest.approx(drawn.thresholds[k], rel=1e-5)
                assert each["interarrivals"]["sigma"] == drawn.sigmas[k]
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


def test_the_rise_of_an_inflation_has_an_interval() -> None:
    def made(threshold: float, inflation: float) -> capacity.Scenario:
        least = {"fifo": inflation, "weights": 1.0}
        return capacity.Scenario({}, (threshold, 9.0), (1.0, 1.0), (5.0,), least)

    thresholds = np.linspace(3, 6, 7)
    exact = [made(t, 1.25 ** (6 - t)) for t in thresholds]
    assert capacity._rise(exact, "fifo", "weights") == pytest.approx([1.25] * 7)
    # Off by hand: the logarithm's errors are -a, +a, -a, ... (a = 0.1).
    off = [made(t, 1.25 ** (6 - t) * np.exp(0.1 * (-1) ** i)) for i, t in enumerate(thresholds)]
    found = np.log(capacity._rise(off, "fifo", "weights"))
    line = linregress(thresholds, [np.log(s.inflation("fifo", "weights")) for s in off])
    assert found.mean() == pytest.approx(-line.slope, abs=0.01)
    assert found.std(ddof=1) / 7**0.5 == pytest.approx(line.stderr, rel=0.35)
    assert capacity._rise(exact[:3], "fifo", "weights") == []


def test_isolation_measures_both_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(isolation.FLOWS, "quick", 20_000)
    found = isolation.measured(Lab("quick"), "CC + PQ", 40, 1)
    assert 1 <= found["foreground"] < found["background"]


def test_a_weight_that_does_not_do_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(isolation.FLOWS, "quick", 20_000)
    monkeypatch.setattr(isolation, "TARGET", 1.0)
    name = "CC + TC weights"
    assert isolation.tuned(Lab("quick"), name) is None


def test_the_least_weight_is_found_to_its_precision() -> None:
    for least in (0.003, 0.0312, 0.4, 0.97):
        found = isolation.least_weight(least.__le__)
        assert found is not None
        assert least <= found <= least * isolation.PRECISION
    assert isolation.least_weight(lambda weight: weight >= 0.99) is None
    assert isolation.least_weight(lambda weight: True) == isolation.LEAST


def test_figure_1_is_judged_at_every_load() -> None:
    claims = {claim.id: claim for claim in studies.load("swp").plan("quick").claims}
    for id in ("swp-4", "swp-14", "swp-4-delivery", "swp-14-ideal"):
        names = [part.name for part in claims[id].parts if part.counts]
        for load in isolation.LOADS:
            assert f"background over foreground, background {load}%" in names


def test_readings_are_other_specifications(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, Any]] = []

    def least(spec: dict[str, Any], precision: float) -> None:
        asked.append(spec)

    monkeypatch.setattr(capacity, "least_links", least)
    for reading in ALL:
        assert capacity.scenario(Lab("quick").read(reading), 3, 1) is None
    text, one_way, ideal, both = asked
    assert text == capacity.draw_spec(3, 1)
    assert one_way == {**text, "network": {**text["network"], "fct_ends": "delivery"}}
    assert ideal == {**text, "cc": {**text["cc"], "start": "ideal"}}
    assert both == {**ideal, "network": one_way["network"]}


def test_both_ends_have_the_same_parts_and_rules() -> None:
    claims = {claim.id: claim for claim in studies.load("swp").plan("full").claims}
    for i in (1, 2, 3, 4, 9, 10, 11, 12, 13, 14):
        text, one_way = claims[f"swp-{i}"], claims[f"swp-{i}{DELIVERY.name}"]
        rules = [[(p.name, p.expected, p.counts) for p in each.parts] for each in (text, one_way)]
        assert rules[0] == rules[1]
        assert (text.beyond, one_way.beyond) == (False, True)
    assert BOTH.words in claims["swp-1-ideal-delivery"].text


def test_the_share_that_is_broken_counts_plans_that_are_met(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def made(success: bool, broken: list[str]) -> dict[str, object]:
        row = {"what": "load", "change": "+20%", "class": "a", "broken": broken}
        return {"success": success, "off_forecast": [row]}

    plans = {1: made(True, ["a", "b"]), 2: made(True, ["a"]), 3: made(False, ["b"])}
    monkeypatch.setattr(capacity, "_planned", lambda _, number, __: plans[number])
    assert capacity._broken_share(Lab("quick")) == 0.5
    monkeypatch.setattr(capacity, "_planned", lambda *_: None)
    assert np.isnan(capacity._broken_share(Lab("quick")))


def test_bins_and_errors_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compared, "LEAST", 2)
    sizes = np.array([10.0, 10, 20, 200_000, 2_000_000, 3_000_000])
    packet = np.array([1.0, 2, 4, 5, 6, 10])
    model = np.array([1.0, 3, 8, 5, 6, 6])
    found = compared.compare(sizes, {"packet": packet, "windows": model})
    assert found.largest.tolist() == [10, 20, 200_000, 2_000_000, 3_000_000]
    assert found.flows.tolist() == [2, 1, 1, 1, 1]
    assert found.p99["packet"].tolist() == [2, 4, 5, 6, 10]
    # One flow of 20 bytes is too few, and a BDP is below 200 KB.
    assert found.errors("windows").tolist() == [pytest.approx(0.5)]
    assert (found.long, found.mean["packet"]) == (2, 8)
    assert found.long_ratio("windows") == 0.75


def test_without_long_flows_there_is_no_mean() -> None:
    found = compared.compare(np.ones(3), {"packet": np.ones(3), "windows": np.ones(3)})
    assert found.long == 0 and np.isnan(found.long_ratio("windows"))


def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A scale of seconds."""
    monkeypatch.setitem(accuracy.SEEDS, "quick", 2)
    monkeypatch.setitem(timing.SEEDS, "quick", 2)
    monkeypatch.setitem(timing.FLOWS, "quick", {"WebSearch": 100, "Google": 300})
    monkeypatch.setitem(timing.NS3_PACKETS, "quick", 3_000)
    monkeypatch.setattr(compared, "LEAST", 20)
    for mix in (*accuracy.ALONE, *accuracy.WEIGHTED):
        monkeypatch.setitem(mix.flows, "quick", 3_000 if mix.name != "WebSearch" else 300)
    timing.timed.cache_clear()


def test_the_model_beside_the_packet_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small(monkeypatch)
    report = conduct.study("swp", "quick", only=["swp-6", "swp-7", "swp-x1"], out=tmp_path)
    claims = {claim["id"]: claim for claim in report.json["claims"]}
    assert set(claims) == {
        *(f"swp-{i}{way}" for i in (6, 7) for way in ("", "-ideal", "-windows")),
        "swp-x1",
    }

    def mean(id: str) -> float:
        parts = claims[id]["parts"]
        return float(np.mean([part["value"] for part in parts if ", mean error" in part["part"]]))

    # Beyond a round trip a flow that relaxes from r_init sends twice as much again as packets do.
    assert mean("swp-6-windows") < mean("swp-6") / 2
    assert mean("swp-6-ideal") < mean("swp-6") / 2
    assert {file.name for file in (tmp_path / "figures").iterdir()} == {
        "figure-6.png",
        "figure-7.png",
    }


@pytest.mark.parametrize("installed", [False, True])
def test_table_3(installed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small(monkeypatch)
    if not installed:
        monkeypatch.setattr(ns3, "COMPILER", "no-such-compiler")
    elif ns3.missing():
        pytest.skip(str(ns3.missing()))
    report = conduct.study("swp", "quick", only=["swp-8"], out=tmp_path)
    (claim,) = report.json["claims"]
    parts = [part for part in claim["parts"] if "ns-3" in part["part"]]
    assert len(parts) == len(timing.TABLE_3)
    (table,) = report.json["tables"]
    rows = [dict(zip(table["header"], row, strict=True)) for row in table["rows"]]
    if installed:
        assert all(part["value"] > 10 for part in parts)
        assert all(row["ns-3 (s)"] != "skipped" for row in rows)
    else:
        assert claim["verdict"] == "undecided"
        assert "skipped: there is no compiler no-such-compiler" in claim["why"]
        assert all(row["ns-3 (s)"] == "skipped" for row in rows)
    timing.timed.cache_clear()
