"""Cells: scenarios that a study runs, and files that they read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from fctlab.results.result import Result

Keep: TypeAlias = "Callable[[Result], dict[str, Any]]"
"""What to remember of a run besides its summary, counters and extras: a module-level function of
the saved run, to plain values by name."""


@dataclass(frozen=True, eq=False)
class Source:
    """A file that scenarios read, as a value inside them: ``{"file": Source(...)}``.

    Attributes:
        name: of the file, such as ``"imc10-8.json"``; what is made otherwise is called otherwise.
        make: a module-level function whose value is the file's text; it takes the saved run of
            `scenario`, if there is one, and `arguments`.
        arguments: plain values.
        scenario: what has to be run first, with seed 1 unless it says otherwise.
    """

    name: str
    make: Callable[..., str]
    arguments: tuple[Any, ...] = ()
    scenario: Mapping[str, Any] | None = None


@dataclass(frozen=True, eq=False)
class Cell:
    """A scenario that is run under every seed.

    Attributes:
        id: different for every cell of a study.
        scenario: tables and keys as people write them, without a seed; values may be `Source`.
        cost: how long a run takes compared with others; long ones start first.
        keep: what else to remember of a run.
    """

    id: str
    scenario: Mapping[str, Any]
    cost: float = 1.0
    keep: Keep | None = None


class Cells:
    """The cells of a study, each made once."""

    def __init__(self) -> None:
        self._made: dict[str, Cell] = {}

    def cell(
        self, id: str, scenario: Mapping[str, Any], cost: float = 1.0, keep: Keep | None = None
    ) -> Cell:
        """The cell called `id`: always the same one.

        Raises:
            ValueError: one of this name has another scenario or keeps something else.
        """
        made = self._made.setdefault(id, Cell(id, scenario, cost, keep))
        if made.scenario != scenario or made.keep is not keep:
            raise ValueError(f"two different cells are called {id}")
        return made
