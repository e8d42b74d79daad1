"""swp: microsecond network SLOs without priorities.

`isolation` is figure 1, `shaping` figure 2, `accuracy` figures 6 and 7, `timing` table 3,
`capacity` figures 8 to 10 and what happens off forecast; `validation` asks the packet engine
whether plans hold. Every part computes by itself, so there are no cells.
"""

from __future__ import annotations

from fctlab.studies.framework.study import Mode, Plan, Study
from fctlab.studies.swp import accuracy, capacity, isolation, shaping, timing, validation


def plan(mode: Mode) -> Plan:
    """Claims, figures and checks in a mode."""
    return Plan(
        claims=[
            *isolation.claims(mode),
            *shaping.claims(mode),
            *accuracy.claims(mode),
            *timing.claims(mode),
            *capacity.claims(mode),
            *validation.claims(mode),
        ],
        figures=[
            *isolation.figures(mode),
            *shaping.figures(mode),
            *accuracy.figures(mode),
            *capacity.figures(mode),
        ],
        checks=[
            *shaping.checks(mode),
            *timing.checks(mode),
            *capacity.checks(mode),
            *validation.checks(mode),
        ],
        tables=[*accuracy.tables(mode), *timing.tables(mode), *validation.tables(mode)],
        notes=[
            *isolation.NOTES,
            *shaping.NOTES,
            *accuracy.notes(mode),
            *timing.notes(mode),
            *capacity.notes(mode),
        ],
    )


STUDY = Study(
    "swp",
    "SLOs without priorities",
    "SWP: Microsecond Network SLOs Without Priorities (Zhao, Goyal, Alizadeh, Anderson)",
    plan,
)
