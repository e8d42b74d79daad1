"""Flows and queries that had not finished when a run ended: lower bounds, told as such."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import fctlab
from fctlab.studies.framework import verdict
from fctlab.studies.framework.cells import Cell
from fctlab.studies.framework.runs import SLOWDOWN, Results, Run
from fctlab.studies.framework.study import Claim, Part, ratio
from fctlab.studies.framework.verdict import Band, Bound, Expectation, Number, Sign, Verdict
from tests.conftest import SCENARIOS, SMALL, Program

# 200 flows of the web search workload, most of them under way when the run is cut.
CUT = (
    "--set", "topology.leaves=2", "--set", "topology.hosts_per_leaf=4", "--set",
    "topology.spines=2", "--set", "traffic.flows=200", "--set", "measure.warmup=0s",
    "--set", "measure.max_time=15ms",
)  # fmt: skip
WEB = SCENARIOS / "websearch-leafspine.toml"
METRICS = [f"{s}_{m}" for m in ("fct_s", "slowdown") for s in ("avg", "p50", "p99")]


def test_a_run_that_is_cut_prints_lower_bounds(program: Program, tmp_path: Path) -> None:
    done = program("run", WEB, *CUT, "--out", "out")
    assert done.returncode == 0, done.stderr
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    everything = report["summary"][0]
    assert everything["unfinished"] > 0 and everything["avg_fct_s_lower_bound"] is True
    assert everything["avg_slowdown"] >= 1 and everything["avg_slowdown_lower_bound"] is True
    assert "> " in done.stdout and "at least" in done.stdout
    cut = report["extras"]["cut"]
    assert cut["flows_not_started"] == 200 - report["counters"]["flows_started"] > 0
    assert f"{cut['flows_not_started']} flows never started" in done.stdout
    rows = list(csv.DictReader((tmp_path / "out" / "summary.csv").open()))
    assert rows[0]["avg_fct_s_lower_bound"] == "true"
    flows = pl.read_parquet(tmp_path / "out" / "flows.parquet")
    assert (flows["slowdown"] >= 1).all()


def test_a_percentile_is_a_bound_exactly_where_unfinished_flows_could_move_it() -> None:
    scenario = fctlab.load_scenario(WEB).with_sets(list(CUT[1::2]))
    result = fctlab.run(scenario)
    limits = {"all": (0, math.inf), "small": (0, 1e5), "medium": (1e5, 1e7), "large": (1e7, 1e18)}
    told = set()
    for row in result.summary.filter(pl.col("flows") > 0).iter_rows(named=True):
        low, high = limits[row["class"]]
        size = pl.col("size_bytes")
        flows = result.flows.filter("measured").filter((size > low) & (size <= high))
        for name in ("fct_s", "slowdown"):
            latest = pl.when("finished").then(name).otherwise(math.inf)
            for p in (50, 99):
                rank = -(-p * len(flows) // 100) - 1
                least, most = (flows.select(pl.col(name).sort(), latest.sort().alias("most"))
                               .row(rank))  # fmt: skip
                assert row[f"p{p}_{name}"] == pytest.approx(least, rel=1e-9)
                assert row[f"p{p}_{name}_lower_bound"] == (most > least), (row["class"], p, name)
                told.add(most > least)
            assert row[f"avg_{name}_lower_bound"] == (row["unfinished"] > 0)
    assert told == {True, False}


def test_ratios_of_bounds_are_not_known(program: Program, tmp_path: Path) -> None:
    scenario = fctlab.load_scenario(WEB).with_sets(list(CUT[1::2]))
    comparison = fctlab.compare(scenario, ["dctcp", "pfabric"], seeds=2, out=tmp_path / "out")
    for row in comparison.summary.filter(pl.col("flows") > 0).iter_rows(named=True):
        for name in METRICS:
            runs = comparison.runs.filter(
                pl.col("class") == row["class"], pl.col("traffic_class") == row["traffic_class"]
            )
            own = runs.filter(pl.col("scheme") == row["scheme"])
            bound = own[f"{name}_lower_bound"].any()
            assert row[f"{name}_lower_bound"] == bound
            assert (row[f"{name}_ci95"] is None) == bound
            base = runs.filter(pl.col("scheme") == "dctcp")[f"{name}_lower_bound"].any()
            assert (row[f"{name}_ratio"] is None) == (bound or base)
    done = program("compare", WEB, *CUT, "--schemes", "dctcp,pfabric")
    assert "not known" in done.stdout and "never started" in done.stdout


def test_the_plots_say_so(tmp_path: Path) -> None:
    result = fctlab.run(fctlab.load_scenario(WEB).with_sets(list(CUT[1::2])))
    unfinished = result.summary["unfinished"][0]
    (legend,) = result.plot_fct_cdf().legends
    (label,) = [t.get_text() for t in legend.get_texts()]
    assert label == f"dctcp ({unfinished} unfinished)"
    figure = result.plot_slowdown()
    assert f"{unfinished} flows had not finished; hollow: at least" in figure.caption
    hollow = [line for line in figure.axes[0].lines if line.get_markerfacecolor() == "white"]
    assert hollow
    whole = fctlab.run(SMALL).plot_slowdown()
    assert "hollow" not in whole.caption and len(whole.axes[0].lines) == 1


def test_queries_that_are_cut_are_not_left_out(program: Program) -> None:
    incast = SCENARIOS / "star-incast.toml"
    cut = ("--set", "traffic.load=0.95", "--set", "measure.max_time=20ms")
    found = json.loads(program("run", incast, *cut, "--json").stdout)["extras"]["queries"]
    assert found["unfinished"] > 0 and found["avg_s_lower_bound"] is True
    shown = program("run", incast, *cut).stdout
    assert "avg > " in shown and "lower bound" not in shown
    whole = json.loads(program("run", incast, "--set", "traffic.flows=640", "--json").stdout)
    assert whole["extras"]["queries"]["avg_s_lower_bound"] is False


# Studies


def run_of(cell: str, seed: int, value: float, bound: bool) -> Run:
    row: dict[str, Any] = {"class": "all", "traffic_class": "all", "avg_slowdown": value}
    return Run(
        cell,
        seed,
        {},
        {
            "summary": [row | {"avg_slowdown_lower_bound": bound, "unfinished": int(bound)}],
            "counters": {
                "flows_started": 1,
                "timeouts": 0,
                "retransmissions": 0,
                "data_packets": 1,
            },
            "extras": {"queries": {"avg_s": value, "avg_s_lower_bound": bound}},
        },
    )


CELLS = Cell("a", {}), Cell("b", {})


def judged(
    expected: Expectation, bounds: tuple[bool, bool], of: Any = SLOWDOWN
) -> tuple[Verdict, Bound]:
    runs = [run_of("a", s, 4.0 + s / 100, bounds[0]) for s in (1, 2, 3)]
    runs += [run_of("b", s, 2.0, bounds[1]) for s in (1, 2, 3)]
    found = ratio("a / b", *CELLS, expected, of=of).judge(Results(runs))
    return found.verdict, found.bound


@pytest.mark.parametrize(
    ("expected", "bounds", "verdict", "bound"),
    [
        (Number(2), (False, False), Verdict.AGREES, Bound.NONE),
        # At least twice as slow: which way is sure, by how much is not.
        (Number(2), (True, False), Verdict.DIRECTION, Bound.LOWER),
        (Sign(1), (True, False), Verdict.AGREES, Bound.LOWER),
        (Sign(-1), (True, False), Verdict.DIFFERS, Bound.LOWER),
        (Sign(1), (False, True), Verdict.UNDECIDED, Bound.UPPER),
        (Band(1, 3), (False, True), Verdict.UNDECIDED, Bound.UPPER),
        (Sign(1), (True, True), Verdict.UNDECIDED, Bound.NOT_KNOWN),
    ],
)
def test_a_verdict_holds_wherever_the_truth_lies(
    expected: Expectation, bounds: tuple[bool, bool], verdict: Verdict, bound: Bound
) -> None:
    assert judged(expected, bounds) == (verdict, bound)
    of_queries = judged(expected, bounds, lambda run: run.extras["queries"]["avg_s"])
    assert of_queries == (verdict, bound)


def test_a_row_that_rests_on_bounds_says_so() -> None:
    runs = [run_of(c, s, v, c == "a") for c, v in (("a", 4.0), ("b", 2.0)) for s in (1, 2)]
    part = ratio("a / b", *CELLS, Sign(1))
    row = Claim("x-1", "a is slower", "", (part,)).judge(Results(runs))
    assert row.here == "> 2.00x" and row.verdict is Verdict.AGREES
    assert row.why == "the effect rests on lower bounds: flows had not finished."
    both = [run_of(c, s, v, True) for c, v in (("a", 4.0), ("b", 2.0)) for s in (1, 2)]
    row = Claim("x-1", "a is slower", "", (part,)).judge(Results(both))
    assert row.here == "not known" and row.verdict is Verdict.UNDECIDED
    assert ("lower bounds" in row.why and "slowdown > 4" in row.why) or "lower bounds" in row.why


def test_parts_without_bounds_are_judged_as_before() -> None:
    part = Part("n", "", Number(2), CELLS, lambda a, b: 2.0)
    runs = [run_of(c, s, 1.0, True) for c in "ab" for s in (1, 2)]
    assert part.judge(Results(runs)) == verdict.judge([2.0, 2.0], Number(2))
