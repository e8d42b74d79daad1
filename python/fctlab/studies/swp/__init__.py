"""swp: microsecond network SLOs without priorities.

`isolation` is figure 1, `shaping` figure 2, `capacity` figures 8 to 10 and what happens off
forecast; `validation` asks the packet engine whether plans hold. All of it computes by itself,
so there are no cells.
"""

from __future__ import annotations

from fctlab.studies.study import Mode, Plan, Study
from fctlab.studies.swp import capacity, isolation, shaping, validation


def plan(mode: Mode) -> Plan:
    """Claims, figures and checks in a mode."""
    return Plan(
        claims=[
            *isolation.claims(mode),
            *shaping.claims(mode),
            *capacity.claims(mode),
            *validation.claims(mode),
        ],
        figures=[*isolation.figures(mode), *shaping.figures(mode), *capacity.figures(mode)],
        checks=[*shaping.checks(mode), *capacity.checks(mode), *validation.checks(mode)],
        notes=[*isolation.NOTES, *shaping.NOTES, *capacity.notes(mode)],
        tables=validation.tables(mode),
    )


STUDY = Study(
    "swp",
    "SLOs without priorities",
    "SWP: Microsecond Network SLOs Without Priorities (Zhao, Goyal, Alizadeh, Anderson)",
    plan,
)
