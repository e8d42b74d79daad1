"""Claims as functions of a lab: how much is done, and how the paper is read.

A paper's text can often be read in two ways, and its setting leaves things open. A `Reading` names
one of the ways and what it changes of the study's settings; a `Lab` has the settings so changed. A
claim is written once and judged under any reading; what stands beside it is `beside`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, TypeVar

from fctlab.studies.framework.cells import Cells
from fctlab.studies.framework.reading import TEXT, Reading
from fctlab.studies.framework.runs import Results
from fctlab.studies.framework.study import Claim, Mode, Part

__all__ = ["TEXT", "Lab", "Reading", "Settled", "Stated", "beside", "claim"]

S = TypeVar("S")
L = TypeVar("L", bound="Lab[Any]")


@dataclass(frozen=True)
class Settled:
    """Settings of a study that reads its paper in one way."""


class Lab(Generic[S]):
    """What the claims of a study are functions of.

    Attributes:
        mode: how much is done.
        reading: how the paper is read.
        settings: a frozen dataclass of the study, as the reading changes it.
        cells: every cell so far, under any reading.
    """

    def __init__(self, mode: Mode, settings: S) -> None:
        self.mode = mode
        self.reading = TEXT
        self.settings = self._own = settings
        self.cells = Cells()

    def read(self: L, reading: Reading) -> L:
        """The same lab under another reading; cells that come to the same are the same."""
        other = copy.copy(self)
        other.reading = reading
        own: Any = self._own
        other.settings = replace(own, **reading.changes)
        return other

    def based(self: L, reading: Reading) -> L:
        """A lab in which this reading is the text's own: others change what it has."""
        other = self.read(reading)
        other.reading, other._own = TEXT, other.settings
        return other


@dataclass(frozen=True, eq=False)
class Stated(Generic[L]):
    """A claim, as a function of a lab: `Claim` has the fields."""

    id: str
    text: str
    paper: str
    parts: Callable[[L], Iterable[Part]]
    why: Callable[[L, Results], str] | None = None
    beyond: bool = False
    combines: bool = False
    told: bool = False
    reading: Reading = TEXT

    def under(self, reading: Reading) -> Stated[L]:
        """The claim so read; only what the text itself says is the paper's."""
        if reading is TEXT:
            return self
        id, text = self.id + reading.name, f"... {reading.words}: {self.text}"
        return replace(self, id=id, text=text, beyond=True, reading=reading)

    def of(self, lab: L) -> Claim:
        """The claim in this lab."""
        lab = lab.read(self.reading)
        return Claim(
            self.id,
            self.text,
            self.paper,
            tuple(self.parts(lab)),
            partial(self.why, lab) if self.why else None,
            self.beyond,
            self.combines,
            self.told,
        )


def claim(
    id: str,
    text: str,
    paper: str,
    *,
    why: Callable[[Any, Results], str] | None = None,
    beyond: bool = False,
    combines: bool = False,
    told: bool = False,
) -> Callable[[Callable[[L], Iterable[Part]]], Stated[L]]:
    """Makes a function of a lab that gives a claim's parts into the claim; see `Claim`."""

    def decorate(parts: Callable[[L], Iterable[Part]]) -> Stated[L]:
        return Stated(id, text, paper, parts, why, beyond, combines, told)

    return decorate


def beside(parts: Iterable[Part]) -> tuple[Part, ...]:
    """Parts that are shown and decide nothing."""
    return tuple(replace(part, counts=False) for part in parts)
