"""Files that an input names travel with it, by content.

On another machine a trace has another name or none, and what a point is must not hang on where
its files lie. `packed` replaces names by digests; `unpacked` writes the contents into a folder
and names them there; `found` names those that are in a folder already.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from fctlab.results.drafts import write_whole

MARK = "sha256:"


def packed(value: Any) -> tuple[Any, dict[str, Path]]:
    """`value` with digests in the place of names of files, and the file of each digest.

    A digest keeps the ending of the name, which says how the file is read.
    """
    files: dict[str, Path] = {}

    def replaced(text: str) -> str:
        path = Path(text)
        with suppress(OSError, ValueError):
            if path.is_absolute() and path.is_file():
                stat = path.stat()
                digest = _digest(path, stat.st_mtime_ns, stat.st_size)
                named = f"{MARK}{digest}{''.join(path.suffixes[-2:])}"
                files[named] = path
                return named
        return text

    return _each_text(value, replaced), files


def unpacked(value: Any, contents: Mapping[str, bytes], folder: Path) -> Any:
    """`value` with names of files in `folder`, which are written if they are not there."""
    for named, content in contents.items():
        file = folder / named.removeprefix(MARK)
        if not file.exists():
            write_whole(file, content)

    def replaced(text: str) -> str:
        return str(folder / text.removeprefix(MARK)) if text in contents else text

    return _each_text(value, replaced)


def found(value: Any, folder: Path) -> Any:
    """`value` with names of the files in `folder` that have its digests; others stay."""
    there = sorted(folder.iterdir()) if folder.is_dir() else []
    _, files = packed([str(file.absolute()) for file in there])
    return _each_text(value, lambda text: str(files.get(text, text)))


def _each_text(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, Mapping):
        return {key: _each_text(inner, change) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_each_text(inner, change) for inner in value]
    return change(value) if isinstance(value, str) else value


@lru_cache(maxsize=1024)
def _digest(path: Path, modified_ns: int, size: int) -> str:
    del modified_ns, size  # a file that has changed is another one
    return hashlib.sha256(path.read_bytes()).hexdigest()
