"""What `fctlab.fit` found, as tables and lines."""

from __future__ import annotations

from fctlab.formats import count, rate
from fctlab.slo.fitted import Fit, FittedClass, LogClass
from fctlab.tables import Column, Line, Part, Table, numbers

LITTLE = 0.01
"""A load below it is doubted."""


def fit(found: Fit, link_bps: float | None = None) -> list[Part]:
    """Classes of a flow log: what they bring (of a link), and how well what was fitted holds."""
    name = Column("class", "name")
    brought = numbers("flows", "of all", "of bytes", "rate", "mean size", "p99 size")
    table = Table(found.trace, (name, *brought, Column("gaps")))
    held = ("KS distance", "burstiness / fit", "p99 of the log", "of the fit")
    holds = Table("does the fit hold?", (name, *numbers(*held)))
    lines = [_load(found, link_bps)] if link_bps is not None else []
    lines += [Line(note, soft=True) for note in found.notes]
    for each in found.classes:
        _fitted(each, table, holds)
        lines += [Line(f"{each.name}: {warning}") for warning in each.warnings]
    for few in found.replayed:
        mean = count(few.mean_bytes) + "B"
        table.add(few.name, *_brings(few), rate(few.rate_bps), mean, "-", "replayed")
        told = (
            f"{few.name}: {few.flows} flows are too few to fit, but {few.share_of_bytes:.0%} "
            "of the bytes: they are replayed from the log, as traffic without an SLO"
        )
        lines.append(Line(told))
    return [table, holds, *lines]


def _fitted(each: FittedClass, table: Table, holds: Table) -> None:
    """The rows of a class."""
    gaps, sizes = each.interarrivals, each.sizes
    sigma = "" if gaps.sigma is None else f", sigma {gaps.sigma:.2f}"
    table.add(
        each.name,
        *_brings(each),
        rate(each.rate_bps),
        count(sizes.mean_bytes) + "B",
        count(sizes.p99_bytes) + "B",
        "measured" if each.measured_gaps else gaps.family + sigma,
    )
    ratios = [r.measured / r.fitted for r in each.burstiness if r.fitted]
    low, _, high = each.tail.drawn
    holds.add(
        each.name,
        f"{gaps.ks:.3f}",
        f"{min(ratios):.2f} to {max(ratios):.2f}" if ratios else "-",
        f"{each.tail.log:.3g}",
        f"{low:.3g} to {high:.3g}",
    )


def _load(found: Fit, link_bps: float) -> Line:
    total = sum(each.rate_bps for each in found.classes)
    total += sum(few.rate_bps for few in found.replayed)
    told = f"together {rate(total)}: a load of {total / link_bps:.3g} on {rate(link_bps)}"
    little = "; so little that a unit or the link may be wrong"
    return Line(told + (little if total < LITTLE * link_bps else ""))


def _brings(each: LogClass) -> tuple[str, str, str]:
    """Flows, and shares of flows and of bytes."""
    return f"{each.flows:,}", f"{each.share_of_flows:.1%}", f"{each.share_of_bytes:.1%}"
