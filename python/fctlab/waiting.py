"""Waiting for work in threads so that Ctrl-C always gets through."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from typing import TypeVar

T = TypeVar("T")

TICK_S = 0.1
"""Polars makes the system restart a wait that Ctrl-C interrupts: wake up often."""


def as_completed(
    futures: Iterable[Future[T]], tick: Callable[[], object] = lambda: None
) -> Iterator[Future[T]]:
    """Futures as they finish; `tick` is called ten times a second while none does.

    Unlike `concurrent.futures.wait`, which takes the lock of every future again and again,
    and where a `KeyboardInterrupt` in between leaves them locked and their threads waiting
    for ever, this takes none while it waits.
    """
    done: SimpleQueue[Future[T]] = SimpleQueue()
    left = 0
    for future in futures:
        future.add_done_callback(done.put)
        left += 1
    while left:
        try:
            finished = done.get(timeout=TICK_S)
        except Empty:
            tick()
            continue
        left -= 1
        yield finished
