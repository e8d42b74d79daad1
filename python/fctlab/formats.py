"""Numbers as people read them, with units; tables as spreadsheets open them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

FORMULA = r"^[=+\-@\t\r]"
"""How a cell begins that a spreadsheet would compute (OWASP, "CSV injection")."""


def csv(table: pl.DataFrame) -> str:
    """A table as CSV in which no text is a formula: names from files may be anything.

    A cell of text that begins as a formula does has an apostrophe before it, as people type one.
    """
    import polars as pl

    text = pl.col(pl.String)
    return table.with_columns(
        pl.when(text.str.contains(FORMULA)).then("'" + text).otherwise(text).name.keep()
    ).write_csv()


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


def rate(bps: float) -> str:
    """A rate to three digits: ``"16.7 Gbps"``."""
    for unit, factor in RATES.items():
        if bps >= 0.9995 * factor:
            return f"{plain(bps / factor)} {unit}"
    return f"{bps:.3g} bps"


def sli_value(attr: str, value: float | None) -> str:
    """An SLI to three digits, by what it is of: a slowdown, ``fct`` or ``throughput``."""
    if value is None:
        return "inf"
    if attr == "throughput":
        return rate(value)
    return seconds(value) if attr == "fct" else plain(value)


RATES = {"Tbps": 1e12, "Gbps": 1e9, "Mbps": 1e6, "Kbps": 1e3, "bps": 1.0}


TIMES = {"ps": 1e-12, "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}


def time_s(text: str) -> float:
    """A time as resolved specifications write it, such as ``"10us"``, in seconds."""
    unit = next(unit for unit in TIMES if text.endswith(unit))
    return float(text.removesuffix(unit)) * TIMES[unit]


def rate_bps(text: str) -> float:
    """A rate as resolved specifications write it, such as ``"100Gbps"``, in bits per second."""
    unit = next(unit for unit in RATES if text.endswith(unit))
    return float(text.removesuffix(unit)) * RATES[unit]
