"""What a table of errors needs: that a call is refused, and what is said."""

from __future__ import annotations

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
