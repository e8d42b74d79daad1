"""Whether slowdowns still rise while a run measures them.

A run starts empty, so its first flows meet short queues. Where it is short, or measures from its
start on, what it finds is less than what its load does to flows in the long run.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fctlab import intervals

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

RISE = 0.1
"""Of mean slowdowns from the first half to the second: more is told."""
LEVEL = 0.05
"""Of the test that tells a rise from chance."""
PARTS = 5
"""Of each half, whose means it compares."""
FEW = 100
"""Flows: the mean of a tenth of fewer hangs on single ones."""
MOST_NAMED = 3
"""Of what is compared, in a warning."""
ADVICE = "a run starts empty; give a longer measure.warmup, or more flows"


def rise(early: Sequence[float], late: Sequence[float], level: float = LEVEL) -> float | None:
    """By how much means of parts of a second half are above those of the first.

    Args:
        early: mean slowdowns of parts of the first half, at least 2.
        late: the same of the second.
        level: of a one-sided t test of the difference.

    Returns:
        A share; ``None`` where it is not more than `RISE` and than chance.
    """
    first, second = (math.fsum(means) / len(means) for means in (early, late))
    if second <= (1 + RISE) * first:
        return None
    spread = math.sqrt(_variance(early, first) + _variance(late, second))
    width = spread * intervals.half_width(min(len(early), len(late)), 1 - 2 * level)
    return second / first - 1 if second - first > width else None


def _variance(values: Sequence[float], mean: float) -> float:
    return math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)


def tenths(slowdowns: NDArray[Any] | pl.Series) -> list[float] | None:
    """Means of each tenth of flows, one after the other; ``None`` where there are fewer than `FEW`.

    Args:
        slowdowns: in order of their starts.
    """
    number, parts = len(slowdowns), 2 * PARTS
    if number < FEW:
        return None
    ends = [number * k // parts for k in range(parts + 1)]
    means = (slowdowns[start:end].mean() for start, end in itertools.pairwise(ends))
    return [float(mean) for mean in means]  # type: ignore[arg-type]


def told_of(scenario: Mapping[str, Any]) -> bool:
    """Whether a rise is told of a scenario's runs.

    Not where slowdowns may rise for other reasons: a trace, which may have been recorded while
    more and more came, overload, and links that change.
    """
    traffic = scenario["traffic"]
    return not ("trace" in traffic or traffic.get("overload") or scenario.get("capacity"))


def of_runs(runs: Sequence[Sequence[float] | None], level: float = LEVEL) -> float | None:
    """The rise in runs that differ in their seeds.

    Args:
        runs: `tenths` of each.
        level: as of `rise`.
    """
    known = [each for each in runs if each]
    if not known:
        return None
    early = [mean for run in known for mean in run[:PARTS]]
    late = [mean for run in known for mean in run[PARTS:]]
    return rise(early, late, level)


def rises(runs: Mapping[str, Sequence[Sequence[float] | None]]) -> dict[str, float]:
    """Those of what is compared in which there is a rise, by name; `LEVEL` is of all."""
    level = LEVEL / max(1, len(runs))
    found = {name: of_runs(each, level) for name, each in runs.items()}
    return {name: more for name, more in found.items() if more is not None}


def of_several(runs: Mapping[str, Sequence[Sequence[float] | None]]) -> list[str]:
    """A line where there is a rise in any of what is compared."""
    found = rises(runs)
    return [words_of_several(found)] if found else []


def words(more: float) -> str:
    """Of one run."""
    return (
        f"slowdowns of the second half of the measured flows are {more:.0%} above those of the "
        f"first: {ADVICE}"
    )


def words_of_several(rises: Mapping[str, float]) -> str:
    """Of what is compared, by name."""
    return (
        "slowdowns of the second half of the measured flows are above those of the first under "
        f"{named(rises)}: {ADVICE}"
    )


def named(rises: Mapping[str, float]) -> str:
    """The largest ones, each with its name."""
    ordered = sorted(rises, key=lambda name: -rises[name])
    told = ", ".join(f"{name} ({rises[name]:.0%})" for name in ordered[:MOST_NAMED])
    more = f" and {len(ordered) - MOST_NAMED} more" if len(ordered) > MOST_NAMED else ""
    return told + more
