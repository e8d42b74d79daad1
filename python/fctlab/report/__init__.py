"""Pages: a saved result as one HTML file that needs no network.

>>> from fctlab import report
>>> report.write("results/demo")
PosixPath('results/demo/report.html')
"""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from pathlib import Path
from pkgutil import resolve_name

from fctlab import readable
from fctlab.errors import SpecError
from fctlab.report import plans, runs, sweeps, whatifs
from fctlab.report.page import LONGEST_START, MARK, TEMPLATES, Page, environment
from fctlab.results import kinds, store

__all__ = ["PAGES", "Page", "load", "page", "write"]


def _of_studies(directory: Path) -> Page:
    """Studies have a page of their own, above this package."""
    made: Page = resolve_name("fctlab.studies.framework.report.html:saved")(directory)
    return made


PAGES: dict[kinds.Kind, Callable[[Path], Page]] = {
    kinds.RUN: runs.of_run,
    kinds.COMPARISON: runs.of_comparison,
    kinds.PREDICTION: plans.of_prediction,
    kinds.PLAN: plans.of_plan,
    kinds.PROVISION: plans.of_provision,
    kinds.WHAT_IF: whatifs.of_whatif,
    kinds.SWEEP: sweeps.of_sweep,
    kinds.POINTS: sweeps.of_store,
    kinds.STUDIES: _of_studies,
}
"""By what a directory is, its page; the first that fits."""
EXPECTED = (
    "what --out of run, compare, sweep, study, predict, plan, provision or whatif wrote, "
    "or a store of points"
)


def page(place: str | PathLike[str]) -> Page:
    """The page of a saved result.

    Args:
        place: a result directory.

    Raises:
        SpecError: there is none, or not a whole one.
    """
    path = Path(place)
    for kind, of in PAGES.items():
        if path.is_dir() and kind.is_here(path):
            with readable.whole(place):
                return of(path)
    raise _without_page(path)


def _without_page(path: Path) -> SpecError:
    """What is there instead of a result that has a page."""
    found = kinds.kind_of(path)
    if not path.exists():
        what = "no such directory"
    elif not path.is_dir():
        what = "is a file, not a directory"
    elif found is not None:
        what = f"holds a result that has no page ({found.name})"
    else:
        for name in (kinds.SCENARIO, kinds.REPORT):
            if (path / name).exists():
                kinds.read_json(path / name)  # which says what is wrong with it
        what = "holds no result"
    return SpecError(str(path), f"{what}; a page is made of {EXPECTED}")


def write(place: str | PathLike[str], *, force: bool = False) -> Path:
    """Write the page of a saved result beside it.

    Args:
        place: see `page`.
        force: also over a file that is no page of fctlab's.

    Returns:
        The page's file.

    Raises:
        SpecError: there is no result, or not a whole one.
        OutputError: it cannot be written, or something else is in its place.
    """
    made = page(place)
    file = store.FileOutput(Path(place) / kinds.PAGE, is_page, force=force)
    file.write(made.html())
    return file.path


def load() -> None:
    """Reads the templates, which every first page of a process does otherwise."""
    for name in TEMPLATES:
        environment().get_template(name)


def is_page(content: bytes) -> bool:
    """Whether a file is a page that was written here."""
    return MARK.encode() in content[:LONGEST_START]
