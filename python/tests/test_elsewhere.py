"""Flows that were made elsewhere have the summary that they would have if they were ours."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq
import pytest

import fctlab
from fctlab import Result
from fctlab.errors import OutputError, SpecError, SpecWarning
from tests.conftest import SCENARIOS, SMALL, Program

pytestmark = pytest.mark.filterwarnings("ignore::fctlab.errors.SpecWarning")

INCAST = {"kind": "incast", "fanin": 4, "query_size": "40KB"}
CLASSES = [{"class": "web", "load": 0.2}, {"class": "rare", "load": 0.1}]

OURS: dict[str, fctlab.Scenario] = {
    "dctcp": fctlab.load_scenario(SMALL),
    "sprayed, to the ACK": fctlab.load_scenario(SMALL)
    .with_scheme("pfabric")
    .set("measure.fct_ends", "ack"),
    "a window": fctlab.load_scenario(SMALL).set("measure", {"warmup": "200us", "window": "400us"}),
    "queries": fctlab.load_scenario(SMALL)
    .set("traffic", {"load": 0.5, "flows": 300, "pattern": INCAST})
    .set("measure.extras", ["queries"]),
    "cut short": fctlab.load_scenario(SMALL).set("measure.max_time", "400us"),
    "spaced and cut short": fctlab.load_scenario(SMALL)
    .set("traffic.spacing", 5.0)
    .set("measure.max_time", "600us"),
    "classes": fctlab.load_scenario(SMALL).set(
        "traffic",
        {"workload": SMALL["traffic"]["workload"], "flows": 300, "classes": CLASSES},
    ),
    "shaped": fctlab.load_scenario(SCENARIOS / "swp-shaper.toml").with_sets(
        ["traffic.flows=200", "measure.warmup=0s", "record={}"]
    ),
    "model": fctlab.load_scenario(SCENARIOS / "swp-websearch.toml").with_sets(
        ["engine=model", "traffic.flows=500", "measure.warmup=0s"]
    ),
    "trace": fctlab.load_scenario(SCENARIOS / "trace-replay.toml"),
}


@pytest.fixture(params=OURS)
def ours(request: pytest.FixtureRequest) -> Result:
    return fctlab.run(OURS[request.param])


def text(result: Result) -> str:
    """What is the same wherever the flows were made, to the byte."""
    told = {key: result.report["extras"].get(key) for key in ("measured", "queries")}
    return json.dumps([result.report["summary"], result.report["offered"], told])


def shuffled(flows: pl.DataFrame) -> pl.DataFrame:
    return flows.sample(fraction=1, shuffle=True, seed=1)


def by_finish(flows: pl.DataFrame) -> pl.DataFrame:
    return flows.with_columns(finish_s=pl.col("start_s") + pl.col("fct_s")).drop("fct_s")


@pytest.mark.parametrize(
    "told",
    [
        lambda flows: flows,
        shuffled,
        by_finish,
        lambda flows: flows.lazy(),
        lambda flows: flows.to_arrow(),
        lambda flows: shuffled(flows.select("flow", "fct_s", "finished")),
    ],
    ids=["as it is", "in another order", "instants", "lazy", "pyarrow", "numbers alone"],
)
def test_our_own_flows_have_our_own_summary(
    ours: Result, told: Callable[[pl.DataFrame], Any]
) -> None:
    again = Result.of_flows(ours.scenario, told(ours.flows))
    assert text(again) == text(ours)


def test_our_own_files_come_back_to_the_byte(ours: Result, tmp_path: Path) -> None:
    ours.write_flows(tmp_path)
    file = tmp_path / "flows.parquet"
    again = Result.of_flows(ours.scenario, file)
    assert text(again) == text(ours) and again.flows.equals(ours.flows)
    (tmp_path / "again").mkdir()
    again.write_flows(tmp_path / "again")
    assert (tmp_path / "again" / "flows.parquet").read_bytes() == file.read_bytes()
    # Decimals of CSV are read as the same instants.
    ours.flows.write_csv(tmp_path / "flows.csv")
    assert text(Result.of_flows(ours.scenario, tmp_path / "flows.csv")) == text(ours)


TWO = pl.DataFrame(
    {
        "start_s": [0.0, 1e-3],
        "src": [0, 1],
        "dst": [5, 2],
        "size_bytes": [1460, 14600],
        "fct_s": [1e-4, 2e-3],
    }
)


def test_by_hand() -> None:
    flows = TWO.with_columns(fct_s=pl.Series([4e-5, None]), retransmissions=pl.Series([0, 2]))
    found = Result.of_flows(SMALL, flows, made_by="ns-3")
    first, second = found.flows.iter_rows(named=True)
    # Four links with 1500 B at 10 Gbps, and half of the propagation that 20 us leaves.
    alone = 4 * 1.2e-6 + (20e-6 - 4 * 1.2e-6 - 4 * 0.032e-6) / 2
    assert first["ideal_fct_s"] == pytest.approx(alone, rel=1e-6)
    assert first["slowdown"] == pytest.approx(4e-5 / alone, rel=1e-6) and first["finished"]
    # Nothing is known of the second beyond its start, the last instant in the table.
    assert (second["fct_s"], second["slowdown"], second["finished"]) == (0, 1, False)
    assert second["unfinished_reason"] == "not told"
    row = found.summary.row(0, named=True)
    assert (row["flows"], row["unfinished"], row["p99_fct_s_lower_bound"]) == (2, 1, True)
    assert found.counters == {"flows_started": 2, "flows_finished": 1, "retransmissions": 2}
    assert found.perf == {"simulated_s": 1e-3} and found.engine == "ns-3"
    # What the table does not tell is no column; that the flows are not the scenario's is seen.
    assert "timeouts" not in found.flows.columns and "retransmissions" in found.flows.columns
    assert found.report["offered"] == []
    # A later end of another flow makes the lower bound larger.
    third = TWO[1].with_columns(start_s=pl.lit(0.5e-3), fct_s=pl.lit(3e-3))
    later = Result.of_flows(SMALL, pl.concat([flows.select(TWO.columns), third]))
    assert later.flows["fct_s"][2] == pytest.approx(2.5e-3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.drop("dst"), "has no column dst; needed: start_s, src, dst, size_bytes"),
        (
            lambda f: f.select("fct_s"),
            "has no columns start_s, src, dst, size_bytes, nor flow, which numbers the scenario's",
        ),
        (lambda f: f.drop("fct_s"), "has no column fct_s (seconds from a flow's start to its end)"),
        (
            lambda f: f.with_columns(finish_s=pl.lit(1.0)),
            "has columns fct_s and finish_s; leave out one",
        ),
        (
            lambda f: f.with_columns(fct_s=pl.Series([1.0, -0.5])),
            'row 2: fct_s "-0.5" is not a number of seconds from 0 to 18,446,744',
        ),
        (
            lambda f: f.with_columns(fct_s=pl.Series(["1.0", "soon"])),
            'row 2: fct_s "soon" is not a number of seconds from 0 to 18,446,744',
        ),
        (
            lambda f: f.with_columns(fct_s=pl.Series([1.0, 0.0])),
            "row 2: ends when it starts; a flow takes time",
        ),
        (
            lambda f: f.with_columns(finish_s=pl.Series([1.0, 1e-6])).drop("fct_s"),
            "row 2: finish_s 0.000001 is before start_s 0.001",
        ),
        (
            lambda f: f.with_columns(fct_s=None, finished=True),
            "row 1: is finished and has no time",
        ),
        (
            lambda f: f.with_columns(finished=pl.Series(["true", "perhaps"])),
            'row 2: finished "perhaps" is not true or false',
        ),
        (
            lambda f: f.with_columns(src=pl.Series([0, 6])),
            "row 2: src 6 is not a host; hosts are 0 to 5",
        ),
        (
            lambda f: f.with_columns(dst=pl.Series([5, 1])),
            "row 2: src and dst are both 1; a flow needs two hosts",
        ),
        (
            lambda f: f.with_columns(size_bytes=pl.Series([0, 1])),
            "row 1: size_bytes 0 is not in [1, 1000000000000]",
        ),
        (
            lambda f: f.with_columns(traffic_class=pl.Series(["default", "webb"])),
            'row 2: traffic_class "webb" is not a class of the traffic: default',
        ),
        (
            lambda f: pl.concat([f, f[:1]]),
            "row 3: has start, hosts and size of row 1; if these are two flows, a column flow",
        ),
        (
            lambda f: f.with_columns(flow=pl.Series([7, 7])),
            "row 2: flow 7 is in row 1 too",
        ),
        (
            lambda f: f.with_columns(flow=pl.Series([7, -7])),
            'row 2: flow "-7" is not a whole number of at least 0',
        ),
        (
            lambda f: f.select("fct_s", flow=pl.Series([0, 2])),
            "has no row for flow 1; every flow before one that it has needs one",
        ),
        (
            lambda f: pl.DataFrame({"flow": range(301)}).with_columns(fct_s=pl.lit(1.0)),
            "row 301: flow 300 is not one of the 300 of the scenario's traffic",
        ),
        (
            lambda f: f.with_columns(timeouts=pl.Series([1, None])),
            'row 2: timeouts "null" is not a whole number of at least 0',
        ),
        (lambda f: f[:0], "has no flows; at least one is needed"),
    ],
)
def test_mistakes(change: Callable[[pl.DataFrame], pl.DataFrame], message: str) -> None:
    with pytest.raises(SpecError) as error:
        Result.of_flows(SMALL, change(TWO))
    assert str(error.value).startswith(f"flows: {message}")


def test_mistakes_name_the_file(tmp_path: Path) -> None:
    file = tmp_path / "flows.csv"
    for content, message in (
        ("start_s,src,dst,size_bytes,fct_s\n0,0,9,10,1\n", "row 1: dst 9 is not a host"),
        ("", "cannot be read: "),
    ):
        file.write_text(content)
        with pytest.raises(SpecError) as error:
            Result.of_flows(SMALL, file)
        assert str(error.value).startswith(f"{file}: {message}")
    with pytest.raises(SpecError, match=r"none.csv: no such file"):
        Result.of_flows(SMALL, "none.csv")
    file.rename(tmp_path / "flows.txt")
    with pytest.raises(SpecError, match=r"flows.txt: is no .parquet or .csv file"):
        Result.of_flows(SMALL, tmp_path / "flows.txt")
    # One of several classes must be told; a window must have flows.
    with pytest.raises(SpecError, match=r"flows: has no column traffic_class, which says of wh"):
        Result.of_flows(OURS["classes"], TWO)
    with pytest.raises(SpecError, match=r"measure.warmup: 1s: no flow is measured; the last of 2"):
        Result.of_flows(SMALL | {"measure": {"warmup": "1s"}}, TWO)


def test_what_does_not_fit_is_said() -> None:
    scenario = SMALL | {"measure": {"extras": ["goodput", "queries"]}, "record": {"values": {}}}
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = Result.of_flows(scenario, TWO.with_columns(fct_s=pl.Series([5e-6, 1.0])))
    lines = [str(each.message) for each in said if each.category is SpecWarning]
    assert lines == found.report["warnings"]
    elsewhere = "is seen inside a run; flows that were made elsewhere do not tell it"
    assert lines[-3:-1] == [
        f'measure.extras: "goodput" {elsewhere}',
        f"record: what it asks for {elsewhere}",
    ]
    assert lines[-1].startswith("flows: 1 of 2 took less time than alone on the idle path, the f")
    assert found.extras.keys() == {"measured", "queries"}


def test_it_is_saved_and_has_a_page(small: Path, program: Program, tmp_path: Path) -> None:
    TWO.write_csv(tmp_path / "theirs.csv")
    table = program("summary", small, "theirs.csv", "--made-by", "Linux", "--out", "saved")
    assert table.returncode == 0, table.stderr
    assert "made by Linux; the last is told of at 3.00 ms" in " ".join(table.stdout.split())
    found = fctlab.load(tmp_path / "saved")
    assert isinstance(found, Result) and found.engine == "Linux"
    assert text(found) == text(Result.of_flows(small, TWO))
    assert pq.read_table(tmp_path / "saved" / "flows.parquet").num_rows == 2
    page = (tmp_path / "saved" / "report.html").read_text()
    assert "fctlab summary saved/scenario.json saved/flows.parquet" in page
    # The page's command finds the same again, and nothing is written over what is read.
    again = program("summary", "saved/scenario.json", "saved/flows.parquet", "--json")
    assert json.loads(again.stdout)["summary"] == found.report["summary"]
    done = program("summary", "saved/scenario.json", "saved/flows.parquet", "--out", "saved")
    assert done.returncode == 2 and "reads" in done.stderr
    with pytest.raises(OutputError):
        found.save(tmp_path / "saved", reads=[tmp_path / "saved" / "flows.parquet"])
