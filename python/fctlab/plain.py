"""Mappings as JSON for the engine, which knows no numbers but finite ones."""

from __future__ import annotations

import json
import math
from typing import Any

from fctlab.errors import SpecError


def dumps(value: object) -> str:
    """`value` as JSON.

    Raises:
        SpecError: a number that is not finite or a value that JSON does not have, with its path.
    """
    try:
        return json.dumps(value, allow_nan=False)
    except (ValueError, TypeError, RecursionError) as error:
        path, message = _culprit(value) or ("", str(error))
        raise SpecError(path, message) from None


def _culprit(value: Any, path: str = "", depth: int = 0) -> tuple[str, str] | None:
    """Where the value is that JSON does not have, and what is wrong with it."""
    if depth > 100:
        return path, "has more than 100 tables inside each other"
    if isinstance(value, float):
        return None if math.isfinite(value) else (path, f"{value} is not a finite number")
    if value is None or isinstance(value, str | int):
        return None
    if isinstance(value, dict):
        for key, each in value.items():
            if not isinstance(key, str):
                return path, f"{key!r} is not a key; keys are strings"
            below = f"{path}.{key}" if path else key
            if found := _culprit(each, below, depth + 1):
                return found
        return None
    if isinstance(value, list | tuple):
        for i, each in enumerate(value):
            if found := _culprit(each, f"{path}[{i}]", depth + 1):
                return found
        return None
    return path, f"{value!r} is a {type(value).__name__}, which specifications do not have"
