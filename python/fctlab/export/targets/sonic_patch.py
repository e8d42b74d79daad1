"""What turns one config_db into another, as an RFC 6902 patch.

No step points to what is not there: profiles and maps come before entries point to them, and go
after. Keys of several ports or queues go before those that take their place come.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jsonpatch

from fctlab.export.targets import sonic_rules
from fctlab.export.targets.sonic_rules import State


def operations(before: State, after: State) -> list[dict[str, Any]]:
    """The steps, in order; none where both are alike."""
    return [*_new(before, after), *_bound(before, after), *_gone(before, after)]


def _operation(op: str, *parts: str, value: object = None) -> dict[str, Any]:
    found: dict[str, Any] = {"op": op, "path": jsonpatch.JsonPointer.from_parts(parts).path}
    if op != "remove":
        found["value"] = value
    return found


def _new(before: State, after: State) -> Iterator[dict[str, Any]]:
    """Entries that others point to, as they come or change."""
    for table in after:
        if table in sonic_rules.BINDINGS:
            continue
        if table not in before:
            yield _operation("add", table, value=after[table])
            continue
        for name, entry in after[table].items():
            if name not in before[table]:
                yield _operation("add", table, name, value=entry)
            elif entry != before[table][name]:
                yield _operation("replace", table, name, value=entry)


def _bound(before: State, after: State) -> Iterator[dict[str, Any]]:
    """Entries that point to others: leaf by leaf."""
    for table in sonic_rules.BINDINGS:
        if table not in before and table in after:
            yield _operation("add", table, value=after[table])
        elif table in before and table not in after:
            yield _operation("remove", table)
        else:
            yield from _leaves(table, before.get(table, {}), after.get(table, {}))


def _leaves(
    table: str, before: dict[str, dict[str, str]], after: dict[str, dict[str, str]]
) -> Iterator[dict[str, Any]]:
    if before and not set(before) & set(after):  # else it would be empty meanwhile
        yield _operation("replace", table, value=after)
        return
    for name in sorted(set(before) - set(after)):
        yield _operation("remove", table, name)
    for name in sorted(after):
        if name not in before:
            yield _operation("add", table, name, value=after[name])
        else:
            old, new = before[name], after[name]
            for leaf in sorted({*old, *new}):
                if leaf not in new:
                    yield _operation("remove", table, name, leaf)
                elif leaf not in old or old[leaf] != new[leaf]:
                    op = "replace" if leaf in old else "add"
                    yield _operation(op, table, name, leaf, value=new[leaf])


def _gone(before: State, after: State) -> Iterator[dict[str, Any]]:
    """Entries that nothing points to any more."""
    for table in before:
        if table in sonic_rules.BINDINGS:
            continue
        if table not in after:
            yield _operation("remove", table)
            continue
        for name in before[table]:
            if name not in after[table]:
                yield _operation("remove", table, name)
