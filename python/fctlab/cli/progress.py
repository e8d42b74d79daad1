"""Progress on stderr: bars on a terminal; elsewhere, if asked for, lines."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from rich.console import Console

import fctlab
from fctlab.cli.terminal import say

if TYPE_CHECKING:
    from rich.progress import TaskID

    from fctlab.studies.framework.runner import Status
    from fctlab.sweep import Status as SweepStatus


class _Overall(NamedTuple):
    """How far many runs have come."""

    done: int
    total: int
    done_cost: float
    total_cost: float
    words: str


@contextmanager
def of_study(asked: bool | None) -> Iterator[Callable[[Status], object] | None]:
    """Runs of a study on stderr: a bar on a terminal; elsewhere, if asked for, lines."""
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
    """Points of a sweep on stderr: a bar on a terminal; elsewhere, if asked for, lines."""
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
    elif asked:
        due = 0.0

        def line(seen: _Overall) -> None:
            nonlocal due
            now = time.monotonic()
            if now >= due or seen.done == seen.total:
                due = now + 1
                share = seen.done_cost / seen.total_cost
                say(f"{seen.done:,} of {seen.total:,} {what}, {share:.0%}: {seen.words}")

        yield line
    else:
        yield None


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
