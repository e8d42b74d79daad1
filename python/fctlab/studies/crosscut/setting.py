"""What the cells of the table across papers are made of: schemes, traffic, scales."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from fctlab.studies.framework import lab
from fctlab.studies.framework.cells import Cell
from fctlab.studies.framework.lab import Settled
from fctlab.studies.framework.likeness import ACROSS_PAPERS, Intended
from fctlab.studies.framework.runs import Run
from fctlab.studies.framework.study import Mode
from fctlab.studies.pias import published
from fctlab.studies.pias.ns2 import Fabric

WORKLOADS = ("websearch", "datamining", "cache", "hadoop")
LOADS = (0.5, 0.8)
MIXED = "mixed"
TRAFFICS = (*WORKLOADS, MIXED)
DESCRIPTIONS = {
    "websearch": "web search",
    "datamining": "data mining",
    "cache": "cache",
    "hadoop": "Hadoop",
    MIXED: "mixed",
}
QUERIES = "queries"
"""The traffic class of incast; the others are the background."""
QUERY_SHARE = 0.05
"""Of the bytes."""
ANSWER_KB = 20
"""Of each server that answers a query."""


@dataclass(frozen=True)
class Scale:
    """How large, and which flows are measured."""

    fabric: Fabric
    warmup_ms: float
    duration_ms: float
    fanin: int
    awafs_window: str
    awafs_interval: str


SCALES: dict[Mode, Scale] = {
    # AWAFS's window and interval are a tenth of the paper's, so that it adapts in the warm-up.
    "quick": Scale(Fabric(2, 4, 2), 60, 300, 6, "100ms", "25ms"),
    "full": Scale(Fabric(), 600, 1600, 32, "1s", "250ms"),
}

# As in most of the papers: windows from a BDP (71 packets) on, so that schemes that ask for it
# (pFabric, ASCC) have no start over others; a flow puts its window into its host's port, which
# schedules as switches do. Losses are found by selective ACKs, the RTO is 2 ms at least, and a
# flow has one path. alpha starts at 0, as in ns-2: with 1 a new flow halves at its first mark.
TRANSPORT: dict[str, Any] = {"initial_window": "1bdp", "min_rto": "2ms", "initial_alpha": 0.0}
NIC: dict[str, Any] = {"per_flow_limit": "none"}
PORT: dict[str, Any] = {"buffer": "240pkt", "ecn_threshold": "65pkt"}


@dataclass(frozen=True)
class Scheme:
    """A column of the table.

    Attributes:
        name: as people write it.
        sizes: whether hosts have to know how large a flow is when it starts.
        switch: what switches have to be able to do.
        tuned: what has to be chosen for the traffic, or holds of it.
        at: the scheme as scenarios write it, for a workload, a load and a scale.
    """

    name: str
    sizes: bool
    switch: str
    tuned: str
    at: Callable[[str, float, Scale], dict[str, Any]]


FIFO = "one FIFO queue with ECN"
QUEUES = "strict-priority queues with ECN"
PROGRAMMABLE = "programmable thresholds"
EXACT = "exact priorities"
COMMODITY = (FIFO, QUEUES)
"""What switches that are sold today can do."""


def _over_dctcp(
    preset: str, discipline: Mapping[str, Any] | None = None, **transport: Any
) -> dict[str, Any]:
    port = PORT | ({"discipline": dict(discipline)} if discipline else {})
    kind = {} if preset in ("l2dct", "ascc") else {"kind": "dctcp"}
    return {
        "preset": preset,
        "transport": kind | TRANSPORT | transport,
        "port": port,
        "nic": NIC,
        "routing": "ecmp",
    }


def _d_srtf(preset: str) -> dict[str, Any]:
    """With the paper's T0 = 120 us and E = 3; a time of T0 or more belongs to the next queue."""
    thresholds = [120_000 * 3**i - 1 for i in range(7)]
    return _over_dctcp(preset, {"kind": "priority", "thresholds": thresholds})


def _same(scheme: dict[str, Any]) -> Callable[[str, float, Scale], dict[str, Any]]:
    return lambda workload, load, scale: scheme


def _pias(matched: bool) -> Callable[[str, float, Scale], dict[str, Any]]:
    def at(workload: str, load: float, _: Scale) -> dict[str, Any]:
        chosen = workload if matched else mismatch(workload)
        thresholds = (
            published.pias_solved_for_mix(WORKLOADS, load)
            if chosen == MIXED
            else published.pias_solved(chosen, load)
        )
        return _over_dctcp("pias", {"kind": "priority", "thresholds": list(thresholds)})

    return at


def mismatch(workload: str) -> str:
    """The workload whose thresholds PIAS has when they are wrong: data mining's, as in AWAFS."""
    return "websearch" if workload == "datamining" else "datamining"


def _awafs(_: str, __: float, scale: Scale) -> dict[str, Any]:
    discipline = {
        "kind": "awafs",
        "percentiles": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7],
        "thresholds": [f"{7 * i}KB" for i in range(1, 8)],
        "window": scale.awafs_window,
        "interval": scale.awafs_interval,
    }
    return _over_dctcp("awafs", discipline, fast_retransmit=True)


def _ads(queues: int) -> dict[str, Any]:
    mapping = {"kind": "dynamic", "interval": "5ms", "window": 10, "policy": "equal-split"}
    return _over_dctcp("ads", {"kind": "mapped", "queues": queues, "mapping": mapping})


_PFABRIC = {"preset": "pfabric-pias", "nic": NIC, "routing": "ecmp"}
_AT_ONCE = "all data of a flow at its start"
_THRESHOLDS = "thresholds for workload and load"
SCHEMES = (
    Scheme("DCTCP", False, FIFO, "nothing", _same(_over_dctcp("dctcp"))),
    Scheme("L2DCT", False, FIFO, "nothing", _same(_over_dctcp("l2dct", increase="weighted"))),
    Scheme(
        "L2DCT, ns-2's growth", False, FIFO, "nothing", _same(_over_dctcp("l2dct", increase="ns2"))
    ),
    Scheme("LAS", False, EXACT, "nothing", _same(_over_dctcp("las"))),
    Scheme("PIAS", False, QUEUES, _THRESHOLDS, _pias(matched=True)),
    Scheme("PIAS, mismatched", False, QUEUES, _THRESHOLDS, _pias(matched=False)),
    Scheme("D-SRTF", False, QUEUES, "nothing", _same(_d_srtf("d-srtf"))),
    Scheme("D-SRTF-IA", True, QUEUES, "nothing", _same(_d_srtf("d-srtf-ia"))),
    Scheme("AWAFS", False, PROGRAMMABLE, "percentiles", _awafs),
    Scheme("ASCC", False, EXACT, _AT_ONCE, _same(_over_dctcp("ascc"))),
    Scheme("ADS-2", False, PROGRAMMABLE, "nothing", _same(_ads(2))),
    Scheme("ADS-8", False, PROGRAMMABLE, "nothing", _same(_ads(8))),
    Scheme("SJF", True, EXACT, "nothing", _same(_over_dctcp("sjf"))),
    Scheme("pFabric", True, EXACT, "nothing", _same(_PFABRIC)),
)
BY_NAME = {scheme.name: scheme for scheme in SCHEMES}
BASE = BY_NAME["DCTCP"]

INTENDED = (
    *ACROSS_PAPERS,
    Intended(
        ("scheme.transport.increase",), "L2DCT stands here with both laws of growth", ("*, L2DCT*",)
    ),
    Intended(
        (
            "scheme.transport.max_window",
            "scheme.transport.min_rto",
            "scheme.port.buffer",
            "scheme.nic.buffer",
            "scheme.port.ecn_threshold",
            "scheme.nic.ecn_threshold",
        ),
        "pFabric has the windows, buffer and RTO that PIAS's experiment gave it, and no marks",
        ("*, pFabric",),
    ),
)


@dataclass(frozen=True)
class Metric:
    """A quantity of the table.

    Attributes:
        name: with the unit.
        of: its value in a run, in that unit.
        floor: what a value is taken as at least where ratios are made of it.
    """

    name: str
    of: Callable[[Run], float]
    floor: float = 0.0

    def above(self, run: Run) -> float:
        """The value for ratios."""
        return max(self.of(run), self.floor)


def _background(column: str, size: str) -> Callable[[Run], float]:
    """A column of the summary in ms, over the flows that belong to no query."""

    def read(run: Run) -> float:
        rows = [
            row for row in run.summary if row["class"] == size and row["traffic_class"] in _CLASSES
        ]
        if column.startswith("p99"):
            # One percentile per class inside a mix: their mean, weighted by flows.
            rows = [row for row in rows if row["flows"]]
        flows = sum(row["flows"] for row in rows)
        total = sum(row[column] * row["flows"] for row in rows if row["flows"])
        return 1e3 * total / flows if flows else float("nan")

    return read


_CLASSES = frozenset(DESCRIPTIONS.values())

METRICS = {
    "small": Metric("small, average (ms)", _background("avg_fct_s", "small")),
    "tail": Metric("small, p99 (ms)", _background("p99_fct_s", "small")),
    "medium": Metric("medium, average (ms)", _background("avg_fct_s", "medium")),
    "large": Metric("large, average (ms)", _background("avg_fct_s", "large")),
    "all": Metric("all, average (ms)", _background("avg_fct_s", "all")),
    "queries": Metric(
        "queries, average (ms)", lambda run: 1e3 * float(run.extras["queries"]["avg_s"])
    ),
    "queries, p99": Metric(
        "queries, p99 (ms)", lambda run: 1e3 * float(run.extras["queries"]["p99_s"])
    ),
    "timeouts": Metric(
        "timeouts per 1000 flows", lambda run: 1e3 * run.per_flow("timeouts"), floor=0.1
    ),
    "starved": Metric(
        "longest starvation (ms)", lambda run: 1e3 * float(run.extras["starvation"]["max_s"])
    ),
}


class Lab(lab.Lab[Settled]):
    """The cells of the table."""

    def __init__(self, mode: Mode) -> None:
        super().__init__(mode, Settled())
        self.scale = SCALES[mode]

    def cell(self, scheme: Scheme, workload: str, load: float) -> Cell:
        """The cell of a scheme under a workload at a load."""
        scale = self.scale
        inside = WORKLOADS if workload == MIXED else (workload,)
        share = (1 - QUERY_SHARE) / len(inside)
        background = [
            {"class": DESCRIPTIONS[name], "workload": name, "share": share} for name in inside
        ]
        query = {
            "kind": "incast",
            "fanin": scale.fanin,
            "query_size": f"{ANSWER_KB * scale.fanin}KB",
        }
        queries = {"class": QUERIES, "pattern": query, "workload": inside[0], "share": QUERY_SHARE}
        name = f"{DESCRIPTIONS[workload]}, load {load:g}, {scheme.name}"
        scenario = {
            "name": name,
            "topology": scale.fabric.topology,
            "traffic": {
                "load": load,
                "duration": f"{scale.duration_ms:g}ms",
                "share_of": "bytes",
                "classes": [*background, queries],
            },
            "measure": {
                "warmup": f"{scale.warmup_ms:g}ms",
                "max_time": "30s",
                "extras": ["starvation", "queries"],
            },
            "scheme": {"name": scheme.name, **scheme.at(workload, load, scale)},
        }
        return self.cells.cell(name, scenario, load)

    @functools.cached_property
    def columns(self) -> dict[str, tuple[str, float]]:
        """The ten columns: a workload and a load, by name."""
        return {
            f"{DESCRIPTIONS[workload]} at {load:g}": (workload, load)
            for workload in TRAFFICS
            for load in LOADS
        }

    def row(self, scheme: Scheme) -> dict[str, Cell]:
        """The cells of a scheme by setting."""
        return {name: self.cell(scheme, *setting) for name, setting in self.columns.items()}

    @property
    def table(self) -> tuple[Cell, ...]:
        """All cells of the table."""
        return tuple(cell for scheme in SCHEMES for cell in self.row(scheme).values())
