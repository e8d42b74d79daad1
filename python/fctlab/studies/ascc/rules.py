"""Section VII: what each of ASCC's rules is worth, and eight queues instead of exact priorities."""

from __future__ import annotations

from fctlab.studies.ascc.setting import ASCC, DEPLOYABLE, SIZES, WITHOUT, Lab
from fctlab.studies.framework import loads
from fctlab.studies.framework.cells import Cell
from fctlab.studies.framework.figures import Quantity, bar_figure
from fctlab.studies.framework.judged import shown
from fctlab.studies.framework.runs import Run
from fctlab.studies.framework.study import Claim, Figure, Part
from fctlab.studies.framework.verdict import Band, Sign

WORKLOAD = "websearch"


def _lower_than(lab: Lab) -> list[Part]:
    parts: list[Part] = []
    ours = lab.loads(ASCC, WORKLOAD, only=lab.scale.at)
    for rule, scheme in WITHOUT.items():
        without = lab.loads(scheme, WORKLOAD, only=lab.scale.at)
        for size, of in SIZES.items():
            parts += loads.across(
                f"{size}, without {rule} / with it",
                without,
                ours,
                Sign(1),
                "worse without",
                of=of,
                counts=size == "all flows",
            )
    return parts


def claims(lab: Lab) -> list[Claim]:
    """Entries ascc-x1 and ascc-x2."""
    exact = lab.loads(ASCC, WORKLOAD, only=lab.scale.at)
    queues = lab.loads(DEPLOYABLE, WORKLOAD, only=lab.scale.at)
    rules = _lower_than(lab)
    mice = next(part for part in rules if part.name.startswith("mice, without the buffer policy"))
    return [
        Claim(
            "ascc-x1",
            "Web search, alpha = 1: what each rule of section VII is worth when it alone is "
            "switched off",
            "open",
            tuple(rules),
            beyond=True,
        ),
        Claim(
            "ascc-x2",
            "Web search, alpha = 1: eight strict-priority queues instead of exact priorities",
            "open (band 5%)",
            tuple(
                part
                for size, of in SIZES.items()
                for part in loads.across(
                    f"{size}, 8 queues / exact",
                    queues,
                    exact,
                    Band.within(0.05),
                    "alike (band 5%)",
                    of=of,
                )
            ),
            why=lambda results: (
                "Eight FIFO queues drop what arrives, not a packet of an incomplete flow: "
                f"without that rule alone mice are {shown(mice, results)}."
            ),
            beyond=True,
        ),
    ]


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
