"""Fits of classes and of the model as tables for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from fctlab.cli.layout import frame, numbers, whole
from fctlab.slo.fitted import Calibration


def calibration(found: Calibration) -> RenderableType:
    """Fitted parameters, and how far the model is off with them and with the paper's."""
    table = frame(f"the model against {found.scheme}")
    table.add_column("flows", no_wrap=True)
    for words in ("fitted", found.preset):
        numbers(table, f"p99, mean ({words})", f"p99, worst ({words})", f"long ({words})")
    for row in found.errors:
        short, long = [b for b in row.bins if b.up_to_bdp], row.long_mean
        cells = [
            *_off([(b.fitted, b.p99) for b in short], (long.fitted, long.packet)),
            *_off([(b.preset, b.p99) for b in short], (long.preset, long.packet)),
        ]
        table.add_row(row.sample + (", held out" if row.held_out else ""), *cells)
    cc = ", ".join(f"{key} {value}" for key, value in found.cc.items())
    note = (
        "p99 slowdown of size bins up to a BDP: mean and largest error; mean slowdown of flows "
        "above 1 MB"
    )
    return Group(whole(table), Text(cc), Text(note, style="dim"))


def _off(
    short: Sequence[tuple[float, float]], long: tuple[float | None, float | None]
) -> Iterator[str]:
    """How far the model's values are from packets': of short flows' p99, and of long ones' mean."""
    off = [model / packet - 1 for model, packet in short]
    yield f"{sum(map(abs, off)) / len(off):.1%}" if off else "-"
    yield f"{max(off, key=abs):+.1%}" if off else "-"
    model, packet = long
    yield "-" if model is None or packet is None else f"{model / packet - 1:+.1%}"
