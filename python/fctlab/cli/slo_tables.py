"""Fits of classes and of the model as tables for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from fctlab.cli.layout import frame, numbers, whole
from fctlab.formats import count, rate
from fctlab.slo.fitted import Calibration, Fit, LogClass


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


LITTLE = 0.01
"""A load below it is doubted."""


def fit(found: Fit, link_bps: float | None = None) -> RenderableType:
    """Classes of a flow log: what they bring (of a link), and how well what was fitted holds."""
    table = frame(found.trace)
    table.add_column("class", no_wrap=True)
    numbers(table, "flows", "of all", "of bytes", "rate", "mean size", "p99 size")
    table.add_column("gaps")
    held = frame("does the fit hold?")
    held.add_column("class", no_wrap=True)
    numbers(held, "KS distance", "burstiness / fit", "p99 of the log", "of the fit")
    lines = [Text(note, style="dim") for note in found.notes]
    for each in found.classes:
        gaps, sizes = each.interarrivals, each.sizes
        sigma = "" if gaps.sigma is None else f", sigma {gaps.sigma:.2f}"
        table.add_row(
            each.name,
            *_brings(each),
            rate(each.rate_bps),
            count(sizes.mean_bytes) + "B",
            count(sizes.p99_bytes) + "B",
            "measured" if each.measured_gaps else gaps.family + sigma,
        )
        ratios = [r.measured / r.fitted for r in each.burstiness if r.fitted]
        low, _, high = each.tail.drawn
        held.add_row(
            each.name,
            f"{gaps.ks:.3f}",
            f"{min(ratios):.2f} to {max(ratios):.2f}" if ratios else "-",
            f"{each.tail.log:.3g}",
            f"{low:.3g} to {high:.3g}",
        )
        lines += [Text(f"{each.name}: {warning}") for warning in each.warnings]
    for few in found.replayed:
        mean = count(few.mean_bytes) + "B"
        table.add_row(few.name, *_brings(few), rate(few.rate_bps), mean, "-", "replayed")
        lines.append(
            Text(
                f"{few.name}: {few.flows} flows are too few to fit, but {few.share_of_bytes:.0%} "
                "of the bytes: they are replayed from the log, as traffic without an SLO"
            )
        )
    total = sum(each.rate_bps for each in found.classes)
    total += sum(few.rate_bps for few in found.replayed)
    if link_bps is not None:
        load = f"together {rate(total)}: a load of {total / link_bps:.3g} on {rate(link_bps)}"
        little = "; so little that a unit or the link may be wrong"
        doubt = little if total < LITTLE * link_bps else ""
        lines.insert(0, Text(load + doubt))
    return Group(whole(table), whole(held), *lines)


def _brings(each: LogClass) -> tuple[str, str, str]:
    """Flows, and shares of flows and of bytes."""
    return f"{each.flows:,}", f"{each.share_of_flows:.1%}", f"{each.share_of_bytes:.1%}"
