"""Answers that take days together: lines of a small file that a repository keeps.

::

    {"name": "…", "question": "3f2a…", "answer": …, "cpu_s": 2.4, "engine": "…"}

The key of a point has the engine's sources in it, so a store begins anew when they change. A line
is found by what was asked (a function and its arguments) and names the engine that answered:
who changes an answer removes its lines.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from fctlab.errors import OutputError, SpecError
from fctlab.jobs import deaf, engine
from fctlab.results.points import Wanted
from fctlab.studies.framework import docs
from fctlab.studies.framework.asked import Answers, Missing


class Line(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An answer.

    Attributes:
        name: of the question, for people; different for every one.
        question: a digest of it.
        answer: plain values.
        cpu_s: that it took.
        engine: that found it.
    """

    name: str
    question: str
    answer: Any
    cpu_s: float
    engine: str


class Evidence(Answers):
    """The answers of a file.

    Args:
        file: lines; one that is not there has none, and is made with the first.

    Raises:
        SpecError: it cannot be read, or a line is none.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._lines: dict[str, Line] = {}
        try:
            text = file.read_bytes() if file.exists() else b""
        except OSError as error:
            raise SpecError(str(file), f"cannot be read: {error.strerror}") from None
        for number, row in enumerate(text.splitlines(), 1):
            try:
                line = msgspec.json.decode(row, type=Line)
            except msgspec.DecodeError as error:
                raise SpecError(f"{file}:{number}", f"is no line of evidence: {error}") from None
            self._lines[line.question] = line

    def to(self, wanted: Wanted) -> Any:
        """The answer, whichever engine found it.

        Raises:
            Missing: it is not there.
        """
        if (line := self._lines.get(_digest(wanted))) is None:
            raise Missing([wanted])
        return line.answer

    def has(self, ask: Callable[[], object]) -> bool:
        """Whether all that `ask` asks for is there."""
        try:
            with self.given():
                ask()
        except Missing:
            return False
        return True

    def lines(self) -> list[Line]:
        """All, in the order in which they were found."""
        return list(self._lines.values())

    def cost(self) -> str:
        """What all lines took, and which engines found them."""
        lines = self.lines()
        spent = sum(line.cpu_s for line in lines) / 3600
        engines = Counter(line.engine for line in lines)
        by = ", ".join(f"{engine} ({count})" for engine, count in engines.items())
        return f"{spent:.1f} CPU hours. Engines (lines): {by}."

    def fill(
        self, asking: Iterable[tuple[str, Callable[[], object]]], cpu_hours: float
    ) -> Generator[Line, None, None]:
        """Answer what is not answered, the first first, and keep each answer at once.

        Args:
            asking: a name, and a function that asks one question.
            cpu_hours: none is begun after so many.

        Yields:
            Lines as they are kept.

        Raises:
            OutputError: the file cannot be written.
        """
        begin = time.process_time()
        for name, ask in asking:
            try:
                with self.given():
                    ask()
            except Missing as missing:
                (wanted,) = missing.wanted
                before = time.process_time()
                if before - begin >= cpu_hours * 3600:
                    return
                found = wanted.job.function(wanted.job.input, deaf)
                cpu_s = round(time.process_time() - before, 2)
                line = Line(name, _digest(wanted), found.answer["answer"], cpu_s, engine())
                self._keep(line)
                yield line

    def _keep(self, line: Line) -> None:
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            with self._file.open("ab") as file:
                file.write(msgspec.json.encode(line) + b"\n")
        except OSError as error:
            raise OutputError(f"{self._file}: cannot be written: {error.strerror}") from None
        self._lines[line.question] = line


def _digest(wanted: Wanted) -> str:
    """Of a question, whatever the sources of the function and of the engine."""
    asked = [wanted.given["function"]["name"], wanted.given["given"]]
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Page:
    """A block of a page that the lines of a file make.

    Attributes:
        program: the command, as people type it.
        name: of the block.
        asking: all questions: a name, and a function that asks one.
        block: what the lines of a file of that name say.
    """

    program: str
    name: str
    asking: Callable[[], Iterable[tuple[str, Callable[[], object]]]]
    block: Callable[[Evidence, str], str]


def command(page: Page, arguments: Sequence[str] | None = None) -> None:
    """The command that fills a file, and writes its block into a page."""
    parser = argparse.ArgumentParser(prog=page.program)
    parser.add_argument("file", help="of lines")
    parser.add_argument("--cpu-hours", type=float, default=0.0, help="begin none after so many")
    parser.add_argument("--docs", type=Path, help="text into which to write what they say")
    given = parser.parse_args(arguments)
    evidence = Evidence(Path(given.file))
    for line in evidence.fill(page.asking(), given.cpu_hours):
        print(f"{line.name}: {line.cpu_s:.1f} CPU s", flush=True)
    if given.docs:
        text = given.docs.read_text(encoding="utf-8")
        made = docs.between(text, page.name, page.block(evidence, given.file))
        given.docs.write_text(made, encoding="utf-8")
