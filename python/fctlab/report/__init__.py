"""Pages: a saved result as one HTML file that needs no network.

>>> from fctlab import report
>>> report.write("results/demo")
PosixPath('results/demo/report.html')
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from pkgutil import resolve_name

from fctlab.errors import SpecError
from fctlab.report import runs
from fctlab.report.page import LONGEST_START, MARK, Page
from fctlab.results import kinds, store
from fctlab.results.comparison import Comparison
from fctlab.results.result import Result

__all__ = ["Page", "page", "write"]


def page(place: str | PathLike[str]) -> Page:
    """The page of a saved result.

    Args:
        place: a result directory.

    Raises:
        SpecError: there is none, or not a whole one.
    """
    path = Path(place)
    kind = kinds.kind_of(path)
    if kind is kinds.RUN:
        return runs.of_run(Result.load(path), path)
    if kind is kinds.COMPARISON:
        return runs.of_comparison(Comparison.load(path), path)
    if kind is kinds.STUDIES:
        made: Page = resolve_name("fctlab.studies.framework.report.html:saved")(path)
        return made
    raise SpecError(str(place), "holds no result that a page can show")


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


def is_page(content: bytes) -> bool:
    """Whether a file is a page that was written here."""
    return MARK.encode() in content[:LONGEST_START]
