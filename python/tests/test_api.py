from __future__ import annotations

import pickle
import threading
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from polars.testing import assert_frame_equal
from scipy import stats

import fctlab
from fctlab import slo
from fctlab.errors import SpecError
from fctlab.slo import calibrate, planning, whatif
from tests.conftest import SCENARIOS, SIZES, SMALL, SMALL_TOML

TWO_CLASSES = "start_s,src,dst,size_bytes,class\n0,0,1,1000,mice\n0.001,0,1,1000000,elephants\n"


@pytest.fixture(scope="module")
def result() -> fctlab.Result:
    return fctlab.run(SMALL)


@pytest.fixture(scope="module")
def comparison() -> fctlab.Comparison:
    return fctlab.compare(SMALL, ["dctcp", "pfabric"], seeds=3)


def test_the_summary_follows_from_the_flows(result: fctlab.Result) -> None:
    measured = result.flows.filter("measured")
    for name, low, high in (("all", 0, 1e18), ("small", 0, 1e5), ("medium", 1e5, 1e7)):
        flows = measured.filter((pl.col("size_bytes") > low) & (pl.col("size_bytes") <= high))
        row = result.summary.row(by_predicate=pl.col("class") == name, named=True)
        assert row["flows"] == len(flows) > 0
        for column in ("fct_s", "slowdown"):
            assert row[f"avg_{column}"] == pytest.approx(flows[column].mean(), rel=1e-9)
            ranked = flows[column].sort()
            for p in (50, 99):
                rank = -(-p * len(flows) // 100)
                assert row[f"p{p}_{column}"] == pytest.approx(ranked[rank - 1], rel=1e-9)


def test_every_flow_is_there_once_and_none_is_faster_than_ideal(result: fctlab.Result) -> None:
    flows = result.flows
    assert flows["flow"].sort().to_list() == list(range(300))
    assert flows["finished"].all()
    assert (flows["slowdown"] >= 1).all()
    assert (flows["src"] != flows["dst"]).all()
    assert result.counters["flows_finished"] == 300


def test_flows_share_the_memory_of_the_engine(result: fctlab.Result) -> None:
    def addresses() -> list[int]:
        assert result._outcome is not None
        table = pa.RecordBatchReader.from_stream(result._outcome.flows()).read_all()
        return [table["fct_s"].chunk(0).buffers()[1].address, table["flow"].chunk(0).offset]

    assert addresses() == addresses()


def test_a_mapping_a_file_and_a_builder_are_the_same_scenario(tmp_path: Path) -> None:
    file = tmp_path / "small.toml"
    file.write_text(SMALL_TOML)
    resolved = fctlab.load_scenario(SMALL).resolve()
    assert fctlab.load_scenario(file).resolve() == resolved
    assert fctlab.load_scenario(str(file)).resolve() == resolved
    built = (
        fctlab.Scenario({"name": "small", "topology": SMALL["topology"]})
        .set("traffic", {"workload": SIZES, "load": 0.5})
        .set("traffic.flows", 300)
        .set("scheme", "dctcp")
    )
    assert built.resolve() == resolved
    assert fctlab.load_scenario(resolved).resolve() == resolved


def test_schemes_see_the_same_flows(comparison: fctlab.Comparison) -> None:
    columns = ["seed", "flow", "src", "dst", "size_bytes", "start_s"]
    seen = [
        comparison.flows.filter(pl.col("scheme") == scheme).select(columns).sort("seed", "flow")
        for scheme in comparison.schemes
    ]
    assert_frame_equal(*seen)


def test_means_over_seeds_have_t_intervals(comparison: fctlab.Comparison) -> None:
    values: dict[str, list[float]] = {
        scheme: [
            result.summary.row(by_predicate=pl.col("class") == "all", named=True)["avg_fct_s"]
            for cell, result in zip(comparison.cells, comparison.results, strict=True)
            if cell.scheme == scheme
        ]
        for scheme in comparison.schemes
    }
    row = comparison.summary.row(
        by_predicate=(pl.col("class") == "all") & (pl.col("scheme") == "pfabric"), named=True
    )

    def expect(name: str, sample: list[float]) -> None:
        mean = sum(sample) / len(sample)
        low, high = stats.t.interval(0.95, len(sample) - 1, loc=mean, scale=stats.sem(sample))
        assert row[name] == pytest.approx(mean)
        assert row[f"{name}_ci95"] == pytest.approx((high - low) / 2)

    expect("avg_fct_s", values["pfabric"])
    ratios = [p / d for p, d in zip(values["pfabric"], values["dctcp"], strict=True)]
    expect("avg_fct_s_ratio", ratios)
    assert (row["seeds"], row["flows"]) == (3, 900)


def test_one_seed_has_no_interval() -> None:
    comparison = fctlab.compare(SMALL, ["dctcp", "tcp"])
    assert comparison.summary["avg_fct_s_ci95"].null_count() == len(comparison.summary)


def test_results_are_the_same_in_any_number_of_threads(result: fctlab.Result) -> None:
    with ThreadPoolExecutor(2) as pool:
        for other in pool.map(lambda _: fctlab.run(SMALL), range(4)):
            assert_frame_equal(result.flows, other.flows)
            assert result.counters == other.counters


def test_a_saved_result_is_the_streamed_one(result: fctlab.Result, tmp_path: Path) -> None:
    result.save(tmp_path / "saved")
    streamed = fctlab.run(SMALL, out=tmp_path / "streamed")
    streamed.save(tmp_path / "copied")
    contents = {
        (tmp_path / d / "flows.parquet").read_bytes() for d in ("saved", "streamed", "copied")
    }
    assert len(contents) == 1
    loaded = fctlab.Result.load(tmp_path / "saved")
    assert_frame_equal(loaded.flows, result.flows)
    assert_frame_equal(loaded.summary, result.summary)
    assert loaded.scenario == result.scenario


def test_a_saved_comparison_is_the_streamed_one(
    comparison: fctlab.Comparison, tmp_path: Path
) -> None:
    comparison.save(tmp_path / "saved")
    fctlab.compare(SMALL, ["dctcp", "pfabric"], seeds=3, out=tmp_path / "streamed")
    for name in ("flows.parquet", "summary.csv", "scenario.json"):
        contents = [(tmp_path / d / name).read_bytes() for d in ("saved", "streamed")]
        assert contents[0] == contents[1], name
    flows = pl.read_parquet(tmp_path / "saved" / "flows.parquet")
    assert flows.group_by("scheme", "load", "seed").len()["len"].to_list() == [300] * 6


def test_traffic_classes_have_rows_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "trace.csv").write_text(TWO_CLASSES)
    scenario = SMALL | {"traffic": {"trace": str(tmp_path / "trace.csv")}}
    summary = fctlab.run(scenario).summary
    assert set(summary["traffic_class"]) == {"all", "mice", "elephants"}
    comparison = fctlab.compare(scenario, ["dctcp", "tcp"])
    assert comparison.loads == [None]
    assert comparison.summary["avg_fct_s_ratio"].drop_nulls().len() > 0


def test_progress_is_told_and_can_stop_a_run() -> None:
    class EnoughError(Exception):
        pass

    def watch(seen: fctlab.Progress) -> None:
        assert seen.flows_started >= seen.flows_finished
        if seen.now_s > 0:
            raise EnoughError

    with pytest.raises(EnoughError):
        fctlab.run(fctlab.load_scenario(SMALL).set("traffic.flows", 100_000_000), progress=watch)


def test_other_threads_run_while_an_engine_does() -> None:
    seen = threading.Event()
    thread = threading.Thread(target=seen.set)

    def watch(_: fctlab.Progress) -> None:
        if not thread.is_alive() and not seen.is_set():
            thread.start()

    fctlab.run(fctlab.load_scenario(SMALL).set("traffic.flows", 20_000), progress=watch)
    assert seen.is_set()


def test_errors_know_where(tmp_path: Path) -> None:
    with pytest.raises(fctlab.SpecError) as caught:
        fctlab.load_scenario(SMALL).set("traffic.load", 1.3).resolve()
    assert caught.value.path == "traffic.load"
    assert caught.value.message == "1.3 is not in (0, 1)"
    assert isinstance(caught.value, ValueError)
    with pytest.raises(fctlab.SpecError, match="does not hold a whole result"):
        fctlab.Result.load(tmp_path)
    value: Any = object()
    with pytest.raises(TypeError, match="is not a value"):
        fctlab.load_scenario(SMALL).set("traffic.load", value)


def test_sets_reach_the_tables_that_schemes_name() -> None:
    scenario = fctlab.load_scenario({**SMALL, "schemes": {"mine": {"preset": "dctcp"}}})
    changed = scenario.set("schemes.mine.port.buffer", "30pkt").with_scheme("mine")
    assert changed.resolve()["scheme"]["port"]["buffer"] == "30pkt"
    assert scenario.with_scheme("mine").resolve()["scheme"]["port"]["buffer"] != "30pkt"


def test_a_saved_comparison_loads_again(comparison: fctlab.Comparison, tmp_path: Path) -> None:
    comparison.save(tmp_path / "saved")
    for loaded in (fctlab.load(tmp_path / "saved"), fctlab.Comparison.load(tmp_path / "saved")):
        assert isinstance(loaded, fctlab.Comparison)
        assert loaded.cells == comparison.cells
        assert_frame_equal(loaded.summary, comparison.summary)
        assert_frame_equal(loaded.flows, comparison.flows)
    one = fctlab.load(tmp_path / "saved" / "runs" / "dctcp-0.5-1")
    assert isinstance(one, fctlab.Result)
    with pytest.raises(fctlab.SpecError, match="holds one run, not a comparison"):
        fctlab.Comparison.load(tmp_path / "saved" / "runs" / "dctcp-0.5-1")
    with pytest.raises(fctlab.SpecError, match="holds a comparison"):
        fctlab.Result.load(tmp_path / "saved")


def test_results_travel_between_processes(
    result: fctlab.Result, comparison: fctlab.Comparison, tmp_path: Path
) -> None:
    copy = pickle.loads(pickle.dumps(result))
    assert_frame_equal(copy.flows, result.flows)
    assert_frame_equal(copy.summary, result.summary)
    again = pickle.loads(pickle.dumps(copy))
    result.save(tmp_path / "first")
    again.save(tmp_path / "second")
    files = [tmp_path / d / "flows.parquet" for d in ("first", "second")]
    assert files[0].read_bytes() == files[1].read_bytes()
    assert_frame_equal(pickle.loads(pickle.dumps(comparison)).summary, comparison.summary)


STAR = {
    "topology": {"kind": "star", "senders": 4, "host_rate": "10Gbps", "link_delay": "1us"},
    "scheme": "dctcp",
}


def test_a_trace_is_one_sample(tmp_path: Path) -> None:
    rows = "".join(f"{i * 1e-5},{i % 3},{3 + i % 3},{1000 * (i % 90 + 1)}\n" for i in range(200))
    (tmp_path / "trace.csv").write_text("start_s,src,dst,size_bytes\n" + rows)
    traffic = {"traffic": {"trace": str(tmp_path / "trace.csv")}}
    several = fctlab.compare(SMALL | traffic, ["dctcp", "tcp"], seeds=3)
    assert several.one_trace and several.draws == "3 path draws"
    row = several.summary.row(0, named=True)
    assert (row["seeds"], row["flows"]) == (3, 200) and row["avg_fct_s_ci95"] > 0
    assert "One trace, means of 3 path draws" in several.plot_fct_cdf().caption
    to_one = "".join(f"{i * 1e-5},{i % 4},4,{1000 * (i % 90 + 1)}\n" for i in range(200))
    (tmp_path / "trace.csv").write_text("start_s,src,dst,size_bytes\n" + to_one)
    star = fctlab.compare(STAR | traffic, ["dctcp", "tcp"], seeds=3)
    assert star.same_under_every_seed
    for name in ("avg_fct_s", "p99_slowdown", "avg_fct_s_ratio"):
        assert star.summary[f"{name}_ci95"].null_count() == len(star.summary)
    assert star.summary["flows"].max() == 200
    drawn = fctlab.compare(SMALL, ["dctcp"], seeds=2)
    assert not drawn.one_trace and drawn.draws == "2 seeds" and not drawn.same_under_every_seed


def test_other_processes_find_the_same_bytes(tmp_path: Path) -> None:
    def saved(name: str, executor: Executor | None) -> dict[str, bytes]:
        out = tmp_path / name
        fctlab.compare(SMALL, ["dctcp", "pfabric"], seeds=2, out=out, executor=executor)
        files = [f for f in sorted(out.rglob("*")) if f.suffix in (".parquet", ".csv")]
        return {str(f.relative_to(out)): f.read_bytes() for f in files}

    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        there = saved("there", pool)
        in_memory = fctlab.compare(SMALL, ["dctcp"], executor=pool)
    here = saved("here", None)
    assert there == here and len(here) == 2 + 4 * 2
    assert in_memory.results[0].flows.equals(fctlab.run(SMALL).flows)


def test_the_planner_asks_other_processes_as_itself() -> None:
    spec = planning.load(SCENARIOS / "slo-two-classes.toml")
    vary = [whatif.read("classes.web.weight=1,4")]

    def found(executor: Executor | None) -> tuple[slo.WhatIf, slo.Calibration]:
        points = whatif.sweep(spec, vary, most_flows=20_000, executor=executor)
        fitted = calibrate.calibrate(
            SCENARIOS / "slo-calibrate.toml", "dctcp-rate", flows=300, executor=executor
        )
        return points, fitted

    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        points, fitted = found(pool)
    here, fitted_here = found(None)
    assert points == here and fitted == fitted_here


def test_a_wrong_point_is_found_before_the_first_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "predict", lambda *_, **__: pytest.fail("a point was asked"))
    vary = [whatif.read("classes.storage.rate=5Gbps,5000Gbps")]
    with pytest.raises(SpecError, match=r"classes.storage.rate: 5.000e12 bits per second"):
        whatif.sweep(SCENARIOS / "slo-two-classes.toml", vary)
