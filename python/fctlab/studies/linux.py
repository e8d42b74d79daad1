"""The engine beside Linux in virtual time: the same flows; DCTCP, PIAS and ADS, and FIFO with TCP.

What differs between the two is an option of the engine. Rows with one more of them switched on say
which one explains the difference: connections that are opened, windows that shrink over a round
trip, Linux's timers, for ADS, whose bands share a buffer here and have one each on Linux, what is
dropped, hosts that are not in step, and delayed ACKs. What has no option is switched off on Linux
in the last rows: losses that are found by time. Real time has rows of its own, of means alone.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fctlab.studies.framework import lab
from fctlab.studies.framework.cells import Cell
from fctlab.studies.framework.lab import Reading, beside, claim
from fctlab.studies.framework.runs import Run, metric
from fctlab.studies.framework.study import Mode, Part, Plan, Study
from fctlab.studies.framework.verdict import Band

if TYPE_CHECKING:
    from fctlab.results.result import Result

CUTS = [393, 952, 1398]
"""Of ADS's ports: `fctlab mapping --scope global` of its values on the flows of
``scenarios/linux-star.toml``; the other four cuts are above every value."""
SCHEMES: dict[str, dict[str, Any]] = {
    "FIFO": {"preset": "tcp"},
    "DCTCP": {"preset": "dctcp"},
    "PIAS": {"preset": "pias"},
    "ADS": {
        "preset": "ads",
        "port": {
            "discipline": {
                "kind": "mapped",
                "queues": len(CUTS) + 1,
                "mapping": {"kind": "static", "thresholds": CUTS},
            }
        },
    },
}
"""Presets and what is changed in them. FIFO is TCP over tail drop."""
REAL, REAL_FLOWS = ("websearch", 0.6), 400
"""Workload, load and flows in real time: about a minute."""
JUDGED = ("all", "small", "medium")
"""Size classes with at least 100 flows; large ones stand beside."""
CLOSE = 0.1


GROWS = 3887
"""Packets of a flow until the receiver's window is as large as it gets: no ACK waits before. With
the testbed's ``tcp_rmem``; `test_acks_wait_once_the_window_has_grown` counts them."""


@dataclass(frozen=True)
class Settings:
    """How the engine runs."""

    transport: Mapping[str, Any] = field(default_factory=dict)
    """Keys of transports."""
    drop: str = "tail"
    """Of ports with bands."""
    by_time: bool = True
    """Of Linux: whether it finds losses by time as well."""

    def scheme(self, name: str) -> dict[str, dict[str, Any]]:
        """Tables of a scheme with what is not as by default."""
        port = {"drop": self.drop} if name == "ADS" and self.drop != Settings.drop else {}
        both = (("transport", dict(self.transport)), ("port", port))
        return {key: table for key, table in both if table}


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
OPENED: dict[str, Any] = {"handshake": True}
SHRINKING = OPENED | {"reduction": "prr"}
TIMED = SHRINKING | {"rto": "above-rtt", "initial_rto": "1s", "rto_restarts": "first-again"}
UNEVEN = TIMED | {"ack_jitter": "1us"}
DELAYED = UNEVEN | {"ack_every": 2, "quick_acks": GROWS, "abc_limit": "none"}
HANDSHAKE = Reading(
    "-handshake",
    "with connections that are opened (transport.handshake)",
    {"transport": OPENED},
)
PRR = Reading(
    "-prr",
    "and with windows that shrink over a round trip (transport.reduction)",
    {"transport": SHRINKING},
)
RTO = Reading(
    "-rto",
    "and with Linux's timers (transport.rto, initial_rto, rto_restarts)",
    {"transport": TIMED},
)
DROP = Reading(
    "-drop",
    "and with ADS's lower bands taking no room from higher ones (port.drop)",
    {"transport": TIMED, "drop": "lowest-priority"},
)
JITTER = Reading(
    "-jitter",
    "and with ACKs up to 1 us later, by chance (transport.ack_jitter)",
    {"transport": UNEVEN, "drop": "lowest-priority"},
)
ACKS = Reading(
    "-acks",
    "and with an ACK for every second packet once the receiver's window has grown "
    "(transport.ack_every, quick_acks, abc_limit)",
    {"transport": DELAYED, "drop": "lowest-priority"},
)
COUNTS = Reading(
    "-counts",
    "and with a Linux that finds losses by counting alone (no RACK, TLP and F-RTO)",
    {**ACKS.changes, "by_time": False},
)
COUNTING = {
    "net/ipv4/tcp_recovery": "0",
    "net/ipv4/tcp_early_retrans": "0",
    "net/ipv4/tcp_frto": "0",
}
"""RFC 8985 and RFC 5682 off."""


def through_linux(result: Result) -> dict[str, Any]:
    """The summary of a run's flows on Linux."""
    from fctlab import testbed

    return {"linux": testbed.replay(result, "uml").linux.report["summary"]}


def through_counting_linux(result: Result) -> dict[str, Any]:
    """The same without losses that are found by time."""
    from fctlab import testbed

    ran = testbed.replay(result, "uml", settings=COUNTING)
    return {"linux": ran.linux.report["summary"]}


def through_namespaces(result: Result) -> dict[str, Any]:
    """The same in real time."""
    from fctlab import testbed

    return {"linux": testbed.replay(result, "namespaces").linux.report["summary"]}


def nowhere(result: Result) -> dict[str, Any]:
    """Nothing, where this machine cannot (`Lab.lacks`)."""
    return {"linux": []}


class Lab(lab.Lab[Settings]):
    """The cells of the study: a run of the engine, after which Linux has the same flows."""

    @property
    def scale(self) -> Scale:
        """How much is run."""
        return SCALES[self.mode]

    def engine(self, scheme: str, workload: str, load: float) -> Cell:
        """The engine as it is set."""
        changed = self.settings.scheme(scheme)
        if not changed:
            return self.both(scheme, workload, load)
        scenario = self._set(self._scenario(scheme, workload, load))
        keys = ", ".join(key for table in changed.values() for key in table)
        return self.cells.cell(f"{scheme}, {keys}, {workload} {load:g}", scenario)

    def both(self, scheme: str, workload: str, load: float) -> Cell:
        """The engine by default, and Linux."""
        scenario = self._scenario(scheme, workload, load)
        cost = 100.0 * load
        place = f"{scheme}, {workload} {load:g}"
        if self.settings.by_time:
            return self.cells.cell(place, scenario, cost, through_linux)
        return self.cells.cell(f"{place}, counting", scenario, cost, through_counting_linux)

    def real(self, scheme: str) -> Cell:
        """The engine as it is set at a rate that namespaces have, and Linux in real time."""
        keep = nowhere if self.lacks(scheme) else through_namespaces
        return self.cells.cell(f"{scheme}, in real time", self._real(scheme), 500.0, keep)

    def lacks(self, scheme: str) -> str | None:
        """Why this machine cannot run a scheme in real time; ``None`` if it can."""
        return _lacks(json.dumps(self._real(scheme)))

    def _real(self, scheme: str) -> dict[str, Any]:
        scenario = self._set(self._scenario(scheme, *REAL, REAL_FLOWS))
        scenario["topology"] |= {"host_rate": "200Mbps", "base_rtt": "500us"}
        return scenario

    def _set(self, scenario: dict[str, Any]) -> dict[str, Any]:
        """The scenario with what is set."""
        scheme = scenario["scheme"]
        for key, table in self.settings.scheme(scheme["name"]).items():
            scheme[key] = scheme.get(key, {}) | table
        return scenario

    def places(self) -> Iterator[tuple[str, float]]:
        """Workloads and loads."""
        for workload in self.scale.workloads:
            for load in self.scale.loads:
                yield workload, load

    def _scenario(
        self, scheme: str, workload: str, load: float, flows: int | None = None
    ) -> dict[str, Any]:
        return {
            "topology": {
                "kind": "star",
                "senders": 8,
                "host_rate": "1Gbps",
                "base_rtt": "100us",
            },
            "traffic": {"workload": workload, "load": load, "flows": flows or self.scale.flows},
            "scheme": {"name": scheme, **SCHEMES[scheme]},
        }


@functools.cache
def _lacks(scenario: str) -> str | None:
    """A machine is asked once."""
    from fctlab import testbed

    return testbed.lacks(json.loads(scenario), "namespaces")


def on_linux(run: Run, size: str = "all", name: str = "avg_fct_s") -> float:
    """FCT of a size class on Linux, in seconds."""
    rows = (
        row for row in run.kept["linux"] if (row["class"], row["traffic_class"]) == (size, "all")
    )
    row = next(rows, None)
    return math.nan if row is None or row[name] is None else float(row[name])


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


def _gain(lab: Lab, workload: str, load: float, size: str, base: str, scheme: str = "PIAS") -> Part:
    here: Callable[[Run], float] = metric("avg_fct_s", size)
    places = (lab.engine, lab.both)
    cells = tuple(cell(name, workload, load) for cell in places for name in (scheme, base))
    return Part(
        f"{workload} {load:g}, {size}, {scheme} / {base}, engine over Linux",
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


@claim("linux-5", "ADS against FIFO: the engine's ratio over Linux's", "equal (band 10%)")
def ads(lab: Lab) -> Iterator[Part]:
    """What ADS is worth, here and there, and how near the two are."""
    for workload, load in lab.places():
        for size in ("all", "small"):
            yield _gain(lab, workload, load, size, "FIFO", "ADS")
        for size in JUDGED:
            yield from beside([_beside_linux(lab, "ADS", workload, load, size)])


@claim("linux-6", "In real time, in namespaces: average FCT against Linux's", "equal (band 10%)")
def real(lab: Lab) -> Iterator[Part]:
    """Every scheme at 200 Mbps; small flows stand beside, whose tails are those of the machine."""
    for scheme in SCHEMES:
        for size in JUDGED:
            part = Part(
                f"websearch 0.6 at 200 Mbps, {scheme}, {size}, engine / Linux",
                "equal (band 10%)",
                Band.within(CLOSE),
                (lab.real(scheme),),
                lambda run, size=size: metric("avg_fct_s", size)(run) / on_linux(run, size),
                percent=True,
            )
            yield from [part] if size != "small" else beside([part])


CLAIMS = (
    *(
        each.under(reading)
        for each in (dctcp, pias, gain, median, ads)
        for reading in (lab.TEXT, HANDSHAKE, PRR, RTO, JITTER, ACKS)
    ),
    ads.under(DROP),
    real.under(ACKS),
)
COUNTED = tuple(each.under(COUNTS) for each in (gain, ads))
"""Explains nothing, so it takes its time in quick alone."""


def plan(mode: Mode) -> Plan:
    """Claims in a mode."""
    made = Lab(mode, Settings())
    return Plan(
        claims=[each.of(made) for each in CLAIMS + (COUNTED if mode == "quick" else ())],
        notes=[
            "Linux is a User Mode Linux in virtual time (fctlab testbed): its own TCP, red, prio "
            "and htb; hosts tag by bytes sent or outstanding with a program in BPF.",
            "Eight senders and a receiver at 1 Gbps, base RTT 100 us; the same flows on both.",
            "FIFO is TCP (on Linux: reno) over ports with tail drop.",
            f"In real time {REAL_FLOWS} flows go through namespaces of this machine at 200 Mbps "
            "with five times the base RTT; means alone say something there.",
            *(f"{scheme} did not: {why}" for scheme in SCHEMES if (why := made.lacks(scheme))),
        ],
    )


STUDY = Study(
    name="linux",
    title="The engine beside Linux",
    paper="No paper: Linux's own TCP, queues and tagger, in virtual time.",
    plan=plan,
)
