"""What is there as a whole or not at all, and temporary folders that know whose they are.

The mechanism under `store`: everything is written under a temporary name, seen through to the
disk and renamed. A temporary folder or file is locked by the process that fills it; one that
nobody holds was left by a process that was killed.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from fctlab.errors import OutputError

PREFIX = ".fctlab-"
"""Of everything temporary."""
LOCK = "lock"
"""In a draft: locked as long as its process lives."""
YOUNG_S = 60
"""A draft without a lock is being made, if it is younger."""


def write_whole(path: Path, content: str | bytes) -> None:
    """Writes a file that is there as a whole or not at all."""
    draft = path.with_name(f"{PREFIX}{uuid.uuid4().hex}")
    while True:
        try:
            with draft.open("wb") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                file.write(content.encode() if isinstance(content, str) else content)
                file.flush()
                os.fsync(file.fileno())
                draft.replace(path)
                return
        except FileNotFoundError:
            if not path.parent.is_dir():
                raise
            # Somebody took it for one that was left behind: before it was locked, or on another
            # machine, where locks may be unknown.
        finally:
            draft.unlink(missing_ok=True)


def write_json(path: Path, value: object) -> None:
    """Writes `value` as JSON that a person can read, whole or not at all."""
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    write_whole(path, text + "\n")


def flush(folder: Path) -> None:
    """Sees files through to the disk."""
    for file in folder.rglob("*"):
        if file.is_file():
            with file.open("rb") as opened:
                os.fsync(opened.fileno())


def check_room(named: Path, folder: Path, expected_bytes: int) -> None:
    """Sees whether the disk of `folder` has room for what `named` may need.

    Raises:
        OutputError: it has not.
    """
    free = shutil.disk_usage(folder).free
    if free < expected_bytes:
        raise OutputError(
            f"{named}: the disk has {free / 1e6:.0f} MB left, the result may need "
            f"{max(expected_bytes / 1e6, 1):.0f} MB"
        )


@contextmanager
def locked_folder(directory: Path) -> Iterator[Path]:
    """A temporary folder inside `directory`, removed afterwards unless its lock is.

    A folder without its lock is left for the next process.
    """
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=directory))
    with (folder / LOCK).open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            yield folder
        finally:
            if (folder / LOCK).exists():
                shutil.rmtree(folder, ignore_errors=True)


def drop_left_behind(folder: Path) -> list[Path]:
    """Removes files of processes that are no more, each while nobody else can lock it."""
    dropped = []
    for entry in sorted(folder.glob(f"{PREFIX}*")):
        with suppress(OSError), entry.open("rb") as file:  # a folder, or somebody holds it
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            entry.unlink()
            dropped.append(entry)
    return dropped


def left_behind(out: Path) -> list[Path]:
    """Drafts and files of processes that are no more."""
    found = []
    for entry in sorted(out.glob(f"{PREFIX}*")):
        lock = entry / LOCK if entry.is_dir() else entry
        try:
            with lock.open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except FileNotFoundError:
            with suppress(OSError):
                if time.time() - entry.stat().st_mtime > YOUNG_S or list(entry.glob("*")):
                    found.append(entry)
            continue
        except OSError:  # somebody holds it
            continue
        found.append(entry)
    return found
