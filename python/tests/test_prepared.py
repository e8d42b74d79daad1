"""What is wrong is found before anything is simulated."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fctlab
from fctlab import SpecError
from fctlab.results import comparison, simulation
from fctlab.results.points import PointStore
from fctlab.studies.framework import runner
from fctlab.studies.framework.cells import Cell
from tests.conftest import SMALL

STAR = {"kind": "star", "senders": 4, "host_rate": "10Gbps", "base_rtt": "20us"}
TRAFFIC: dict[str, Any] = SMALL["traffic"]
TWO = {"kind": "wfq", "weights": [1, 1]}
THREE = {"classes": [{"class": name, "load": 0.1} for name in "abc"]}
LATE = "start_s,src,dst,size_bytes\n" + "0,0,1,1000\n" * 50_000

BAD: dict[str, tuple[dict[str, Any], str]] = {
    "a port that serves two of three classes": (
        {
            "traffic": {"workload": TRAFFIC["workload"], "flows": 30, **THREE},
            "scheme": {
                "preset": "dctcp",
                "port": {"discipline": {"kind": "wfq", "weights": [1, 1]}},
            },
        },
        "scheme.port.discipline: wfq serves 2 of the 3 classes",
    ),
    "a fanin that no star can have": (
        {
            "topology": STAR,
            "traffic": TRAFFIC | {"pattern": {"kind": "incast", "fanin": 9}},
        },
        r"traffic.pattern.fanin: 9 is not in \[1, 4\]",
    ),
    "a trace that does not exist": ({"traffic": {"trace": "none.csv"}}, "traffic.trace"),
    "a trace with a row that is none": (
        {"traffic": {"trace": "late.csv"}},
        "traffic.trace.*late.csv.*line 50002",
    ),
    "a trace to a host that is not there": (
        {"traffic": {"trace": "far.csv"}},
        "traffic.trace.*far.csv.*line 2",
    ),
    "the model and flows to several hosts": (
        {"topology": STAR, "traffic": {"trace": "late.csv"}, "scheme": "hpcc", "engine": "model"},
        "traffic",
    ),
    "sizes in a file that is no CDF": (
        {"traffic": TRAFFIC | {"workload": {"kind": "cdf", "file": "far.csv"}}},
        "traffic.workload",
    ),
    "a link that is not there": (
        {"capacity": [{"links": ["leaf 0 -> host 9"], "changes": [{"at": "0s", "rate": "1Gbps"}]}]},
        r"capacity\[0\].links\[0\]",
    ),
    "a port to record that is not there": (
        {"record": {"ports": {"interval": "1us", "which": ["leaf 7 -> host 0"]}}},
        "record.ports",
    ),
    "more than links carry": (
        {"topology": SMALL["topology"] | {"fabric_rate": "1Gbps", "base_rtt": "60us"}},
        "traffic.load: offers",
    ),
    "a window of nothing": ({"measure": {"window": "0s"}}, "measure.window"),
    "telemetry that no packet holds": (
        {"scheme": {"preset": "hpcc", "transport": {"int_bytes": "70KB"}}},
        "packet.payload",
    ),
    "a mapping that is not there": (
        {
            "scheme": {
                "preset": "ads",
                "port": {"discipline": {"mapping": {"kind": "static", "thresholds": "none.json"}}},
            }
        },
        "scheme.port.discipline",
    ),
    "the model of a fabric": ({"scheme": "hpcc", "engine": "model"}, "engine: the model has one"),
}


@pytest.fixture
def simulated(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[object]:
    """What was simulated, where `BAD` finds its files."""
    monkeypatch.chdir(tmp_path)
    Path("late.csv").write_text(LATE + "0,0,one,1000\n")
    Path("far.csv").write_text("start_s,src,dst,size_bytes\n0,0,99,1000\n")
    runs: list[object] = []
    for module in (comparison, simulation):
        monkeypatch.setattr(module, "simulate", lambda *arguments: runs.append(arguments))
    return runs


def by_compare(good: dict[str, Any], bad: dict[str, Any]) -> None:
    fctlab.compare({"runs": [{"scenario": good}, {"scenario": bad}]})


def by_study(good: dict[str, Any], bad: dict[str, Any]) -> None:
    cells = [Cell("good", good), Cell("bad", bad)]
    work = runner.Work(PointStore("out/store", create=True), 1)
    runner.run(cells, 1, Path("out"), work)


@pytest.mark.parametrize("by", [by_compare, by_study])
@pytest.mark.parametrize("name", BAD)
def test_no_run_is_started(
    name: str,
    by: Callable[[dict[str, Any], dict[str, Any]], None],
    simulated: list[object],
) -> None:
    tables, error = BAD[name]
    with pytest.raises(SpecError, match=error):
        by(SMALL, SMALL | tables)
    assert simulated == []


def test_what_is_prepared_pickles_as_its_text() -> None:
    prepared = fctlab.load_scenario(SMALL).resolve()
    again = pickle.loads(pickle.dumps(prepared))
    assert again == prepared
    assert len(pickle.dumps(prepared)) < 10_000
    assert fctlab.run(again).flows.equals(fctlab.run(SMALL).flows)
