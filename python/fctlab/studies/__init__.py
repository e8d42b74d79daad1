"""Studies: a paper's claims, measured one by one.

`study` says what a study is, `verdict` how an effect becomes a verdict, `runner` runs
the cells and resumes, `report` writes what was found. Every other module is a paper.
"""

from __future__ import annotations

import difflib
import importlib
from typing import TYPE_CHECKING

from fctlab.errors import SpecError

if TYPE_CHECKING:
    from fctlab.studies.study import Study

STUDIES = {
    "ads": "What is essential in congestion control, and SRPT on a few priority queues.",
}
"""Names of the studies and what they are about; each is a module of this package."""


def load(name: str) -> Study:
    """The study called `name`.

    Raises:
        SpecError: there is none.
    """
    if name not in STUDIES:
        near = difflib.get_close_matches(name, STUDIES, 1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise SpecError("study", f"{name!r} is not a study; {hint}known: {', '.join(STUDIES)}")
    module = importlib.import_module(f"fctlab.studies.{name}")
    study: Study = module.STUDY
    return study
