"""Sweeps: grids, rules, resuming."""

from __future__ import annotations

import json
import math
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import fctlab
from fctlab import SpecError, sweep
from fctlab.results.points import PointStore
from fctlab.sweep import dry_run, grid, looks, words
from fctlab.sweep.saved import Saved
from fctlab.tables import Line

from .conftest import SCENARIOS, SMALL, Program


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    file = tmp_path / "small.json"
    file.write_text(json.dumps(SMALL))
    return file


def tables(scenario: Path, **keys: Any) -> dict[str, Any]:
    two = {"schemes": ["dctcp", "pfabric"], "loads": [0.3, 0.5]}
    return {"name": "s", "scenario": str(scenario), "seeds": 2, **two, **keys}


def contents(store: Path) -> dict[str, bytes]:
    files = (store / "points").glob("*/*.json")
    return {file.name: file.read_bytes() for file in files}


# Grids


def test_the_sweep_of_the_page_can_be_run(tmp_path: Path) -> None:
    page = Path(__file__).parents[2] / "docs" / "howto" / "sweeps.md"
    _, _, rest = page.read_text(encoding="utf-8").partition("```toml\n")
    text = rest.partition("```")[0].replace('"scenarios/', f'"{SCENARIOS}/')
    file = tmp_path / "marking.toml"
    file.write_text(text.replace("flows = 5000", "flows = 1000"))
    assert grid.read(file).name == "marking"
    found = dry_run(file)
    assert (found.cells, found.points) == (4 * 2 * 2, 4 * 2 * 2 * 2 * 5)


@pytest.mark.parametrize("file", SCENARIOS.glob("sweeps/*.toml"), ids=lambda file: file.stem)
def test_every_ready_made_sweep_can_be_run(file: Path) -> None:
    read = grid.read(file)
    found = dry_run(file)
    assert found.cells == len(read.cells) > 1
    assert found.most_points >= found.points > found.cells


def test_every_combination_is_a_cell(scenario: Path) -> None:
    read = grid.parse(
        tables(
            scenario,
            loads={"from": 0.1, "to": 0.5, "steps": 3},
            axes={"traffic": {"flows": [10, 20]}},
            linked=[{"topology.host_rate": ["10Gbps", "25Gbps"], "packet.ack": ["40B", "64B"]}],
        ),
        Path(),
    )
    assert len(read.cells) == 3 * 2 * 2
    assert read.axes == ["traffic.load", "traffic.flows", "topology.host_rate", "packet.ack"]
    assert {cell.settings[0][1] for cell in read.cells} == {0.1, 0.3, 0.5}
    linked = {cell.settings[2:] for cell in read.cells}
    assert linked == {
        (("topology.host_rate", "10Gbps"), ("packet.ack", "40B")),
        (("topology.host_rate", "25Gbps"), ("packet.ack", "64B")),
    }


def test_shards_are_whole_cells_and_together_everything(scenario: Path) -> None:
    whole = grid.parse(tables(scenario, loads={"from": 0.1, "to": 0.9, "steps": 7}), Path())
    parts = [whole.shard(f"{k}/3").cells for k in (1, 2, 3)]
    assert sorted(sum(parts, ()), key=str) == sorted(whole.cells, key=str)


BAD: list[tuple[dict[str, Any], str]] = [
    ({"sceanrio": "x"}, "'sceanrio' is not a key of a sweep; did you mean 'scenario'?"),
    ({"scenario": "nowhere.toml"}, "is no file"),
    ({"specification": "x"}, "either scenario or specification"),
    ({"loads": []}, "loads: is empty"),
    ({"loads": [0.5, 0.5]}, "0.5 is listed 2 times"),
    ({"loads": 0.5}, "loads: 0.5 is not a list"),
    ({"loads": {"from": 0.1, "to": 0.5}}, "from, to and steps"),
    ({"loads": [0.5, 1.5]}, "traffic.load: 1.5"),
    ({"schemes": ["dctcp", "nosuch"]}, "nosuch"),
    ({"axes": {"traffic.laod": [1, 2]}}, "laod"),
    ({"axes": {"seed": [1, 2]}}, "seed: is no axis; say seeds"),
    ({"axes": {"scheme": ["a"]}}, "scheme: is no axis; say schemes"),
    ({"axes": {"traffic.load": [0.4]}}, "traffic.load: is an axis twice"),
    ({"axes": {"packet.payload": ["1KB", "1000B"]}}, "is the same run as"),
    (
        {"linked": [{"traffic.flows": [1, 2], "packet.ack": ["40B"]}]},
        r"linked\[0\]: .*traffic.flows has 2, packet.ack has 1",
    ),
    ({"seeds": 0}, "seeds: 0 is not a whole number from 1"),
    ({"until": "decided"}, "seeds: and until contradict"),
    ({"seeds": None, "until": {"ci": "500%"}}, "until.ci: '500%' is not a share"),
    ({"seeds": None, "until": {}}, "either ci"),
    ({"seeds": None, "until": {"ci": "5%", "against": "x"}}, "until.against: 'x'"),
    ({"seeds": None, "until": {"ci": "5%", "metric": "tiny.p99_slowdown"}}, "until.metric: 'tiny"),
    ({"seeds": None, "until": {"ci": "5%", "metric": "all.p98_slowdown"}}, "until.metric"),
    ({"seeds": None, "until": {"ci": "5%", "alpha": 0.1}}, "until.alpha: belongs to decided"),
    ({"seeds": None, "until": "decided", "max_seeds": 3}, "max_seeds: 3 is not"),
    ({"max_cpu_hours": 3}, "max_cpu_hours: limits what until adds"),
    ({"seeds": None, "until": "decided", "max_cpu_hours": -1}, "max_cpu_hours: -1"),
    ({"keep": "everything"}, "keep: 'everything' is not allowed; known: summary, flows"),
    ({"set": {"record": {"queues": {"interval": "1us"}}}}, "record"),
]


@pytest.mark.parametrize(("change", "message"), BAD, ids=[message[:40] for _, message in BAD])
def test_a_bad_sweep_is_one_error_and_nothing_runs(
    scenario: Path, tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    value = {**tables(scenario), **change}
    value = {key: inner for key, inner in value.items() if inner is not None}
    with pytest.raises(SpecError, match=message):
        sweep.sweep(value, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("shard", ["5/4", "0/4", "x", "1/0", "1"])
def test_a_shard_that_is_none(scenario: Path, shard: str) -> None:
    with pytest.raises(SpecError, match="is not a part such as 3/16"):
        sweep.sweep(tables(scenario), shard=shard)


def test_more_shards_than_cells(scenario: Path) -> None:
    with pytest.raises(SpecError, match="there are 2 cells, not enough for 3/3"):
        sweep.sweep(tables(scenario), shard="3/3")


# Points


def test_a_point_is_the_run_of_its_scenario(scenario: Path, tmp_path: Path) -> None:
    found = sweep.sweep(tables(scenario), out=tmp_path / "out")
    assert len(found.runs) == found.computed == 2 * 2 * 2
    run = next(r for r in found.runs if r.cell == 1 and r.scheme == "pfabric" and r.seed == 2)
    alone = fctlab.load_scenario(SMALL).with_scheme("pfabric").set("traffic.load", 0.5)
    result = fctlab.run(alone, seed=2)
    answer = found.store.get(run.key).found
    assert answer["summary"] == result.report["summary"]
    assert answer["counters"] == result.counters
    sizes = answer["sizes"]
    assert sum(row["flows"] for row in sizes) == result.summary["flows"][0]
    median = answer["probabilities"].index(0.5)
    in_bin = result.flows.filter("measured")
    low, high = sizes[0]["from_bytes"], sizes[0]["below_bytes"]
    in_bin = in_bin.filter((in_bin["size_bytes"] >= low) & (in_bin["size_bytes"] < high))
    rank = math.ceil(len(in_bin) / 2) - 1
    assert sizes[0]["fct_s"][median] == in_bin["fct_s"].sort()[rank]


def test_nothing_is_computed_twice(scenario: Path, tmp_path: Path) -> None:
    first = sweep.sweep(tables(scenario), out=tmp_path / "out")
    again = sweep.sweep(tables(scenario), out=tmp_path / "out")
    assert (first.computed, again.computed) == (8, 0)
    more = sweep.sweep(tables(scenario, seeds=3), out=tmp_path / "out")
    assert more.computed == 4
    assert first.summary.equals(again.summary)


def test_flows_are_kept_where_asked(scenario: Path, tmp_path: Path) -> None:
    found = sweep.sweep(tables(scenario, keep="flows", loads=[0.5]), out=tmp_path / "out")
    flows = found.store.scan_flows().collect()
    assert flows["key"].n_unique() == 4
    assert len(flows) == 4 * SMALL["traffic"]["flows"]
    assert not list(found.store.damaged())

    def count(some: pl.LazyFrame) -> pl.LazyFrame:
        return some.group_by("key", "size_bytes").agg(pl.len(), pl.col("fct_s").max())

    each, together = found.store.of_each(count), count(flows.lazy()).collect()
    by = ["key", "size_bytes"]
    assert each.sort(by).equals(together.sort(by))
    with pytest.raises(SpecError, match="no point keeps its flows"):
        found.store.of_each(count, keys=["0" * 32])


def test_shards_fill_one_store_with_the_same_points(scenario: Path, tmp_path: Path) -> None:
    sweep.sweep(tables(scenario), out=tmp_path / "whole")
    store = tmp_path / "shared"
    for part in ("1/2", "2/2"):
        sweep.sweep(tables(scenario), out=tmp_path / part[0], store=store, shard=part)
    assert contents(store) == contents(tmp_path / "whole" / "store")


def test_other_processes_find_the_same_points(scenario: Path, tmp_path: Path) -> None:
    sweep.sweep(tables(scenario), out=tmp_path / "threads")
    with ProcessPoolExecutor(2) as executor:
        sweep.sweep(tables(scenario), out=tmp_path / "processes", executor=executor)
    assert contents(tmp_path / "processes" / "store") == contents(tmp_path / "threads" / "store")


def test_two_sweeps_at_once_leave_the_same_points(scenario: Path, tmp_path: Path) -> None:
    sweep.sweep(tables(scenario), out=tmp_path / "alone")
    store = tmp_path / "store"

    def one(name: str) -> None:
        sweep.sweep(tables(scenario), out=tmp_path / name, store=store, workers=1)

    with ThreadPoolExecutor(2) as both:
        list(both.map(one, ("a", "b")))
    assert contents(store) == contents(tmp_path / "alone" / "store")


def test_a_trace_counts_by_content_not_by_name(scenario: Path, tmp_path: Path) -> None:
    text = "start_s,src,dst,size_bytes\n" + "".join(f"{i * 1e-4},0,1,2000\n" for i in range(50))
    keys = []
    for name, trace in (("a.csv", text), ("b.csv", text), ("c.csv", text + "0.1,0,1,3000\n")):
        (tmp_path / name).write_text(trace)
        value = {**SMALL, "traffic": {"trace": str(tmp_path / name)}}
        scenario.write_text(json.dumps(value))
        given = {"scenario": str(scenario), "name": "t"}
        found = sweep.sweep(given, out=tmp_path / "out")
        keys.append(found.runs[0].key)
    assert keys[0] == keys[1] != keys[2]
    stored = contents(tmp_path / "out" / "store")
    assert not any(str(tmp_path).encode() in each for each in stored.values())


def test_a_specification_is_swept(tmp_path: Path) -> None:
    spec = {
        "network": {"link": "10Gbps", "rtt": "20us"},
        "classes": [
            {
                "name": "web",
                "flowsizes": "websearch_bytes",
                "load": 0.3,
                "slis": [{"name": "tail", "metric": "p99", "below": "125KB"}],
                "slo": "tail < 50",
            }
        ],
    }
    file = tmp_path / "spec.json"
    file.write_text(json.dumps(spec))
    given = {"specification": str(file), "axes": {"classes.web.load": [0.2, 0.4]}}
    found = sweep.sweep(given, out=tmp_path / "out")
    assert found.summary["sli"].to_list() == ["tail", "tail"]
    low, high = found.summary["value"].to_list()
    assert 1 < low < high


# Interruption


SLOW = """
import sys, json
from fctlab import sweep
sweep.sweep(json.loads(sys.argv[1]), out=sys.argv[2], workers=2)
"""


def test_kill_and_go_on(scenario: Path, tmp_path: Path) -> None:
    value = tables(scenario, loads={"from": 0.2, "to": 0.6, "steps": 6}, seeds=8)
    sweep.sweep(value, out=tmp_path / "whole")
    draw = random.Random(1)
    out = tmp_path / "killed"
    there: set[str] = set()

    def begun(where: Path) -> subprocess.Popen[bytes]:
        return subprocess.Popen([sys.executable, "-c", SLOW, json.dumps(value), str(where)])

    start = time.monotonic()
    process = begun(tmp_path / "first")
    while process.poll() is None and not list((tmp_path / "first").rglob("points/*/*")):
        time.sleep(0.01)
    first_s = time.monotonic() - start
    process.kill()
    process.wait()
    for _ in range(20):
        process = begun(out)
        time.sleep(first_s + draw.uniform(-0.1, 0.6))
        process.send_signal(signal.SIGKILL)
        process.wait()
        if (out / "store").exists():
            there = PointStore(out / "store").names()
            assert not list(PointStore(out / "store").damaged())
    assert there, "no process lived long enough to keep a point"
    # As if the last one had been killed while it wrote its tables.
    (out / ".fctlab-draft").write_text("half")
    found = sweep.sweep(value, out=out)
    assert found.computed == len(found.runs) - len(there)
    assert contents(out / "store") == contents(tmp_path / "whole" / "store")
    PointStore(out / "store").clean()
    assert not list(out.rglob(".fctlab-*"))


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small disk needs root")
def test_a_full_disk_loses_nothing(scenario: Path, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=200k", "none", str(disk)]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("a small disk cannot be mounted here")
    try:
        value = tables(scenario, seeds=8)
        with pytest.raises(OSError, match=r"No space left.*kept \d+ finished points.*goes on"):
            sweep.sweep(value, out=disk / "out")
        store = PointStore(disk / "out" / "store")
        kept = len(store.names())
        assert kept
        assert not list(store.damaged())
        subprocess.run(["mount", "-o", "remount,size=20m", str(disk)], check=True)
        found = sweep.sweep(value, out=disk / "out")
        assert found.computed == len(found.runs) - kept
    finally:
        subprocess.run(["umount", str(disk)], check=True)


# Rules


def test_a_narrow_rule_stops_where_it_is_narrow(scenario: Path, tmp_path: Path) -> None:
    until = {"metric": "all.avg_slowdown", "against": "dctcp", "ci": "15%"}
    value = tables(scenario, until=until, loads=[0.5], max_seeds=60)
    del value["seeds"]
    found = sweep.sweep(value, out=tmp_path / "out")
    (decision,) = found.decisions
    assert decision.verdict == "narrow"
    assert decision.found is not None
    assert decision.found.half_width <= math.log(1.15)
    assert decision.found.seeds in (10, 15, 23, 35, 53)
    # Continued with other points in the store already, it stops at the same look.
    plain = {key: inner for key, inner in value.items() if key not in ("until", "max_seeds")}
    sweep.sweep({**plain, "seeds": 53}, out=tmp_path / "out")
    again = sweep.sweep(value, out=tmp_path / "out")
    assert again.decisions == found.decisions
    assert again.computed == 0


def test_a_rule_tells_what_it_saves(scenario: Path, tmp_path: Path) -> None:
    until = {"metric": "small.p99_slowdown", "against": "dctcp", "ci": "8%"}
    value = tables(scenario, until=until, max_seeds=60)
    value["loads"] = [0.1, 0.8]
    del value["seeds"]
    found = sweep.sweep(value, out=tmp_path / "out")
    known = [each.found for each in found.decisions if each.found]
    seeds = [each.seeds for each in known]
    assert len(seeds) == 2 and min(seeds) < max(seeds)
    last = words.decisions(Saved.of(found.report, "out"), 100)[-1]
    assert isinstance(last, Line)
    same = looks.same_for_all((each.seeds, each.half_width) for each in known)
    assert max(seeds) >= same > min(seeds)
    told = f"{sum(seeds)} seeds; {2 * same} if all had {same}"
    assert last.text == f"{told}, for an interval as wide as the widest here"


def test_a_scheme_that_is_settled_gets_no_more_seeds(scenario: Path, tmp_path: Path) -> None:
    until = {"metric": "all.avg_slowdown", "against": "dctcp", "ci": "2%"}
    value = tables(scenario, until=until, loads=[0.8], max_seeds=60)
    value["schemes"] = ["dctcp", "l2dct", "pfabric"]
    del value["seeds"]
    found = sweep.sweep(value, out=tmp_path / "out")
    settled = {each.scheme: each.found.seeds for each in found.decisions if each.found}
    assert settled["l2dct"] < settled["pfabric"]
    ran = Counter(run.scheme for run in found.runs)
    assert ran == {"dctcp": settled["pfabric"], **settled}
    rows = found.summary.filter(pl.col("class") == "all", pl.col("traffic_class") == "all")
    assert dict(rows.select("scheme", "seeds").iter_rows()) == ran


def test_what_stays_open_has_a_price(scenario: Path, tmp_path: Path) -> None:
    until = {"metric": "small.p99_slowdown", "against": "dctcp", "ci": "0.1%"}
    value = tables(scenario, until=until, loads=[0.5], max_seeds=12)
    del value["seeds"]
    (decision,) = sweep.sweep(value, out=tmp_path / "out").decisions
    assert (decision.verdict, decision.why) == ("open", "max_seeds = 12")
    assert decision.seeds_needed is not None
    assert decision.seeds_needed > 12
    assert decision.cpu_hours_needed is not None
    assert decision.cpu_hours_needed > 0


# The program


def test_the_program_sweeps_and_lists(scenario: Path, tmp_path: Path, program: Program) -> None:
    file = tmp_path / "s.toml"
    file.write_text(
        f'scenario = "{scenario}"\nschemes = ["dctcp", "pfabric"]\nloads = [0.3, 0.5]\n'
    )
    dry = program("sweep", file, "--dry-run", "--json")
    assert json.loads(dry.stdout)["points"] == 4
    assert not (tmp_path / "results").exists()
    found = program("sweep", file)
    assert found.returncode == 0, found.stderr
    assert "4 computed now" in found.stderr
    store = tmp_path / "results" / "s" / "store"
    assert json.loads(program("store", "ls", store, "--json").stdout)[0]["name"] == "small"
    key = sorted(PointStore(store).names())[0]
    assert json.loads(program("store", "show", store, key[:12]).stdout)["key"] == key
    assert program("store", "verify", store).returncode == 0
    PointStore(store).file(key).write_text("{")
    bad = program("store", "verify", store)
    assert (bad.returncode, "1 files are damaged" in bad.stderr) == (2, True)
    again = program("sweep", file)
    assert again.returncode == 2
    assert "store gc" in again.stderr
    assert "2 files removed, 3 points" in program("store", "gc", store).stderr
    assert "1 computed now" in program("sweep", file).stderr


def test_a_dry_run_knows_about_what_it_costs(scenario: Path) -> None:
    found = dry_run(tables(scenario))
    assert (found.cells, found.points, found.most_points, found.there) == (2, 8, 8, 0)
    assert 0 < found.cpu_hours < 0.01
