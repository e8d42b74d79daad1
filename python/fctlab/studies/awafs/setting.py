"""What the cells of the AWAFS study are made of: traffic, schemes, scales."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fctlab.studies.framework import lab
from fctlab.studies.framework.cells import Cell
from fctlab.studies.framework.lab import Reading
from fctlab.studies.framework.likeness import Intended
from fctlab.studies.framework.loads import ByLoad
from fctlab.studies.framework.runs import Run, metric
from fctlab.studies.framework.study import Mode
from fctlab.studies.pias import ns2, published
from fctlab.studies.pias.ns2 import Fabric

if TYPE_CHECKING:
    from fctlab.results.result import Result

WINDOW = "1s"
"""W_update (section 4.3)."""
INTERVAL = "250ms"
"""T_schedule."""
SHORT = metric("avg_fct_s", "small")
SHORT_TAIL = metric("p99_fct_s", "small")
LONG = metric("avg_fct_s", "large")
LONG_TAIL = metric("p99_fct_s", "large")
FCT = metric("avg_fct_s")


def timeouts(run: Run) -> float:
    """Timeouts per flow; half a timeout per run stands for none, which has no ratio."""
    return max(run.counters["timeouts"], 0.5) / run.counters["flows_started"]


def _triangle(half: str, name: str, workload: str) -> dict[str, Any]:
    pattern = {"kind": "triangle", "half": half}
    return {"class": name, "workload": workload, "pattern": pattern}


TRAFFIC: dict[str, dict[str, Any]] = {
    **{w: {"workload": w} for w in ("websearch", "datamining", "cache", "hadoop")},
    # Section 4.5: from i to j web search if i < j, else data mining; equal bytes per pair.
    "heterogeneous": {
        "share_of": "bytes",
        "classes": [
            _triangle("upper", "web search", "websearch"),
            _triangle("lower", "data mining", "datamining"),
        ],
    },
}
DESCRIPTIONS = {
    "websearch": "web search",
    "datamining": "data mining",
    "cache": "cache",
    "hadoop": "Hadoop",
    "heterogeneous": "heterogeneous",
}


@dataclass(frozen=True)
class Scale:
    """How large, and for how long."""

    fabric: Fabric
    amount: Mapping[str, Any]
    """Of flows, as ``[traffic]`` has it."""
    loads: tuple[float, ...]
    shifting: Fabric
    shift_s: float
    """When data mining becomes web search."""
    end_s: float
    settled_s: float = 1.0
    """From the start, and from the shift, until the window has seen only what is there now."""


SCALES: dict[Mode, Scale] = {
    "quick": Scale(Fabric(2, 3, 2), {"duration": "1s"}, (0.5, 0.9), Fabric(2, 2, 2), 1.5, 3.5),
    # Sections 4.2 to 4.4.
    "full": Scale(Fabric(), {"flows": 100_000}, (0.5, 0.6, 0.7, 0.8, 0.9), Fabric(), 35, 65),
}


@dataclass(frozen=True)
class Scheme:
    """What is compared, as scenarios write it, by load."""

    name: str
    at: Callable[[float], dict[str, Any]]


def awafs(
    queues: int, percentiles: tuple[float, ...] = (), window: str = WINDOW, name: str = ""
) -> Scheme:
    """AWAFS; percentiles 0.1, 0.2, ... and thresholds 7 KB, 14 KB, ... (section 4.3)."""
    chosen = percentiles or tuple((i + 1) / 10 for i in range(queues - 1))
    discipline = {
        "kind": "awafs",
        "percentiles": list(chosen),
        "thresholds": [f"{7 * (i + 1)}KB" for i in range(queues - 1)],
        "window": window,
        "interval": INTERVAL,
    }
    name = name or f"AWAFS, {queues} queues"
    return Scheme(name, lambda _: ns2.scheme(name, "awafs", discipline))


def pias(workload: str, queues: int = 0) -> Scheme:
    """PIAS for `workload`: published thresholds, or solved ones for so many queues."""
    short = {"websearch": "WS", "datamining": "DM"}[workload]
    name = f"PIAS-{short}, {queues} queues, solved" if queues else f"PIAS-{short}"

    def at(load: float) -> dict[str, Any]:
        discipline = {
            "kind": "priority",
            "thresholds": list(published.pias_solved(workload, load, queues))
            if queues
            else published.pias(workload, load),
        }
        return ns2.scheme(name, "pias", discipline)

    return Scheme(name, at)


def _equal_bytes() -> Scheme:
    """AWAFS that finds its percentiles in the traffic (section 6.2 leaves that to future work)."""
    discipline = {
        "kind": "awafs",
        "percentiles": "equal-bytes",
        "thresholds": [f"{7 * i}KB" for i in range(1, 8)],
        "window": WINDOW,
        "interval": INTERVAL,
    }
    name = "AWAFS, equal bytes"
    return Scheme(name, lambda _: ns2.scheme(name, "awafs", discipline))


AWAFS = awafs(8)
EQUAL_BYTES = _equal_bytes()
PIAS_WS, PIAS_DM = pias("websearch"), pias("datamining")

INTENDED = (
    Intended(
        ("scheme.port.discipline", "scheme.nic.discipline"),
        "thresholds, and whether they follow the traffic",
    ),
)


@dataclass(frozen=True)
class Settings:
    """What the paper leaves open."""

    instead: Mapping[str, Scheme] = field(default_factory=dict)
    """Schemes in the place of others, by these others' names."""


SOLVED = Reading(
    "solved",
    "PIAS's thresholds for data mining are our solver's",
    {"instead": {PIAS_DM.name: pias("datamining", 8)}},
)


class Lab(lab.Lab[Settings]):
    """The cells of the study."""

    def __init__(self, mode: Mode) -> None:
        super().__init__(mode, Settings())
        self.scale = SCALES[mode]

    def scheme(self, scheme: Scheme) -> Scheme:
        """What stands for it in this reading."""
        return self.settings.instead.get(scheme.name, scheme)

    def cell(self, scheme: Scheme, traffic: str, load: float) -> Cell:
        """The cell of a scheme under a traffic at a load."""
        scheme = self.scheme(scheme)
        name = f"{traffic}, {scheme.name}, load {load:g}"
        given = {**TRAFFIC[traffic], "load": load, **self.scale.amount}
        return self.custom(name, given, scheme.at(load), self.scale.fabric, load)

    def custom(
        self,
        name: str,
        traffic: Mapping[str, Any],
        scheme: Mapping[str, Any],
        fabric: Fabric,
        cost: float,
        warmup: str = "0s",
        record: Mapping[str, Any] | None = None,
        keep: Callable[[Result], dict[str, Any]] | None = None,
    ) -> Cell:
        """A cell of any traffic, that may record something."""
        scenario = {
            "name": name,
            "topology": fabric.topology,
            "traffic": traffic,
            "measure": {"warmup": warmup, "fct_ends": "ack", "max_time": "300s"},
            "scheme": scheme,
            **({"record": record} if record else {}),
        }
        return self.cells.cell(name, scenario, cost, keep)

    def loads(self, scheme: Scheme, traffic: str, only: tuple[float, ...] | None = None) -> ByLoad:
        """The cells of a scheme at the study's loads."""
        return {load: self.cell(scheme, traffic, load) for load in only or self.scale.loads}
