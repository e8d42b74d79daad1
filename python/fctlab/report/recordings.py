"""What a run recorded: queues and thresholds of ports, windows of flows, waits, priorities.

Recordings may be long. A line keeps the least and the greatest value of every stretch of time that
a screen does not tell apart, so that no peak is lost.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl

from fctlab.formats import seconds
from fctlab.report.charts import Axis, Chart, Choice, Series, rounded
from fctlab.report.page import Section
from fctlab.results import kinds
from fctlab.results.result import Result
from fctlab.tables import Column, Line, Part, Table, numbers

WINDOWS, VALUES, WAITS, PACKETS = "windows.parquet", "values.parquet", "waits.csv", "packets.pcapng"
MOST_THINGS = 12
"""Ports or flows that can be chosen."""
MOST_NUMBERS = 200_000
"""Of a chart."""
MOST_POINTS = 1500
"""Of a line."""
MOST_WAITS = 50
TIME = Axis("time", "s")
WHOLE = "whole port"
OF_QUEUES = {"queued_bytes": ("queued", Axis("bytes that wait", "B", zero=True))}
THRESHOLDS = {"up_to": ("largest tag that a queue takes", Axis("tag", zero=True))}
OF_PORTS = {
    "utilisation": ("utilisation", Axis("share of the time that transmissions took", zero=True)),
    "drops": ("drops", Axis("packets dropped in an interval", zero=True)),
    "marks": ("ECN marks", Axis("packets marked in an interval", zero=True)),
    "state_bytes": ("memory beside the queues", Axis("bytes", "B", zero=True)),
}
OF_FLOWS = {
    "window_packets": ("congestion window", Axis("window, in full packets", zero=True)),
    "in_flight_packets": ("packets in flight", Axis("packets in flight", zero=True)),
    "alpha": ("alpha", Axis("estimate of the share of marked packets", zero=True)),
}


def section(found: Result) -> list[Section]:
    """What a run recorded; nothing where it recorded nothing."""
    files = {file.name: file for file in found.recordings}
    charts: list[Chart] = []
    if file := files.get(kinds.PORT_SERIES):
        charts += _ports(pl.read_parquet(file))
    if file := files.get(WINDOWS):
        charts += _flows(pl.read_parquet(file))
    if file := files.get(VALUES):
        charts += _priorities(pl.read_parquet(file))
    parts: list[Part] = []
    if file := files.get(WAITS):
        parts.append(_waits(file))
    if file := files.get(PACKETS):
        parts.append(Line(f"{kinds.RECORDINGS}/{file.name} has packets; Wireshark opens it.", True))
    recorded = [Section("Recorded", charts=charts)] if charts else []
    return recorded + ([Section("Waits and packets", parts)] if parts else [])


def _ports(series: pl.DataFrame) -> list[Chart]:
    """Queues, thresholds, use, drops and marks of a port over time."""
    if series.is_empty():
        return []
    packets = series.group_by("port").agg(pl.col("packets").sum())
    busiest = packets.sort("packets", "port", descending=[True, False])["port"].to_list()
    names = busiest[:MOST_THINGS]
    queues = series["queue"].n_unique()
    shown = {
        **OF_QUEUES,
        **(THRESHOLDS if series["up_to"].null_count() < len(series) else {}),
        **{name: told for name, told in OF_PORTS.items() if series[name].sum()},
    }
    points = _points(len(names) * (2 * queues + len(OF_PORTS)))
    lines = [(WHOLE, WHOLE)]
    if queues > 1:
        lines += [(str(queue), f"queue {queue}") for queue in range(queues)]
    found = []
    for port in names:
        here = series.filter(pl.col("port") == port)
        for name in shown:
            for line, rows in _by_line(here, name, queues):
                keys = {"port": port, "what": name, "queue": line}
                found.append(_thinned(keys, rows["time_s"], rows["value"], points))
    return [
        Chart(
            "ports",
            "A port over time" if len(names) > 1 else f"{names[0]} over time",
            "Queues are what waits at an instant; the rest is about intervals. Queue 0 is served "
            "first. Of a long recording the least and the greatest value of each stretch.",
            "steps",
            TIME,
            {name: axis for name, (_, axis) in shown.items()},
            found,
            lines="queue",
            choices=[
                Choice("port", "Port, the busiest first", [(name, name) for name in names]),
                Choice("what", "What", [(name, label) for name, (label, _) in shown.items()]),
                Choice("queue", "Queues", lines, several=True),
            ],
            by="what",
        )
    ]


def _by_line(here: pl.DataFrame, name: str, queues: int) -> Iterator[tuple[str, pl.DataFrame]]:
    """Values of a port as a whole, and of its queues where it has several."""
    if name in OF_PORTS:
        yield WHOLE, here.filter(pl.col("queue") == 0).select("time_s", value=name)
        return
    if name in OF_QUEUES:
        total = here.group_by("time_s", maintain_order=True).agg(pl.col(name).sum().alias("value"))
        yield WHOLE, total
    elif queues == 1:
        yield WHOLE, here.select("time_s", value=name)
    if queues > 1:
        for queue in range(queues):
            rows = here.filter(pl.col("queue") == queue).select("time_s", value=name)
            if rows["value"].null_count() < len(rows):
                yield str(queue), rows


def _flows(windows: pl.DataFrame) -> list[Chart]:
    """Windows, packets in flight and alpha of flows over time."""
    if windows.is_empty():
        return []
    numbers = sorted(windows["flow"].unique())[:MOST_THINGS]
    shown = {
        name: told for name, told in OF_FLOWS.items() if windows[name].null_count() < len(windows)
    }
    points = _points(len(numbers) * len(shown))
    found = []
    for flow in numbers:
        rows = windows.filter(pl.col("flow") == flow)
        for name in shown:
            keys = {"flow": str(flow), "what": name}
            found.append(_thinned(keys, rows["time_s"], rows[name], points))
    return [
        Chart(
            "windows",
            "Flows over time",
            "At every change; of a long recording the least and the greatest value of a stretch.",
            "steps",
            TIME,
            {name: axis for name, (_, axis) in shown.items()},
            found,
            lines="flow",
            choices=[
                Choice("what", "What", [(name, label) for name, (label, _) in shown.items()]),
                Choice("flow", "Flows", [(str(n), f"flow {n}") for n in numbers], several=True),
            ],
            by="what",
        )
    ]


def _priorities(values: pl.DataFrame) -> list[Chart]:
    """How many packets of each priority ports saw."""
    seen = values.filter(pl.col("value").is_not_null())
    packets = seen.group_by("port").agg(pl.col("packets").sum())
    busiest = packets.sort("packets", "port", descending=[True, False])["port"].to_list()
    names = busiest[:MOST_THINGS]
    if not names:
        return []
    points = _points(len(names))
    found = []
    for port in names:
        rows = seen.filter(pl.col("port") == port).sort("value")
        found.append(_thinned({"priorities": port}, rows["value"], rows["packets"], points))
    return [
        Chart(
            "priorities",
            "Priorities that a port saw" if len(names) > 1 else f"Priorities that {names[0]} saw",
            "Data packets by their tag, those that were dropped included.",
            "steps",
            Axis("tag"),
            Axis("packets", zero=True),
            found,
            lines="priorities",
            choices=[Choice("priorities", "Port, the busiest first", [(n, n) for n in names])],
        )
    ]


def _points(lines: int) -> int:
    """How many points each of so many lines may have."""
    return max(min(MOST_NUMBERS // (2 * max(lines, 1)), MOST_POINTS), 50)


def _thinned(keys: dict[str, str], x: pl.Series, y: pl.Series, points: int) -> Series:
    """A line of at most so many points: of each stretch the least and the greatest value."""
    frame = pl.DataFrame({"x": x, "y": y}).with_row_index("i")
    if len(frame) > points:
        stretch = (pl.col("i") * (points // 2) // len(frame)).alias("stretch")
        at = frame.drop_nulls("y").with_columns(stretch).group_by("stretch")
        ends = at.agg(
            pl.col("i").sort_by("y").first().alias("least"),
            pl.col("i").sort_by("y").last().alias("greatest"),
        )
        kept = pl.concat([ends["least"], ends["greatest"]]).unique()
        frame = frame.filter(pl.col("i").is_in(kept.implode()))
    return Series(keys, rounded(frame["x"].to_list(), 7), rounded(frame["y"].to_list()))


def _waits(file: Path) -> Table:
    """The longest waits of packets in ports."""
    table = Table(
        "the longest waits",
        (
            *numbers("waited", "from"),
            Column("port", "name"),
            *numbers("flow", "packet"),
            Column("what", "name"),
        ),
    )
    for row in pl.read_csv(file).head(MOST_WAITS).iter_rows(named=True):
        table.add(
            seconds(row["waited_s"]),
            f"{row['time_s'] * 1e6:,.1f} us",
            row["port"],
            str(row["flow"]),
            str(row["seq"]),
            row["kind"],
        )
    return table
