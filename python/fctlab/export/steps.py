"""A mapping with thresholds of their own for every switch, by code points of a few steps.

A packet carries one code point to all switches, and each divides priorities among its queues as it
likes. So hosts write the step of a packet's priority, and a switch's map leads the steps between
two of its thresholds to one queue. Steps end at thresholds of the roles: at all of them, or where
there are fewer code points at evenly spaced ones; a threshold then moves to the nearest.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median_low

from fctlab.errors import SpecError
from fctlab.export.types import Queue

NUMBERED = re.compile(r"(?P<tier>.*?)[ -]?\d+")
"""Name of a switch or host: its tier and a number."""


@dataclass(frozen=True)
class Steps:
    """Steps of priorities, and what each role makes of them.

    Attributes:
        codes: of each step its code point, the one that is served first first.
        ends: the largest priority of each step but the last, ascending.
        asked: by role, its thresholds: the largest priority of each queue but the last.
        found: the same as they are: each is an end of a step.
    """

    codes: tuple[int, ...]
    ends: tuple[int, ...]
    asked: dict[str, tuple[int, ...]]
    found: dict[str, tuple[int, ...]]

    def queues(self, role: str, queues: Sequence[Queue]) -> tuple[Queue, ...]:
        """The queues of a role with the code points of their steps; none that has no step."""
        lows, highs = (-1, *self.found[role]), (*self.found[role], None)
        there = []
        for queue, low, high in zip(queues, lows, highs, strict=True):
            codes = [
                code
                for code, end in zip(self.codes, (*self.ends, None), strict=True)
                if (end is None or end > low)
                and (high is None or (end is not None and end <= high))
            ]
            if codes:
                there.append(replace(queue, dscps=tuple(sorted(codes))))
        return tuple(there)

    def words(self) -> list[str]:
        """What hosts write, and which thresholds have moved."""
        firsts = (0, *(end + 1 for end in self.ends))
        spans = [
            f"{code} from priority {first} on"
            for code, first in zip(self.codes, firsts, strict=True)
        ]
        lines = [f"Hosts write the code point of a packet's step: {', '.join(spans)}."]
        for role, asked in self.asked.items():
            if asked != self.found[role]:
                before, after = (", ".join(map(str, cuts)) for cuts in (asked, self.found[role]))
                lines.append(
                    f"Thresholds of {role} are {after}, not {before}: more code points in "
                    "[classes] bring them nearer."
                )
        return lines


def tiers(places: Mapping[str, object]) -> list[str]:
    """Tiers of switches and hosts, in their order."""
    found = (NUMBERED.fullmatch(name) for name in places)
    return list(dict.fromkeys(match["tier"] for match in found if match))


def of(places: Mapping[str, tuple[int, ...]], roles: Sequence[str], codes: Sequence[int]) -> Steps:
    """Choose steps.

    Args:
        places: by name of a switch or host, its thresholds.
        roles: names of switches (``leaf-0`` or ``leaf 0``) or of tiers (``leaf``), which have the
            medians of their switches.
        codes: code points, the one that is served first first.

    Raises:
        SpecError: a role is none of them.
    """
    asked = {role: _thresholds(places, role) for role in roles}
    all_of_them = sorted(cut for cuts in asked.values() for cut in cuts)
    ends = sorted(set(all_of_them))
    most = len(codes) - 1
    if len(ends) > most:
        count = len(all_of_them)
        ends = sorted({all_of_them[(2 * i + 1) * count // (2 * most)] for i in range(most)})
    found = {
        role: tuple(min(ends, key=lambda end: (abs(end - cut), end)) for cut in cuts)
        for role, cuts in asked.items()
    }
    return Steps(tuple(codes[: len(ends) + 1]), tuple(ends), asked, found)


def _thresholds(places: Mapping[str, tuple[int, ...]], role: str) -> tuple[int, ...]:
    named = [place for place in places if place.replace(" ", "-") == role.replace(" ", "-")]
    if not named:
        named = [
            place for place in places if (it := NUMBERED.fullmatch(place)) and it["tier"] == role
        ]
    if not named:
        switches = [place.replace(" ", "-") for place in places]
        known = ", ".join([*tiers(places), *switches][:12])
        raise SpecError(f"roles.{role}", f"is no switch or tier of the mapping; it has {known} ...")
    return tuple(median_low(cuts) for cuts in zip(*(places[name] for name in named), strict=True))
