"""In what compared schemes differ beyond their mechanisms: buffers, windows, marking, paths."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from shlex import quote
from typing import Any

KEYS = (
    "port.buffer",
    "port.ecn_threshold",
    "routing",
    "transport.initial_window",
    "transport.max_window",
    "transport.min_rto",
    "transport.initial_alpha",
    "transport.connections",
    "nic.per_flow_limit",
)
"""Of a scheme: what every one of them could have as another has it. The rest is its mechanism:
what tags say, how ports serve, drop and mark, how a transport reacts and finds losses."""


@dataclass(frozen=True)
class Unlike:
    """A key that compared schemes have in different ways.

    Attributes:
        key: of the scheme, dotted.
        values: what it is, as it is written, by the names of the schemes that have it.
        everywhere: whether all schemes have the key.
    """

    key: str
    values: Mapping[str, str]
    everywhere: bool

    @property
    def option(self) -> str:
        """What makes the others as the first is."""
        (_, value), *others = self.values.items()
        if self.everywhere:
            return f"--set scheme.{self.key}={quote(value)}"
        unlike = (name for name, other in others if other != value)
        return " ".join(f"--set schemes.{name}.{self.key}={quote(value)}" for name in unlike)

    def __str__(self) -> str:
        by_value: dict[str, list[str]] = {}
        for name, value in self.values.items():
            by_value.setdefault(value, []).append(name)
        told = ", ".join(f"{value} ({', '.join(names)})" for value, names in by_value.items())
        return f"{self.key}: {told}"


def unlike(schemes: Mapping[str, Mapping[str, Any]]) -> list[Unlike]:
    """The keys of `KEYS` in which resolved schemes, by name, differ.

    A key that a scheme does not have says nothing of it, nor does a marking threshold of
    ``"none"``: its transport does not react to marks.
    """
    found = []
    for key in KEYS:
        having = {name: _at(scheme, key) for name, scheme in schemes.items()}
        values = {name: _text(value) for name, value in having.items() if value is not None}
        if key == "port.ecn_threshold":
            values = {name: value for name, value in values.items() if value != "none"}
        if len(set(values.values())) > 1:
            found.append(Unlike(key, values, len(values) == len(schemes)))
    return found


def _at(scheme: Mapping[str, Any], key: str) -> Any:
    value: Any = scheme
    for part in key.split("."):
        value = value.get(part)
        if value is None:
            return None
    return value


def _text(value: Any) -> str:
    """As a person writes it: of a part without parameters its kind."""
    if isinstance(value, Mapping):
        return str(value["kind"]) if len(value) == 1 else str(dict(value))
    return f"{value:g}" if isinstance(value, float) else str(value)
