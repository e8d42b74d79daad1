"""Flow logs as one table: the only place that reads them.

Rows are flows; columns are found by name (`KNOWN`: fctlab's own, those of IPFIX, NetFlow, nfdump
and Zeek) or named by who asks. CSV, TSV, Parquet, JSON lines, Zeek's logs and what tshark prints
are read, also packed with gzip. Rows that are no flow or two are seen to by `ways`,
and records of one flow that its exporter cut are joined (`joined`).
What a number's unit is says the column's name, who asks (``COLUMN:ms``), or its size where that
leaves no doubt (time since 1970); whole numbers that could be anything are refused, for
milliseconds that are taken for seconds are a load a thousand times too low. `FlowLog.notes` says
what was taken for what.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from fctlab import formats
from fctlab.errors import SpecError
from fctlab.slo import clock, joined, logfile, refused, ways

if TYPE_CHECKING:
    import polars as pl

Role: TypeAlias = Literal[
    "time",
    "end",
    "duration",
    "size",
    "class",
    "dscp",
    "source",
    "destination",
    "source_port",
    "destination_port",
    "protocol",
    "weight",
]

TIMES = {unit: formats.TIMES[unit] for unit in ("s", "ms", "us", "ns")}
SIZES = {"B": 1.0, "KB": 1e3, "MB": 1e6, "GB": 1e9}
CLASSES = {
    "name": "names",
    "dscp": "DSCPs",
    "tos": "the ToS byte, whose upper six bits are the DSCP",
}
UNITS: dict[Role, Mapping[str, object]] = {
    "time": TIMES,
    "end": TIMES,
    "duration": TIMES,
    "size": SIZES,
    "class": CLASSES,
}
"""By what a column is for, the units that may be named."""
NAMED = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}

KNOWN: dict[Role, dict[str, str]] = {
    "time": {
        **{"start_s": "s", "start": "", "time": "", "timestamp": "", "ts": "", "firstseen": ""},
        **{"flowstartseconds": "s", "flowstartmilliseconds": "ms", "flowstartmicroseconds": "us"},
        **{"flowstartnanoseconds": "ns", "flowstartsysuptime": "ms", "first_switched": "ms"},
    },
    "end": {
        **{"end_s": "s", "end": "", "te": "", "lastseen": "", "flowendseconds": "s"},
        **{"flowendmilliseconds": "ms", "flowendmicroseconds": "us", "flowendnanoseconds": "ns"},
        **{"flowendsysuptime": "ms", "last_switched": "ms"},
    },
    "duration": {
        **{"duration_s": "s", "fct_s": "s", "duration": "", "td": "s"},
        **{"flowdurationmilliseconds": "ms", "flowdurationmicroseconds": "us"},
    },
    "size": dict.fromkeys(
        (
            *("size_bytes", "size", "bytes", "octetdeltacount", "octettotalcount", "in_bytes"),
            *("doctets", "ibyt", "inbyte", "orig_bytes"),
        ),
        "B",
    ),
    "class": {"traffic_class": "name", "class": "name"},
    "dscp": {
        **{"dscp": "dscp", "ipdiffservcodepoint": "dscp"},
        **dict.fromkeys(("ipclassofservice", "src_tos", "tos", "stos", "srctos"), "tos"),
    },
    "source": dict.fromkeys(
        ("src", "sourceipv4address", "sourceipv6address", "ipv4_src_addr", "sa", "id.orig_h"), ""
    ),
    "destination": dict.fromkeys(
        (
            *("dst", "destinationipv4address", "destinationipv6address", "ipv4_dst_addr", "da"),
            "id.resp_h",
        ),
        "",
    ),
    "source_port": dict.fromkeys(
        ("src_port", "sport", "sourcetransportport", "l4_src_port", "sp", "id.orig_p"), ""
    ),
    "destination_port": dict.fromkeys(
        ("dst_port", "dport", "destinationtransportport", "l4_dst_port", "dp", "id.resp_p"), ""
    ),
    "protocol": dict.fromkeys(("protocol", "protocolidentifier", "proto", "pr"), ""),
    "weight": dict.fromkeys(("weight", "flow_weight"), ""),
}
"""By what a column is for: its names in small letters, the likeliest first, and their units."""

ENDS: tuple[Role, ...] = ("source", "destination")
TUPLE: tuple[Role, ...] = (*ENDS, "source_port", "destination_port", "protocol")
"""What is the same in all records of a flow."""

EXPORTED = {
    *(f"flow{what}{unit}seconds" for what in ("end", "duration") for unit in ("", "milli")),
    *(f"flow{what}{unit}seconds" for what in ("end", "duration") for unit in ("micro", "nano")),
    *("flowendsysuptime", "last_switched", "te", "td"),
}
"""Columns that an exporter of flow records fills in, from the packets that it sees."""
DAY_S, MOST_BYTES = 86_400, 1e15
LAST = 2**62
"""No time in whole numbers is as far from 0; nanoseconds since 1970 are until 2116."""
SINCE_1970 = ((1e17, "ns"), (1e14, "us"), (1e11, "ms"), (1e9, "s"))
"""From which number on a time is one since 1970, in what unit (until the year 5138)."""


@dataclass(frozen=True)
class Columns:
    """Columns of a log that are named rather than found: ``NAME`` or ``NAME:UNIT``.

    Attributes:
        time: starts; s, ms, us or ns, or times of day.
        end: ends, the same.
        duration: from start to end.
        size: bytes of a flow; B, KB, MB or GB.
        traffic_class: class; name, dscp or tos.
        weight: how many flows a record of a sampled log stands for.
    """

    time: str | None = None
    end: str | None = None
    duration: str | None = None
    size: str | None = None
    traffic_class: str | None = None
    weight: str | None = None


@dataclass(frozen=True)
class FlowLog:
    """A flow log.

    Attributes:
        file: which.
        flows: in order of start: ``start_s`` (float, seconds from the first on), ``bytes`` (int),
            ``class`` (text; ``all`` without a column); where the log has them ``dscp`` (int, 0 to
            63), ``source``, ``destination`` (text), ``duration_s`` (float, seconds; may be null),
            ``weight`` (float, at least 1: how many flows it stands for).
        notes: lines: which column was taken for what, in what unit.
        packets: whether durations are from a flow's first packet to its last, as an exporter sees
            them: about a round trip less than until its sender knows that it is over.
        first_s: when the first flow starts, on the log's clock.
        jump: where that clock was set back, in words; empty if it never was.
    """

    file: Path
    flows: pl.DataFrame
    notes: tuple[str, ...]
    packets: bool = False
    first_s: float = 0.0
    jump: str = ""


def read(
    file: str | PathLike[str],
    columns: Columns | None = None,
    names: Mapping[str, str] | None = None,
) -> FlowLog:
    """Read a flow log.

    Args:
        file: CSV, TSV, Parquet, JSON lines, or a log of Zeek's; with ``.gz`` behind it packed.
        columns: those that have other names than `KNOWN`, or a unit to be told.
        names: by DSCP or by what the log calls a class, what to call it; two with one name are one.

    Raises:
        SpecError: the file cannot be read, lacks a column or has a wrong value; with the file, the
            line (in Parquet and JSON the row, from 1) and the column.
    """
    return _Reader(Path(file), columns or Columns()).log(names or {})


@dataclass
class _Reader:
    """A log that is being read."""

    file: Path
    columns: Columns
    notes: list[str] = field(default_factory=list)
    table: Any = None
    packets: bool = False

    def log(self, names: Mapping[str, str]) -> FlowLog:
        import polars as pl

        self.table, chosen = logfile.Table(self.file), {}
        refused.check(self.file, self.table.names)
        for role in KNOWN:
            found = self._column(role)
            if found is not None:
                chosen[role] = found
        self._need(chosen)
        more = ways.beside(self.table.names, chosen, self.columns.size is not None)
        rates = refused.rates(self.table.names)
        self.table.load([*(name for name, _ in chosen.values()), *more, *rates])
        self._above_summary(chosen["time"][0])
        refused.unsampled(self.table, rates)
        self.notes += ways.flows(self.table, chosen, more)
        if not len(self.table.rows):
            raise SpecError(str(self.file), "has no flows")
        begin, unit = self._time(*chosen["time"], "starts")
        flows = {"start_s": (begin - begin.min()).cast(pl.Float64) * TIMES[unit]}
        flows["bytes"] = self._bytes(*chosen["size"])
        flows |= self._classes(chosen, names)
        for role in TUPLE:
            if role in chosen:
                flows[role] = self.table.rows[chosen[role][0]].cast(pl.String).str.strip_chars()
        lasts = self._durations(chosen, begin, unit)
        if lasts is not None:
            flows["duration_s"] = lasts
        if "weight" in chosen:
            flows["weight"] = self._weights(chosen["weight"][0])
        jump = self._jump(flows["start_s"], lasts)
        table = pl.DataFrame([series.alias(name) for name, series in flows.items()])
        table = self._joined(table).sort("start_s", maintain_order=True)
        notes = (*self.table.notes, *self.notes)
        first: Any = begin.min()
        return FlowLog(self.file, table, notes, self.packets, first * TIMES[unit], jump)

    def _joined(self, table: pl.DataFrame) -> pl.DataFrame:
        """The flows of records, where their ends, ports and times are known."""
        there = [role for role in TUPLE if role in table.columns]
        known = {*ENDS, "source_port", "destination_port", "duration_s"} <= set(table.columns)
        if known and self.packets:
            table, note = joined.join(table, there)
            self.notes += filter(None, [note])
        return table.drop([role for role in there if role not in ENDS])

    def _column(self, role: Role) -> tuple[str, str] | None:
        """Name and unit of the column for a role."""
        here = {name.strip().casefold(): name for name in reversed(self.table.names)}
        known = KNOWN[role]
        asked = getattr(self.columns, {"class": "traffic_class"}.get(role, role), None)
        if asked is None:
            name = next((name for name in known if name in here), None)
            return None if name is None else (here[name], known[name])
        name, colon, unit = asked.rpartition(":")
        if not colon or unit not in UNITS.get(role, ()):
            name, unit = asked, ""
        if name.strip().casefold() not in here:
            said = f"{name!r} is not a column of {self.file}; it has {', '.join(self.table.names)}"
            raise SpecError(f"--{role}", said)
        return here[name.strip().casefold()], unit or known.get(name.strip().casefold(), "")

    def _need(self, chosen: Mapping[Role, object]) -> None:
        for role, what in (("time", "starts"), ("size", "sizes")):
            if role not in chosen:
                known, have = ", ".join(KNOWN[role]), ", ".join(self.table.names)  # type: ignore[index]
                message = f"has no column of {what} ({known}); it has {have}: --{role} names one"
                raise SpecError(str(self.file), message)

    def _above_summary(self, times: str) -> None:
        """Leaves out what nfdump writes below the flows."""
        import polars as pl

        column = self.table.rows[times]
        if column.dtype == pl.String:
            below = (column == "Summary").fill_null(False).cum_max()
            if below.any():
                self.table.keep(~below)

    def _wrong(self, name: str, bad: pl.Series, message: str) -> None:
        """Raises where `bad` is true, of the first such row; null is as bad."""
        places = (bad.fill_null(True)).arg_true()
        if len(places):
            row = int(places[0])
            value = self.table.rows[name][row]
            said = "is empty" if value in (None, "") else f"{value!r} {message}"
            raise SpecError(str(self.file), f"{self.table.place(row)}, column {name}: {said}")

    def _numbers(self, name: str, *, empty: bool = False) -> pl.Series:
        """A column as whole numbers where all are, else floats; `empty` ones may be null."""
        import polars as pl

        column: pl.Series = self.table.rows[name]
        if column.dtype.is_float():
            whole = column
        elif column.dtype.is_integer():
            whole = column.cast(pl.Int64, strict=False)
            if whole.null_count() > column.null_count():
                whole = column.cast(pl.Float64)
        else:
            if column.dtype == pl.String:
                column = column.str.strip_chars().replace("", None)
            whole = column.cast(pl.Int64, strict=False)
            rest = column.cast(pl.Float64, strict=False)
            if whole.null_count() > column.null_count() or not (whole == rest).all():
                whole = rest
        bad = whole.is_null() & (column.is_not_null() | (not empty))
        if whole.dtype.is_float():
            bad |= whole.is_not_null() & ~whole.is_finite().fill_null(False)
        self._wrong(name, bad, "is not a finite number")
        return whole

    def _time(self, name: str, unit: str, what: str) -> tuple[pl.Series, str]:
        """A column of times as numbers, and their unit."""
        import polars as pl

        column = self.table.rows[name]
        text = column.drop_nulls().head(1).to_list() if column.dtype == pl.String else []
        if column.dtype == pl.String and text and ("-" in text[0][1:] and ":" in text[0]):
            moments = _moments(column)
            self._wrong(name, moments.is_null(), "is not a time of day such as the first")
            self.notes.append(f"{what}: {name}, times of day")
            return moments, "ns"
        if column.dtype.is_temporal():
            self.notes.append(f"{what}: {name}, times of day")
            self._wrong(name, column.is_null(), "")
            if isinstance(column.dtype, pl.Datetime):
                return self._within(name, column.to_physical()), column.dtype.time_unit
            return column.to_physical().cast(pl.Int64) * DAY_S, "s"
        numbers, why = self._numbers(name), ""
        if not unit:
            unit, why = self._guessed(name, numbers)
        self.notes.append(f"{what}: {name}, in {NAMED[unit]}{why}")
        return self._within(name, numbers), unit

    def _within(self, name: str, times: pl.Series) -> pl.Series:
        """Times of which any two can be told apart."""
        most = LAST if times.dtype.is_integer() else 1e300
        self._wrong(name, (times >= most) | (times <= -most), "is further away than times reach")
        return times

    def _guessed(self, name: str, numbers: pl.Series) -> tuple[str, str]:
        """The unit of times whose column does not name it, and why."""
        largest: Any = numbers.abs().max()
        for least, unit in SINCE_1970:
            if largest >= least:
                return unit, " since 1970, by their size"
        if numbers.dtype.is_float():
            return "s", " (a guess: they have decimals; --time and --end name a unit)"
        message = (
            f"column {name} has whole numbers, and nothing says of what; say --time {name}:ms, or "
            "s, us, ns"
        )
        raise SpecError(str(self.file), message)

    def _bytes(self, name: str, unit: str) -> pl.Series:
        import polars as pl

        unit = unit or "B"
        sizes = self._numbers(name).cast(pl.Float64) * SIZES[unit]
        self._wrong(name, sizes < 1, "is below 1 byte")
        self._wrong(name, sizes > MOST_BYTES, "is above a petabyte")
        self.notes.append(f"sizes: {name}, in {'bytes' if unit == 'B' else unit}")
        return sizes.round().cast(pl.Int64)

    def _classes(
        self, chosen: Mapping[Role, tuple[str, str]], names: Mapping[str, str]
    ) -> dict[str, pl.Series]:
        """``class`` and perhaps ``dscp``."""
        import polars as pl

        found: dict[str, pl.Series] = {}
        name, unit = chosen.get("class", chosen.get("dscp", ("", "")))
        if not name:
            if names:
                raise SpecError("--names", f"{self.file} has no classes; --class names a column")
            return {"class": pl.repeat("all", len(self.table.rows), eager=True)}
        for column, coded in ((name, unit), *([chosen["dscp"]] if "dscp" in chosen else [])):
            if coded in ("dscp", "tos") and not found:
                found["dscp"] = self._codes(column, coded)
        if unit in ("dscp", "tos"):
            text, plain = found["dscp"].cast(pl.String), "dscp-"
        else:
            text, plain = self.table.rows[name].cast(pl.String).str.strip_chars(), ""
            self._wrong(name, text.is_null() | (text == ""), "")
        there = text.unique().to_list()
        for code in names:
            if code not in there:
                raise SpecError("--names", f"{code!r} is not in {name}; it has {_listed(there)}")
        called = {each: names.get(each, plain + each) for each in there}
        self.notes.append(f"classes: {name}, {CLASSES[unit or 'name']}")
        return {"class": text.replace_strict(called, return_dtype=pl.String), **found}

    def _codes(self, name: str, unit: str) -> pl.Series:
        """A column of DSCPs, or of ToS bytes, as DSCPs."""
        codes = self._numbers(name)
        most = 63 if unit == "dscp" else 255
        bad = (codes < 0) | (codes > most) | codes.dtype.is_float()
        self._wrong(name, bad, f"is not in [0, {most}]")
        return codes // 4 if unit == "tos" else codes

    def _weights(self, name: str) -> pl.Series:
        import polars as pl

        weights = self._numbers(name).cast(pl.Float64)
        self._wrong(name, weights < 1, "is below 1: a record stands for itself at least")
        self.notes.append(f"weights: {name}, flows that a record stands for")
        return weights

    def _jump(self, start_s: pl.Series, lasts_s: pl.Series | None) -> str:
        """Where the log's clock was set back, in words."""
        found = clock.back(start_s, lasts_s)
        if found is None:
            return ""
        row, by_s = found
        return f"{self.table.place(row)} is {formats.seconds(by_s)} before the row above it"

    def _durations(
        self, chosen: Mapping[Role, tuple[str, str]], begin: pl.Series, unit: str
    ) -> pl.Series | None:
        """Seconds from start to end, where the log says it."""
        import polars as pl

        if "duration" in chosen and (self.columns.end is None or self.columns.duration):
            name, own = chosen["duration"]
            lasts = self._numbers(name, empty=True)
            if not own and not lasts.dtype.is_float() and begin.dtype.is_float():
                self.notes.append(
                    f"durations: not read, as nothing says what {name} is in (--duration {name}:ms)"
                )
                return None
            own = own or ("s" if lasts.dtype.is_float() else unit)
            self.notes.append(f"durations: {name}, in {NAMED[own]}")
            lasts = lasts.cast(pl.Float64) * TIMES[own]
        elif "end" in chosen:
            name, own = chosen["end"]
            end, own = self._time(name, own or "", "ends")
            if own == unit:
                lasts = (end - begin).cast(pl.Float64) * TIMES[own]
            else:
                lasts = end.cast(pl.Float64) * TIMES[own] - begin.cast(pl.Float64) * TIMES[unit]
        else:
            return None
        self._wrong(name, (lasts < 0).fill_null(False), "is before the flow starts")
        if name.strip().casefold() in EXPORTED:
            self.packets = True
            self.notes.append("durations are from a flow's first packet to its last")
        return lasts


def _listed(names: Sequence[str]) -> str:
    """A few of them."""
    first = ", ".join(sorted(names)[:12])
    return first + (f" and {len(names) - 12} more" if len(names) > 12 else "")


def _moments(text: pl.Series) -> pl.Series:
    """Times of day in nanoseconds since 1970, null where it is none; UTC without a zone."""
    import polars as pl
    from polars.exceptions import ComputeError

    text = text.str.strip_chars()
    zone = "UTC" if text.str.contains(r"(Z|[+-]\d\d:?\d\d)$").any() else None
    try:
        whole, moments = (
            text.str.to_datetime(time_unit=unit, time_zone=zone, strict=False).to_physical()
            for unit in ("us", "ns")
        )
    except ComputeError:  # No form is known that any of them has.
        return pl.repeat(None, len(text), dtype=pl.Int64, eager=True)
    return moments.set(whole.abs() >= LAST // 1000, None)
