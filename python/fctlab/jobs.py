"""Jobs: work that is data, done by threads or by whatever executor there is.

A job is a module-level function and its input. It pickles by the function's name, so it can be
done by another process as well: engines release the interpreter, so threads use all cores, and
more machines are an executor's business.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from concurrent.futures import CancelledError, Executor, Future, ThreadPoolExecutor
from contextlib import closing
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeAlias, TypeVar

from fctlab import _native

T = TypeVar("T")

Told: TypeAlias = Callable[[object], None]
"""Told now and then how far a job has come; what it raises ends the job."""

_stop: ContextVar[threading.Event | None] = ContextVar("stop", default=None)

TICK_S = 0.1
"""Polars makes the system restart a wait that Ctrl-C interrupts: wake up often."""


@dataclass(frozen=True)
class Job(Generic[T]):
    """Something to be done once.

    Attributes:
        name: for people.
        function: does it; a module-level function of the input and of what is to be told.
        input: plain values, or what pickles.
        cores: how many it uses.
        memory_bytes: about how much memory it needs; 0 where that is not known.
    """

    name: str
    function: Callable[[Any, Told], T]
    input: Any
    cores: int = 1
    memory_bytes: int = 0


def run_jobs(
    jobs: Iterable[Job[T]],
    cores: int,
    *,
    executor: Executor | None = None,
    told: Callable[[Job[T], object], object] = lambda job, seen: None,
    started: Callable[[Job[T]], object] = lambda job: None,
    tick: Callable[[], object] = lambda: None,
) -> Generator[tuple[Job[T], T], None, None]:
    """Do jobs, the first ones first; all stop when one fails, on Ctrl-C, or when this is closed.

    Args:
        jobs: in the order in which they start; a deque may grow while they are done.
        cores: that jobs under way may use together; a job that wants more has all of them.
        executor: does them instead of threads of this process; nothing is `told` then, and jobs
            that are under way when one fails go on to their end.
        told: how far a job has come, from several threads.
        started: told of a job when it starts.
        tick: called ten times a second while none ends.

    Yields:
        Jobs with what they returned, as they end.
    """
    waiting = jobs if isinstance(jobs, deque) else deque(jobs)
    running = dict[Future[T], Job[T]]()
    done: SimpleQueue[Future[T]] = SimpleQueue()
    stop = threading.Event()
    free = cores

    def listen(job: Job[T]) -> Told:
        def tell(seen: object) -> None:
            if stop.is_set():
                raise CancelledError
            told(job, seen)

        return tell

    def submit(job: Job[T]) -> Future[T]:
        if hasattr(pool, "submit_job"):  # it sees to cores, memory and files as well
            submitted: Future[T] = pool.submit_job(job)
            return submitted
        if executor:
            return pool.submit(job.function, job.input, deaf)
        return pool.submit(_heeding, stop, job.function, job.input, listen(job))

    def start() -> None:
        nonlocal free
        while waiting and min(waiting[0].cores, cores) <= free:
            job = waiting.popleft()
            free -= min(job.cores, cores)
            started(job)
            future = submit(job)
            running[future] = job
            # Takes no lock while it waits, unlike `concurrent.futures.wait`: a
            # `KeyboardInterrupt` there leaves futures locked and threads waiting for ever.
            future.add_done_callback(done.put)

    pool = executor or ThreadPoolExecutor(cores)
    try:
        while waiting or running:
            start()
            try:
                finished = done.get(timeout=TICK_S)
            except Empty:
                tick()
                continue
            job = running.pop(finished)
            free += min(job.cores, cores)
            result = finished.result()
            start()  # No core waits for what is done with the result.
            yield job, result
    except BaseException:
        stop.set()
        for future in running:
            future.cancel()
        raise
    finally:
        if executor is None:
            pool.shutdown()


def _heeding(
    stop: threading.Event, function: Callable[[Any, Told], T], given: Any, told: Told
) -> T:
    _stop.set(stop)
    return function(given, told)


def check() -> None:
    """Say inside a job that one may end here: for what waits and tells nothing.

    Raises:
        CancelledError: the job is to end.
    """
    stop = _stop.get()
    if stop is not None and stop.is_set():
        raise CancelledError


def do_all(
    jobs: Sequence[Job[T]],
    *,
    executor: Executor | None = None,
    started: Callable[[Job[T]], object] = lambda job: None,
) -> list[T]:
    """What jobs return, in their order; all cores work on them. See `run_jobs`."""
    ends = run_jobs(jobs, at_once(executor), executor=executor, started=started)
    with closing(ends) as done:
        found = {id(job): result for job, result in done}
    return [found[id(job)] for job in jobs]


def at_once(executor: Executor | None) -> int:
    """How many cores jobs may use together: the executor's if it says so, else this process's."""
    return getattr(executor, "cores", None) or cores()


def engine() -> str:
    """Version and fingerprint of the engine: other sources may find other numbers."""
    return f"{_native.version()}+{_native.sources()[:12]}"


def key(function: Callable[..., Any], given: Mapping[str, Any]) -> str:
    """A hash of what a job is: function, input, contents of the files it reads, and engine.

    Args:
        function: that does it; all of its module's source counts.
        given: its input, with digests in the place of names of files.
    """
    name = f"{function.__module__}.{function.__qualname__}"
    text = json.dumps([engine(), name, _source(function), given], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def named(function: Callable[..., Any]) -> dict[str, str]:
    """A module-level function as plain values: part of a job's input, and of its key.

    Returns:
        ``name``, as `pkgutil.resolve_name` takes it; ``source``, a digest of its module's source.

    Raises:
        ValueError: it is a lambda or inside another function, which no other process could find.
    """
    if "<" in function.__qualname__:
        raise ValueError(f"{function.__module__}.{function.__qualname__} is not at module level")
    source = hashlib.sha256(_source(function).encode()).hexdigest()
    return {"name": f"{function.__module__}:{function.__qualname__}", "source": source}


@cache
def _source(function: Callable[..., Any]) -> str:
    return inspect.getsource(inspect.getmodule(function) or function)


def cores() -> int:
    """How many cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on this system
        return os.cpu_count() or 1


def deaf(_: object) -> None:
    """Is told nothing: what is under way is in another process."""
