"""The files that people write: formats, kinds, and changes of single keys.

What is right in one is for the engine, or who reads it, to say; here is which of them a file is.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from fctlab import _native, dhall
from fctlab.errors import SpecError

FORMATS = {".toml": "toml", ".yaml": "yaml", ".yml": "yaml", ".json": "json", ".dhall": "dhall"}


@dataclass(frozen=True)
class Kind:
    """A kind of file.

    Attributes:
        name: with its article.
        telltales: keys by which it is known from the others.
        commands: who reads it.
    """

    name: str
    telltales: frozenset[str]
    commands: tuple[str, ...]


def _kind(name: str, telltales: str, *commands: str) -> Kind:
    return Kind(name, frozenset(telltales.split()), commands)


SCENARIO = _kind(
    "a scenario", "topology traffic scheme schemes", "run", "compare", "fabric predict"
)
SPECIFICATION = _kind("a specification of SLOs", "network classes", "predict", "plan", "provision")
SWEEP = _kind("a sweep", "scenario specification seeds", "sweep")
INSTANCE = _kind("an instance of the big switch", "ingress_ports egress_ports", "bigswitch run")
SITE = _kind("a site", "roles host taken marking", "export")
KINDS = (SCENARIO, SPECIFICATION, SWEEP, INSTANCE, SITE)


def read_tables(file: str | PathLike[str], kind: Kind) -> dict[str, Any]:
    """The tables and keys of a TOML, YAML, JSON or Dhall file (by its suffix).

    Raises:
        SpecError: the file cannot be read, is not what its suffix says (with the line), or is
            plainly of another kind.
    """
    name, suffix = fspath(file), Path(file).suffix.lower()
    if suffix not in FORMATS and not Path(file).is_dir():
        raise SpecError(name, f"is not {kind.name}; its name ends in {', '.join(FORMATS)}")
    try:
        text = Path(file).read_bytes().decode("utf-8")
        if (written := FORMATS.get(suffix, "toml")) == "dhall":
            read = dhall.read(text, Path(file).absolute())
        else:
            read = _native.parse(text, written)
        tables: dict[str, Any] = json.loads(read)
    except FileNotFoundError:
        raise SpecError(name, "no such file") from None
    except IsADirectoryError:
        raise SpecError(name, f"is a directory, not {kind.name}") from None
    except OSError as error:
        raise SpecError(name, error.strerror or str(error)) from None
    except UnicodeDecodeError as error:
        raise SpecError(name, f"is not UTF-8 text (byte {error.start})") from None
    except SpecError as error:
        if error.path.startswith(":"):  # a line
            raise SpecError(name + error.path, error.message) from None
        raise SpecError(name, str(error)) from None
    check_kind(name, tables, kind)
    return tables


def check_kind(name: str, tables: Iterable[str], wanted: Kind) -> None:
    """Refuse the tables of another kind.

    Raises:
        SpecError: with the commands that read it.
    """
    keys = frozenset(tables)
    if keys & wanted.telltales:
        return
    for kind in KINDS:
        if keys & kind.telltales:
            readers = ", ".join(f"`fctlab {command}`" for command in kind.commands)
            raise SpecError(name, f"is {kind.name}, for {readers}; {wanted.name} is needed here")


@contextmanager
def located(
    file: str | PathLike[str] | None, sets: Iterable[tuple[str, str]] = ()
) -> Iterator[None]:
    """Has errors about keys say where these are written.

    Args:
        file: that holds them, as it was read; its name is shown as it is given here.
        sets: changes of it, ``(path, value)``.
    """
    try:
        yield
    except SpecError as error:
        if error.written or not error.path or os.sep in error.path:  # that is a file, not a key
            raise
        changed = any(f"{error.path}.".startswith(f"{path}.") for path, _ in sets)
        if file is None and not changed:
            raise
        written = SET if changed else f"{_line(shown(fspath(file or '')), error.path)}: "
        raise SpecError(error.path, error.message, written) from None


def shown(file: str) -> str:
    """A file as it is named from here: below the working directory by what follows it."""
    here = Path.cwd()
    return str(Path(file).relative_to(here)) if Path(file).is_relative_to(here) else file


def _line(name: str, path: str) -> str:
    """A file, and the line of a key where there is one: ``"mine.toml:12"``."""
    written = FORMATS.get(Path(name).suffix.lower(), "toml")
    if written == "dhall":  # a program: what it computes has no lines
        return name
    line = _native.line_of(Path(name).read_text(encoding="utf-8"), written, path)
    return name if line is None else f"{name}:{line}"


SET = "set "
"""Before the path of a key that was changed; a command says ``--set``."""


def assignments(sets: Iterable[str]) -> list[tuple[str, str]]:
    """Changes written ``path=value`` as pairs.

    Args:
        sets: the values in TOML or as bare text.

    Raises:
        SpecError: one without ``=``.
    """
    pairs = []
    for assignment in sets:
        key, equals, value = assignment.partition("=")
        if not equals or not key.strip():
            raise SpecError("sets", f"{assignment!r} is not an assignment; write path=value")
        pairs.append((key.strip(), value.strip()))
    return pairs
