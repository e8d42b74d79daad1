"""A way to read a paper, as changes of a lab's settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Reading:
    """One way to read a paper.

    Attributes:
        name: added to the ids of claims that are so read, or of cells; empty for the text's own.
        words: what it says.
        changes: values of the study's settings, by their names.
    """

    name: str = ""
    words: str = ""
    changes: Mapping[str, Any] = field(default_factory=dict)


TEXT = Reading()
"""As the text has it: what is judged as the paper's."""
