"""Errors of the engines, each provoked once: where it is, what is there and what is allowed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import fctlab
from fctlab.slo import planning
from fctlab.theory import bigswitch, proofs
from tests.keys import LEAF_SPINE, STAR, WEB, on
from tests.refusing import refuses
from tests.test_planning import spec


def port(discipline: Any, **keys: Any) -> dict[str, Any]:
    return {"transport": "dctcp", "tagger": "sent", "port": {"discipline": discipline, **keys}}


UNMARKED = {"preset": "dctcp-rate", "port": {"ecn_threshold": "none"}}
OF_TIERS = {"preset": "dctcp-rate", "ports": {"switch-down": {"ecn_threshold": "3KB"}}}
NAMED = {"a": "h->1", "b": "s", "rate": "1Gbps"}
PLACE = "scheme.port.discipline"
NO_MARKS = "scheme.port.ecn_threshold: is missing: dctcp-rate without marks never slows down"

SCENARIOS: list[tuple[dict[str, Any], str]] = [
    (on(3), "scheme: 3 is not a scheme: write a preset's name or a table"),
    (on({"tagger": "none"}), "scheme.transport: is missing; write one, or a preset"),
    (on(port(3)), f"{PLACE}: 3 is not a discipline: write its name or a table; known: fifo, pri"),
    (on(port({"kind": 3})), f"{PLACE}.kind: 3 is not the name of a discipline; known: fifo, prio"),
    (
        on({"transport": "dctcp", "tagger": {"kind": "none", "x": 3}}),
        "scheme.tagger.x: unknown key; no other keys are known here",
    ),
    (
        on(port({"kind": "priority", "thresholds": [10], "queues": 3})),
        f"{PLACE}.queues: follows from the thresholds, of which there is one less",
    ),
    (
        on(port({"kind": "priority", "thresholds": 5})),
        f"{PLACE}.thresholds: 5 is not a list of thresholds, nor the name of a published set",
    ),
    (
        on(port({"kind": "priority", "thresholds": ["soon"]})),
        f'{PLACE}.thresholds[0]: "soon" is not a threshold: write a number, a size such as "10KB"',
    ),
    (
        on(port({"kind": "strict", "classes": 2, "order": [0, 0]})),
        f"{PLACE}.order: [0, 0] does not hold each of 0 to 1 once",
    ),
    (
        on(port("fifo", ecn_threshold="9KB", ecn_at="departures", ecn_scope="queue")),
        'scheme.port.ecn_scope: "queue" has no meaning with ecn_at = "departures"',
    ),
    (
        on({"transport": {"kind": "hpcc", "int_bytes": "2KB"}}),
        "scheme.transport.int_bytes: 2KB is more than 1KB",
    ),
    (
        on(
            {"transport": {"kind": "hpcc", "int_bytes": "1KB"}},
            {**LEAF_SPINE, "base_rtt": "1ms"},
            packet={"payload": "65000B"},
        ),
        "packet.payload: 65KB with its header and 1000B of telemetry is above 65535B",
    ),
    (
        on({"transport": {"kind": "l2dct", "smallest_weight": 9.0}}),
        "scheme.transport.smallest_weight: 9 is above largest_weight",
    ),
    (
        on({"transport": {"kind": "l2dct", "falls_to": "1B"}}),
        "scheme.transport.falls_to: 1B is not above falls_from",
    ),
    (
        on({"transport": {"kind": "dctcp", "abc_limit": 0}}),
        'scheme.transport.abc_limit: 0 is not at least 1; write "none" for every packet',
    ),
    (
        on({"transport": {"kind": "dctcp-rate", "abc_limit": 2}}),
        "scheme.transport.abc_limit: dctcp-rate has a rate, which grows by time",
    ),
    (
        on({"transport": {"kind": "dctcp", "ack_delay": "0s"}}),
        "ack_delay: 0s is no time to wait; write ack_every = 1 for an ACK of each packet",
    ),
    (
        on(OF_TIERS, STAR, engine="model"),
        "scheme.ports.switch-down: has no meaning for the model; its one bottleneck is scheme.port",
    ),
    (on(UNMARKED, STAR, engine="model"), NO_MARKS),
    (on(UNMARKED, engine="fluid"), NO_MARKS),
    (
        on("dctcp", STAR, engine={"kind": "model", "cc": 3}),
        "engine.cc: 3 is not a congestion control: write a preset's name or a table",
    ),
    (
        on("dctcp-rate", STAR, engine={"kind": "model", "cc": {"payload": "0B"}}),
        "engine.cc.payload: 0B is not at least 1B",
    ),
    (
        on("dctcp", {"kind": "graph", "links": [NAMED, {**NAMED, "a": "h2"}]}),
        'topology.hosts[0].name: "h->1" is not a name; it is empty, or has "->" in it',
    ),
    (
        on("dctcp", record={"windows": {"flows": [99]}}),
        "flows[0]: 99 is not in [0, 39]: flows are numbered from 0 to traffic.flows - 1",
    ),
    (
        on("dctcp", traffic={**WEB, "share_of": "bytes"}),
        "traffic.share_of: has no meaning without classes",
    ),
    (on("dctcp", version="x"), 'version: "x" is not a version such as "0.'),
    (
        on("dctcp", base_rtt_s=3),
        "base_rtt_s: is computed from the topology; change topology.base_rtt, or delays and rates",
    ),
]


@pytest.mark.parametrize(("scenario", "says"), SCENARIOS, ids=[says for _, says in SCENARIOS])
def test_a_scenario_is_refused(scenario: dict[str, Any], says: str) -> None:
    refuses(says, fctlab.load_scenario(scenario).resolve)


def test_a_graph_is_in_a_file_or_here(tmp_path: Path) -> None:
    file = tmp_path / "graph.toml"
    ends = [f'[[links]]\na = "{host}"\nb = "s"\nrate = "1Gbps"\n' for host in ("h", "i")]
    file.write_text("".join(ends))
    both = on("dctcp", {"kind": "graph", "file": str(file), "links": [NAMED]})
    says = "topology.links: has no meaning beside file, which has them all"
    refuses(says, fctlab.load_scenario(both).resolve)


def test_a_graph_has_not_too_many_hosts() -> None:
    links = [{"a": f"h{i}", "b": "s", "rate": "1Gbps"} for i in range(65_536)]
    scenario = on("dctcp", {"kind": "graph", "links": links})
    refuses("topology: 65,536 hosts; at most 65,535", fctlab.load_scenario(scenario).resolve)


def test_thresholds_of_a_trace_without_flows(tmp_path: Path) -> None:
    trace = tmp_path / "late.csv"
    trace.write_text("start_s,src,dst,size_bytes\n1.0,0,1,1000\n")
    solved = port({"kind": "priority", "thresholds": "solve"})
    scenario = on(solved, traffic={"trace": str(trace), "duration": "1ns"})
    says = f"{PLACE}.thresholds: there are no flows whose sizes they could follow"
    refuses(says, fctlab.load_scenario(scenario).resolve)


def test_traffic_that_is_over_before_a_flow_starts() -> None:
    soon = {"workload": "websearch", "load": 0.5, "duration": "1ns"}
    says = "traffic: no flow starts, so that none is measured"
    refuses(says, fctlab.run, on("dctcp", STAR, soon))


ONE = {"packets": [1]}
MOST = 1 << 29

INSTANCES: list[tuple[list[dict[str, Any]], str]] = [
    (
        [{"packets": [[1, MOST], [2, 1]]}],
        "flows[0].packets: 536,870,913 packets are more than 536,870,912",
    ),
    ([{"packets": [[1, MOST]]}, ONE], "flows: 536,870,913 packets are more than 536,870,912"),
    ([{**ONE, "size": 3}], "flows[0].size: 3, but `packets` lists 1"),
    ([{**ONE, "every": 3}], "flows[0].every: does not go with `packets`"),
    (
        [{"arrival": 5, "size": 3, "every": 1 << 30}],
        "flows[0].every: the last packet would arrive in slot 2147483653",
    ),
    ([{**ONE, "weight": 65_535}] * 65_538, "flows: weights add up to 4295032830, 2^32 or more"),
]


@pytest.mark.parametrize(("flows", "says"), INSTANCES, ids=[says for _, says in INSTANCES])
def test_an_instance_is_refused(flows: list[dict[str, Any]], says: str) -> None:
    refuses(says, bigswitch.load, {"flows": flows})


def test_what_no_construction_has() -> None:
    refuses("number: 4 is not 1, 2 or 3", bigswitch.ask, "figure", number=4)
    refuses("n: 0 is not in [1, 2000]", proofs.family, "golden", 0)
    says = "n: 0 is not at least 1, or makes more than 536,870,912 packets"
    refuses(says, proofs.theorem3, 0)
    says = "policy: a fixed order of flows has no adversary"
    refuses(says, proofs.theorem1, {"kind": "fixed", "ranks": [1, 2]}, 2)
    refuses('policy: "srpt" is not "ga"', proofs.theorem8, "srpt", 1)
    refuses('policy: "srpt" is not "ga"', bigswitch.search, "srpt", objective="residual-optimum")


def first_class(**keys: Any) -> dict[str, Any]:
    """Two classes, of which the first has these keys."""
    made = spec()
    made["classes"][0].update(keys)
    return made


RARE = [{"name": "tail", "metric": "p99.99"}]

SPECIFICATIONS: list[tuple[dict[str, Any], str]] = [
    (
        first_class(load=1e-12),
        "classes.a.load: 1.000e-2 bits per second is not in [1, 4e12]",
    ),
    (
        first_class(load=1e-9, slis=RARE),
        "classes: 4,960,000,000 s would have to be simulated for the SLIs; at most 18,000,000 s "
        "are: widen the size range of the rarest, or lower its percentile",
    ),
    (
        first_class(interarrivals={"kind": "poisson", "mu": 3}),
        "classes.a.interarrivals.mu: has a meaning for lognormal only",
    ),
]


@pytest.mark.parametrize(
    ("specification", "says"), SPECIFICATIONS, ids=[says for _, says in SPECIFICATIONS]
)
def test_a_specification_is_refused(specification: dict[str, Any], says: str) -> None:
    refuses(says, planning.predict, specification)


def test_a_queue_without_weights_has_no_plan() -> None:
    says = 'queue: "fifo" has no weights to plan; write wfq, drr or wrr'
    refuses(says, planning.plan, spec(queue="fifo"))
