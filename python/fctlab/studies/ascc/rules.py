"""Section VII: what each of ASCC's rules is worth, and eight queues instead of exact priorities."""

from __future__ import annotations

from collections.abc import Iterator

from fctlab.studies.ascc.setting import ASCC, DEPLOYABLE, SIZES, WITHOUT, Lab
from fctlab.studies.framework import loads
from fctlab.studies.framework.cells import Cell
from fctlab.studies.framework.figures import Quantity, bar_figure
from fctlab.studies.framework.judged import shown
from fctlab.studies.framework.lab import claim
from fctlab.studies.framework.runs import Results, Run
from fctlab.studies.framework.study import Figure, Part
from fctlab.studies.framework.verdict import Band, Sign

WORKLOAD = "websearch"


@claim(
    "ascc-x1",
    "Web search, alpha = 1: what each rule of section VII is worth when it alone is switched off",
    "open",
    beyond=True,
)
def each_rule(lab: Lab) -> Iterator[Part]:
    """ASCC without each of its rules."""
    for rule in WITHOUT:
        for size in SIZES:
            yield from _without(lab, rule, size)


def _without(lab: Lab, rule: str, size: str) -> tuple[Part, ...]:
    """ASCC without a rule over ASCC."""
    ours, without = (
        lab.loads(scheme, WORKLOAD, only=lab.scale.at) for scheme in (ASCC, WITHOUT[rule])
    )
    name, counts = f"{size}, without {rule} / with it", size == "all flows"
    expected = Sign(1), "worse without"
    return loads.across(name, without, ours, *expected, of=SIZES[size], counts=counts)


def _why_queues(lab: Lab, results: Results) -> str:
    mice = _without(lab, "the buffer policy", "mice")[0]
    return (
        "Eight FIFO queues drop what arrives, not a packet of an incomplete flow: "
        f"without that rule alone mice are {shown(mice, results)}."
    )


@claim(
    "ascc-x2",
    "Web search, alpha = 1: eight strict-priority queues instead of exact priorities",
    "open (band 5%)",
    why=_why_queues,
    beyond=True,
)
def eight_queues(lab: Lab) -> Iterator[Part]:
    """Queues over exact priorities."""
    exact, queues = (
        lab.loads(scheme, WORKLOAD, only=lab.scale.at) for scheme in (ASCC, DEPLOYABLE)
    )
    alike = Band.within(0.05), "alike (band 5%)"
    for size, of in SIZES.items():
        yield from loads.across(f"{size}, 8 queues / exact", queues, exact, *alike, of=of)


CLAIMS = (each_rule, eight_queues)


def figure(lab: Lab) -> Figure:
    """What each rule is worth."""
    schemes = WITHOUT | {"exact priorities (8 queues)": DEPLOYABLE}

    def relative(load: float, size: str) -> dict[str, tuple[tuple[Cell, ...], object]]:
        of = SIZES[size]

        def over(a: Run, b: Run) -> float:
            return of(a) / of(b)

        base = lab.cell(ASCC, WORKLOAD, load)
        return {
            rule: ((lab.cell(scheme, WORKLOAD, load), base), over)
            for rule, scheme in schemes.items()
        }

    panels = [
        (
            f"load {load:g}",
            Quantity("relative to ASCC"),
            {size: relative(load, size) for size in SIZES},
        )
        for load in lab.scale.at
    ]
    return bar_figure(
        "rules",
        "ASCC without one of its rules",
        "Average completion times of web search at alpha = 1 when a rule is switched off, as "
        "shares of ASCC's; above 1 the rule is worth something. Means over the seeds with 95% "
        "intervals.",
        ("ascc-x1", "ascc-x2"),
        panels,  # type: ignore[arg-type]
        below=True,
    )
