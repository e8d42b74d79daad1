"""Scenarios: reading, changing and resolving them.

The rules are the engine's; nothing here knows what a valid scenario is.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

from fctlab import _native, files, plain
from fctlab.errors import SpecError, SpecWarning


class Prepared(Mapping[str, Any]):
    """A scenario in which nothing is wrong any more: what an engine runs.

    As a mapping it is the resolved scenario, every default filled in and every preset merged;
    running that again gives the same bytes. Not to be changed: `Scenario` makes another one.

    Attributes:
        tables: the same as a plain dictionary, for JSON.
        native: what the engine made of it.
        expected_flows: how many flows it has, or is expected to have.
        warnings: what to say of it before it is simulated, a line each.
    """

    def __init__(self, native: _native.Prepared) -> None:
        self.native = native
        self.tables: dict[str, Any] = json.loads(native.resolved())
        self.expected_flows = native.expected_flows()
        self.warnings: list[str] = native.warnings()

    def __getitem__(self, key: str) -> Any:
        return self.tables[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.tables)

    def __len__(self) -> int:
        return len(self.tables)

    def bytes_at(self, length: str, rate_bps: float) -> int:
        """A length of data such as ``"10pkt + 0.143rtt"``, in bytes, at a port of this rate."""
        return self.native.bytes_at(length, round(rate_bps))

    def seconds(self, time: str) -> float:
        """A time such as ``"0.5rtt"``, in seconds."""
        return self.native.seconds(time)

    def __reduce__(self) -> tuple[Any, ...]:
        """In another process it is prepared again, from its text."""
        return _prepare, (json.dumps(self.tables),)


def _prepare(text: str) -> Prepared:
    return Prepared(_native.prepare(text, [], ""))


@dataclass(frozen=True)
class Scenario:
    """A scenario as written, and the changes to make to it.

    Immutable: every method returns a new one.

    >>> web = load_scenario("scenarios/websearch-leafspine.toml")
    >>> web.set("traffic.load", 0.8).with_scheme("pfabric").resolve()["seed"]
    1
    """

    value: Mapping[str, Any]
    """The tables and keys, as in the file."""
    base_dir: Path = Path()
    """Where relative file names (traces, size distributions) are taken from."""
    table: str = ""
    """Where its scheme is written, if not at ``scheme``: ``"schemes.NAME"``."""
    sets: tuple[tuple[str, str], ...] = ()
    """Changes ``(path, value)`` in the order in which they apply; values as TOML or bare text."""
    source: Path | None = None
    """The file that it was read from."""

    def set(self, path: str, value: object) -> Scenario:
        """Change one key.

        Args:
            path: keys with dots between, such as ``"traffic.load"``.
            value: a string (with its unit where it has one), number, boolean, list or mapping.
        """
        return replace(self, sets=(*self.sets, (path, toml(value))))

    def with_sets(self, assignments: list[str]) -> Scenario:
        """Apply changes written ``path=value``, the value in TOML or as bare text.

        Raises:
            SpecError: an assignment without ``=``.
        """
        new = tuple(files.assignments(assignments))
        return replace(self, sets=self.sets + new)

    def with_presets(self, *directories: str | PathLike[str]) -> Scenario:
        """Let schemes name presets of your own: files ``NAME.toml`` of directories.

        They come beside those of the scenario's key ``presets``. What it resolves to holds their
        parts, never the directories.
        """
        written = self.value.get("presets", [])
        more = [str(Path(directory).absolute()) for directory in directories]
        named = [*(written if isinstance(written, list) else [written]), *more]
        return replace(self, value={**self.value, "presets": named}) if more else self

    def with_scheme(self, name: str) -> Scenario:
        """Replace the scheme: by a table ``[schemes.NAME]`` of the scenario, or a preset.

        Changes under ``schemes.`` that were set before apply to that table.

        Raises:
            SpecError: there is no such scheme.
        """
        text, sets = plain.dumps(self.value), list(self.sets)
        value = json.loads(_native.with_scheme(text, sets, name, self.base_dir))
        written = name in (self.value.get("schemes") or {}) or any(
            f"{path}.".startswith(f"schemes.{name}.") for path, _ in self.sets
        )
        return replace(self, value=value, table=f"schemes.{name}" if written else "")

    def resolve(self) -> Prepared:
        """Fill in every default, read every file that it names, and make every check there is.

        Returns:
            The resolved scenario; running it again gives the same bytes, and nothing but the
            file system can fail.

        Raises:
            SpecError: the first mistake, with its path, the value and what is allowed.
        """
        value = plain.dumps(self.value)
        with files.located(self.source, self.sets):
            try:
                return Prepared(_native.prepare(value, list(self.sets), self.base_dir))
            except SpecError as error:
                key, rest = error.path[: len("scheme")], error.path[len("scheme") :]
                # What was set is at ``scheme``, where it was set.
                changed = any(error.path.startswith(path) for path, _ in self.sets)
                if not self.table or changed or key != "scheme" or rest[:1] not in ("", "."):
                    raise
                raise SpecError(self.table + rest, error.message) from None


ScenarioLike: TypeAlias = Scenario | Mapping[str, Any] | str | PathLike[str]
"""A scenario, its tables and keys as a mapping, or a file that holds it."""


def load_scenario(source: ScenarioLike, *, presets: str | PathLike[str] | None = None) -> Scenario:
    """Read a scenario.

    Args:
        source: a TOML, YAML, JSON or Dhall file (by its suffix); or a mapping with the same
            keys, whose relative file names are taken from the working directory.
        presets: a directory of presets of your own, beside those of the scenario and of the
            environment (`PRESETS`).

    Raises:
        SpecError: the file cannot be read, or is not what its suffix says (with the line).
    """
    more = () if presets is None else (presets,)
    if isinstance(source, Scenario):
        return source.with_presets(*more)
    if isinstance(source, Mapping):
        loaded = Scenario(dict(source))
    else:
        file = Path(source).absolute()
        loaded = Scenario(files.read_tables(source, files.SCENARIO), file.parent, source=file)
    # What was resolved names no preset any more.
    resolved = loaded.value.keys() & {"version", "runs"}
    return loaded.with_presets(*more, *(() if resolved else of_environment()))


PRESETS = "FCTLAB_PRESETS"
"""Environment variable: directories of presets of your own, separated as in ``PATH``."""


def of_environment() -> list[str]:
    """Directories of presets that the environment names.

    Raises:
        SpecError: one of them is no directory.
    """
    named = [one for one in os.environ.get(PRESETS, "").split(os.pathsep) if one]
    for one in named:
        if not Path(one).is_dir():
            raise SpecError(PRESETS, f"{one} is no directory")
    return named


def warn(scenarios: Iterable[Prepared]) -> None:
    """Say what is to be said of scenarios before they are simulated, each line once."""
    lines: dict[str, set[str]] = {}
    names = set()
    for scenario in scenarios:
        name = scenario["scheme"]["name"]
        names.add(name)
        for line in scenario.warnings:
            lines.setdefault(line, set()).add(name)
    for line, said_of in lines.items():
        of = "" if said_of == names else f" ({', '.join(sorted(said_of))})"
        warnings.warn(line + of, SpecWarning, stacklevel=3)


def toml(value: object) -> str:
    """A plain value as TOML, on one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{json.dumps(k)} = {toml(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(toml, value)) + "]"
    if isinstance(value, str | bool | int | float):
        return json.dumps(value)
    raise TypeError(f"{value!r} is not a value of a scenario")
