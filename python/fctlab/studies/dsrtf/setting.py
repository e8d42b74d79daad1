"""What the cells of the D-SRTF study are made of: fabrics, traffic, schemes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fctlab.studies import published
from fctlab.studies.loads import ByLoad
from fctlab.studies.study import Cell, Cells, Keep, Mode, metric

if TYPE_CHECKING:
    from fctlab.result import Result

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


@dataclass(frozen=True)
class Scale:
    """How large, and how many flows."""

    leaves: int
    hosts_per_leaf: int
    spines: int
    fat_tree_k: int
    flows: Mapping[str, int]
    """By traffic; all are measured, until the last is done."""
    loads: tuple[float, ...]
    deep: tuple[float, ...]
    """Loads of section 5.6, which names none."""
    swept: tuple[float, ...]
    """Loads of the sweep over T0 and E."""


SCALES: dict[Mode, Scale] = {
    "quick": Scale(
        leaves=4,
        hosts_per_leaf=4,
        spines=4,
        fat_tree_k=4,
        flows={"websearch": 3_000, "datamining": 1_000, "mixed": 3_000},
        loads=(0.3, 0.6, 0.9),
        deep=(0.6, 0.9),
        swept=(0.6,),
    ),
    # Section 5.1. The size of section 5.4's fat-tree is not stated.
    "full": Scale(
        leaves=12,
        hosts_per_leaf=12,
        spines=12,
        fat_tree_k=8,
        flows=dict.fromkeys(TRAFFIC, 50_000),
        loads=(0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9),
        deep=(0.3, 0.6, 0.9),
        swept=(0.6, 0.9),
    ),
}

TRANSPORT: dict[str, Any] = {
    "initial_window": "10pkt",
    "min_rto": "5ms",
    "initial_rto": "5ms",
}
"""Section 5.1, for every scheme."""
PORT: dict[str, Any] = {"buffer": "200pkt"}
"""Table 1; K = 65 packets is the presets' own."""
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
L2DCT = Scheme("L2DCT", lambda _: _dctcp("l2dct"))
# A long flow's window then grows by one packet in a round trip, not by a twentieth.
L2DCT_FAST = Scheme(
    "L2DCT, growth x 20",
    lambda _: {
        **(scheme := _dctcp("l2dct")),
        "transport": scheme["transport"] | {"growth": 20.0},
    },
)
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
        "port": PORT,
    },
)
PFABRIC_OWN = _pfabric("pFabric, own setting", "pfabric-pias", {})

SHARES = (*(i / 100 for i in range(1, 100)), 0.995, 0.999)


def completion_times(result: Result) -> dict[str, Any]:
    """The completion times in seconds that each of `SHARES` of the measured flows stays within."""
    import polars as pl

    times = result.flows.filter(pl.col("measured"))["fct_s"]
    return {"fct_s": [times.quantile(share, "higher") for share in SHARES]}


class Lab:
    """The cells of the study."""

    def __init__(self, mode: Mode) -> None:
        self.mode = mode
        self.scale = SCALES[mode]
        self._cells = Cells()

    def cell(
        self,
        scheme: Scheme,
        traffic: str,
        load: float,
        topology: str = "leaf-spine",
    ) -> Cell:
        """The cell of a scheme under a traffic at a load."""
        flows = self.scale.flows[traffic]
        name = f"{topology}, {traffic}, {scheme.name}, load {load:g}"
        scenario = {
            "name": name,
            "topology": self._topology(topology),
            "traffic": {
                "load": load,
                "load_counts": "payload",  # equation 4
                "flows": flows,
                **TRAFFIC[traffic],
            },
            "measure": {"max_time": "60s"},
            "scheme": {"name": scheme.name, **scheme.at(load)},
        }
        cost = flows * (4 if traffic == "datamining" else 1)
        return self._cells.cell(name, scenario, cost, completion_times)

    def custom(self, name: str, scenario: Mapping[str, Any], keep: Keep) -> Cell:
        """A cell that is like no other."""
        return self._cells.cell(name, scenario, 0.0, keep)

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
        rtt = {"base_rtt": {"value": "85.2us", "includes": "transmission"}}
        if kind == "fat-tree":
            return {"kind": kind, "k": self.scale.fat_tree_k, "host_rate": "10Gbps", **rtt}
        scale = self.scale
        return {
            "kind": kind,
            "leaves": scale.leaves,
            "spines": scale.spines,
            "hosts_per_leaf": scale.hosts_per_leaf,
            "host_rate": "10Gbps",
            "fabric_rate": "10Gbps",
            **rtt,
        }
