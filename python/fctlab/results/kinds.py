"""What a result directory is: its files, its kinds, and what they hold."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatch
from os import PathLike
from pathlib import Path
from typing import Any

from fctlab import choices
from fctlab.errors import SpecError
from fctlab.results.drafts import PREFIX

SCENARIO = "scenario.json"
REPORT = "report.json"
FLOWS = "flows.parquet"
SUMMARY = "summary.csv"
FCT_CDF = "fct_cdf"
SLOWDOWN = "slowdown_by_size"
SLOWDOWN_BY_LOAD = "slowdown_by_load"
FCT_BY_LOAD = "fct_by_load"
MAPPING = "mapping"
STATE = "state"
FIGURES = (FCT_CDF, SLOWDOWN, SLOWDOWN_BY_LOAD, FCT_BY_LOAD, MAPPING, STATE)
"""Figures of runs and comparisons; their files end as the format says."""
FORMATS = ("png", "pdf", "svg")
"""In which figures are written."""
DRAWN = "FCTLAB_FIGURES"
"""Environment variable: ``no`` where runs and comparisons are saved without figures."""
RECORDINGS = "recordings"
PORT_SERIES = "port_series.parquet"
PAGE = "report.html"
"""What `fctlab report` writes beside a result of any kind."""
RUNS = "runs"
WHATIF = ("whatif.csv", "whatif.png")
WHATIF_FILE = "whatif.json"
PREDICTION_FILE = "prediction.json"
PLAN_FILE = "plan.json"
PROVISION_FILE = "provision.json"
FABRIC_PREDICTION_FILE = "fabric-prediction.json"
FABRIC_PLAN_FILE = "fabric-plan.json"
FABRIC_WHATIF_FILE = "fabric-whatif.json"
FABRIC_VERIFICATION_FILE = "fabric-verification.json"
FABRIC_IMPORT_FILE = "fabric-import.json"
FABRIC_EPOCH_FILE = "fabric-epoch.json"
FABRIC_SPECIFICATION = "specification.json"
FABRIC_CONFIRMATION = "confirmation.json"
FABRIC_WINDOWS = "window-*.parquet"
"""Traces beside the scenario whose flows they are."""
WAITS = "waits.png"
SPECIFICATION = "specification.json"
"""Resolved, beside what was asked about it."""
SWEEP_FILE = "sweep.json"
STORE = "store"
STORE_FILE = "store.json"
"""Of a store of points, which format it has."""
EXPORT_FILE = "export.json"
"""Names the other files of an export."""
EXPORT_WORDS = "export.txt"
FITTED_SPEC = "specification.toml"
FITTED = "by fctlab fit"
"""In the first line of `FITTED_SPEC`."""
STUDY = ("report.json", "report.md", "report.html", "page.json", "figures", "store", "inputs")


@dataclass(frozen=True)
class Kind:
    """A kind of result directory.

    Attributes:
        name: as people call it.
        entries: patterns of its files and folders; others are somebody else's.
        is_here: whether a directory holds one.
        runs: how many runs it holds, which nobody wants to lose by mistake.
        index: of its entries, one that names the others; what it does not name is not of it.
    """

    name: str
    entries: tuple[str, ...]
    is_here: Callable[[Path], bool]
    runs: Callable[[Path], int] = lambda _: 1
    index: str = ""

    def owned(self, directory: Path) -> list[Path]:
        """What in `directory` is of this kind."""
        found = [e for e in directory.iterdir() if any(fnmatch(e.name, p) for p in self.entries)]
        if self.index:
            named = (directory / self.index).read_text(encoding="utf-8")
            found = [e for e in found if e.name == self.index or f'"{e.name}"' in named]
        return found


def draws_figures() -> bool:
    """Whether runs and comparisons are saved with their figures (`DRAWN`).

    Raises:
        SpecError: the environment says neither yes nor no.
    """
    said = os.environ.get(DRAWN) or "yes"
    choices.check(DRAWN, said, ("yes", "no"), "an answer")
    return said == "yes"


def drawn(directory: Path) -> list[str]:
    """Names of the files of figures that a run or a comparison was saved with."""
    return [name for name in (f"{FCT_CDF}.png", f"{SLOWDOWN}.png") if (directory / name).is_file()]


def read_object(file: Path) -> dict[str, Any]:
    """What a JSON file holds; nothing if it is none."""
    try:
        value = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def _is_run(directory: Path) -> bool:
    return "counters" in read_object(directory / REPORT) and "scheme" in read_object(
        directory / SCENARIO
    )


def saved_runs(directory: Path) -> list[Path]:
    """Folders of the whole runs of a comparison."""
    return [scenario.parent for scenario in directory.glob(f"{RUNS}/*/{SCENARIO}")]


def _is_comparison(directory: Path) -> bool:
    saved = read_object(directory / SCENARIO)
    return "runs" in saved and "runs" in read_object(directory / REPORT)


def _is_kept(directory: Path) -> bool:
    """Runs of a comparison that was interrupted, and nothing else."""
    seen = [e.name for e in directory.iterdir() if not e.name.startswith(PREFIX)]
    return seen == [RUNS] and bool(saved_runs(directory))


def _is_study(directory: Path) -> bool:
    if "study" in read_object(directory / REPORT):
        return True
    seen = {e.name for e in directory.iterdir() if not e.name.startswith(PREFIX)}
    return "store" in seen and seen <= set(STUDY)


def _is_fit(directory: Path) -> bool:
    with suppress(OSError, UnicodeDecodeError):
        return FITTED in (directory / FITTED_SPEC).read_text(encoding="utf-8").partition("\n")[0]
    return False


def store_in(directory: Path) -> Path | None:
    """The store of points that a directory is, or that is in it."""
    places = (directory, directory / STORE)
    return next((place for place in places if (place / STORE_FILE).is_file()), None)


def _is_store(directory: Path) -> bool:
    return store_in(directory) is not None and "study" not in read_object(directory / REPORT)


_FIGURES = tuple(f"{name}.{kind}" for name in FIGURES for kind in FORMATS)
_RUN = (SCENARIO, REPORT, FLOWS, SUMMARY, *_FIGURES, RECORDINGS, PAGE)
RUN = Kind("run", _RUN, _is_run)
COMPARISON = Kind(
    "comparison", (*_RUN, RUNS), _is_comparison, lambda directory: len(saved_runs(directory))
)
KEPT = Kind(
    "interrupted comparison", (RUNS,), _is_kept, lambda directory: len(saved_runs(directory))
)
STUDIES = Kind(
    "study", STUDY, _is_study, lambda directory: len(list(directory.glob("store/points/*/*.json")))
)
WHAT_IF = Kind(
    "what-if",
    (*WHATIF, WHATIF_FILE, SPECIFICATION, PAGE),
    lambda directory: all((directory / name).is_file() for name in WHATIF),
)


def _answer(name: str, file: str) -> Kind:
    """What is known by the one file that has the answer."""
    return Kind(name, (file, SPECIFICATION, PAGE), lambda directory: (directory / file).is_file())


PREDICTION = _answer("prediction", PREDICTION_FILE)
PLAN = _answer("plan", PLAN_FILE)
PROVISION = _answer("provision", PROVISION_FILE)


def _of_fabric(name: str, file: str, *more: str) -> Kind:
    """An answer about a whole fabric, beside its scenario."""
    entries = (file, SCENARIO, *more)
    return Kind(name, entries, lambda directory: (directory / file).is_file())


FABRIC_PREDICTION = _of_fabric("fabric prediction", FABRIC_PREDICTION_FILE, WAITS)
FABRIC_PLAN = _of_fabric("fabric plan", FABRIC_PLAN_FILE)
FABRIC_WHATIF = _of_fabric("fabric what-if", FABRIC_WHATIF_FILE)
FABRIC_VERIFICATION = _of_fabric("fabric verification", FABRIC_VERIFICATION_FILE)
FABRIC_IMPORT = _of_fabric("fabric import", FABRIC_IMPORT_FILE, FABRIC_WINDOWS)
FABRIC_EPOCH = _of_fabric(
    "fabric epoch", FABRIC_EPOCH_FILE, FABRIC_WINDOWS, FABRIC_SPECIFICATION, FABRIC_CONFIRMATION
)
FABRIC = (
    FABRIC_PREDICTION,
    FABRIC_PLAN,
    FABRIC_WHATIF,
    FABRIC_VERIFICATION,
    FABRIC_IMPORT,
    FABRIC_EPOCH,
)
FIT = Kind("fit", (FITTED_SPEC, "sizes-*.csv", "flows-*.csv"), _is_fit, index=FITTED_SPEC)
EXPORT = Kind(
    "export", ("*",), lambda directory: (directory / EXPORT_FILE).is_file(), index=EXPORT_FILE
)
KINDS = (RUN, COMPARISON, KEPT, STUDIES, WHAT_IF, PREDICTION, PLAN, PROVISION, *FABRIC, FIT, EXPORT)
"""Results that the next one in their place replaces."""
SWEEP = Kind("sweep", (), lambda directory: (directory / SWEEP_FILE).is_file())
POINTS = Kind("store of points", (), _is_store)
"""These two grow, and nothing is ever written in their place: they are none of `KINDS`."""


def kind_of(directory: Path) -> Kind | None:
    """What result a directory holds; ``None`` if none of fctlab's."""
    return next((kind for kind in KINDS if directory.is_dir() and kind.is_here(directory)), None)


def files_in(value: object) -> Iterator[Path]:
    """The files that a resolved scenario or specification names: traces, tables, mappings."""
    if isinstance(value, Mapping):
        for inner in value.values():
            yield from files_in(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from files_in(inner)
    elif isinstance(value, str | PathLike):
        with suppress(OSError, ValueError):
            if Path(value).is_file():
                yield Path(value)


def read_json(file: Path) -> dict[str, Any]:
    """What a file of a result holds.

    Raises:
        SpecError: it is not there, cannot be read, or is no JSON object.
    """
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise SpecError(str(file), f"cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise SpecError(str(file), f"is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise SpecError(str(file), f"holds no object but {type(found).__name__}")
    return found


def read_run(directory: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The resolved scenario and the report of a run's result directory.

    Raises:
        SpecError: it does not hold the whole result of one run.
    """
    scenario, report = _read(directory)
    if "counters" not in report:
        raise SpecError(str(directory), f"holds a comparison; its runs are in {RUNS}/")
    return scenario, report


def read_comparison(directory: Path) -> list[dict[str, Any]]:
    """The runs of a comparison's result directory: ``scheme``, ``load``, ``seed``, ``scenario``.

    Raises:
        SpecError: it does not hold a whole comparison.
    """
    scenario, _ = _read(directory)
    runs = scenario.get("runs")
    if not isinstance(runs, list):
        raise SpecError(str(directory), "holds one run, not a comparison")
    return runs


def _read(directory: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    if not (directory / SCENARIO).is_file():
        raise SpecError(str(directory), f"does not hold a whole result: it has no {SCENARIO}")
    return read_json(directory / SCENARIO), read_json(directory / REPORT)
