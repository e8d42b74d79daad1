"""What a table of errors needs: that a call is refused, and what is said."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from fctlab.errors import OutputError, SpecError


def refuses(says: str, call: Callable[..., Any], *arguments: Any, **named: Any) -> None:
    """Checks that a call ends with one error, in which `says` stands as it is written."""
    with pytest.raises((SpecError, OutputError)) as refused:
        call(*arguments, **named)
    assert says in str(refused.value), str(refused.value)
    assert "\n" not in str(refused.value)


def changed(tree: dict[str, Any], *changes: tuple[str, Any]) -> dict[str, Any]:
    """A copy in which each value stands at its path; ``None`` takes one out."""
    made = copy.deepcopy(tree)
    for path, value in changes:
        *steps, last = (int(step) if step.isdigit() else step for step in path.split("."))
        place: Any = made
        for step in steps:
            place = place[step]
        if value is None:
            del place[last]
        else:
            place[last] = value
    return made
