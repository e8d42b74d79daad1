"""Traces of one's own: read exactly, in order, with their ids, and joined with what came out."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import polars as pl
import pytest

import fctlab
from fctlab.results import traces
from tests.conftest import SMALL, Program

EPOCH = """# of last November
start_s,id,src,dst,size_bytes,fct_s
1700000000.000020,c,2,5,20000,1
1700000000.000001500,a,0,4,1000000,1
1700000000.000001501,b,1,4,1000000,1
"""


@pytest.fixture(params=["csv", "csv.gz", "parquet"])
def trace(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    file = tmp_path / f"mine.{request.param}"
    if request.param == "csv":
        file.write_text(EPOCH)
    elif request.param == "csv.gz":
        file.write_bytes(gzip.compress(EPOCH.encode()))
    else:
        starts = [1_700_000_000_000_020_000, 1_700_000_000_000_001_500, 1_700_000_000_000_001_501]
        rows = {"start_ns": starts, "id": ["c", "a", "b"], "src": [2, 0, 1], "dst": [5, 4, 4]}
        pl.DataFrame({**rows, "size_bytes": [20_000, 1_000_000, 1_000_000]}).write_parquet(file)
    return file


def test_times_since_1970_are_taken_from_the_first_exactly(trace: Path) -> None:
    found = traces.read(trace)
    assert found.first_s == "1700000000.0000015"
    assert found.flows["start_s"].to_list() == [0.0, 1e-9, 18.5e-6]
    assert found.flows["id"].to_list() == ["a", "b", "c"]
    assert found.flows["row"].to_list() == [1, 2, 0], "where it was in the file"


def test_what_came_out_has_the_ids_of_the_trace(
    program: Program, trace: Path, tmp_path: Path
) -> None:
    done = program("trace", trace, "--out", "replayed.parquet", "--rate", "10Gbps")
    assert done.returncode == 0, done.stderr
    assert "times are from 1700000000.0000015 s on" in done.stdout
    assert program("trace", trace, "--out", "replayed.parquet").returncode == 0, "its own"
    scenario = {**SMALL, "traffic": {"trace": str(tmp_path / "replayed.parquet")}}
    result = fctlab.run(scenario)
    joined = result.with_trace()
    assert joined["id"].to_list() == ["a", "b", "c"] and joined["row"].to_list() == [1, 2, 0]
    assert joined["fct_s"].to_list() == result.flows["fct_s"].to_list(), (
        "the run's, not the trace's"
    )
    assert joined["size_bytes"].to_list() == [1_000_000, 1_000_000, 20_000]


def test_a_trace_that_was_changed_is_not_joined(tmp_path: Path) -> None:
    file = tmp_path / "trace.csv"
    file.write_text("start_s,src,dst,size_bytes\n0,0,1,1000\n0.1,1,2,1000\n")
    result = fctlab.run({**SMALL, "traffic": {"trace": str(file)}})
    assert len(result.with_trace()) == 2
    file.write_text("start_s,src,dst,size_bytes\n0,0,1,1000\n0.1,1,2,2000\n")
    with pytest.raises(fctlab.SpecError, match="has other flows than this result"):
        result.with_trace()
    with pytest.raises(fctlab.SpecError, match=r"traffic\.trace: is not set"):
        fctlab.run(SMALL).with_trace()


def test_the_load_in_all_and_of_links_is_shown(program: Program, tmp_path: Path) -> None:
    n = 1001
    rows = {"start_s": [i / 1000 for i in range(n)], "src": [i % 2 for i in range(n)]}
    flows = pl.DataFrame({**rows, "dst": [2] * n, "size_bytes": [125_000] * n})
    told = traces.lines(flows.lazy(), "10Gbps")
    # 1,001 flows of a megabit in a second: half of them from each of two hosts, all to one.
    assert told == [
        "trace: 1,001 flows, 125 MB of payload in 1.00 s: 1.00 Gbps in all",
        "payload on the links of hosts: 5.0% from host 0, 5.0% on average of those that send; "
        "10.0% to host 2, 10.0% on average of those that receive",
    ]
    assert "burst" in traces.lines(flows.head(999).lazy(), "10Gbps")[0]
    file = tmp_path / "flows.parquet"
    flows.write_parquet(file)
    (tmp_path / "s.json").write_text(json.dumps({**SMALL, "traffic": {"trace": str(file)}}))
    done = program("run", "s.json")
    assert told[0] in done.stdout and "5.0% from host 0" in " ".join(done.stdout.split())


WRONG = {
    "no such file": (None, "no such file"),
    "a missing column": ("start_s,src,dst\n0,0,1\n", "has no column size_bytes"),
    "no flows": ("start_s,src,dst,size_bytes\n", "has no flows"),
    "a time that is none": (
        "start_s,src,dst,size_bytes\nx,0,1,5\n",
        "start_s 'x' is no time",
    ),
    "no bytes": ("start_s,src,dst,size_bytes\n0,0,1,0\n", "row 1: size_bytes 0 is no whole"),
    "half a host": ("start_s,src,dst,size_bytes\n0,0.5,1,9\n", "row 1: src 0.5 is no whole"),
    "to itself": ("start_s,src,dst,size_bytes\n0,1,1,9\n", "row 1: src and dst are the same"),
}


@pytest.mark.parametrize("name", list(WRONG))
def test_a_wrong_trace_is_refused(program: Program, tmp_path: Path, name: str) -> None:
    content, message = WRONG[name]
    if content is not None:
        (tmp_path / "t.csv").write_text(content)
    done = program("trace", "t.csv", "--out", "t.parquet")
    assert done.returncode == 2 and message in done.stderr, done.stderr
    assert done.stderr.count("\n") == 1 and not (tmp_path / "t.parquet").exists()
