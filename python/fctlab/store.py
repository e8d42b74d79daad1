"""Result directories that are whole or not there.

Everything is written into a temporary folder inside the directory and renamed
file by file at the end, ``scenario.json`` last: without it nothing reads as a
result. What can be known to fail is found out before anything is simulated.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from fctlab.errors import OutputError, SpecError

SCENARIO = "scenario.json"
REPORT = "report.json"
FLOWS = "flows.parquet"
SUMMARY = "summary.csv"
FCT_CDF = "fct_cdf.png"
SLOWDOWN = "slowdown_by_size.png"
RECORDINGS = "recordings"
PORT_SERIES = "port_series.parquet"
MAPPING = "mapping.png"
STATE = "state.png"
RUNS = "runs"

BYTES_PER_FLOW = 100
"""A generous estimate of a record in flows.parquet."""
BYTES_BESIDES = 4_000_000
"""Plots, tables and the like."""


@dataclass
class Draft:
    """A result that is being written."""

    folder: Path
    """Temporary; its contents become the result."""
    out: Path
    """The result directory."""

    def run_folder(self, name: str) -> Path:
        """Where one of several runs writes."""
        return self.folder / RUNS / name


@contextmanager
def writing(directory: str | PathLike[str], flows: int | None) -> Iterator[Draft]:
    """A draft that becomes the result `directory` when the block ends well.

    Its files then replace those of the same name. When the block fails, nothing is left but
    the runs that are whole, and no new directory if there are none.

    Args:
        directory: made if need be.
        flows: how many flow records it will hold, where that is known.

    Raises:
        OutputError: `directory` cannot be written or its disk has too little room, before
            the block starts; or an error of the system later on, with what was kept.
        KeyboardInterrupt: as raised in the block, with what was kept.
    """
    out = Path(directory)
    new = [d for d in (out, *out.parents) if not d.exists()]
    try:
        draft = Draft(_prepare(out, BYTES_BESIDES + BYTES_PER_FLOW * (flows or 0)), out)
        try:
            yield draft
            _publish(draft)
        except BaseException as error:
            kept = _keep_runs(draft)
            if isinstance(error, KeyboardInterrupt):
                raise KeyboardInterrupt(kept) from None
            if isinstance(error, OSError):
                raise OutputError(f"{out}: {error.strerror or error}; {kept}") from error
            raise
        finally:
            shutil.rmtree(draft.folder, ignore_errors=True)
    finally:
        for made in new:
            with suppress(OSError):  # not empty: it holds something worth keeping
                made.rmdir()


@contextmanager
def gathering(
    directory: str | PathLike[str], folders: Sequence[str], expected_bytes: int
) -> Iterator[Path]:
    """A directory whose `folders` fill file by file, each of them whole (see `write_whole`).

    When the block fails, what is there stays; no new directory does that is empty.

    Raises:
        OutputError: `directory` cannot be written or its disk has too little room, before
            the block starts.
    """
    out = Path(directory)
    inner = [out / name for name in folders]
    new = [d for d in (*inner, out, *out.parents) if not d.exists()]
    try:
        _prepare(out, BYTES_BESIDES + expected_bytes).rmdir()
        for folder in inner:
            folder.mkdir(exist_ok=True)
        yield out
    finally:
        for made in new:
            with suppress(OSError):  # not empty: it holds something worth keeping
                made.rmdir()


def write_whole(path: Path, content: str | bytes) -> None:
    """Writes a file that is there as a whole or not at all."""
    draft = path.with_name(f".fctlab-{os.getpid()}-{threading.get_ident()}")
    try:
        with draft.open("wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def _prepare(out: Path, expected_bytes: int) -> Path:
    if out.exists() and not out.is_dir():
        raise OutputError(f"{out}: is a file, not a directory to write results into")
    try:
        out.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=".fctlab-", dir=out))
    except OSError as error:
        raise OutputError(f"{out}: cannot be written: {error.strerror}") from None
    free = shutil.disk_usage(out).free
    if free < expected_bytes:
        temporary.rmdir()
        raise OutputError(
            f"{out}: the disk has {free / 1e6:.0f} MB left, the result may need "
            f"{expected_bytes / 1e6:.0f} MB"
        )
    return temporary


def _publish(draft: Draft) -> None:
    """Moves the draft into place, ``scenario.json`` last."""
    entries = sorted(draft.folder.iterdir(), key=lambda entry: entry.name == SCENARIO)
    (draft.out / SCENARIO).unlink(missing_ok=True)
    for entry in entries:
        _move(entry, draft.out / entry.name)


def _keep_runs(draft: Draft) -> str:
    """Moves the runs that are whole into place although the result is not; says what it kept."""
    whole = [scenario.parent for scenario in draft.folder.glob(f"{RUNS}/*/{SCENARIO}")]
    for run in whole:
        (draft.out / RUNS).mkdir(exist_ok=True)
        _move(run, draft.out / RUNS / run.name)
    if not whole:
        return f"nothing was kept in {draft.out}"
    return f"kept {len(whole)} finished run{'s'[: len(whole) > 1]} in {draft.out / RUNS}"


def _move(source: Path, target: Path) -> None:
    """Renames `source` to `target`, replacing what is there."""
    if target.is_dir():
        shutil.rmtree(target)
    source.replace(target)


def write_json(path: Path, value: object) -> None:
    """Writes `value` as JSON that a person can read, through to the disk."""
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    with path.open("w", encoding="utf-8") as file:
        file.write(text + "\n")
        file.flush()
        os.fsync(file.fileno())


def _read_json(file: Path) -> dict[str, Any]:
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
    if not (directory / SCENARIO).is_file():
        raise SpecError(str(directory), f"does not hold a whole result: it has no {SCENARIO}")
    scenario, report = (_read_json(directory / name) for name in (SCENARIO, REPORT))
    if "counters" not in report:
        raise SpecError(str(directory), f"holds a comparison; its runs are in {RUNS}/")
    return scenario, report
