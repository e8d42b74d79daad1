from __future__ import annotations

import json
import os
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from fctlab import bench
from fctlab.bench import packet, page, parallel, points, scale
from fctlab.errors import SpecError
from tests.conftest import PROGRAM

INSTRUCTIONS_PER_HOP = {"dctcp": 256, "pfabric": 364}
"""What `docs/evidence/performance.md` says."""


@pytest.mark.parametrize("counted", [False, True], ids=["speed", "instructions"])
def test_the_benchmark_measures(counted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A packet-hop takes no more instructions than it did."""
    if not counted:
        monkeypatch.setenv("PATH", "")
    elif shutil.which("valgrind") is None:
        pytest.skip("valgrind is not installed")
    flows = 2 * packet.FLOWS_UNDER_CALLGRIND if counted else 20
    command = [PROGRAM, "bench", "packet", "--flows", str(flows), "--runs", "1", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ)
    found = {b["name"]: b for b in json.loads(done.stdout)["benchmarks"]}
    names = ["packet_hops_per_cpu_s", "peak_rss_bytes", *(["instructions_per_hop"] * counted)]
    expected = [f"packet.{s}.{n}" for s in ("dctcp", "pfabric") for n in names]
    assert list(found) == [*expected, "packet.many_flows.peak_rss_bytes"]
    assert all(b.keys() == {"name", "value", "unit", "note"} for b in found.values())
    assert all(b["value"] > 10 for b in found.values())
    assert ("valgrind is not installed" in done.stderr) == (not counted)
    for scheme, most in INSTRUCTIONS_PER_HOP.items() if counted else ():
        assert found[f"packet.{scheme}.instructions_per_hop"]["value"] < 1.02 * most


def test_points_of_a_sweep_are_held_against_plain_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(points, "POINTS_PER_CORE", 2)
    monkeypatch.setattr(points, "FLOWS", 20)
    monkeypatch.setattr(points, "KEPT_FLOWS", 1_000)
    found = {row["name"]: row["value"] for row in bench.measure("points", None, 1, print)}
    assert found.pop("points.sweep_of_plain") > 0.1
    assert found.pop("points.flows_summary_s") > 0
    assert found.pop("points.flows_summary_rss") > 10_000_000
    assert list(found) == ["points.ray_s_per_point"] * (find_spec("ray") is not None)


def test_scale_compares_sizes_and_disciplines(tmp_path: Path) -> None:
    written = tmp_path / "scale.md"
    written.write_text(f"before\n{page.BEGIN}old\n{page.END}\nafter\n")
    command = [PROGRAM, "bench", "scale", "--quick", "--runs", "2", "--json"]
    command += ["--write", str(written)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ)
    rows = json.loads(done.stdout)["benchmarks"]
    found = {row["name"].removeprefix("scale."): row["value"] for row in rows}
    sizes = [f"hosts_{hosts}" for hosts in scale.QUICK.hosts]
    ports = ["fifo", "wfq", "drr", "strict", "pfabric"]
    assert {name.partition(".")[0] for name in found} == {*sizes, *ports}
    assert all(row["value"] > 0 for row in rows if not row["name"].endswith("per_host"))
    speed = "packet_hops_per_cpu_s"
    for name in sizes:
        assert (
            found[f"{name}.of_smallest"] == found[f"{name}.{speed}"] / found[f"hosts_144.{speed}"]
        )
    gains = [value for name, value in found.items() if name.endswith(".gain")]
    assert len(gains) == len(sizes) * len(parallel.DELAYS_US) * (len(parallel.CORES) + 1)
    shares = [value for name, value in found.items() if name.endswith(".of_two_runs")]
    assert len(shares) == len(sizes) * len(parallel.DELAYS_US)
    text = written.read_text()
    assert text.startswith(f"before\n{page.BEGIN}") and text.endswith(f"{page.END}\nafter\n")
    assert "| 65,535 hosts, 400 Gbps, 60 s |" in text and "old" not in text
    for name in ports:
        assert found[f"{name}.of_fifo"] == found[f"{name}.{speed}"] / found[f"fifo.{speed}"]


def test_a_page_has_a_table_per_area(tmp_path: Path) -> None:
    file = tmp_path / "page.md"
    file.write_text("a\n<!-- begin packet -->\n<!-- end packet -->\nb\n")
    rows = [{"name": "packet.x", "value": 1234.5, "unit": "B", "note": "one core"}]
    page.write(file, rows, "packet")
    assert "| packet.x | 1,234 | B | one core |" in file.read_text()
    with pytest.raises(SpecError, match="no lines <!-- begin model -->"):
        page.write(file, rows, "model")
    with pytest.raises(SpecError, match="points has no tables; these have: scale, packet, model"):
        page.write(file, rows, "points")


def test_fabrics_of_scale_have_their_hosts_and_the_reference_s_traffic() -> None:
    loads = set()
    for hosts in scale.FULL.hosts:
        resolved = scale.fabric(hosts).resolve()
        topology = resolved["topology"]
        k = topology.get("k", 0)
        assert hosts == (k**3 // 4 or topology["leaves"] * topology["hosts_per_leaf"])
        loads.add((topology["host_rate"], json.dumps(resolved["traffic"])))
    assert len(loads) == 1


def test_every_discipline_of_scale_has_the_same_flows_in_three_classes() -> None:
    resolved = {name: s.resolve() for name, s in scale.ports(30).items()}
    assert len({json.dumps(r["traffic"]) for r in resolved.values()}) == 1
    assert len(resolved["wfq"]["traffic"]["classes"]) == scale.CLASSES
    for name in scale.PORTS:
        scheme = resolved[name]["scheme"]
        assert scheme["port"]["discipline"]["kind"] == name
        assert scheme["nic"]["discipline"]["kind"] == name


def test_events_and_crossings_are_counted_by_window_and_partition() -> None:
    # Two racks: host 0 is below leaf 0, host 1 below leaf 1; two spines, one for each partition.
    rows = [
        (1.0, "host 0 -> leaf 0", 5),
        (1.0, "leaf 0 -> spine 1", 3),
        (1.0, "leaf 0 -> spine 0", 2),
        (1.0, "spine 1 -> leaf 1", 4),
        (2.0, "leaf 1 -> host 1", 7),
        (2.0, "spine 0 -> leaf 1", 2),
    ]
    series = pl.DataFrame(rows, schema=["time_s", "port", "packets"], orient="row")
    counted = parallel.partitioned(series, 2)
    # At 1 both partitions have 7 events; 3 of the second have crossed, so that it takes longer.
    assert sorted(counted.most) == [(7, 3), (9, 2)]
    assert (counted.events, counted.crossed) == (23, 5)


def test_a_gain_by_hand() -> None:
    counted = parallel.Counted([(100, 10), (60, 0)], events=240, crossed=20)
    longest = 160 * 1e-6 + 10 * parallel.HANDOVER_S + 2 * parallel.BARRIER_S
    assert parallel.gain(counted, 2, 1e-6) == pytest.approx(240e-6 / longest)
    assert parallel.gain(counted, 8, 1e-6) < parallel.gain(counted, 2, 1e-6)


def test_the_cost_of_a_study_by_hand(tmp_path: Path) -> None:
    found = {
        "packet_hops_per_cpu_s": 1e6,
        "packet_hops_per_host_s": 3e6,
        "flows_per_host_s": 500,
        "flows_in_flight": 200,
        "bytes_per_host": 1_000,
        "bytes_per_flow_in_flight": 400,
        "bytes_per_record": 30,
    }
    found = {f"scale.hosts_100.{name}": value for name, value in found.items()}
    # 200 hosts, ten times as fast, for 3 s: as 6,000 host-seconds of the bench.
    cost = page.cost(page.Study(hosts=200, gbps=100, seconds=3), found, 100)
    assert cost == page.Cost(
        packet_hops=1.8e10, core_hours=5, memory_bytes=200 * 1_800, storage_bytes=9e7
    )
    (tmp_path / "page.md").write_text("nothing")
    with pytest.raises(SpecError, match="no lines"):
        page.write(tmp_path / "page.md", [])


@pytest.mark.parametrize(
    ("area", "given", "error"),
    [
        (
            "speed",
            {},
            "bench: 'speed' is not an area; known: packet, scale, points, bigswitch, model, fluid",
        ),
        ("packet", {"quick": True}, "quick: has no meaning for packet, only for scale"),
        (
            "scale",
            {"flows": 5},
            "flows: has no meaning for scale, only for packet, model and fluid",
        ),
        ("scale", {"runs": 0}, "runs: 0 is not at least 1"),
    ],
)
def test_what_an_area_does_not_take(area: str, given: dict[str, Any], error: str) -> None:
    with pytest.raises(SpecError) as raised:
        bench.measure(area, **({"flows": None, "runs": 1, "say": print} | given))
    assert str(raised.value) == error
