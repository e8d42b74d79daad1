"""Outputs that are whole or not there: result directories and files.

The one place that may touch a result directory (what one is: `kinds`):

* a place is checked before anything is simulated: that it can be written, that the disk has
  room, that nothing that the run reads would be overwritten, and that what is there is an older
  result (see `kinds.KINDS`), not somebody's files; ``force`` overrides the last two;
* everything is written into a draft, a temporary folder inside the directory, and moved into
  place at the end, ``scenario.json`` last: without it nothing reads as a result. An older result
  is replaced whole;
* a draft is locked by the process that fills it. One that nobody holds was left by a process
  that was killed: the next one that writes there finishes moving it into place if it was whole,
  takes over runs that it can use, and removes the rest.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from fnmatch import fnmatch
from os import PathLike
from pathlib import Path
from typing import Any

from fctlab.errors import OutputError, SpecError
from fctlab.jobs import engine
from fctlab.results.drafts import LOCK, PREFIX, check_room, flush, left_behind, locked_folder
from fctlab.results.drafts import write_json as write_json
from fctlab.results.drafts import write_whole as write_whole
from fctlab.results.kinds import (
    KEPT,
    REPORT,
    RUNS,
    SCENARIO,
    STUDIES,
    Kind,
    draws_figures,
    kind_of,
    read_object,
    saved_runs,
)

BYTES_PER_FLOW = 100
"""A generous estimate of a record in flows.parquet."""
BYTES_BESIDES = 4_000_000
"""Plots, tables and the like."""
BYTES_OF_A_FILE = 100_000
"""Room that a single file needs at least."""

WHOLE = "whole.json"
"""In a draft that is complete: names of the older result that it replaces, and its own."""
FOUND = "found"
"""In a draft: runs of earlier drafts."""


@dataclass
class Draft:
    """A result that is being written."""

    folder: Path
    """Temporary; its contents become the result."""
    out: Path
    """The result directory."""
    found: list[Path] = field(default_factory=list)
    """Whole runs that an earlier process left, which did not come to its end."""

    def run_folder(self, name: str) -> Path:
        """Where one of several runs writes."""
        return self.folder / RUNS / name

    def take_over(self, wanted: Mapping[str, Mapping[str, Any]]) -> set[str]:
        """Makes runs that an earlier process has done part of the draft, and drops the others.

        Args:
            wanted: by name, the resolved scenarios of the runs.

        Returns:
            Names of those that need not be done again: same scenario, same engine.
        """
        taken = set()
        for run in self.found:
            same = read_object(run / REPORT).get("engine") == engine()
            if same and read_object(run / SCENARIO) == wanted.get(run.name):
                self.run_folder(run.name).parent.mkdir(exist_ok=True)
                shutil.copytree(run, self.run_folder(run.name), dirs_exist_ok=True)
                taken.add(run.name)
        self.found = []
        return taken


def as_directory(directory: str | PathLike[str]) -> Path:
    """The path of an output.

    Raises:
        SpecError: it is empty, which would be the working directory.
    """
    if not os.fspath(directory):
        raise SpecError("out", "is empty; give a name, or . for the working directory")
    return Path(directory)


@contextmanager
def writing(
    directory: str | PathLike[str],
    flows: int | None,
    kind: Kind,
    *,
    reads: Iterable[Path] = (),
    runs: int = 1,
    bytes_besides: int = 0,
    force: bool = False,
) -> Iterator[Draft]:
    """A draft that becomes the result `directory` when the block ends well.

    It then replaces the older result there. When the block fails, that one stays as it is, and
    of the new one the runs that are whole; without an older result they are in ``runs/``.

    Args:
        directory: made if need be.
        flows: how many flow records it will hold, where that is known.
        kind: what it will be.
        reads: files that making it reads.
        runs: how many it will hold.
        bytes_besides: what it needs besides flow records and plots.
        force: overwrite what would otherwise be refused.

    Raises:
        OutputError: before the block starts, `directory` cannot be written, its disk has too
            little room, or it holds what is not overwritten without `force`; or an error of the
            system later on, with what was kept.
        KeyboardInterrupt: as raised in the block, with what was kept.
    """
    draws_figures()  # a mistake in what it reads is told before anything runs
    out = as_directory(directory)
    new = _missing(out)
    try:
        with _draft(out, BYTES_BESIDES + bytes_besides + BYTES_PER_FLOW * (flows or 0)) as draft:
            if not force:
                _check_overwriting(out, kind, reads, runs)
            _recover(draft)
            try:
                yield draft
                _publish(draft, kind)
            except BaseException as error:
                kept = _keep_runs(draft)
                if isinstance(error, KeyboardInterrupt):
                    raise KeyboardInterrupt(kept) from None
                if isinstance(error, OSError):
                    raise OutputError(f"{out}: {error.strerror or error}; {kept}") from error
                raise
    finally:
        _remove_empty(new)


@contextmanager
def gathering(
    directory: str | PathLike[str],
    folders: Sequence[str],
    expected_bytes: int,
    study: str,
    force: bool = False,
) -> Iterator[Path]:
    """A directory whose `folders` fill file by file, each of them whole (see `write_whole`).

    When the block fails, what is there stays; no new directory does that is empty.

    Args:
        directory: made if need be; an interrupted study goes on there.
        folders: made in it.
        expected_bytes: room that it needs.
        study: whose report it will hold.
        force: write into a directory that holds anything else; a result there is removed.

    Raises:
        OutputError: before the block starts, `directory` cannot be written, its disk has too
            little room, or it holds something else.
    """
    out = as_directory(directory)
    inner = [out / name for name in folders]
    new = [*(d for d in inner if not d.exists()), *_missing(out)]
    try:
        with _draft(out, BYTES_BESIDES + expected_bytes) as draft:
            older = kind_of(out)
            other = older is STUDIES and read_object(out / REPORT).get("study", study) != study
            if (older is not STUDIES or other) and not force:
                _check_strangers(out, older)
                if older:
                    raise OutputError(f"{out}: holds another {older.name}; {FORCE} replaces it")
            _recover(draft)
            if older and (older is not STUDIES or other):
                _remove(older.owned(out))
        for folder in inner:
            folder.mkdir(exist_ok=True)
        yield out
    finally:
        _remove_empty(new)


@contextmanager
def workspace(directory: Path) -> Iterator[Path]:
    """A temporary folder inside a directory, gone afterwards; a killed one's is cleaned later."""
    with locked_folder(directory) as folder:
        yield folder


class FileOutput:
    """A single file that a command will write: checked first, then written whole.

    Args:
        path: its folder exists.
        ours: whether a file's content is an older output of the same kind.
        reads: files that making it reads.
        force: overwrite what would otherwise be refused.

    Raises:
        OutputError: it cannot be written, or would overwrite something else.
    """

    def __init__(
        self,
        path: str | PathLike[str],
        ours: Callable[[bytes], bool],
        *,
        reads: Iterable[Path] = (),
        force: bool = False,
    ) -> None:
        self.path = as_directory(path)
        if self.path.is_dir():
            raise OutputError(f"{self.path}: is a directory, not a file to write")
        try:
            descriptor, probe = tempfile.mkstemp(prefix=PREFIX, dir=self.path.parent)
        except OSError as error:
            raise OutputError(f"{self.path}: cannot be written: {error.strerror}") from None
        os.close(descriptor)
        Path(probe).unlink()
        check_room(self.path, self.path.parent, BYTES_OF_A_FILE)
        if force or not self.path.exists():
            return
        if any(_same(self.path, read) for read in reads):
            raise OutputError(f"{self.path}: is read by this command; {FORCE} overwrites it")
        if not ours(self.path.read_bytes()):
            message = f"is there and not an older output of this command; {FORCE} overwrites it"
            raise OutputError(f"{self.path}: {message}")

    def write(self, content: str | bytes) -> None:
        """Write it, whole or not at all.

        Raises:
            OutputError: the system refuses.
        """
        try:
            write_whole(self.path, content)
        except OSError as error:
            raise OutputError(f"{self.path}: {error.strerror or error}") from error


# What is there already

FORCE = "force=True"
"""What to say where it would help."""


def _check_overwriting(out: Path, kind: Kind, reads: Iterable[Path], runs: int) -> None:
    older = kind_of(out)
    patterns = {*kind.entries, *(older.entries if older else ())}
    for read in reads:
        with suppress(ValueError):
            inside = read.resolve().relative_to(out.resolve())
            if any(fnmatch(inside.parts[0], pattern) for pattern in patterns):
                raise OutputError(
                    f"{out}: this command reads {inside} there; name another directory, or "
                    f"{FORCE} overwrites it"
                )
    _check_strangers(out, older)
    if older and older.runs(out) > runs:
        held = f"{older.runs(out):,} runs" if older is not STUDIES else "a study"
        raise OutputError(
            f"{out}: holds {held}, more than the {runs:,} that would replace them; "
            f"{FORCE} replaces them"
        )


def _check_strangers(out: Path, older: Kind | None) -> None:
    seen = sorted(e.name for e in out.iterdir() if not e.name.startswith(PREFIX))
    if seen and older is None and not list(out.glob(f"{PREFIX}*/{WHOLE}")):
        raise OutputError(
            f"{out}: holds {seen[0]} and no result of fctlab's; name another directory, or "
            f"{FORCE} writes into it"
        )


def _same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False


# Drafts


def _missing(out: Path) -> list[Path]:
    return [d for d in (out, *out.parents) if not d.exists()]


def _remove_empty(folders: Iterable[Path]) -> None:
    for made in folders:
        with suppress(OSError):  # not empty: it holds something worth keeping
            made.rmdir()


@contextmanager
def _draft(out: Path, expected_bytes: int) -> Iterator[Draft]:
    if out.exists() and not out.is_dir():
        raise OutputError(f"{out}: is a file, not a directory to write results into")
    try:
        out.mkdir(parents=True, exist_ok=True)
        made = locked_folder(out)
        folder = made.__enter__()
    except OSError as error:
        raise OutputError(f"{out}: cannot be written: {error.strerror}") from None
    try:
        check_room(out, out, expected_bytes)
        yield Draft(folder, out)
    finally:
        made.__exit__(None, None, None)


def _recover(draft: Draft) -> None:
    """Finishes or takes over what processes that were killed left in the directory."""
    for entry in left_behind(draft.out):
        if (entry / WHOLE).is_file():
            _move_into_place(entry, draft.out)
        elif runs := saved_runs(entry):
            kept = draft.folder / FOUND / entry.name
            kept.mkdir(parents=True)
            for run in runs:
                run.replace(kept / run.name)
                draft.found.append(kept / run.name)
        if entry.is_dir():
            shutil.rmtree(entry, ignore_errors=True)
        else:
            entry.unlink(missing_ok=True)
    older = kind_of(draft.out)
    if older is KEPT:
        draft.found += saved_runs(draft.out)


def _publish(draft: Draft, kind: Kind) -> None:
    """Replaces the older result by the draft; from here on any process can finish it."""
    shutil.rmtree(draft.folder / FOUND, ignore_errors=True)
    older = kind_of(draft.out)
    names = {"old": [e.name for e in older.owned(draft.out)] if older else []}
    names["new"] = [e.name for e in kind.owned(draft.folder)]
    flush(draft.folder)
    write_json(draft.folder / WHOLE, names)
    _move_into_place(draft.folder, draft.out)


def _move_into_place(folder: Path, out: Path) -> None:
    names = read_object(folder / WHOLE)
    last = sorted(names["new"], key=lambda name: name == SCENARIO)
    # Nothing reads as a result while old and new are side by side.
    if (folder / SCENARIO).exists() or SCENARIO not in names["new"]:
        (out / SCENARIO).unlink(missing_ok=True)
    _remove(out / name for name in names["old"] if name not in names["new"])
    for name in last:
        if (folder / name).exists():
            _move(folder / name, out / name)


def _keep_runs(draft: Draft) -> str:
    """Keeps the runs that are whole although the result is not; says what it kept."""
    if (draft.folder / WHOLE).exists():
        (draft.folder / LOCK).unlink()
        return f"the next command that writes there moves {draft.folder} into place"
    whole = saved_runs(draft.folder)
    if not whole:
        return f"nothing was kept in {draft.out}"
    kept = f"kept {len(whole)} finished run{'s'[: len(whole) > 1]} in"
    older = kind_of(draft.out)
    if older not in (None, KEPT):
        _remove(entry for entry in draft.folder.iterdir() if entry.name != RUNS)
        kept = f"{kept} {draft.folder}, where the same command takes them over"
        return f"{kept}; {draft.out} is as it was"
    if older is KEPT:
        _remove([draft.out / RUNS])
    for run in whole:
        (draft.out / RUNS).mkdir(exist_ok=True)
        _move(run, draft.out / RUNS / run.name)
    return f"{kept} {draft.out / RUNS}"


def _remove(entries: Iterable[Path]) -> None:
    for entry in entries:
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink(missing_ok=True)


def _move(source: Path, target: Path) -> None:
    """Renames `source` to `target`, replacing what is there."""
    if target.is_dir():
        shutil.rmtree(target)
    source.replace(target)
