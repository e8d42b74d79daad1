"""Tables of sweeps and stores for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.table import Table

from fctlab.sweep.grid import show

if TYPE_CHECKING:
    import polars as pl

    from fctlab.sweep import Decision, Estimated, Sweep

MOST_ROWS = 200


def estimated(found: Estimated) -> Table:
    """What a sweep will cost."""
    table = Table(show_header=False, box=None)
    most = f", up to {found.most_points:,}" if found.most_points > found.points else ""
    table.add_row("cells", f"{found.cells:,}")
    table.add_row("points", f"{found.points:,}{most}; {found.there:,} are there")
    table.add_row("CPU hours", f"{found.cpu_hours:.3g} for the points that are missing")
    table.add_row("disk", f"{max(found.disk_bytes, 1e5) / 1e6:,.1f} MB")
    return table


def summary(found: Sweep) -> Table:
    """Slowdowns of all and small flows per cell and scheme, or SLIs."""
    axes = found.grid.axes
    frame = found.summary
    table = Table(title=found.grid.name, caption=_caption(frame, found))
    for axis in axes:
        table.add_column(axis.rpartition(".")[2], justify="right")
    if found.grid.kind == "specification":
        for name in ("class", "SLI"):
            table.add_column(name)
        for name in ("seeds", "value"):
            table.add_column(name, justify="right")
        for row in frame.head(MOST_ROWS).iter_rows(named=True):
            value = _value(row["value"], row["value_ci95"])
            cells = [show(row[axis]) for axis in axes]
            table.add_row(*cells, row["class"], row["sli"], str(row["seeds"]), value)
        return table
    table.add_column("scheme")
    for name in ("seeds", "avg slowdown", "ratio", "small p99", "ratio"):
        table.add_column(name, justify="right")
    sizes = {"all": "avg_slowdown", "small": "p99_slowdown"}
    rows: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in frame.iter_rows(named=True):
        if row["traffic_class"] == "all" and row["class"] in sizes:
            key = (*(row[axis] for axis in axes), row["scheme"])
            rows.setdefault(key, {"seeds": row["seeds"]})[row["class"]] = row
    for key, each in list(rows.items())[:MOST_ROWS]:
        values = []
        for size, metric in sizes.items():
            row = each.get(size, {})
            bound = "> " if row.get(f"{metric}_lower_bound") else ""
            values += [
                bound + _value(row.get(metric), row.get(f"{metric}_ci95")),
                _ratio(row, metric),
            ]
        table.add_row(*(show(value) for value in key), str(each["seeds"]), *values)
    return table


def _caption(frame: pl.DataFrame, found: Sweep) -> str:
    told = "ratio: to the first scheme, seed by seed, with its 95% interval"
    return told if len(found.grid.schemes) > 1 else ""


def _value(value: float | None, half: float | None) -> str:
    if value is None:
        return "not known"
    return f"{value:.3g}" + (f" ±{half:.2g}" if half else "")


def _ratio(row: dict[str, Any], metric: str) -> str:
    ratio, low, high = (row.get(f"{metric}_ratio{end}") for end in ("", "_low", "_high"))
    if ratio is None:
        return "not known"
    return f"{ratio:.3f}" + ("" if low is None or low == high else f" [{low:.3f}, {high:.3f}]")


def decisions(found: Sweep) -> Table:
    """What the rule says of every cell and scheme."""
    until = found.grid.until
    assert until is not None
    against = f" / {until.against}" if until.against else ""
    table = Table(title=f"{until.metric}{against}")
    for name in ("cell", "scheme", "verdict"):
        table.add_column(name)
    for name in ("seeds", "value", "still needed"):
        table.add_column(name, justify="right")
    for each in found.decisions[:MOST_ROWS]:
        table.add_row(*_decision(found, each))
    return table


def _decision(found: Sweep, each: Decision) -> list[str]:
    verdict = f"{each.verdict}: {each.why}" if each.why else each.verdict
    value, seeds, needed = "not known", "", ""
    if each.found:
        low, high = each.found.interval
        seeds, value = str(each.found.seeds), f"{each.found.ratio:.3f} [{low:.3f}, {high:.3f}]"
    if each.seeds_needed is not None:
        hours = f"{(each.cpu_hours_needed or 0.0):.2g} CPU hours"
        needed = f"about {each.seeds_needed:,.0f} seeds, {hours}"
    name = found.grid.cells[each.cell].name or found.grid.name
    return [name, each.scheme or "", verdict, seeds, value, needed]


def listing(frame: pl.DataFrame) -> Table:
    """Points of a store."""
    table = Table(caption=f"{len(frame):,} points")
    for name in frame.columns:
        table.add_column(name)
    for row in frame.head(MOST_ROWS).iter_rows():
        table.add_row(*("" if value is None else show(value) for value in row))
    if len(frame) > MOST_ROWS:
        table.add_row(f"... and {len(frame) - MOST_ROWS:,} more (--json has all)")
    return table
