"""Section 4: what the paper leaves open. Entries ads-x1 to ads-x3."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

from fctlab.studies.ads.setting import DESCRIPTIONS, WORKLOADS, Lab, Scale, Setting, ads
from fctlab.studies.framework.cells import Cell
from fctlab.studies.framework.figures import Quantity, bar_figure, slowdowns
from fctlab.studies.framework.lab import Stated, claim
from fctlab.studies.framework.study import Figure, Part, ratio
from fctlab.studies.framework.verdict import Band, Sign

SLOWDOWN_AXIS = Quantity("average slowdown")


@dataclass(frozen=True)
class _Pattern:
    """A load pattern at the edge of what the paper looked at; its name in ids and in words."""

    name: str
    words: str
    of: Callable[[Scale], Setting]


INCAST = {"pattern": {"kind": "incast", "fanin": 12, "query_size": "1MB"}}
BURSTS = {"workload": WORKLOADS["imc10"], "arrivals": {"kind": "lognormal", "sigma": 2.0}}
PATTERNS = (
    _Pattern("load-0.9", "load 0.9", lambda scale: Setting(scale, tag="load-0.9", load=0.9)),
    _Pattern(
        "bursts", "log-normal arrivals", lambda scale: Setting(scale, tag="bursts", traffic=BURSTS)
    ),
    _Pattern("incast", "incast 12 to 1", lambda scale: Setting(scale, "incast", traffic=INCAST)),
    _Pattern(
        "huge",
        DESCRIPTIONS["huge"],
        lambda scale: Setting(replace(scale, end_ms=3 * scale.end_ms), "huge"),
    ),
    _Pattern("point", DESCRIPTIONS["point"], lambda scale: Setting(scale, "point", "grid")),
)


def _under(lab: Lab, pattern: _Pattern) -> dict[str, Cell]:
    setting = pattern.of(lab.scales.workloads)
    return {
        "TCP over FIFO": lab.cell("tcp", "fifo", setting),
        "DCTCP over FIFO": lab.cell("dctcp", "fifo", setting),
        "ADS-8": lab.cell("tcp", ads(8), setting),
        "SRPT": lab.cell("tcp", "srpt", setting),
    }


def _limits(lab: Lab, pattern: _Pattern) -> Iterator[Part]:
    fifo, dctcp, eight, srpt = _under(lab, pattern).values()
    yield ratio("TCP, FIFO / SRPT", fifo, srpt, Sign(1), "SRPT better")
    yield ratio("DCTCP over FIFO / TCP over ADS-8", dctcp, eight, Sign(1), "ADS better")
    yield ratio("ADS-8 / SRPT", eight, srpt, Band(0, 1.10), "close (band 10%)", percent=True)


@claim(
    "ads-x1",
    "Are there load patterns where the conclusions do not hold?",
    "open",
    beyond=True,
    combines=True,
)
def patterns(lab: Lab) -> Iterator[Part]:
    """Load patterns that might break the conclusions."""
    for pattern in PATTERNS:
        for part in _limits(lab, pattern):
            yield replace(part, name=f"{pattern.words}: {part.name}")


def _about(pattern: _Pattern) -> Stated[Lab]:
    """The entry about one pattern."""
    parts = partial(_limits, pattern=pattern)
    return Stated(f"ads-x1.{pattern.name}", f"... {pattern.words}", "", parts, beyond=True)


def patterns_figure(lab: Lab) -> Figure:
    """Where the limits are."""
    return bar_figure(
        "patterns",
        "Where are the limits?",
        "Load patterns at the edge of what the paper looked at, TCP unless said otherwise. Flows "
        "larger than the 2 MB cap all look alike to ADS.",
        ("ads-x1",),
        [("", SLOWDOWN_AXIS, slowdowns({each.words: _under(lab, each) for each in PATTERNS}))],
    )


MAPPED = ("imc10", "facebook", "uniform")


def _mapped(lab: Lab, workload: str, queues: int) -> dict[str, Cell]:
    """Dynamic ADS with either policy."""
    setting = Setting(lab.scales.main, workload)
    least = ads(queues, tag="least", policy="least-slowdown")
    return {
        "equal split": lab.cell("tcp", ads(queues), setting),
        "least slowdown": lab.cell("tcp", least, setting),
        "SRPT": lab.cell("tcp", "srpt", setting),
    }


def _better(lab: Lab, workload: str, queues: int) -> Iterator[Part]:
    even, least, _ = _mapped(lab, workload, queues).values()
    name = f"{DESCRIPTIONS[workload]}: least slowdown / equal split, {queues} queues"
    yield ratio(name, least, even, Sign(-1), "better", percent=True)
    if queues == 2:
        setting = Setting(lab.scales.main, workload)
        kept = lab.cell("tcp", lab.static(2, setting, "least", "least-slowdown"), setting)
        simple = lab.cell("tcp", lab.static(2, setting), setting)
        yield ratio(f"{name}, static", kept, simple, Sign(-1), "better", percent=True)


@claim("ads-x2", "Is there a 2-queue ADS that is clearly better?", "open", beyond=True)
def two_queues(lab: Lab) -> Iterator[Part]:
    """Thresholds for the least slowdown, against equal split."""
    for workload in MAPPED:
        yield from _better(lab, workload, 2)


@claim("ads-x3", "Is there a better adaptive mapping for 4 and 8 queues?", "open", beyond=True)
def more_queues(lab: Lab) -> Iterator[Part]:
    """The same with more queues."""
    for queues in (4, 8):
        for workload in MAPPED:
            yield from _better(lab, workload, queues)


CLAIMS = (patterns, *map(_about, PATTERNS), two_queues, more_queues)


def policies_figure(lab: Lab) -> Figure:
    """Policies beside each other."""
    groups = {
        f"{workload}\n{queues} queues": _mapped(lab, workload, queues)
        for workload in MAPPED
        for queues in (2, 4, 8)
    }
    return bar_figure(
        "policies",
        "A better mapping",
        "Dynamic ADS with the thresholds that minimise the predicted average slowdown of what a "
        "port has seen, against the paper's equal split of packets; TCP.",
        ("ads-x2", "ads-x3"),
        [("", SLOWDOWN_AXIS, slowdowns(groups))],
    )
