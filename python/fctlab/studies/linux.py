"""The engine beside Linux in virtual time: the same flows; DCTCP, PIAS and ADS, and FIFO with TCP.

What differs between the two is an option of the engine. Rows with one more of them switched on say
which one explains the difference: `transport.handshake`, then `transport.reduction` as well,
where losses are `transport.rto`, for ADS, whose bands share a buffer here and have one each on
Linux, `port.drop`, then `transport.ack_every` and `transport.abc_limit`. What has no option is
switched off on Linux in the last rows: losses that are found by time.
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
JUDGED = ("all", "small", "medium")
"""Size classes with at least 100 flows; large ones stand beside."""
CLOSE = 0.1


TRANSPORT = ("handshake", "reduction", "rto", "ack_every", "quick_acks", "abc_limit")
"""Keys of transports that are set; ports have one more."""


@dataclass(frozen=True)
class Settings:
    """How the engine runs."""

    handshake: bool = False
    reduction: str = "at-once"
    rto: str = "estimated"
    ack_every: int = 1
    quick_acks: int = 0
    abc_limit: int | str = 1
    drop: str = "tail"
    by_time: bool = True
    """Of Linux: whether it finds losses by time as well."""

    def scheme(self, name: str) -> dict[str, dict[str, Any]]:
        """Tables of a scheme with what is not as by default; drops are of ports with bands."""
        transport = {
            key: value
            for key in TRANSPORT
            if (value := getattr(self, key)) != getattr(Settings, key)
        }
        port = {"drop": self.drop} if name == "ADS" and self.drop != Settings.drop else {}
        return {key: table for key, table in (("transport", transport), ("port", port)) if table}


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
PRR = Reading(
    "-prr",
    "and with windows that shrink over a round trip (transport.reduction)",
    {"handshake": True, "reduction": "prr"},
)
RTO = Reading(
    "-rto",
    "and with timers that are longer than the RTT by as much (transport.rto)",
    {**PRR.changes, "rto": "above-rtt"},
)
DROP = Reading(
    "-drop",
    "and with ADS's lower bands taking no room from higher ones (port.drop)",
    {**RTO.changes, "drop": "lowest-priority"},
)
ACKS = Reading(
    "-acks",
    "and with an ACK for every second packet but the first 16 (transport.ack_every)",
    {**DROP.changes, "ack_every": 2, "quick_acks": 16},
)
ABC = Reading(
    "-abc",
    "and with windows that grow by packets (transport.abc_limit)",
    {**ACKS.changes, "abc_limit": "none"},
)
COUNTS = Reading(
    "-counts",
    "and with a Linux that finds losses by counting alone (no RACK, TLP and F-RTO)",
    {**ABC.changes, "by_time": False},
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
        scenario = self._scenario(scheme, workload, load)
        for key, table in changed.items():
            scenario["scheme"][key] = scenario["scheme"].get(key, {}) | table
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
            "scheme": {"name": scheme, **SCHEMES[scheme]},
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


CLAIMS = (
    *(
        each.under(reading)
        for each in (dctcp, pias, gain, median, ads)
        for reading in (lab.TEXT, HANDSHAKE, PRR, RTO, ACKS, ABC)
    ),
    ads.under(DROP),
    *(each.under(COUNTS) for each in (gain, ads)),
)


def plan(mode: Mode) -> Plan:
    """Claims in a mode."""
    made = Lab(mode, Settings())
    return Plan(
        claims=[each.of(made) for each in CLAIMS],
        notes=[
            "Linux is a User Mode Linux in virtual time (fctlab testbed): its own TCP, red, prio "
            "and htb; hosts tag by bytes sent or outstanding with a program in BPF.",
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
