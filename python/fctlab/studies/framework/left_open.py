"""What a paper leaves open, by name, and the readings that follow from it.

A paper does not say everything that a run needs. An `OpenSetting` is one such thing: what a study
has chosen, and what else is plausible. A `Variant` is a reading of the paper: a choice for some
settings, the study's own for the rest. It changes scenarios only, so every claim is judged
under it as it is; claims that ask instead of running cells are made anew in a lab that is so read.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from itertools import chain, repeat
from typing import Any, TypeAlias

from scipy.stats import qmc

from fctlab.studies.framework.cells import Cell, Source
from fctlab.studies.framework.reading import Reading

READINGS = 24
"""Of a paper: its own, every single change, and joint changes."""

Tables: TypeAlias = dict[str, Any]
Change: TypeAlias = Callable[[Tables], None]
"""Changes a scenario in place; it is the caller's own."""


@dataclass(frozen=True, eq=False)
class Choice:
    """What a setting may be instead.

    Attributes:
        name: short, for ids: ``"turns"``.
        words: the same as people say it.
        keys: values by the dotted paths of a scenario.
        change: what keys cannot say; after them.
        settings: values of the study's lab by name, where its claims ask instead of running cells.
        cells: patterns (``*`` for anything) of the ids of the cells that it is about.
        but: patterns of those among them that it is not about.
    """

    name: str
    words: str
    keys: Mapping[str, Any] = field(default_factory=dict)
    change: Change | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    cells: tuple[str, ...] = ("*",)
    but: tuple[str, ...] = ()

    def about(self, cell: str) -> bool:
        """Whether it changes the cell of that id."""
        named = [any(fnmatchcase(cell, p) for p in patterns) for patterns in (self.cells, self.but)]
        return named == [True, False]

    def made(self, scenario: Tables) -> None:
        """Make it so in a scenario."""
        for path, value in self.keys.items():
            put(scenario, path, value)
        if self.change:
            self.change(scenario)


@dataclass(frozen=True)
class OpenSetting:
    """What a paper does not say.

    Attributes:
        name: short and lower case: ``"host ports"``.
        default: what the study has chosen.
        why: what makes these values plausible: the paper, its public code, its simulator.
        choices: what else it may be.
    """

    name: str
    default: str
    why: str
    choices: tuple[Choice, ...]


@dataclass(frozen=True)
class NotTried:
    """What a paper leaves open as well, and what no reading changes."""

    name: str
    why: str


@dataclass(frozen=True)
class LeftOpen:
    """All that a paper leaves open."""

    settings: tuple[OpenSetting, ...] = ()
    not_tried: tuple[NotTried, ...] = ()

    def variants(self, number: int = READINGS) -> list[Variant]:
        """The paper's readings: the study's own, every single change, then joint changes.

        Joint changes fill a Latin hypercube over the settings' values, so that every value is met
        about as often as any other of its setting. Fewer than `number` where there are no more;
        more where there are more single changes.
        """
        singles = [Variant((choice,)) for each in self.settings for choice in each.choices]
        return [OWN, *singles, *self._joint(number - 1 - len(singles), singles)]

    def _joint(self, number: int, singles: Sequence[Variant]) -> Iterator[Variant]:
        levels = [len(each.choices) + 1 for each in self.settings]
        known = {variant.name for variant in (OWN, *singles)}
        number = min(number, math.prod(levels) - len(known))
        if number < 1:
            return
        spread = qmc.LatinHypercube(len(levels), optimization="random-cd", rng=0)
        # More of them, as they come, where points are known already, or single changes.
        plain = qmc.LatinHypercube(len(levels), rng=1)
        more = chain.from_iterable(plain.random(number) for _ in repeat(None))
        for point in chain(spread.random(number), more):
            taken = (
                (None, *each.choices)[int(u * n)]
                for each, u, n in zip(self.settings, point, levels, strict=True)
            )
            variant = Variant(tuple(choice for choice in taken if choice))
            if variant.name not in known:
                known.add(variant.name)
                yield variant
                number -= 1
            if not number:
                return

    def setting_of(self, choice: Choice) -> OpenSetting:
        """The setting whose choice it is."""
        return next(each for each in self.settings if choice in each.choices)


@dataclass(frozen=True)
class Variant:
    """A reading: choices for some of what is open."""

    choices: tuple[Choice, ...] = ()

    @property
    def name(self) -> str:
        """``"turns + marks-in-switches"``; the study's own reading is ``"as read"``."""
        return " + ".join(choice.name for choice in self.choices) or "as read"

    @property
    def words(self) -> str:
        """The same as people say it."""
        return "; ".join(choice.words for choice in self.choices) or "as the study reads it"

    @property
    def reading(self) -> Reading:
        """The same for a lab whose claims ask instead of running cells."""
        changes = {key: value for each in self.choices for key, value in each.settings.items()}
        return Reading(self.name, self.words, changes)

    def cells(self, cells: Sequence[Cell]) -> list[Cell]:
        """The cells under this reading, by the same ids; those that it does not change as is."""
        sources: Sources = {}

        def read(cell: Cell) -> Cell:
            choices = tuple(choice for choice in self.choices if choice.about(cell.id))
            scenario = _changed(cell.scenario, choices, sources)
            return cell if scenario == cell.scenario else replace(cell, scenario=scenario)

        return [read(cell) for cell in cells]


OWN = Variant()
"""As the study reads the paper."""


def put(scenario: Tables, path: str, value: Any) -> None:
    """Set the key at a dotted path.

    Tables on the way are made, or copied: others may share them. A part that is written as the name
    of its kind becomes a table.
    """
    *tables, key = path.split(".")
    at = scenario
    for name in tables:
        inner = at.get(name, {})
        at[name] = {"kind": inner} if isinstance(inner, str) else dict(inner)
        at = at[name]
    at[key] = value


def got(scenario: Mapping[str, Any], path: str) -> Any:
    """What is at a dotted path; nothing where a table on the way is none."""
    at: Any = scenario
    for name in path.split("."):
        at = at.get(name) if isinstance(at, Mapping) else None
    return at


Sources: TypeAlias = dict[tuple[Source, tuple[Choice, ...]], Source]


def _changed(scenario: Mapping[str, Any], choices: tuple[Choice, ...], made: Sources) -> Tables:
    """The scenario with the choices made, and in what is run first for a file of it."""

    def copied(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {key: copied(inner) for key, inner in value.items()}
        if isinstance(value, Source) and value.scenario is not None and choices:
            if (value, choices) not in made:
                inner = _changed(value.scenario, choices, made)
                same = inner == value.scenario
                made[value, choices] = value if same else replace(value, scenario=inner)
            return made[value, choices]
        return value

    tables: Tables = copied(scenario)
    for choice in choices:
        choice.made(tables)
    return tables
