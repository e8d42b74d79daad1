"""What the cells of the D-SRTF study are made of: fabrics, traffic, schemes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fctlab.studies.framework import lab
from fctlab.studies.framework.cells import Cell, Keep
from fctlab.studies.framework.interval import Interval, mean_bytes
from fctlab.studies.framework.lab import Reading
from fctlab.studies.framework.likeness import RECOVERY, SCHEDULES, Intended
from fctlab.studies.framework.loads import ByLoad
from fctlab.studies.framework.runs import metric
from fctlab.studies.framework.study import Mode
from fctlab.studies.pias import published

if TYPE_CHECKING:
    from fctlab.results.result import Result

LONGEST_NS = 2**32
T0_US = 120.0
E = 3.0
FCT = metric("avg_fct_s")
SHORT = metric("avg_fct_s", "small")
SHORT_TAIL = metric("p99_fct_s", "small")
MEDIUM = metric("avg_fct_s", "medium")
LONG = metric("avg_fct_s", "large")
PANELS = {
    "(a) all flows, average": FCT,
    "(b) short flows, average": SHORT,
    "(c) short flows, p99": SHORT_TAIL,
    "(d) medium flows, average": MEDIUM,
    "(e) long flows, average": LONG,
}

CLASSES = {
    "cache": "cache",
    "web search": "websearch",
    "hadoop": "hadoop",
    "data mining": "datamining",
}
"""The classes of the mix (section 5.1, table 2) and their workloads."""

TRAFFIC: dict[str, dict[str, Any]] = {
    "websearch": {"workload": "websearch"},
    "datamining": {"workload": "datamining"},
    # "For each workload, the inter-flow arriving interval is proportional to its mean flow
    # size": each has the same share of the bytes.
    "mixed": {
        "share_of": "bytes",
        "classes": [{"class": name, "workload": w} for name, w in CLASSES.items()],
    },
}

HOST_GBPS = 10.0


@functools.cache
def _mean_bytes(traffic: str) -> float:
    """Of a flow."""
    return mean_bytes(*(CLASSES.values() if traffic == "mixed" else [traffic]))


@dataclass(frozen=True)
class Scale:
    """How large, and for how long."""

    leaves: int
    hosts_per_leaf: int
    spines: int
    fat_tree_k: int
    intervals: Mapping[str, Interval]
    """By traffic."""
    loads: tuple[float, ...]
    deep: tuple[float, ...]
    """Loads of section 5.6, which names none."""
    swept: tuple[float, ...]
    """Loads of the sweep over T0 and E."""


SCALES: dict[Mode, Scale] = {
    "quick": Scale(
        leaves=3,
        hosts_per_leaf=3,
        spines=3,
        fat_tree_k=4,
        intervals={
            "websearch": Interval(350),
            "datamining": Interval(100),
            "mixed": Interval(350),
        },
        loads=(0.3, 0.6, 0.9),
        deep=(0.6, 0.9),
        swept=(0.6,),
    ),
    # Section 5.1: 50,000 flows of 144 hosts. The size of section 5.4's fat-tree is not stated.
    "full": Scale(
        leaves=12,
        hosts_per_leaf=12,
        spines=12,
        fat_tree_k=8,
        intervals=dict.fromkeys(TRAFFIC, Interval(350)),
        loads=(0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9),
        deep=(0.3, 0.6, 0.9),
        swept=(0.6, 0.9),
    ),
}

BASE_RTT = {"value": "85.2us", "includes": "transmission"}
HOST_DELAY = "20us"
"""PIAS's, as in `ns2`: of the base RTT 80 us pass in hosts, so that flows inside a rack have most
of it as well."""
LINK_DELAY = "34ns"
"""What is left of the base RTT for each of the eight links, after hosts and transmissions: 85.2 us
- 80 us - 4 x 1.232 us. In the fat-tree, whose paths are longer, links have the same."""
TRANSPORT: dict[str, Any] = {
    "initial_window": "10pkt",
    "min_rto": "5ms",
    "initial_rto": "5ms",
}
"""Section 5.1, for every scheme."""
BUFFER = "200pkt"
PORT: dict[str, Any] = {"buffer": BUFFER, "ecn_threshold": "65pkt"}
"""Table 1."""
NIC: dict[str, Any] = {"per_flow_limit": "none"}
"""As in ns-2, a flow puts its whole window into the port of its host."""


@dataclass(frozen=True)
class Scheme:
    """What is compared: a scheme as scenarios write it, by load."""

    name: str
    at: Callable[[float], dict[str, Any]]


def _dctcp(preset: str, port: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """A scheme over DCTCP; what is compared is the scheduling, so alpha starts alike."""
    transport = TRANSPORT | {"initial_alpha": 0.0}
    return {"preset": preset, "transport": transport, "port": PORT | dict(port or {}), "nic": NIC}


def _pias(name: str, workload: str) -> Scheme:
    """PIAS with the thresholds published for `workload` at the load."""

    def at(load: float) -> dict[str, Any]:
        discipline = {"kind": "priority", "thresholds": published.pias(workload, load)}
        return _dctcp("pias", {"discipline": discipline})

    return Scheme(name, at)


def d_srtf(
    name: str, queues: int = 8, t0_us: float = T0_US, e: float = E, known: bool = False
) -> Scheme:
    """D-SRTF, or D-SRTF-IA where sizes are `known`."""
    # A time of T_i or more belongs to the next queue: the largest that does not is 1 ns less.
    # A tag holds 4.29 s; no flow estimates more, and the queues above would stay empty.
    cuts = [round(t0_us * 1000 * e**i) - 1 for i in range(queues - 1)]
    cuts = [cut for cut in cuts if cut < LONGEST_NS]
    port = {"discipline": {"kind": "priority", "thresholds": cuts}}
    return Scheme(name, lambda _: _dctcp("d-srtf-ia" if known else "d-srtf", port))


def _pfabric(name: str, preset: str, changes: Mapping[str, Any]) -> Scheme:
    scheme = {"preset": preset, "nic": NIC, "routing": "ecmp", **changes}
    return Scheme(name, lambda _: scheme)


DCTCP = Scheme("DCTCP", lambda _: _dctcp("dctcp"))


def _l2dct(name: str, increase: str) -> Scheme:
    scheme = _dctcp("l2dct")
    scheme["transport"] |= {"increase": increase}
    return Scheme(name, lambda _: scheme)


# The code that PIAS published, for whose author's code the paper thanks, adds two packets per
# round trip to the window of every flow; L2DCT's own paper weighs growth by what has been sent.
L2DCT = _l2dct("L2DCT", "ns2")
L2DCT_WEIGHTED = _l2dct("L2DCT, weighted growth", "weighted")
PIAS_WS = _pias("PIAS-WS", "websearch")
PIAS_DM = _pias("PIAS-DM", "datamining")
D_SRTF = d_srtf("D-SRTF")
D_SRTF_IA = d_srtf("D-SRTF-IA", known=True)
WITH_QUEUES = {n: d_srtf(f"D-SRTF, {n} queues", queues=n) for n in (2, 4, 16)}
# As the paper ran it, and as PIAS ran it where the base RTT is 85.2 us: windows from a BDP (71
# packets) on. In the topology of pFabric's own paper the RTO of 45 us is three RTTs; here it
# is half of one.
PFABRIC = _pfabric(
    "pFabric, RTO 5 ms",
    "pfabric",
    {
        "transport": {"initial_window": "10pkt", "max_window": "199pkt", "min_rto": "5ms"},
        "port": {"buffer": BUFFER},
    },
)
PFABRIC_OWN = _pfabric("pFabric, own setting", "pfabric-pias", {})

INTENDED = (
    Intended(("topology",), "section 5.4 repeats the mix on a fat-tree", ("fat-tree, *",)),
    Intended(
        ("scheme.nic.per_flow_limit",),
        "the ideal schedulers of the case studies need no NIC of their own",
        ("case study *",),
    ),
    Intended(
        RECOVERY,
        "pFabric recovers as minTCP does: a fixed timer that does not back off, probes, no fast "
        "retransmit; the ideal schedulers of the case studies lose nothing",
        ("*, pFabric*", "case study *"),
    ),
    *SCHEDULES,
    Intended(
        ("scheme.transport.kind",),
        "L2DCT and pFabric set rates by their own rules; in the case studies the ideal schedulers "
        "have windows that never change",
        ("*, L2DCT*", "*, pFabric*", "case study *"),
    ),
    Intended(
        ("scheme.transport.increase",),
        "L2DCT stands here with both laws of growth",
        ("*, L2DCT, weighted growth, *",),
    ),
    Intended(
        ("scheme.port.drop", "scheme.nic.drop"),
        "pFabric drops the packet of the lowest priority",
        ("*, pFabric*",),
    ),
    Intended(
        ("scheme.port.ecn_threshold", "scheme.nic.ecn_threshold"),
        "pFabric and the ideal schedulers do not mark",
        ("*, pFabric*", "case study *"),
    ),
    Intended(
        (
            "scheme.transport.initial_window",
            "scheme.transport.max_window",
            "scheme.transport.min_rto",
            "scheme.transport.initial_rto",
            "scheme.port.buffer",
            "scheme.nic.buffer",
        ),
        'pFabric\'s windows are smaller than its buffers, and with "own setting" windows, '
        "buffer and RTO are those of PIAS's experiment; the ideal schedulers lose nothing",
        ("*, pFabric*", "case study *"),
    ),
)

SHARES = (*(i / 100 for i in range(1, 100)), 0.995, 0.999)


def completion_times(result: Result) -> dict[str, Any]:
    """The completion times in seconds that each of `SHARES` of the measured flows stays within."""
    import polars as pl

    times = result.flows.filter(pl.col("measured"))["fct_s"]
    return {"fct_s": [times.quantile(share, "higher") for share in SHARES]}


@dataclass(frozen=True)
class Settings:
    """What the paper leaves open."""

    instead: Mapping[str, Scheme] = field(default_factory=dict)
    """Schemes in the place of others, by these others' names."""


WEIGHTED = Reading(
    "weighted", "L2DCT's growth is weighted", {"instead": {L2DCT.name: L2DCT_WEIGHTED}}
)
OWN_SETTING = Reading(
    "own-setting", "pFabric in its own setting", {"instead": {PFABRIC.name: PFABRIC_OWN}}
)


class Lab(lab.Lab[Settings]):
    """The cells of the study."""

    def __init__(self, mode: Mode) -> None:
        super().__init__(mode, Settings())
        self.scale = SCALES[mode]

    def scheme(self, scheme: Scheme) -> Scheme:
        """What stands for it in this reading."""
        return self.settings.instead.get(scheme.name, scheme)

    def cell(
        self,
        scheme: Scheme,
        traffic: str,
        load: float,
        topology: str = "leaf-spine",
    ) -> Cell:
        """The cell of a scheme under a traffic at a load."""
        scheme = self.scheme(scheme)
        interval, mean = self.scale.intervals[traffic], _mean_bytes(traffic)
        keys = interval.tables(mean, load, HOST_GBPS)
        name = f"{topology}, {traffic}, {scheme.name}, load {load:g}"
        scenario = {
            "name": name,
            "topology": self._topology(topology),
            "traffic": {
                "load": load,
                "load_counts": "payload",  # equation 4
                **keys["traffic"],
                **TRAFFIC[traffic],
            },
            "measure": {"fct_ends": "ack", **keys["measure"]},
            "scheme": {"name": scheme.name, **scheme.at(load)},
        }
        return self.cells.cell(name, scenario, interval.per_host * mean, completion_times)

    def custom(self, name: str, scenario: Mapping[str, Any], keep: Keep) -> Cell:
        """A cell that is like no other."""
        return self.cells.cell(name, scenario, 0.0, keep)

    def loads(
        self,
        scheme: Scheme,
        traffic: str,
        topology: str = "leaf-spine",
        loads: tuple[float, ...] | None = None,
    ) -> ByLoad:
        """The cells of a scheme at the study's loads."""
        chosen = loads or self.scale.loads
        return {load: self.cell(scheme, traffic, load, topology) for load in chosen}

    def _topology(self, kind: str) -> dict[str, Any]:
        if kind == "fat-tree":
            return {
                "kind": kind,
                "k": self.scale.fat_tree_k,
                "host_rate": "10Gbps",
                "link_delay": LINK_DELAY,
                "host_delay": HOST_DELAY,
            }
        scale = self.scale
        return {
            "kind": kind,
            "leaves": scale.leaves,
            "spines": scale.spines,
            "hosts_per_leaf": scale.hosts_per_leaf,
            "host_rate": "10Gbps",
            "fabric_rate": "10Gbps",
            "base_rtt": BASE_RTT,
            "host_delay": HOST_DELAY,
        }
