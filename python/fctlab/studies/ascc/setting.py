"""What the cells of the ASCC study are made of: traffic, schemes, scales."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fctlab import _native
from fctlab.studies.framework import lab
from fctlab.studies.framework.cells import Cell, Source
from fctlab.studies.framework.interval import Interval, mean_bytes, mean_of_table
from fctlab.studies.framework.lab import Settled
from fctlab.studies.framework.likeness import SCHEDULES, Intended
from fctlab.studies.framework.loads import ByLoad
from fctlab.studies.framework.runs import metric
from fctlab.studies.framework.study import Mode
from fctlab.studies.pias import ns2, published
from fctlab.studies.pias.ns2 import Fabric

FCT = metric("avg_fct_s")
MICE = metric("avg_fct_s", "small")
MEDIUM = metric("avg_fct_s", "medium")
LARGE = metric("avg_fct_s", "large")
SIZES = {"all flows": FCT, "mice": MICE, "medium flows": MEDIUM, "large flows": LARGE}
LARGE_BYTES = 10_000_000
"""Of which elephant flows have more (section VIII)."""


def _large_only() -> list[tuple[float, float]]:
    """Points of the distribution of web search's flows above 10 MB."""
    found = json.loads(_native.size_distribution(json.dumps("websearch"), ""))
    sizes, shares = found["sizes_bytes"], found["probabilities"]
    below = float(np.interp(LARGE_BYTES, sizes, shares))
    points = [(float(LARGE_BYTES), below)]
    points += [point for point in zip(sizes, shares, strict=True) if point[0] > LARGE_BYTES]
    return [(size, (share - below) / (1 - below)) for size, share in points]


def _large_table() -> str:
    """The same as a file."""
    rows = [f"{size:.0f},{share:.12g}" for size, share in _large_only()]
    return "\n".join(["size_bytes,cumulative_probability", *rows]) + "\n"


WORKLOADS: dict[str, Any] = {
    "websearch": "websearch",
    "datamining": "datamining",
    "elephants": {"kind": "cdf", "file": Source("elephants.csv", _large_table)},
}
DESCRIPTIONS = {
    "websearch": "web search",
    "datamining": "data mining",
    "elephants": "web search's large flows alone",
}


HOST_GBPS = 10.0


@functools.cache
def _mean_bytes(workload: str) -> float:
    """Of a flow."""
    if workload == "elephants":
        return mean_of_table(*zip(*_large_only(), strict=True))
    return mean_bytes(WORKLOADS[workload])


@dataclass(frozen=True)
class Scale:
    """How large, and for how long."""

    fabric: Fabric
    intervals: Mapping[str, Interval]
    """By workload."""
    loads: tuple[float, ...]
    """At alpha = 1."""
    alphas: tuple[float, ...]
    """At the loads of `at`."""
    at: tuple[float, ...] = (0.5, 0.8)
    """The paper does not say at which load alpha was varied."""


SCALES: dict[Mode, Scale] = {
    "quick": Scale(
        Fabric(2, 3, 2),
        {"websearch": Interval(350), "datamining": Interval(60), "elephants": Interval(20)},
        (0.5, 0.7, 0.9),
        (0.0, 0.5, 1.0, 1.6, 2.0),
    ),
    "full": Scale(
        Fabric(),
        {"websearch": Interval(350), "datamining": Interval(350), "elephants": Interval(50)},
        (0.5, 0.6, 0.7, 0.8, 0.9),
        (0.0, 0.4, 0.8, 1.0, 1.2, 1.6, 2.0),
    ),
}


@dataclass(frozen=True)
class Scheme:
    """What is compared, as scenarios write it, for a workload and a load."""

    name: str
    at: Callable[[str, float], dict[str, Any]]


def _preset(name: str, preset: str, **changes: Mapping[str, Any]) -> Scheme:
    """A preset, with other keys of its transport or its port."""
    scheme = ns2.scheme(name, preset)
    for place, keys in changes.items():
        scheme[place] = scheme[place] | keys
    return Scheme(name, lambda workload, load: scheme)


def _pias(workload: str, load: float) -> dict[str, Any]:
    mix = "datamining" if workload == "datamining" else "websearch"
    thresholds = published.pias(mix, load)
    return ns2.scheme("PIAS", "pias", {"kind": "priority", "thresholds": thresholds})


def _srpt() -> Scheme:
    """Clairvoyant: the preset's ports over DCTCP instead of TCP."""
    scheme = ns2.scheme("SRPT", "srpt")
    scheme["transport"] = {"kind": "dctcp", **ns2.TRANSPORT}
    return Scheme("SRPT", lambda workload, load: scheme)


ASCC = _preset("ASCC", "ascc")
PIAS = Scheme("PIAS", _pias)
SRPT = _srpt()
LAS = _preset("LAS", "las")
FOUR = (SRPT, ASCC, PIAS, LAS)
DEPLOYABLE = _preset("ASCC, 8 queues", "ascc-deployable")
WITHOUT = {
    "the buffer policy": _preset("ASCC, tail drop", "ascc", port={"drop": "tail"}),
    "retransmit when complete": _preset(
        "ASCC, no retransmission", "ascc", transport={"retransmit_when_complete": False}
    ),
    "adjust window when complete": _preset(
        "ASCC, no adjusted window", "ascc", transport={"adjust_window_when_complete": False}
    ),
    "ignore ECN from the incomplete phase": _preset(
        "ASCC, heeding all ECN", "ascc", transport={"ignore_ecn_of_incomplete": False}
    ),
    "marking by departures": _preset(
        "ASCC, marking at enqueue", "ascc", port={"ecn_at": "enqueue"}
    ),
}
"""Section VII's four rules and its way of marking, each switched off."""

INTENDED = (
    *SCHEDULES,
    Intended(
        ("scheme.transport.kind",), "ASCC sets rates by its own rules over DCTCP", ("*, ASCC*",)
    ),
    Intended(
        (
            "scheme.transport.retransmit_when_complete",
            "scheme.transport.adjust_window_when_complete",
            "scheme.transport.ignore_ecn_of_incomplete",
        ),
        "each of ASCC's rules is switched off alone",
        ("*, ASCC, no *", "*, ASCC, heeding all ECN, *"),
    ),
    Intended(
        ("scheme.port.drop", "scheme.nic.drop"),
        "PIAS drops what arrives, exact priorities the lowest one; ASCC stands here without its "
        "buffer policy as well, and on queues that have none",
        ("*, PIAS, *", "*, ASCC, tail drop, *", "*, ASCC, 8 queues, *"),
    ),
    Intended(
        ("scheme.port.ecn_at", "scheme.nic.ecn_at"),
        "ASCC marks by departures, but where that is switched off and on eight queues",
        ("*, ASCC*",),
    ),
)


class Lab(lab.Lab[Settled]):
    """The cells of the study."""

    def __init__(self, mode: Mode) -> None:
        super().__init__(mode, Settled())
        self.scale = SCALES[mode]

    def cell(self, scheme: Scheme, workload: str, load: float, alpha: float = 1.0) -> Cell:
        """The cell of a scheme under a workload; packets are spaced by `alpha`."""
        interval = self.scale.intervals[workload]
        keys = interval.tables(_mean_bytes(workload), load, HOST_GBPS)
        name = f"{workload}, {scheme.name}, load {load:g}, alpha {alpha:g}"
        scenario = {
            "name": name,
            "topology": self.scale.fabric.topology,
            "traffic": {
                "workload": WORKLOADS[workload],
                "load": load,
                **keys["traffic"],
                **({"spacing": alpha} if alpha else {}),
            },
            "measure": {"fct_ends": "ack", **keys["measure"]},
            "scheme": scheme.at(workload, load),
        }
        return self.cells.cell(name, scenario, interval.per_host * _mean_bytes(workload))

    def loads(
        self,
        scheme: Scheme,
        workload: str,
        alpha: float = 1.0,
        only: tuple[float, ...] | None = None,
    ) -> ByLoad:
        """The cells of a scheme by load."""
        chosen = only or self.scale.loads
        return {load: self.cell(scheme, workload, load, alpha) for load in chosen}

    def alphas(self, scheme: Scheme, workload: str, load: float) -> ByLoad:
        """The cells of a scheme by alpha."""
        return {alpha: self.cell(scheme, workload, load, alpha) for alpha in self.scale.alphas}
