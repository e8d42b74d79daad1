"""What an SLO loses where a device does less than the plan: `predict`, with values as written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from fctlab.export.answer import Effect
from fctlab.export.types import Advice
from fctlab.jobs import Told
from fctlab.slo import planning

MOST_FLOWS = 1_000_000
"""Of each prediction, unless asked otherwise."""

Change = tuple[str, dict[str, Any]]
"""What differs from the plan, in words and as tables of a specification."""


def lost(advice: Advice, marks: int | None = None) -> list[Change]:
    """What of a plan devices do not express as it is, and what they do instead.

    Args:
        advice: a plan; nothing of anything else.
        marks: length at which queues mark, as written; ``None`` if none does.
    """
    if advice.spec is None:
        return []
    queue, control = advice.spec["queue"], advice.spec["cc"]
    changes: list[Change] = []
    if queue.get("inside") == "fq":
        words = "queues are FIFO inside: flows of a class are not served in turn"
        changes.append((words, {"queue": {**queue, "inside": "fifo"}}))
    if None not in (marks, advice.mark_bytes) and marks != advice.mark_bytes:
        words = f"queues mark at {marks:,} B, not at {advice.mark_bytes:,} B"
        changes.append((words, {"cc": {**control, "thresh": f"{marks}B"}}))
    return changes


def of(
    advice: Advice,
    written: Sequence[int],
    *,
    marks: int | None = None,
    most_flows: int | None = None,
    told: Told | None = None,
) -> tuple[Effect, ...]:
    """What becomes of every SLI.

    Args:
        advice: a plan; of anything else nothing is predicted.
        written: weights as devices are told.
        marks: length at which queues mark, as written; ``None`` if none does.
        most_flows: of each prediction; `MOST_FLOWS` unless given.
        told: called again and again; what it raises ends it.

    Returns:
        Rows for rounding, for each feature that is lost, and for all together; none if the device
        does all that was planned.
    """
    spec = advice.spec
    if spec is None:
        return ()
    planned = [share.weight or 1 for share in advice.shares]
    changes = lost(advice, marks)
    if not proportional(planned, written):
        weights = " : ".join(map(str, written))
        changes.insert(0, (f"weights are {weights}", {"classes": _weighted(spec, written)}))
    if not changes:
        return ()
    if len(changes) > 1:
        together: dict[str, Any] = {}
        for _, tables in changes:
            together |= tables
        changes.append(("all of these", together))
    limit = most_flows or MOST_FLOWS
    start = {**spec, "classes": _weighted(spec, planned)}
    before = planning.predict(start, most_flows=limit, told=told)
    rows: list[Effect] = []
    for cause, tables in changes:
        after = planning.predict({**start, **tables}, most_flows=limit, told=told)
        rows += _rows(cause, before, after)
    return tuple(rows)


def proportional(one: Sequence[int], other: Sequence[int]) -> bool:
    """Whether only the scale differs."""
    return all(a * other[0] == b * one[0] for a, b in zip(one, other, strict=True))


def _weighted(spec: dict[str, Any], weights: Sequence[int]) -> list[dict[str, Any]]:
    pairs = zip(spec["classes"], weights, strict=True)
    return [{**each, "weight": weight} for each, weight in pairs]


def _rows(cause: str, before: Any, after: Any) -> Iterator[Effect]:
    for old, new in zip(before.classes, after.classes, strict=True):
        for one, other in zip(old.slis, new.slis, strict=True):
            yield Effect(
                cause=cause,
                traffic_class=old.name,
                sli=one.name,
                attr=one.attr,
                planned=one.value,
                written=other.value,
                target=one.compared,
                verdict=new.verdict,
                before=old.verdict,
            )
