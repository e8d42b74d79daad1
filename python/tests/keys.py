"""A case for every key of a scenario: one that has it, and what to change there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

LEAF_SPINE = {
    "kind": "leaf-spine",
    "leaves": 2,
    "spines": 2,
    "hosts_per_leaf": 4,
    "host_rate": "10Gbps",
    "fabric_rate": "10Gbps",
    "base_rtt": "20us",
}
STAR = {"kind": "star", "senders": 8, "host_rate": "10Gbps", "base_rtt": "20us"}
WEB = {"workload": "websearch", "load": 0.6, "flows": 40}
PORT = {"buffer": "60KB", "ecn_threshold": "15KB"}
"""Small enough to lose packets."""


class Case(NamedTuple):
    """One key, a scenario that has it, and what to change there."""

    key: str
    scenario: dict[str, Any]
    path: str
    value: Any


def on(
    scheme: Any, topology: dict[str, Any] = LEAF_SPINE, traffic: dict[str, Any] = WEB, **tables: Any
) -> dict[str, Any]:
    return {"topology": topology, "traffic": traffic, "scheme": scheme, **tables}


def transports() -> Iterator[Case]:
    """The rule of each transport, and what all senders share once, where windows reach it."""
    lossy = {"kind": "tcp", "initial_window": "40pkt", "min_rto": "100us"}
    timers = {"kind": "mintcp", "initial_window": "100pkt", "min_rto": "45us"}
    deaf = {"kind": "dctcp", "initial_window": "40pkt", "fast_retransmit": False}
    late = {"kind": "dctcp", "ack_every": 3}
    paced = {"kind": "dctcp-rate"}
    ascc = {"kind": "ascc", "initial_window": "30pkt"}
    changes: list[tuple[dict[str, Any], str, Any]] = [
        ({"kind": "tcp"}, "initial_window", "3pkt"),
        ({"kind": "tcp"}, "max_window", "5pkt"),
        (timers, "window_limits", "sequence"),
        ({"kind": "dctcp"}, "reduction", "prr"),
        ({"kind": "tcp"}, "connections", "persistent"),
        ({"kind": "tcp"}, "handshake", True),
        (lossy, "rto", "fixed"),
        (lossy | {"min_rto": "30us"}, "rto", "above-rtt"),
        (lossy, "min_rto", "700us"),
        (lossy, "initial_rto", "900us"),
        (timers | {"rto_backoff": True}, "max_rto", "50us"),
        (timers, "rto_backoff", True),
        (lossy, "rto_restarts", "first-again"),
        (lossy, "fast_retransmit", False),
        (lossy, "dupack_threshold", 40),
        (timers, "probe_after", 1),
        ({"kind": "dctcp"}, "ack_every", 2),
        (late, "ack_delay", "20us"),
        (late, "quick_acks", 16),
        (late, "abc_limit", "none"),
        ({"kind": "dctcp"}, "ack_jitter", "1us"),
        ({"kind": "dctcp"}, "g", 0.9),
        ({"kind": "dctcp"}, "initial_alpha", 0.1),
        ({"kind": "dctcp"}, "echoes", "grow"),
        (deaf, "holes", "after-cut"),
        ({"kind": "l2dct"}, "g", 0.9),
        ({"kind": "l2dct"}, "initial_alpha", 0.1),
        ({"kind": "l2dct"}, "largest_weight", 4.0),
        ({"kind": "l2dct"}, "smallest_weight", 1.0),
        ({"kind": "l2dct"}, "falls_from", "10KB"),
        ({"kind": "l2dct"}, "falls_to", "5MB"),
        ({"kind": "l2dct"}, "growth", 3.0),
        ({"kind": "l2dct"}, "increase", "ns2"),
        ({"kind": "l2dct"}, "echoes", "grow"),
        (paced, "g", 0.9),
        (paced, "initial_alpha", 0.1),
        (paced, "min_rate", 0.5),
        (paced, "increase", "5pkt"),
        ({"kind": "hpcc"}, "eta", 0.5),
        ({"kind": "hpcc"}, "max_stage", 0),
        ({"kind": "hpcc"}, "additive_increase", 0.1),
        ({"kind": "hpcc"}, "int_bytes", "100B"),
        ({"kind": "hpcc"}, "min_rate", 0.9),
        ({"kind": "hpcc"}, "window_counts", "wire"),
        (ascc, "g", 0.9),
        (ascc, "initial_alpha", 0.1),
        (ascc, "retransmit_when_complete", False),
        (ascc, "adjust_window_when_complete", False),
        (ascc, "ignore_ecn_of_incomplete", False),
        (ascc, "complete_window", "90pkt"),
    ]
    for transport, key, value in changes:
        kind = transport["kind"]
        shared = key in SHARED
        traffic = WEB | ({"spacing": 1.0} if kind == "ascc" else {})
        tagger = "complete" if kind == "ascc" else "none"
        port = PORT | ({"discipline": "ascc"} if kind == "ascc" else {})
        scenario = on({"transport": transport, "tagger": tagger, "port": port}, traffic=traffic)
        name = f"TransportSpec.{key}" if shared else f"TransportSpec[{kind}].{key}"
        yield Case(name, scenario, f"scheme.transport.{key}", value)


SHARED = {
    *("initial_window", "max_window", "window_limits", "connections"),
    *("reduction", "handshake"),
    *("rto", "min_rto", "initial_rto", "max_rto"),
    *("rto_backoff", "rto_restarts", "fast_retransmit", "dupack_threshold", "holes", "probe_after"),
    *("ack_every", "ack_delay", "quick_acks", "ack_jitter", "abc_limit"),
}
"""Keys that all transports have."""


def schemes() -> Iterator[Case]:
    """Taggers, ports, NICs, shapers, routing and the scheme's own keys."""
    value: Any
    both = {**WEB, "classes": [{"class": "a"}, {"class": "b"}]}
    usual = {"transport": {"kind": "dctcp", "initial_window": "30pkt"}, "port": PORT}
    yield Case("SchemeSpec.name", on(usual), "scheme.name", "another")
    yield Case("SchemeSpec.transport", on(usual), "scheme.transport.kind", "tcp")
    yield Case("SchemeSpec.preset", on("dctcp"), "scheme", {"preset": "pfabric"})
    yield Case("SchemeSpec.routing", on(usual), "scheme.routing", "spray-random")
    las = {**usual, "tagger": "sent", "port": {**PORT, "discipline": "srpt"}}
    yield Case("SchemeSpec.tagger", on(las), "scheme.tagger", "remaining")
    yield Case("SchemeSpec.port", on(usual), "scheme.port.discipline", "fq")
    yield Case("SchemeSpec.nic", on(usual), "scheme.nic.discipline", "fq")
    tier = {"leaf-down": {"ecn_threshold": "3KB"}}
    yield Case("SchemeSpec.ports", on(usual), "scheme.ports", tier)
    yield Case("ports", on(usual), "ports", tier)
    shaper = {"rate": "5Gbps", "bucket": "10pkt"}
    yield Case("SchemeSpec.shaper", on(usual), "scheme.shaper", shaper)
    shaped = on({**usual, "shaper": shaper}, traffic=both)
    yield Case("ShaperSpec.rate", shaped, "scheme.shaper.rate", "8Gbps")
    yield Case("ShaperSpec.bucket", shaped, "scheme.shaper.bucket", "50pkt")
    yield Case("ShaperSpec.per", shaped, "scheme.shaper.per", "class")
    for key, value in (
        ("discipline", "fq"),
        ("buffer", "1MB"),
        ("ecn_threshold", "3KB"),
        ("ecn_at", "dequeue"),
    ):
        yield Case(f"PortSpec.{key}", on(usual), f"scheme.port.{key}", value)
        whole = on({**usual, "nic": {"per_flow_limit": "none"}})
        yield Case(f"NicSpec.{key}", whole, f"scheme.nic.{key}", value)
    yield Case("NicSpec.per_flow_limit", on(usual), "scheme.nic.per_flow_limit", "none")
    priority = {"kind": "priority", "thresholds": [10_000, 100_000]}
    queues = {**usual, "tagger": "sent", "port": {**PORT, "discipline": priority}}
    pfabric = {**las, "tagger": "remaining"}
    for place in ("port", "nic"):
        name = f"{'Port' if place == 'port' else 'Nic'}Spec"
        whole = {"nic": {"per_flow_limit": "none"}}
        yield Case(f"{name}.ecn_scope", on(queues | whole), f"scheme.{place}.ecn_scope", "queue")
        lossy = on({**pfabric, "transport": {"kind": "tcp", "initial_window": "60pkt"}, **whole})
        yield Case(f"{name}.drop", lossy, f"scheme.{place}.drop", "lowest-priority")
    yield Case("QueueSpec[priority].thresholds", on(queues), PLACE + "thresholds", [50_000])
    yield Case("Tagger[sent].granularity", on(queues), "scheme.tagger.granularity", "64KB")
    solved = {**queues, "port": {**PORT, "discipline": {"kind": "priority", "thresholds": "solve"}}}
    yield Case("QueueSpec[priority].queues", on(solved), PLACE + "queues", 2)
    yield Case("QueueSpec[srpt].starvation_prevention", on(pfabric), PLACE + STARVES, False)
    ascc = {"transport": "ascc", "tagger": "complete", "port": {**PORT, "discipline": "ascc"}}
    spaced = on(ascc, traffic={**WEB, "spacing": 1.0, "load": 0.9, "overload": True})
    yield Case("QueueSpec[ascc].starvation_prevention", spaced, PLACE + STARVES, False)
    weights = {"weights": [1, 3]}
    for table, key, value in (
        ({"kind": "wrr", **weights}, "weights", [9, 1]),
        ({"kind": "drr", **weights}, "weights", [9, 1]),
        ({"kind": "wfq", **weights}, "weights", [9, 1]),
        ({"kind": "wrr", **weights}, "inside", "fq"),
        ({"kind": "drr", **weights}, "inside", "fq"),
        ({"kind": "wfq", **weights}, "inside", "fq"),
        ({"kind": "strict", "classes": 2}, "inside", "fq"),
        ({"kind": "drr", **weights}, "quantum", "20KB"),
        ({"kind": "strict", "classes": 2}, "classes", 1),
        ({"kind": "strict", "classes": 2}, "order", [1, 0]),
    ):
        scheme = {**usual, "port": {**PORT, "discipline": table}, "nic": {"discipline": "fifo"}}
        yield Case(f"QueueSpec[{table['kind']}].{key}", on(scheme, STAR, both), PLACE + key, value)
    adaptive = {"kind": "awafs", "thresholds": ["7KB", "14KB"], "percentiles": [0.1, 0.2]}
    adaptive |= {"window": "4ms", "interval": "1ms"}
    for key, value in (
        ("thresholds", ["100KB", "900KB"]),
        ("percentiles", "equal-bytes"),
        ("window", "1ms"),
        ("interval", "300us"),
    ):
        scheme = {**usual, "tagger": "sent", "port": {**PORT, "discipline": adaptive}}
        yield Case(f"QueueSpec[awafs].{key}", on(scheme), PLACE + key, value)


PLACE = "scheme.port.discipline."
STARVES = "starvation_prevention"


def mapped() -> Iterator[Case]:
    """ADS: what hosts estimate, and how ports map it to queues."""
    value: Any
    ads = {"transport": "tcp", "tagger": "outstanding"}

    def scheme(mapping: Any, **keys: Any) -> dict[str, Any]:
        port = {**PORT, "discipline": {"kind": "mapped", "queues": 3, "mapping": mapping, **keys}}
        return on({**ads, "port": port})

    dynamic = {"kind": "dynamic", "interval": "500us", "window": 4}
    static = {"kind": "static", "thresholds": [2, 100]}
    for key, value in (("cap", "20KB"), ("write_buffer", "30KB"), ("mtu", "9000B")):
        yield Case(f"Tagger[outstanding].{key}", scheme(dynamic), f"scheme.tagger.{key}", value)
    mapping = PLACE + "mapping."
    yield Case("QueueSpec[mapped].queues", scheme(dynamic), PLACE + "queues", 8)
    yield Case("QueueSpec[mapped].mapping", scheme(dynamic), PLACE + "mapping", static)
    yield Case("Mapping[static].thresholds", scheme(static), mapping + "thresholds", [50, 200])
    none = {"kind": "static", "file": "no-such.json"}
    yield Case("Mapping[static].file", scheme(static), PLACE + "mapping", none)
    yield Case("Mapping[dynamic].interval", scheme(dynamic), mapping + "interval", "3ms")
    yield Case("Mapping[dynamic].window", scheme(dynamic), mapping + "window", 1)
    least = {"kind": "least-slowdown"}
    yield Case("Mapping[dynamic].policy", scheme(dynamic), mapping + "policy", least)
    policy = scheme({**dynamic, "policy": least})
    for key, value in (
        ("initial_window", 100),
        ("path_delay", 200),
        ("burst", 300),
        ("sharing_exponent", 0.5),
    ):
        yield Case(f"MappingPolicy[least-slowdown].{key}", policy, f"{mapping}policy.{key}", value)
    srtf = {
        "transport": "dctcp",
        "tagger": "remaining-time",
        "port": {**PORT, "discipline": {"kind": "priority", "thresholds": [50_000, 500_000]}},
    }
    yield Case("Tagger[remaining-time].size", on(srtf), "scheme.tagger.size", "remaining")
    yield Case("Tagger[remaining-time].bandwidth", on(srtf), "scheme.tagger.bandwidth", "available")


def traffic() -> Iterator[Case]:
    """Flows: sizes, gaps, pairs, classes, traces."""
    value: Any
    table: Any
    many = {**WEB, "flows": 200}
    for key, value in (
        ("workload", "datamining"),
        ("load", 0.3),
        ("load_counts", "payload"),
        ("arrivals", {"kind": "lognormal", "sigma": 2.0}),
        ("pattern", "permutation"),
        ("flows", 30),
        ("duration", "1ms"),
        ("class", "storage"),
        ("spacing", 2.0),
        ("trace", "no-such.csv"),
        ("classes", [{"class": "a"}]),
    ):
        yield Case(f"TrafficSpec.{key}", on("dctcp"), f"traffic.{key}", value)
    narrow = {**LEAF_SPINE, "fabric_rate": "1Gbps", "base_rtt": "60us"}
    narrow = on("dctcp", narrow, {**WEB, "overload": True})
    yield Case("TrafficSpec.overload", narrow, "traffic.overload", False)
    mix = [{"class": "a", "share": 1.0, "workload": "cache"}, {"class": "b"}]
    classes = on("dctcp", traffic={**WEB, "classes": mix})
    yield Case("TrafficSpec.share_of", classes, "traffic.share_of", "flows")
    for key, value in (
        ("class", "c"),
        ("workload", "hadoop"),
        ("share", 9.0),
        ("arrivals", {"kind": "lognormal", "sigma": 1.0}),
        ("pattern", "permutation"),
        ("from", "500us"),
        ("until", "500us"),
    ):
        yield Case(f"ClassSpec.{key}", classes, f"traffic.classes.0.{key}", value)
    own = [{"class": "a", "load": 0.2}, {"class": "b", "load": 0.3}]
    rest = {key: value for key, value in WEB.items() if key != "load"} | {"classes": own}
    loads = on("dctcp", traffic=rest)
    yield Case("ClassSpec.load", loads, "traffic.classes.0.load", 0.4)
    for workload in ("websearch", "datamining", "cache", "hadoop", "imc10"):
        scenario = on("dctcp", traffic={**many, "workload": {"kind": workload}})
        key = f"SizesSpec[{workload}].interpolation"
        yield Case(key, scenario, "traffic.workload.interpolation", "step")
    for workload in ("websearch_bytes", "facebook_hadoop_bytes", "alibaba_storage", "google_rpc"):
        scenario = on("dctcp", traffic={**many, "workload": {"kind": workload}})
        key = f"SizesSpec[{workload}].interpolation"
        yield Case(key, scenario, "traffic.workload.interpolation", "step")
    for table, key, value in (
        ({"kind": "fixed", "size": "50KB"}, "size", "60KB"),
        ({"kind": "uniform", "sizes": ["2KB", "30KB"]}, "sizes", ["5KB", "9KB"]),
        (BIMODAL, "small", "3KB"),
        (BIMODAL, "large", "2MB"),
        (BIMODAL, "small_share", 0.2),
        ({"kind": "cdf", "file": "cdf.csv"}, "file", "other.csv"),
        ({"kind": "cdf", "file": "cdf.csv"}, "interpolation", "step"),
    ):
        scenario = on("dctcp", traffic={**WEB, "workload": table})
        yield Case(f"SizesSpec[{table['kind']}].{key}", scenario, f"traffic.workload.{key}", value)
    for table, key, value in (
        ({"kind": "lognormal", "sigma": 1.0}, "sigma", 2.5),
        ({"kind": "measured", "cdf": GAPS}, "cdf", [[0.5, 0.0], [3.0, 1.0]]),
    ):
        scenario = on("dctcp", traffic={**WEB, "arrivals": table})
        path = f"traffic.arrivals.{key}"
        yield Case(f"ArrivalsSpec[{table['kind']}].{key}", scenario, path, value)
    bursts = on("dctcp", traffic={**WEB, "arrivals": "lognormal"})
    yield Case("TrafficSpec.per", bursts, "traffic.per", "class")
    both = {**WEB, "arrivals": "lognormal", "classes": [{"class": "a"}, {"class": "b"}]}
    yield Case("ClassSpec.per", on("dctcp", traffic=both), "traffic.classes.0.per", "pair")
    incast = {"kind": "incast", "fanin": 4, "query_size": "200KB", "receiver": 0}
    for table, key, value in (
        ({"kind": "triangle", "half": "upper"}, "half", "lower"),
        ({"kind": "many-to-one", "receiver": 1}, "receiver", 2),
        ({"kind": "matrix", "rack_local": 0.3}, "rack_local", 0.9),
        ({"kind": "matrix", "file": "racks.csv"}, "file", "no-such.csv"),
        (incast, "fanin", 6),
        (incast, "receiver", 3),
        (incast, "query_size", "100KB"),
    ):
        plain = {"load": 0.5, "flows": 60, "pattern": table}
        sized = plain if table is incast else {**WEB, "pattern": table}
        sized = {**sized, "overload": True}  # One receiver, or half of the pairs.
        path = f"traffic.pattern.{key}"
        yield Case(f"PatternSpec[{table['kind']}].{key}", on("dctcp", traffic=sized), path, value)


BIMODAL = {"kind": "bimodal", "small": "2KB", "large": "1MB", "small_share": 0.5}
GAPS: list[list[float]] = [[0.0, 0.0], [2.0, 1.0]]


def settings() -> Iterator[Case]:
    """The rest: packets, topologies, capacity, measuring, recording, engines."""
    value: Any
    usual = on({"transport": {"kind": "dctcp", "initial_window": "30pkt"}, "port": PORT})
    yield Case("name", usual, "name", "other")
    yield Case("seed", usual, "seed", 2)
    yield Case("engine", usual, "engine", "model")
    fluid = on("dctcp-rate", engine={"kind": "fluid"})
    yield Case("EngineSpec[fluid].step", fluid, "engine.step", "0.25rtt")
    yield Case("topology", usual, "topology", STAR)
    yield Case("traffic", usual, "traffic", {**WEB, "flows": 20})
    yield Case("packet", usual, "packet", {"payload": "700B"})
    yield Case("scheme", usual, "scheme", "pfabric")
    yield Case("measure", usual, "measure", {"fct_ends": "ack"})
    yield Case("record", usual, "record", {"values": {}})
    for key, value in (("payload", "700B"), ("header", "90B"), ("ack", "100B")):
        yield Case(f"PacketFormat.{key}", usual, f"packet.{key}", value)
    any_load = {**WEB, "overload": True}
    scaled = on("dctcp", {k: v for k, v in LEAF_SPINE.items() if k != "base_rtt"})
    scaled["topology"] |= {"link_delay": "1us"}
    fat = {"kind": "fat-tree", "k": 4, "host_rate": "10Gbps", "link_delay": "1us"}
    star = {key: value for key, value in STAR.items() if key != "base_rtt"} | {"link_delay": "1us"}
    common = (("host_rate", "8Gbps"), ("link_delay", "3us"), ("host_delay", "5us"))
    for topology, changes in (
        (scaled["topology"], (("leaves", 3), ("spines", 1), ("hosts_per_leaf", 3))),
        (scaled["topology"], (("fabric_rate", "40Gbps"), *common)),
        (star, (("senders", 4), ("bottleneck_rate", "5Gbps"), *common)),
        (fat, (("k", 6), *common)),
    ):
        for key, value in changes:
            name = f"TopologySpec[{topology['kind']}].{key}"
            yield Case(name, on("dctcp", topology, any_load), f"topology.{key}", value)
    drawn: dict[str, Any] = {"kind": "graph", "link_delay": "1us", "links": LINKS}
    for topology, down in (
        (LEAF_SPINE, "spine 1"),
        (STAR, "host 0 -> switch"),
        (fat, "core 0"),
        (drawn, "s1 -> t2"),
    ):
        name = f"TopologySpec[{topology['kind']}].down"
        yield Case(name, on("dctcp", topology, any_load), "topology.down", [down])
    named = [{"name": f"h{host}", "rack": f"r{host % 2}"} for host in (3, 2, 1, 0)]
    switches = [{"name": name} for name in ("s1", "s2", "t1", "t2")]
    whole: dict[str, Any] = {**drawn, "hosts": named, "switches": switches}
    for topology, key, path, value in (
        (drawn, "TopologySpec[graph].file", "file", "no-such.toml"),
        (drawn, "TopologySpec[graph].hosts", "hosts", named),
        (
            drawn,
            "TopologySpec[graph].switches",
            "switches",
            [{**s, "layer": "any"} for s in switches],
        ),
        (drawn, "TopologySpec[graph].links", "links", LINKS[:-1]),
        (drawn, "TopologySpec[graph].link_delay", "link_delay", "2us"),
        (drawn, "TopologySpec[graph].host_delay", "host_delay", "2us"),
        (drawn, "TopologySpec[graph].base_rtt", "base_rtt", "50us"),
        (whole, "HostSpec.rack", "hosts.0.rack", "r0"),
        (whole, "SwitchSpec.layer", "switches.0.layer", "edge"),
        (drawn, "LinkSpec.a", "links.0.a", "h3"),
        (drawn, "LinkSpec.b", "links.0.b", "s2"),
        (drawn, "LinkSpec.rate", "links.0.rate", "5Gbps"),
        (drawn, "LinkSpec.delay", "links.0.delay", "5us"),
    ):
        inter = {**any_load, "pattern": "inter-rack"} if key == "HostSpec.rack" else any_load
        yield Case(key, on("dctcp", topology, inter), f"topology.{path}", value)
    for topology in (LEAF_SPINE, STAR, {**fat, "base_rtt": "30us"}):
        topology = {key: value for key, value in topology.items() if key != "link_delay"}
        name = f"TopologySpec[{topology['kind']}].base_rtt"
        yield Case(name, on("dctcp", topology), "topology.base_rtt", "50us")
    rtt = {"value": "20us", "includes": "transmission"}
    tabled = on("dctcp", {**LEAF_SPINE, "base_rtt": rtt})
    yield Case("BaseRtt.value", tabled, "topology.base_rtt.value", "30us")
    yield Case("BaseRtt.includes", tabled, "topology.base_rtt.includes", "propagation")
    slow = [{"links": ["leaf 0 -> host 0"], "changes": [{"at": "0s", "rate": "1Gbps"}]}]
    whole = {**usual, "traffic": any_load}
    less = {**whole, "capacity": slow}
    yield Case("capacity", whole, "capacity", slow)
    yield Case("Spec.links", less, "capacity.0.links", ["leaf 0 -> host 1"])
    yield Case("Spec.changes", less, "capacity.0.changes", [{"at": "0s", "rate": "2Gbps"}])
    yield Case("Change.at", less, "capacity.0.changes.0.at", "1ms")
    yield Case("Change.rate", less, "capacity.0.changes.0.rate", "3Gbps")
    timed = {**usual, "traffic": {**WEB, "flows": 400, "duration": "2ms"}}
    for key, value in (
        ("warmup", "500us"),
        ("window", "500us"),
        ("cooldown", "500us"),
        ("fct_ends", "ack"),
        ("max_time", "1ms"),
        ("extras", ["jain"]),
    ):
        yield Case(f"MeasureSpec.{key}", timed, f"measure.{key}", value)
    windowed = {**timed, "measure": {"window": "500us"}}
    yield Case("MeasureSpec.stop", windowed, "measure.stop", "measured")
    record = {
        "ports": {"interval": "100us"},
        "windows": {"flows": [0]},
        "packets": {"flows": [0], "at": "sender"},
        "waits": {"longest": 5},
        "values": {},
    }
    seen = {**usual, "scheme": {**usual["scheme"], "tagger": "sent"}, "record": record}
    for key in record:
        rest = {"record": {k: v for k, v in record.items() if k != key}}
        yield Case(f"RecordSpec.{key}", {**seen, **rest}, f"record.{key}", record[key])
    for key, path, value in (
        ("Spec2.interval", "ports.interval", "50us"),
        ("Spec2.which", "ports.which", ["leaf 0 -> host 0"]),
        ("Spec3.flows", "windows.flows", [1]),
        ("Spec4.flows", "packets.flows", [1]),
        ("Spec4.at", "packets.at", "receiver"),
        ("Spec4.max_packets", "packets.max_packets", 3),
        ("Spec5.longest", "waits.longest", 2),
        ("Spec6.unit", "values.unit", "300B"),
        ("Spec6.largest", "values.largest", 3),
    ):
        yield Case(key, seen, f"record.{path}", value)


LINKS = [
    {"a": a, "b": b, "rate": "10Gbps"}
    for a, b in (
        *(("h0", "s1"), ("h1", "s1"), ("h2", "s2"), ("h3", "s2")),
        *(("s1", "t1"), ("s1", "t2"), ("s2", "t1"), ("s2", "t2")),
    )
]

CASES = [*transports(), *schemes(), *mapped(), *traffic(), *settings()]

EXCEPTIONS = {
    **{
        f"ClassSpec.{key}": "what is asked of a class, not what it does; see test_fabric"
        for key in ("dscp", "slis", "slo")
    },
    **{
        key: "of SLIs; see those of specifications"
        for key in (
            *(f"SliSpec.{key}" for key in ("name", "metric", "attr", "from", "below")),
            "Metric.percentile",
        )
    },
    "version": "what resolved a scenario; another one is refused or replaced",
    "base_rtt_s": "computed; where it is written it is refused",
    "presets": "directories of presets of one's own, which schemes name (test_own_schemes.py)",
    "HostSpec.name": "what links call it; crates/fabric/tests/graph.rs",
    "SwitchSpec.name": "what links call it; crates/fabric/tests/graph.rs",
    "HostSpec.address": "for people and logs; nothing that is simulated depends on it",
    "schemes": "tables that `compare` looks up by name",
    "EngineSpec[model].cc": "the link model's own keys are tested with specifications",
}
