"""Queueing theory as a judge: engines with one bottleneck beside closed forms.

A flow is a job, the port to the receiver the server. What each formula says is in `formulas`, how
a scenario comes to be such a queue in `setting`. A part is the mean time that flows spend in the
system over what the formula says; a packet that is being sent is not taken off the link, so times
may be off by about a packet's.
"""

from __future__ import annotations

from collections.abc import Iterator

from fctlab.studies.framework.cells import Cell
from fctlab.studies.framework.lab import Settled, claim
from fctlab.studies.framework.runs import Run
from fctlab.studies.framework.study import Mode, Part, Plan, Study
from fctlab.studies.framework.verdict import Band
from fctlab.studies.queueing import formulas
from fctlab.studies.queueing.formulas import Sizes
from fctlab.studies.queueing.setting import (
    CHAINS,
    ENDLESS,
    FIRST,
    LARGE,
    LINE,
    PACKET,
    ROUND_TRIP,
    SERVERS,
    SPREAD,
    WHOLE,
    Job,
    Lab,
)

CLOSE = 0.05
"""A mean time is equal to a formula's within this share, with its whole interval."""
EQUAL = f"equal (band {CLOSE:.0%})"
SWITCH = 0.03
"""The same of packets beside a slotted switch."""


def _part(name: str, cell: Cell, kept: str, expected: float, close: float = CLOSE) -> Part:
    """A mean time over what a formula says of it."""

    def measure(run: Run) -> float:
        return float(run.kept[kept]) / expected

    text = f"equal (band {close:.0%})"
    return Part(name, text, Band.within(close), (cell,), measure, percent=True)


def _times(name: str, cell: Cell, load: float, sizes: Sizes, formula: Job) -> Iterator[Part]:
    """Of all flows, and of the largest tenth where sizes differ and flows are of many packets."""
    rate = load / sizes.mean

    def time(size: float) -> float:
        return formula(rate, sizes, size)

    yield _part(f"{name}, all", cell, "all", sizes.mean_of(time))
    if sizes is SPREAD:
        yield _part(f"{name}, largest tenth", cell, "large", sizes.mean_of(time, LARGE))


def _server(lab: Lab, name: str) -> Iterator[Part]:
    server = SERVERS[name]
    for load in lab.scale.loads:
        cell = lab.server(name, load)
        yield from _times(f"{name}, load {load:g}", cell, load, server.sizes, server.formula)


@claim("queueing-1", "FIFO, one size: M/D/1 (Pollaczek 1930, Khinchine 1932)", EQUAL)
def one_size(lab: Lab) -> Iterator[Part]:
    """Flows of a packet each."""
    yield from _server(lab, "M/D/1")


@claim("queueing-2", "FIFO: M/G/1 (Pollaczek 1930, Khinchine 1932)", EQUAL)
def general(lab: Lab) -> Iterator[Part]:
    """Flows of a packet each, of many sizes."""
    yield from _server(lab, "M/G/1 FIFO")


@claim("queueing-3", "Fair queueing: processor sharing (Kleinrock 1967, Sakata et al. 1969)", EQUAL)
def sharing(lab: Lab) -> Iterator[Part]:
    """A time in proportion to the size, whatever the distribution."""
    yield from _server(lab, "PS")


@claim("queueing-4", "Priority by remaining bytes: SRPT (Schrage and Miller 1966)", EQUAL)
def remaining(lab: Lab) -> Iterator[Part]:
    """Of all flows and of large ones."""
    yield from _server(lab, "SRPT")


@claim("queueing-5", "Priority by size: preemptive SJF (Conway, Maxwell and Miller 1967)", EQUAL)
def by_size(lab: Lab) -> Iterator[Part]:
    """Of all flows and of large ones."""
    yield from _server(lab, "SJF")


@claim("queueing-6", "Priority by bytes sent: FB (Schrage 1967)", EQUAL)
def attained(lab: Lab) -> Iterator[Part]:
    """Of all flows and of large ones."""
    yield from _server(lab, "FB")


@claim("queueing-7", "Two classes in strict priority, no preemption (Cobham 1954)", EQUAL)
def classes(lab: Lab) -> Iterator[Part]:
    """Each class."""
    for load in lab.scale.loads:
        rates = [share * load / WHOLE.mean for share in (FIRST, 1 - FIRST)]
        for number, name in enumerate(("first", "second")):

            def time(size: float, number: int = number, rates: list[float] = rates) -> float:
                return formulas.priority(rates, WHOLE, number, size)

            expected = WHOLE.mean_of(time)
            yield _part(f"load {load:g}, {name} class", lab.classes(load), name, expected)


@claim("queueing-8", "Flows that come at the link's rate: packets", EQUAL)
def packets(lab: Lab) -> Iterator[Part]:
    """Paced, without a reaction."""
    yield from _line_rate(lab, "packet")


@claim("queueing-9", "The same in the link model", EQUAL)
def model(lab: Lab) -> Iterator[Part]:
    """The same flows, no packets."""
    yield from _line_rate(lab, "model")


def _line_rate(lab: Lab, engine: str) -> Iterator[Part]:
    for name, (_, formula) in LINE.items():
        for load in lab.scale.loads:
            cell = lab.line_rate(name, load, engine)
            yield from _times(f"{name}, load {load:g}", cell, load, SPREAD, formula)


@claim(
    "queueing-10",
    "Packets beside the slotted big switch, on the same flows",
    f"equal (band {SWITCH:.0%})",
)
def switch(lab: Lab) -> Iterator[Part]:
    """Packets over slots, flow list by flow list."""
    for name, server in SERVERS.items():
        for load in lab.scale.loads if not server.whole else ():

            def measure(run: Run) -> float:
                return float(run.kept["all"] / run.kept["switch"])

            text = f"equal (band {SWITCH:.0%})"
            words, cell = f"{name}, load {load:g}, packets / slots", lab.server(name, load)
            yield Part(words, text, Band.within(SWITCH), (cell,), measure, percent=True)


@claim(
    "queueing-11",
    "Fixed windows: a closed network whose jobs are packets (bounds of Muntz and Wong 1974)",
    EQUAL,
)
def closed(lab: Lab) -> Iterator[Part]:
    """Where service takes one time the bounds are what happens."""
    for flows, window in CHAINS:
        cell = lab.closed(flows, window)
        share = formulas.closed(flows, window, ROUND_TRIP)
        packets = f"{window} packet{'s' * (window > 1)}"
        name = f"{flows} flow{'s' * (flows > 1)}, a window of {packets}"
        yield _part(name, cell, "all", ENDLESS * PACKET / share)


CLAIMS = (
    one_size,
    general,
    sharing,
    remaining,
    by_size,
    attained,
    classes,
    packets,
    model,
    switch,
    closed,
)


def plan(mode: Mode) -> Plan:
    """Claims in a mode."""
    made = Lab(mode, Settled())
    return Plan(
        claims=[each.of(made) for each in CLAIMS],
        notes=[
            "Each part is the mean time in system over the formula's. A flow's time is its "
            "completion time less the ideal one, plus its bytes at the port's rate.",
            "Flows are of one packet, which no formula tells from a job, or of 50 on average. "
            "Then a packet on the link is sent to its end, whatever comes meanwhile.",
            "Claims 8 and 9: nothing is marked, so that every flow is sent at the link's rate.",
            "Claim 11: a packet is a job that goes round. It waits at the port and nowhere else.",
        ],
    )


STUDY = Study(
    name="queueing",
    title="Queueing theory as a judge",
    paper="No paper: closed forms of queueing theory, each with its source.",
    plan=plan,
)
