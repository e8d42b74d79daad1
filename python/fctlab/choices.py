"""Names out of a closed set, and what to say of one that is not in it."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Collection, Hashable, Iterable

from fctlab.errors import SpecError


def check(path: str, name: str, known: Iterable[str], what: str) -> None:
    """Refuse a name that is not known.

    Args:
        path: where it was found, such as ``"--engine"``.
        name: what was found.
        known: all that there are.
        what: what they are, with its article: ``"a study"``.

    Raises:
        SpecError: with the nearest of them, and all.
    """
    names = list(known)
    if name in names:
        return
    near = difflib.get_close_matches(name, names, 1) if isinstance(name, str) else []
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise SpecError(path, f"{name!r} is not {what}; {hint}known: {', '.join(names)}")


def check_all(path: str, names: Collection[str], known: Iterable[str], what: str) -> None:
    """Refuse a list that is empty, or has a name twice or one that is not known.

    Raises:
        SpecError: with what there is.
    """
    listed = list(known)
    if not names:
        raise SpecError(path, f"is empty; known: {', '.join(listed)}")
    for name in names:
        check(path, name, listed, what)
    check_distinct(path, names)


def check_distinct(path: str, items: Iterable[Hashable]) -> None:
    """Refuse a list that has an item twice.

    Raises:
        SpecError: with the item.
    """
    for item, count in Counter(items).items():
        if count > 1:
            raise SpecError(path, f"{item} is listed {count} times")
