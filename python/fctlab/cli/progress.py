"""Progress on stderr: bars on a terminal; elsewhere now and then a line."""

from __future__ import annotations

import math
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from rich.console import Console

import fctlab
from fctlab.cli.terminal import say
from fctlab.formats import count
from fctlab.jobs import Told

if TYPE_CHECKING:
    from rich.progress import TaskID

    from fctlab.studies.framework.runner import Status
    from fctlab.sweep import Status as SweepStatus


ASKED_S = 1.0
"""From one line to the next, with ``--progress``."""
NOW_AND_THEN_S = 30.0
"""Where nobody has said."""


class _Overall(NamedTuple):
    """How far many runs have come."""

    done: int
    total: int
    done_cost: float
    total_cost: float
    words: str


@contextmanager
def of_answer(asked: bool | None) -> Iterator[Told | None]:
    """Runs and flows of an answer on stderr: one line on a terminal; elsewhere, if asked, lines."""
    start = time.monotonic()

    def words(seen: object) -> str:
        runs, flows = seen if isinstance(seen, tuple) else (0, 0)
        plural = "" if runs == 1 else "s"
        elapsed = time.monotonic() - start
        return f"{count(flows)} flows, {runs:,} run{plural}, {elapsed:.0f} s"

    if sys.stderr.isatty() and asked is not False:
        with Console(stderr=True).status("starts") as status:
            yield lambda seen: status.update(words(seen))
    elif asked:
        due = start + 1

        def line(seen: object) -> None:
            nonlocal due
            if time.monotonic() >= due:
                due = time.monotonic() + 1
                say(words(seen))

        yield line
    else:
        yield None


@contextmanager
def of_points(asked: bool | None, total: int) -> Iterator[Callable[[str], object]]:
    """Points that are predicted one after the other: a bar on a terminal, elsewhere lines."""
    begun = 0
    if sys.stderr.isatty() and asked is not False:
        with _overall(True, "points") as show:

            def draw(name: str) -> None:
                nonlocal begun
                if show is not None:
                    show(_Overall(begun, total, begun, total, name))
                begun += 1

            yield draw
    elif asked is False:
        yield lambda name: None
    else:

        def line(name: str) -> None:
            nonlocal begun
            begun += 1
            say(f"{begun} of {total}: {name}")

        yield line


@contextmanager
def of_study(asked: bool | None) -> Iterator[Callable[[Status], object] | None]:
    """Runs of a study on stderr: a bar on a terminal; elsewhere now and then a line."""
    with _overall(asked, "runs") as show:
        if show is None:
            yield None
            return
        draw = show

        def watch(seen: Status) -> None:
            words = "; ".join(seen.running)
            draw(_Overall(seen.done, seen.total, seen.done_cost, seen.total_cost, words))

        yield watch


@contextmanager
def of_sweep(asked: bool | None) -> Iterator[Callable[[SweepStatus], object] | None]:
    """Points of a sweep on stderr: a bar on a terminal; elsewhere now and then a line."""
    start = time.monotonic()
    with _overall(asked, "points") as show:
        if show is None:
            yield None
            return
        draw = show

        def watch(seen: SweepStatus) -> None:
            rate = seen.computed / max(time.monotonic() - start, 1e-9)
            rule = f"; {seen.settled} settled, {seen.open} open" if seen.settled + seen.open else ""
            words = f"{rate:.3g} points/s{rule}"
            draw(_Overall(seen.done, seen.total, seen.done, seen.total, words))

        yield watch


class Cells:
    """How far the runs of a comparison have come, as `fctlab.compare` tells it from its threads."""

    def __init__(self, show: Callable[[_Overall], None] | None) -> None:
        self._show = show
        self._lock = threading.Lock()
        self._total = 0
        self._done: set[str] = set()
        self._running: dict[str, float] = {}

    def started(self, cells: Sequence[fctlab.Cell], done: Collection[str]) -> None:
        """What there is to do, and what an earlier process did."""
        self._total, self._done = len(cells), set(done)
        if done:
            say(f"{len(done)} of {len(cells)} runs were there already")

    def tell(self, cell: fctlab.Cell, seen: fctlab.Progress | None) -> None:
        """How far a run has come, ``None`` when it is done."""
        if self._show is None:
            return
        with self._lock:
            if seen is None:
                self._done.add(cell.name)
                self._running.pop(cell.name, None)
            else:
                expected = seen.flows_expected or math.inf
                self._running[cell.name] = min(seen.flows_finished / expected, 1.0)
            done, total = len(self._done), self._total
            words = ", ".join(f"{name} {share:.0%}" for name, share in self._running.items())
            self._show(_Overall(done, total, done + sum(self._running.values()), total, words))


@contextmanager
def of_comparison(asked: bool | None) -> Iterator[Cells]:
    """Runs of a comparison: a bar for all on a terminal; elsewhere now and then a line."""
    with _overall(asked, "runs") as show:
        yield Cells(show)


@contextmanager
def _overall(asked: bool | None, what: str) -> Iterator[Callable[[_Overall], None] | None]:
    """One bar or line for everything that is to be done, counted in `what`."""
    if sys.stderr.isatty() and asked is not False:
        from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Display

        columns = (
            TextColumn("{task.fields[done]} of {task.fields[all]} " + what),
            BarColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.description}"),
        )
        with Display(*columns, console=Console(stderr=True), transient=True) as display:
            bar = display.add_task("", total=None, done="0", all="?")

            def draw(seen: _Overall) -> None:
                display.update(
                    bar,
                    description=seen.words,
                    completed=seen.done_cost,
                    total=seen.total_cost,
                    done=f"{seen.done:,}",
                    all=f"{seen.total:,}",
                )

            yield draw
    elif asked is not False:
        begin = time.monotonic()
        every_s = ASKED_S if asked else NOW_AND_THEN_S
        due = begin if asked else begin + every_s
        before: float | None = None

        def line(seen: _Overall) -> None:
            nonlocal due, before
            now = time.monotonic()
            if before is None:  # what an earlier process did says nothing about the time left
                before = seen.done_cost
            if now >= due or (asked and seen.done == seen.total):
                due = now + every_s
                share = seen.done_cost / seen.total_cost
                left = _left(now - begin, seen.done_cost - before, seen.total_cost - seen.done_cost)
                say(f"{seen.done:,} of {seen.total:,} {what}, {share:.0%}{left}: {seen.words}")

        yield line
    else:
        yield None


def _left(spent_s: float, done: float, open_: float) -> str:
    """How long the rest takes at the same speed."""
    if done <= 0 or open_ <= 0:
        return ""
    minutes, rest = divmod(round(spent_s * open_ / done), 60)
    hours, minutes = divmod(minutes, 60)
    return f", {hours}:{minutes:02}:{rest:02} left"


Report: TypeAlias = Callable[[str, fctlab.Progress | None], None]
"""Told the name of a run and how far it has come, ``None`` when it is done."""


@contextmanager
def of_runs(asked: bool | None) -> Iterator[Report]:
    """Progress on stderr: bars on a terminal; elsewhere, if asked for, now and then a line."""
    terminal = sys.stderr.isatty()
    if terminal and asked is not False:
        with _bars() as report:
            yield report
    elif asked:
        yield _lines()
    else:
        yield lambda name, seen: None


def _lines() -> Report:
    """A line per run at most once a second."""
    due: dict[str, float] = {}

    def report(name: str, seen: fctlab.Progress | None) -> None:
        now = time.monotonic()
        if seen and now >= due.get(name, 0):
            due[name] = now + 1
            total = "" if seen.flows_expected is None else f" of {seen.flows_expected:,}"
            say(f"{name}: {seen.flows_finished:,}{total} flows, {seen.now_s:.3g} s")

    return report


@contextmanager
def _bars() -> Iterator[Report]:
    """One bar per run that is under way."""
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Display

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("flows"),
        TimeElapsedColumn(),
    )
    with Display(*columns, console=Console(stderr=True), transient=True) as display:
        bars: dict[str, TaskID] = {}

        def report(name: str, seen: fctlab.Progress | None) -> None:
            if seen is None:
                if name in bars:
                    display.remove_task(bars.pop(name))
                return
            if name not in bars:
                bars[name] = display.add_task(name, total=None)
            done, total = seen.flows_finished, seen.flows_expected
            display.update(bars[name], completed=done, total=total)

        yield report
