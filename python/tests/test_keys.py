"""Every key says something: a change of it changes the result, or a message names it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fctlab
from fctlab import SpecError
from fctlab.slo import planning
from tests.keys import CASES, EXCEPTIONS, GAPS, SHARED, Case


def keys_of(schema: dict[str, Any]) -> set[str]:
    """Every key of a schema: of the top, `Place.key`, and `Place[kind].key` of parts."""
    found = set(schema["properties"])
    for name, definition in schema["$defs"].items():
        for choice in [definition, *definition.get("oneOf", []), *definition.get("anyOf", [])]:
            kind = choice.get("properties", {}).get("kind", {}).get("const")
            is_changes = "oneOf" in definition and kind is None
            for key in () if is_changes else choice.get("properties", {}):
                if key != "kind":
                    found.add(f"{name}[{kind}].{key}" if kind else f"{name}.{key}")
    return found


def laws() -> Iterator[Case]:
    """A specification's own keys, and those of the link model."""
    value: Any
    sizes = {"kind": "websearch_bytes"}
    bursts = {"kind": "lognormal", "sigma": 1.0}
    tail = {"name": "tail", "metric": "p99", "from": "1KB", "below": "1MB"}
    one = {"name": "a", "flowsizes": sizes, "load": 0.4, "interarrivals": bursts, "slis": [tail]}
    two = {"name": "b", "flowsizes": sizes, "load": 0.4, "weight": 3.0}
    network = {"link": "100Gbps", "rtt": "10us"}

    def spec(**tables: Any) -> dict[str, Any]:
        return {"network": network, "classes": [one, two], **tables}

    yield Case("name", spec(), "name", "other")
    yield Case("seed", spec(), "seed", 2)
    yield Case("network", spec(), "network", {"link": "50Gbps", "rtt": "5us"})
    yield Case("queue", spec(), "queue", "fifo")
    yield Case("cc", spec(), "cc", "swp-h")
    yield Case("classes", spec(), "classes", [one])
    for key, value in (("link", "200Gbps"), ("rtt", "20us"), ("fct_ends", "delivery")):
        yield Case(f"NetworkSpec.{key}", spec(), f"network.{key}", value)
    meant = spec(network={**network, "overload": True}, classes=[{**one, "load": 0.7}, two])
    yield Case("NetworkSpec.overload", meant, "network.overload", False)
    for kind in ("priority", "wrr", "drr", "wfq"):
        scenario = spec(queue={"kind": kind})
        yield Case(f"QueueSpec[{kind}].inside", scenario, "queue.inside", "fq")
    for preset, key, value in (
        ("swp-d", "r_init", "20Gbps"),
        ("swp-d", "start", "ideal"),
        ("swp-d", "u_target", 0.8),
        ("swp-d", "thresh", "10KB"),
        ("swp-d", "beta", 1.0),
        ("swp-d", "eta", 1.0),
        ("hpcc", "law", "rate"),
        ("hpcc", "additive_increase", 0.1),
        ("dctcp-rate", "gain", 0.9),
        ("dctcp-rate", "rise", "20KB"),
        ("dctcp-rate", "min_rate", 0.9),
        ("hpcc", "window_counts", "wire"),
        ("hpcc", "scope", "class"),
        ("hpcc", "payload", "500B"),
        ("hpcc", "header", "20B"),
        ("hpcc", "preset", "dctcp-rate"),
    ):
        yield Case(f"Control.{key}", spec(cc={"preset": preset}), f"cc.{key}", value)
    for key, value in (
        ("name", "c"),
        ("flowsizes", "google_rpc"),
        ("interarrivals", "poisson"),
        ("load", 0.2),
        ("rate", "10Gbps"),
        ("trace", "no-such.csv"),
        ("repeat", "1ms"),
        ("weight", 2.0),
        ("slis", []),
        ("slo", "tail < 2"),
    ):
        yield Case(f"ClassSpec.{key}", spec(), f"classes.0.{key}", value)
    gaps = "classes.0.interarrivals"
    yield Case("Interarrivals[lognormal].sigma", spec(), f"{gaps}.sigma", 2.0)
    yield Case("Interarrivals[lognormal].mu", spec(), f"{gaps}.mu", 9.0)
    measured = spec(classes=[{**one, "interarrivals": {"kind": "measured", "cdf": GAPS}}])
    yield Case("Interarrivals[measured].cdf", measured, f"{gaps}.cdf", [[0.5, 0.0], [3.0, 1.0]])
    for key, value in (
        ("name", "end"),
        ("metric", "p50"),
        ("attr", "fct"),
        ("from", "100KB"),
        ("below", "10KB"),
    ):
        yield Case(f"SliSpec.{key}", spec(), f"classes.0.slis.0.{key}", value)
    yield Case("Metric.percentile", spec(), "classes.0.slis.0.metric", {"percentile": 90})


LAWS = list(laws())

APART = {
    "Control.scheme": "which scheme packets run; see test_packets",
    "ClassSpec.dscp": "nothing that is predicted depends on it; see test_operator",
    "ClassSpec.measured": "beside what is predicted; see test_operator",
    **{key: "those of scenarios" for key in keys_of(fctlab.schema()) if "SizesSpec" in key},
}


def once(keys: set[str]) -> set[str]:
    """`keys` with those that all transports share written once; the model's apart."""
    found = set()
    for key in keys:
        place, _, name = key.rpartition(".")
        shared = place.startswith("TransportSpec[") and name in SHARED
        found.add(f"TransportSpec.{name}" if shared else key)
    return {key for key in found if not key.startswith("Control.")}


def test_every_key_has_a_case() -> None:
    keys = once(keys_of(fctlab.schema()))
    known = {case.key for case in CASES} | set(EXCEPTIONS)
    assert keys - known == set()
    assert known - keys == set()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("keys")
    (folder / "cdf.csv").write_text("size_bytes,cumulative_probability\n1000,0\n50000,1\n")
    (folder / "racks.csv").write_text("1,2\n3,4\n")
    (folder / "other.csv").write_text("size_bytes,cumulative_probability\n2000,0\n90000,1\n")
    return folder


def said(scenario: fctlab.Scenario, out: Path) -> tuple[Any, ...]:
    """What a run tells: its flows, numbers and files."""
    records = bool(scenario.resolve()["record"])
    result = fctlab.run(scenario, out=out if records else None)
    report = {key: value for key, value in result.report.items() if key != "perf"}
    files = sorted((out / "recordings").iterdir()) if records else []
    return (
        result.flows.write_ipc(None).getvalue(),
        result.scenario["name"],
        result.scenario["scheme"]["name"],
        json.dumps(report),
        [(file.name, file.read_bytes()) for file in files],
    )


def test_every_key_of_a_specification_has_a_case() -> None:
    keys = keys_of(planning.schema())
    known = {case.key for case in LAWS} | set(APART)
    assert keys - known == set()
    assert known - keys == set()


@pytest.mark.parametrize("case", LAWS, ids=lambda case: case.key)
def test_a_change_of_a_specification_is_seen(case: Case) -> None:
    def told(spec: dict[str, Any]) -> tuple[Any, ...]:
        """Flows and SLIs."""
        found = planning.predict(spec, most_flows=300)
        flows = planning.flows(spec, 300).write_ipc(None).getvalue()
        return found.spec["name"], found.classes, flows

    try:
        changed = told(planning.load(case.scenario, [f"{case.path}={json.dumps(case.value)}"]))
    except SpecError as error:
        assert case.path.split(".")[-1] in str(error)
    else:
        assert changed != told(planning.load(case.scenario))


SAID: dict[str, tuple[Any, ...]] = {}
"""By scenario: many keys are changed in the same one."""


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.key)
def test_a_change_of_a_key_is_seen(case: Case, folder: Path, tmp_path: Path) -> None:
    usual = fctlab.Scenario(case.scenario, folder)
    changed = usual.set(case.path, case.value)
    text = json.dumps(case.scenario)
    before = SAID[text] = SAID.get(text) or said(usual, tmp_path / "before")
    try:
        after = said(changed, tmp_path / "after")
    except SpecError as error:
        assert case.path.split(".")[-1] in str(error) or case.path in str(error)
    else:
        assert after != before
