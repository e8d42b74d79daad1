"""Numbers as people read them, with units."""

from __future__ import annotations

from typing import Any


def seconds(value: float | None) -> str:
    """A time to three digits: ``"12.3 us"``."""
    if not value:
        return "-" if value is None else "0 s"
    for factor, unit in ((1e9, "ns"), (1e6, "us"), (1e3, "ms")):
        if value * factor < 999.5:
            return f"{plain(value * factor)} {unit}"
    return f"{plain(value)} s"


def plain(value: float | None) -> str:
    """A number to three digits."""
    if value is None:
        return "-"
    digits = 2 if value < 9.995 else 1 if value < 99.95 else 0
    return f"{value:.{digits}f}"


def count(value: float) -> str:
    """A count to three digits: ``"12.3 M"``."""
    for factor, unit in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if value >= factor:
            return plain(value / factor) + unit
    return f"{value:.0f}"


def targets(sli: dict[str, Any]) -> str:
    """What the SLO compares an SLI with, such as ``< 3``; empty where it does not name it."""
    signs = {"below": "<", "above": ">"}
    each = (target.popitem() for target in map(dict, sli["targets"]))
    return ", ".join(f"{signs[side]} {sli_value(sli['attr'], bound)}" for side, bound in each)


def sli_value(attr: str, value: float | None) -> str:
    """An SLI to three digits, by what it is of: a slowdown, ``fct`` or ``throughput``."""
    if value is None:
        return "inf"
    if attr == "throughput":
        return count(value) + "bps"
    return seconds(value) if attr == "fct" else plain(value)
