"""The engine beside Linux in virtual time: the same flows, DCTCP and PIAS, and FIFO with TCP.

What differs between the two is an option of the engine (`transport.handshake`); rows with it
switched on say whether it explains the difference.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fctlab.studies.framework import lab
from fctlab.studies.framework.cells import Cell
from fctlab.studies.framework.lab import Reading, beside, claim
from fctlab.studies.framework.runs import Run, metric
from fctlab.studies.framework.study import Mode, Part, Plan, Study
from fctlab.studies.framework.verdict import Band

if TYPE_CHECKING:
    from fctlab.results.result import Result

SCHEMES = {"FIFO": "tcp", "DCTCP": "dctcp", "PIAS": "pias"}
"""Presets. FIFO is TCP over tail drop."""
JUDGED = ("all", "small", "medium")
"""Size classes with at least 100 flows; large ones stand beside."""
CLOSE = 0.1


@dataclass(frozen=True)
class Settings:
    """How the engine runs."""

    handshake: bool = False


@dataclass(frozen=True)
class Scale:
    """How much is run."""

    workloads: tuple[str, ...]
    loads: tuple[float, ...]
    flows: int


SCALES: dict[Mode, Scale] = {
    "quick": Scale(("websearch",), (0.6,), 400),
    "full": Scale(("websearch", "cache"), (0.6, 0.8), 2_000),
}
HANDSHAKE = Reading(
    "-handshake", "with connections that are opened (transport.handshake)", {"handshake": True}
)


def through_linux(result: Result) -> dict[str, Any]:
    """The summary of a run's flows on Linux."""
    from fctlab import testbed

    return {"linux": testbed.replay(result, "uml").linux.report["summary"]}


class Lab(lab.Lab[Settings]):
    """The cells of the study: a run of the engine, after which Linux has the same flows."""

    @property
    def scale(self) -> Scale:
        """How much is run."""
        return SCALES[self.mode]

    def engine(self, scheme: str, workload: str, load: float) -> Cell:
        """The engine as it is set."""
        if not self.settings.handshake:
            return self.both(scheme, workload, load)
        scenario = self._scenario(scheme, workload, load)
        scenario["scheme"]["transport"] = {"handshake": True}
        return self.cells.cell(f"{scheme}, opened, {workload} {load:g}", scenario)

    def both(self, scheme: str, workload: str, load: float) -> Cell:
        """The engine by default, and Linux."""
        scenario = self._scenario(scheme, workload, load)
        cost = 100.0 * load
        return self.cells.cell(f"{scheme}, {workload} {load:g}", scenario, cost, through_linux)

    def places(self) -> Iterator[tuple[str, float]]:
        """Workloads and loads."""
        for workload in self.scale.workloads:
            for load in self.scale.loads:
                yield workload, load

    def _scenario(self, scheme: str, workload: str, load: float) -> dict[str, Any]:
        return {
            "topology": {
                "kind": "star",
                "senders": 8,
                "host_rate": "1Gbps",
                "base_rtt": "100us",
            },
            "traffic": {"workload": workload, "load": load, "flows": self.scale.flows},
            "scheme": {"name": scheme, "preset": SCHEMES[scheme]},
        }


def on_linux(run: Run, size: str = "all", name: str = "avg_fct_s") -> float:
    """FCT of a size class on Linux, in seconds."""
    rows = (
        row for row in run.kept["linux"] if (row["class"], row["traffic_class"]) == (size, "all")
    )
    value = next(rows)[name]
    return math.nan if value is None else float(value)


def _beside_linux(
    lab: Lab, scheme: str, workload: str, load: float, size: str, name: str = "avg_fct_s"
) -> Part:
    here: Callable[[Run], float] = metric(name, size)
    what = {"avg_fct_s": "", "p50_fct_s": f"{scheme}, median, "}[name]
    return Part(
        f"{workload} {load:g}, {size}, {what}engine / Linux",
        "equal (band 10%)",
        Band.within(CLOSE),
        (lab.engine(scheme, workload, load), lab.both(scheme, workload, load)),
        lambda engine, linux: here(engine) / on_linux(linux, size, name),
        percent=True,
    )


def _all_sizes(lab: Lab, scheme: str) -> Iterator[Part]:
    for workload, load in lab.places():
        for size in JUDGED:
            yield _beside_linux(lab, scheme, workload, load, size)
        if workload == "websearch":
            yield from beside([_beside_linux(lab, scheme, workload, load, "large")])


@claim("linux-1", "DCTCP: average FCT of the engine against Linux's", "equal (band 10%)")
def dctcp(lab: Lab) -> Iterator[Part]:
    """DCTCP by size class."""
    yield from _all_sizes(lab, "DCTCP")


@claim("linux-2", "PIAS: average FCT of the engine against Linux's", "equal (band 10%)")
def pias(lab: Lab) -> Iterator[Part]:
    """PIAS by size class."""
    yield from _all_sizes(lab, "PIAS")


@claim("linux-3", "PIAS against FIFO: the engine's ratio over Linux's", "equal (band 10%)")
def gain(lab: Lab) -> Iterator[Part]:
    """What PIAS is worth, here and there."""
    for workload, load in lab.places():
        for size in ("all", "small"):
            yield _gain(lab, workload, load, size, "FIFO")
            yield from beside([_gain(lab, workload, load, size, "DCTCP")])


def _gain(lab: Lab, workload: str, load: float, size: str, base: str) -> Part:
    here: Callable[[Run], float] = metric("avg_fct_s", size)
    places = (lab.engine, lab.both)
    cells = tuple(cell(name, workload, load) for cell in places for name in ("PIAS", base))
    return Part(
        f"{workload} {load:g}, {size}, PIAS / {base}, engine over Linux",
        "equal (band 10%)",
        Band.within(CLOSE),
        cells,
        lambda a, b, c, d: here(a) / here(b) / (on_linux(c, size) / on_linux(d, size)),
        percent=True,
    )


@claim("linux-4", "Median FCT of flows to 100 KB against Linux's", "equal (band 10%)")
def median(lab: Lab) -> Iterator[Part]:
    """DCTCP and PIAS, where most flows are."""
    for workload, load in lab.places():
        for scheme in ("DCTCP", "PIAS"):
            yield _beside_linux(lab, scheme, workload, load, "small", "p50_fct_s")


CLAIMS = tuple(
    each.under(reading) for each in (dctcp, pias, gain, median) for reading in (lab.TEXT, HANDSHAKE)
)


def plan(mode: Mode) -> Plan:
    """Claims in a mode."""
    made = Lab(mode, Settings())
    return Plan(
        claims=[each.of(made) for each in CLAIMS],
        notes=[
            "Linux is a User Mode Linux in virtual time (fctlab testbed): its own TCP, red, prio "
            "and htb; hosts tag by bytes sent with a program in BPF.",
            "Eight senders and a receiver at 1 Gbps, base RTT 100 us; the same flows on both.",
            "FIFO is TCP (on Linux: reno) over ports with tail drop.",
        ],
    )


STUDY = Study(
    name="linux",
    title="The engine beside Linux",
    paper="No paper: Linux's own TCP, queues and tagger, in virtual time.",
    plan=plan,
)
