"""What is said of a scenario before it is simulated: its load, and parts that do not meet."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pytest

import fctlab
from fctlab import SpecError, SpecWarning
from fctlab.slo import planning
from tests.conftest import SCENARIOS, SMALL, Program

DEEP = {"preset": "dctcp", "port": {"ecn_threshold": "10MB"}}
SAID = (
    "scheme.port.ecn_threshold: 10MB is not below the buffer (240pkt + 2rtt) of a port of 10Gbps: "
    "no packet is ever marked there"
)


def changed(**tables: dict[str, Any]) -> dict[str, Any]:
    """`SMALL` with other keys in its tables."""
    return {**SMALL, **{name: {**SMALL.get(name, {}), **keys} for name, keys in tables.items()}}


def test_a_warning_is_given_once_and_kept() -> None:
    with pytest.warns(SpecWarning) as found:
        result = fctlab.run(SMALL | {"scheme": DEEP})
    assert [str(each.message) for each in found] == result.report["warnings"] == [SAID]
    schemes = {"deep": DEEP, "usual": "dctcp"}
    with pytest.warns(SpecWarning) as found:
        fctlab.compare(SMALL | {"schemes": schemes}, ["deep", "usual"], seeds=2)
    assert [str(each.message) for each in found] == [f"{SAID} (deep)"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fctlab.run(SMALL)


def test_the_program_warns_on_stderr_and_shows_the_load(program: Program, small: Path) -> None:
    arguments = ("run", small, "--set", "scheme.port.ecn_threshold=10MB")
    done = program(*arguments)
    assert done.stderr.splitlines() == [f"warning: {SAID}"]
    assert "offered to the busiest links: host -> leaf 51.3%" in done.stdout
    done = program(*arguments, "--json", "--out", "out")
    found = json.loads(done.stdout)
    assert found["warnings"] == [SAID]
    tier = found["offered"][0]
    assert tier["tier"] == "host -> leaf" and tier["load"] == pytest.approx(0.5134, abs=1e-3)
    assert tier["load"] == pytest.approx(sum(tier[k] for k in PARTS))
    report = json.loads((small.parent / "out" / "report.json").read_text())
    assert report["offered"] == found["offered"]


PARTS = ("data", "headers", "telemetry", "acks")


def test_overload_is_refused_and_high_load_is_warned_of() -> None:
    narrow = changed(topology={"fabric_rate": "4Gbps"})
    with pytest.raises(
        SpecError, match=r"^traffic.load: offers links (leaf -> spine|spine -> leaf) 1\.1"
    ):
        fctlab.run(narrow)
    with pytest.raises(SpecError, match=r"traffic\.overload = true"):
        fctlab.compare(narrow, ["dctcp"])
    meant = changed(topology={"fabric_rate": "4Gbps"}, traffic={"overload": True})
    assert fctlab.run(meant).report["warnings"] == []
    with pytest.warns(SpecWarning, match=r"depends on how long the run is"):
        fctlab.run(changed(traffic={"load": 0.94}))


def test_a_trace_is_warned_of_and_never_refused(tmp_path: Path) -> None:
    def trace(flows: int) -> dict[str, Any]:
        rows = [f"{i / 1e6:.6f},0,{1 + i % 2},15000" for i in range(flows)]  # 120 Gbps
        (tmp_path / "flows.csv").write_text("\n".join(["start_s,src,dst,size_bytes", *rows]))
        return SMALL | {"traffic": {"trace": str(tmp_path / "flows.csv")}}

    with pytest.warns(SpecWarning, match=r"^traffic.trace: offers links host -> leaf 12\."):
        fctlab.run(trace(1000))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fctlab.run(trace(999)).report["offered"] == []  # a burst


@pytest.mark.parametrize(
    ("ends", "measure", "error"),
    [
        (
            {"duration": "1ms"},
            {"warmup": "10s"},
            "measure.warmup: 10s: no flow is measured; the last of",
        ),
        ({}, {"max_time": "1ns"}, "measure.max_time: 1ns: no flow has started by then"),
        ({}, {"window": "1ns"}, "measure.window: no flow is measured: none of 300 starts from"),
    ],
)
def test_nothing_measured_is_an_error(
    ends: dict[str, str], measure: dict[str, Any], error: str
) -> None:
    scenario = changed(traffic=ends, measure=measure)
    for work in (fctlab.run, lambda s: fctlab.compare(s, ["dctcp"])):
        with pytest.raises(SpecError) as found:
            work(scenario)
        assert str(found.value).startswith(error)


def test_specifications() -> None:
    spec = planning.load(SCENARIOS / "slo-two-classes.toml", ["queue=priority"])
    spec["classes"][1]["weight"] = 3.0
    with pytest.warns(SpecWarning, match="storage.weight: a queue of kind priority has no weights"):
        found = planning.predict(spec, most_flows=300)
    assert len(found.warnings) == 1
    for each in spec["classes"]:
        each["slis"] = []
        del each["slo"]
    with pytest.raises(SpecError, match="classes: no class has an SLI to predict; write slis"):
        planning.predict(spec, most_flows=300)


def test_messages(program: Program, small: Path) -> None:
    """Each names what was written, where it was written."""
    mistakes = [
        (("run", small, "--set", "traffic.load=nan"), 'traffic.load: "nan" is not in (0, 1)'),
        (
            ("run", small, "--set", "topology.host_rate=1000000Tbps"),
            'topology.host_rate: "1000000Tbps" is not a rate above zero and at most 8Tbps',
        ),
        (("run", small, "--set", "version=new"), 'version: "new" is not a version'),
        (("run", small, "--set", 'version="9.9.9"'), "version: 9.9.9 is later than this fctlab"),
        (
            ("compare", small, "--set", "schemes.mine.transport.kind=tpc", "--schemes", "mine"),
            "schemes.mine.transport.kind: ",
        ),
        (
            ("run", small, "--set", "topology.base_rtt=1us"),
            "topology.base_rtt: 1us is less than transmissions and host delays take (4.93 us)",
        ),
        (
            ("predict", SCENARIOS / "slo-two-classes.toml", "--set", "classes.storage.wieght=3"),
            "classes.storage.wieght: unknown key",
        ),
    ]
    for arguments, error in mistakes:
        done = program(*arguments)
        assert done.returncode == 2 and f"error: --set {error}" in done.stderr
    bare = program()
    assert "Usage" in bare.stdout + bare.stderr and "error:" not in bare.stderr
    with pytest.raises(SpecError, match="schemes: 'dctcp' is text, not a list of names"):
        fctlab.compare(SMALL, "dctcp")


def test_the_model_names_what_it_does_not_read() -> None:
    star = {"kind": "star", "senders": 4, "host_rate": "10Gbps", "base_rtt": "20us"}
    own = {"transport": {"initial_window": "3pkt", "g": 0.2}, "port": {"buffer": "20KB"}}
    scenario = {
        "topology": star,
        "traffic": {"workload": "websearch", "load": 0.5, "flows": 20},
        "scheme": {"preset": "dctcp-rate", **own},
        "engine": "model",
    }
    said = "engine: the model reads nothing of scheme.transport.initial_window, scheme.port.buffer"
    assert fctlab.load_scenario(scenario).resolve().warnings == [said]
    usual = fctlab.load_scenario(scenario | {"scheme": "dctcp-rate"})
    assert usual.resolve().warnings == []


def test_no_flow_of_the_model_beats_its_ideal() -> None:
    """Where a packet takes no whole number of picoseconds."""
    star = {"kind": "star", "senders": 8, "host_rate": "7Gbps", "base_rtt": "20us"}
    traffic = {"workload": "websearch", "load": 0.3, "flows": 2000}
    scenario = {"topology": star, "traffic": traffic, "scheme": "dctcp-rate", "engine": "model"}
    for ends in ("delivery", "ack"):
        flows = fctlab.run(scenario | {"measure": {"fct_ends": ends}}).flows
        assert flows["finished"].all() and flows["slowdown"].min() == 1.0
