"""What studies compute without cells, kept so that a study that was stopped goes on.

Inside `kept_in` every answer of a `remembered` function is a small file in ``OUT/computed``,
named after a hash of the engine, the function's module and its arguments: whatever of these
changes, it is computed again.
"""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from fctlab.jobs import engine
from fctlab.results import store

COMPUTED = "computed"

_folder: ContextVar[Path | None] = ContextVar("folder", default=None)

P = ParamSpec("P")
R = TypeVar("R")


@contextmanager
def kept_in(folder: Path) -> Iterator[None]:
    """Keeps in `folder`, which exists, what remembered functions return."""
    token = _folder.set(folder)
    try:
        yield
    finally:
        _folder.reset(token)


def remembered(function: Callable[P, R]) -> Callable[P, R]:
    """A function of JSON values with a JSON value, computed once per folder (see `kept_in`)."""
    module = inspect.getmodule(function)
    assert module is not None

    def ask(*args: P.args, **kwargs: P.kwargs) -> R:
        folder = _folder.get()
        if folder is None:
            return function(*args, **kwargs)
        question: list[Any] = [engine(), inspect.getsource(module), function.__name__]
        text = json.dumps([*question, args, kwargs], sort_keys=True)
        file = folder / f"{hashlib.sha256(text.encode()).hexdigest()}.json"
        if not file.exists():
            found = function(*args, **kwargs)
            store.write_whole(file, json.dumps(found))
        kept: R = json.loads(file.read_text(encoding="utf-8"))
        return kept

    return ask
