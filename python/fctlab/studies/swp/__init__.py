"""swp: microsecond network SLOs without priorities.

`isolation` is figure 1, `shaping` figure 2, `accuracy` figures 6 and 7, `timing` table 3,
`capacity` figures 8 to 10 and what happens off forecast; `validation` asks the packet engine
whether plans hold. Every part computes by itself, so there are no cells.
"""

from __future__ import annotations

from fctlab.studies.framework.reading import Reading
from fctlab.studies.framework.study import Claim, Mode, Plan, Study
from fctlab.studies.swp import accuracy, capacity, isolation, shaping, timing, validation
from fctlab.studies.swp.left_open import LEFT_OPEN
from fctlab.studies.swp.readings import Lab

CLAIMS = (
    *isolation.CLAIMS,
    *shaping.CLAIMS,
    *accuracy.CLAIMS,
    *timing.CLAIMS,
    *capacity.CLAIMS,
    *validation.CLAIMS,
)


def plan(mode: Mode) -> Plan:
    """Claims, figures and checks in a mode."""
    lab = Lab(mode)
    return Plan(
        claims=[each.of(lab) for each in CLAIMS],
        figures=[
            *isolation.figures(lab),
            *shaping.figures(lab),
            *accuracy.figures(lab),
            *capacity.figures(lab),
        ],
        checks=[
            *shaping.checks(lab),
            *timing.checks(lab),
            *capacity.checks(lab),
            *validation.checks(lab),
        ],
        tables=[*accuracy.tables(lab), *timing.tables(lab), *validation.tables(lab)],
        notes=[
            *isolation.NOTES,
            *shaping.NOTES,
            *accuracy.notes(mode),
            *timing.notes(mode),
            *capacity.notes(mode),
        ],
    )


def asks(mode: Mode, reading: Reading) -> list[Claim]:
    """The paper's claims under a reading; seconds of table 3 are those of any."""
    lab = Lab(mode).based(reading)
    own = [each for each in CLAIMS if not each.beyond and each not in timing.CLAIMS]
    return [each.of(lab) for each in own]


STUDY = Study(
    "swp",
    "SLOs without priorities",
    "SWP: Microsecond Network SLOs Without Priorities (Zhao, Goyal, Alizadeh, Anderson)",
    plan,
    LEFT_OPEN,
    asks,
)
