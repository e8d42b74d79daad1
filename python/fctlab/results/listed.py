"""One line about each point of a store, written down as the point is kept.

::

    STORE/listed/3f2a….jsonl     a line per point that one process kept

Points are large beside what a listing says of them, so whoever keeps one adds its line. Lines are
derived: a file or line that is lost, cut or damaged only means that its points are read again.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

FOLDER = "listed"


class Line(msgspec.Struct, array_like=True, frozen=True):
    """What a listing says of a point; null where a point has no such thing."""

    key: str
    name: str | None = None
    """Of the scenario; of an answer that a study asked for, its function."""
    scheme: str | None = None
    load: float | None = None
    seed: int | None = None
    flows: int | None = None
    """Measured."""
    unfinished: int | None = None
    wall_s: float | None = None
    cpu_s: float | None = None
    engine: str | None = None

    @classmethod
    def of(
        cls,
        key: str,
        given: Mapping[str, Any],
        found: Mapping[str, Any],
        times: Mapping[str, Any],
    ) -> Line:
        """From what went into a point, what was found, and how long it took."""
        asked = given.get("scenario") or given.get("specification") or {}
        rows = found.get("summary") or [{}]
        return cls(
            key,
            asked.get("name") or given.get("function", {}).get("name"),
            asked.get("scheme", {}).get("name") or asked.get("cc", {}).get("scheme"),
            asked.get("traffic", {}).get("load"),
            asked.get("seed"),
            rows[0].get("flows"),
            rows[0].get("unfinished"),
            *(times.get(name) for name in ("wall_s", "cpu_s", "engine")),
        )


class Lines:
    """The lines of a store.

    Args:
        store: its directory.
    """

    def __init__(self, store: Path) -> None:
        self._folder = store / FOLDER
        self._file = self._folder / f"{uuid.uuid4().hex}.jsonl"

    def add(self, line: Line) -> None:
        """Adds a line to this process's own file; a disk that refuses it is ignored."""
        text = msgspec.json.encode(line) + b"\n"
        with suppress(OSError):
            self._folder.mkdir(exist_ok=True)
            file = os.open(self._file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
            try:
                os.write(file, text)
            finally:
                os.close(file)

    def all(self) -> Iterator[Line]:
        """Every whole line of every process."""
        decoder = msgspec.json.Decoder(Line)
        for file in self._folder.glob("*.jsonl"):
            raw = b""
            with suppress(OSError):
                raw = file.read_bytes()
            for text in raw.splitlines():
                with suppress(msgspec.DecodeError, UnicodeDecodeError):
                    yield decoder.decode(text)
