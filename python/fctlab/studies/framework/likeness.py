"""Schemes that are compared differ only in what their study says.

A study compares schemes on the same flows. Every other difference between their resolved
scenarios is either meant, then the study's plan names it (`Intended`), or a mistake, which
`unlike` finds.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

UNLIKE_BY_NATURE = ("name", "scheme.name", "record", "base_rtt_s")
"""What they are called, what is recorded beside, and what follows from the topology: that is
compared itself."""

RECOVERY = tuple(
    f"scheme.transport.{key}" for key in ("rto", "rto_backoff", "fast_retransmit", "probe_after")
)
"""How a sender finds and repairs losses: minTCP, and so pFabric, has rules of its own."""


@dataclass(frozen=True)
class Intended:
    """A difference that is meant.

    Attributes:
        keys: dotted paths of a resolved scenario; a table stands for all that is in it.
        why: in words, for the report.
        cells: patterns (``*`` for anything) of the ids of the cells that may differ from the
            others, which have to agree among themselves.
    """

    keys: tuple[str, ...]
    why: str
    cells: tuple[str, ...] = ("*",)

    def covers(self, key: str) -> bool:
        """Whether it is about this key."""
        return any(key == own or key.startswith(f"{own}.") for own in self.keys)

    def excuses(self, cell: str) -> bool:
        """Whether this cell may differ."""
        return any(fnmatchcase(cell, pattern) for pattern in self.cells)


SCHEDULES = (
    Intended(("scheme.tagger",), "what the schemes write into a packet's header"),
    Intended(
        ("scheme.port.discipline", "scheme.nic.discipline"), "how switches and hosts serve queues"
    ),
)
"""What a scheme is, in every study."""

ACROSS_PAPERS = (
    Intended(
        RECOVERY,
        "pFabric recovers as minTCP does: a fixed timer that does not back off, probes, no fast "
        "retransmit",
        ("*, pFabric",),
    ),
    *SCHEDULES,
    Intended(
        ("scheme.transport.kind",),
        "L2DCT, ASCC and pFabric set rates by their own rules",
        ("*, L2DCT*", "*, ASCC", "*, pFabric"),
    ),
    Intended(
        ("scheme.port.drop", "scheme.nic.drop"),
        "schemes of exact priorities drop the packet of the lowest one",
        tuple(f"*, {name}" for name in ("LAS", "ASCC", "SJF", "pFabric")),
    ),
    Intended(("scheme.port.ecn_at", "scheme.nic.ecn_at"), "ASCC marks by departures", ("*, ASCC",)),
)
"""Where the schemes of all papers have the same flows."""


def unlike(resolved: Mapping[str, Mapping[str, Any]], intended: Sequence[Intended]) -> list[str]:
    """What differs without being meant, and what is meant and does not differ, a line each.

    Args:
        resolved: resolved scenarios by the ids of their cells. Those with the same traffic
            are compared, key by key; a key that a scenario does not have (a parameter of
            another transport) says nothing.
        intended: what may differ.
    """
    settings: dict[str, dict[str, dict[str, str]]] = {}
    for cell, scenario in resolved.items():
        traffic = json.dumps(scenario["traffic"], sort_keys=True)
        settings.setdefault(traffic, {})[cell] = dict(_flat(scenario))
    found: dict[str, None] = {}
    met: set[int] = set()
    for cells in settings.values():
        for key in sorted({key for values in cells.values() for key in values}):
            having = {cell: values[key] for cell, values in cells.items() if key in values}
            if len(set(having.values())) == 1:
                continue
            about = [i for i, one in enumerate(intended) if one.covers(key)]
            met.update(about)
            rest = {
                cell: value
                for cell, value in having.items()
                if not any(intended[i].excuses(cell) for i in about)
            }
            if len(set(rest.values())) > 1:
                examples: dict[str, str] = {}
                for cell, value in rest.items():
                    examples.setdefault(value, cell)
                told = "; ".join(f"{value} in {cell!r}" for value, cell in examples.items())
                found[f"{key}: {told}"] = None
    idle = [one for i, one in enumerate(intended) if i not in met]
    return [*found, *(f"{', '.join(one.keys)}: meant to differ, and does not" for one in idle)]


def _flat(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Dotted paths and values as JSON, without what differs by nature and the traffic."""
    if path == "traffic" or path in UNLIKE_BY_NATURE:
        return
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _flat(inner, f"{path}.{key}" if path else key)
    else:
        yield path, json.dumps(value)
