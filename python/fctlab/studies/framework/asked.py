"""What claims ask for besides cells: answers of functions, which are points of the study's store.

Where nobody keeps answers, an `asked` function is an ordinary one. While a study is judged it
returns the answer that the store has, or raises `Missing`; what is missing is then computed, all
of it at once on whatever cores there are, and the study is judged again. So a claim reads as if
every answer were there, also where one decides what is asked next.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from pkgutil import resolve_name
from typing import Any, ParamSpec, TypeVar

from fctlab.jobs import Job, Told, cores, engine, named
from fctlab.results.points import Found, PointStore, Wanted

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


class Missing(Exception):
    """Answers that are not there yet.

    Attributes:
        wanted: what has to be computed.
    """

    def __init__(self, wanted: Iterable[Wanted]) -> None:
        self.wanted = list(wanted)
        super().__init__(f"{len(self.wanted)} answers are not there yet")


class Answers:
    """The answers that a store has.

    Args:
        store: where they are kept.
    """

    def __init__(self, store: PointStore) -> None:
        self._store = store
        self._found: dict[str, Any] = {}
        self._asked: dict[str, Wanted] = {}

    @contextmanager
    def given(self) -> Iterator[None]:
        """While this lasts, `asked` functions of this thread return these answers."""
        token = _answers.set(self)
        try:
            yield
        finally:
            _answers.reset(token)

    def to(self, wanted: Wanted) -> Any:
        """The answer.

        Raises:
            Missing: it is not there.
        """
        self._asked[wanted.key] = wanted
        if wanted.key not in self._found:
            if wanted.key not in self._store:
                raise Missing([wanted])
            self._found[wanted.key] = self._store.get(wanted.key).found["answer"]
        return self._found[wanted.key]

    @contextmanager
    def noting(self) -> Iterator[dict[str, Wanted]]:
        """While this lasts, `asked` functions get answers; what they ask for is noted by key."""
        before, self._asked = self._asked, {}
        try:
            with self.given():
                yield self._asked
        finally:
            self._asked = before

    def cpu_s(self, key: str) -> float | None:
        """What an answer took; nothing where it is not there."""
        if key not in self._store:
            return None
        times = self._store.times(key)
        return float(times.get("cpu_s", times.get("wall_s", 0.0)))


_answers: ContextVar[Answers | None] = ContextVar("answers", default=None)


def asked(what: str, *, alone: bool = False) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Makes a module-level function one whose answers are kept.

    It takes and returns plain values. A parameter ``told`` is passed on where it is computed as a
    job, see `fctlab.jobs.Told`.

    Args:
        what: it answers, for people.
        alone: it uses all cores by itself.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        signature = inspect.signature(function)

        @wraps(function)
        def ask(*args: P.args, **kwargs: P.kwargs) -> R:
            answers = _answers.get()
            if answers is None:
                return function(*args, **kwargs)
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            given = {name: value for name, value in bound.arguments.items() if name != "told"}
            question = {"function": named(function), "given": given}
            job = Job(what, _answer, question, cores() if alone else 1)
            answer: R = answers.to(Wanted.of(job))
            return answer

        ask.alone = alone  # type: ignore[attr-defined]
        return ask

    return decorate


def _answer(question: Mapping[str, Any], told: Told) -> Found:
    """Computes an answer."""
    ask = resolve_name(question["function"]["name"])
    function = inspect.unwrap(ask)
    given = dict(question["given"])
    if "told" in inspect.signature(function).parameters:
        given["told"] = told
    start, cpu = time.monotonic(), time.process_time()
    answer = function(**given)
    wall_s = time.monotonic() - start
    # What is not alone has one core; the process's time is then that of others as well.
    cpu_s = time.process_time() - cpu if getattr(ask, "alone", False) else wall_s
    times = {"wall_s": wall_s, "cpu_s": cpu_s, "engine": engine()}
    return Found({"answer": answer}, times)


def of_each(function: Callable[[T], R], values: Iterable[T]) -> list[R]:
    """`function` of every value.

    Raises:
        Missing: all that any of them misses.
    """
    found: list[R] = []
    wanted: list[Wanted] = []
    for value in values:
        try:
            found.append(function(value))
        except Missing as missing:
            wanted += missing.wanted
    if wanted:
        raise Missing(wanted)
    return found


def unanswered(
    asking: Iterable[Callable[[], object]],
) -> tuple[list[Callable[[], object]], list[Wanted]]:
    """Which functions miss answers, and which answers; all are called."""
    left: list[Callable[[], object]] = []
    wanted: list[Wanted] = []
    for ask in asking:
        try:
            ask()
        except Missing as missing:
            left.append(ask)
            wanted += missing.wanted
    return left, wanted
