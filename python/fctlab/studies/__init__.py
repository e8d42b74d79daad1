"""Studies: a paper's claims, measured one by one.

`framework` is what all of them share, `pias` what PIAS published, on which several of them build.
Every other module is a study: a paper, or a question across papers.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from fctlab import choices

if TYPE_CHECKING:
    from fctlab.studies.framework.study import Study

STUDIES = {
    "ads": "Scheduling times rate setting, and SRPT on a few priority queues (Mushtaq et al.).",
    "dsrtf": "Remaining time from bytes sent and DCTCP's alpha, against PIAS (Gao et al.).",
    "awafs": "Demotion thresholds that follow the traffic, against PIAS (Gutierrez et al.).",
    "ascc": "SRPT for flows whose sizes become known, against PIAS and LAS (Kogan et al.).",
    "crosscut": "Thirteen schemes on the same flows, and advice that follows from the table.",
    "advice": "Which scheme, when, how sure, and what flips it, on a sample of settings.",
    "swp": "SLOs without priorities: scheduling weights, least capacity (Zhao et al.).",
    "linux": "The engine beside Linux's own TCP and queues, in virtual time: DCTCP and PIAS.",
    "fabric": "One fluid for a whole fabric beside packets, by size of flow, and its floor.",
    "queueing": "Engines beside closed forms: M/D/1, M/G/1, PS, SRPT, FB, priority, closed.",
    "bigswitch": "Theorems 1-8 of ASCC on a slotted big switch, and how tight their bounds are.",
}
"""Names of the studies and what they are about; each is a module of this package."""


def catalog() -> list[dict[str, str]]:
    """Every study, ``{"name", "description"}``."""
    return [{"name": name, "description": text} for name, text in STUDIES.items()]


def load(name: str) -> Study:
    """The study called `name`.

    Raises:
        SpecError: there is none.
    """
    choices.check("study", name, STUDIES, "a study")
    module = importlib.import_module(f"fctlab.studies.{name}")
    study: Study = module.STUDY
    return study
