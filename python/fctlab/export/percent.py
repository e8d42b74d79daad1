"""Weights as whole percent."""

from __future__ import annotations

from collections.abc import Sequence


def of(weights: Sequence[int]) -> tuple[int, ...]:
    """Percent that sum to 100, each at least 1.

    Largest remainders (Hamilton's method), after those whose share is below 1% have got 1%; who is
    owed most gets the next percent, the earlier one on a tie.

    Args:
        weights: 1 and more, at most a hundred of them.
    """
    if not weights:
        return ()
    lifted: set[int] = set()
    while True:
        rest = [i for i in range(len(weights)) if i not in lifted]
        total = sum(weights[i] for i in rest)
        left = 100 - len(lifted)
        small = {i for i in rest if weights[i] * left < total}
        if not small:
            break
        lifted |= small
    found = [1] * len(weights)
    for i in rest:
        found[i] = weights[i] * left // total
    owed = sorted(rest, key=lambda i: (-(weights[i] * left % total), i))
    for i in owed[: 100 - sum(found)]:
        found[i] += 1
    return tuple(found)
