"""What is found about a fabric, as tables and lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fctlab.fabric.types import (
    Case,
    ClassFound,
    Error,
    FabricEpoch,
    FabricImport,
    FabricPlan,
    FabricPrediction,
    FabricSampling,
    FabricWhatIf,
    Pair,
    Runs,
    Verification,
)
from fctlab.formats import count, plain, seconds, sli_value
from fctlab.slo import words as slo
from fctlab.tables import Column, Line, Part, Table, numbers

MOST_ROWS = 6
"""Of racks, pairs and links on a terminal; ``--json`` has all."""


def prediction(found: FabricPrediction) -> list[Part]:
    """Classes, racks, pairs, and where bytes wait."""
    parts: list[Part] = [
        slo.slos(found.name or "fabric", found.classes, measured=found.measured),
        *map(Line, slo.compared(found.classes, found.measured)),
        *_open(found.classes),
    ]
    parts += _errors(found.errors)
    parts += [*_racks(found), *_pairs(found.pairs), _tiers(found), *_links(found)]
    parts.append(_runs(found.runs))
    if found.verified is not None:
        parts += verification(found.verified)
    return parts


def verification(found: Verification) -> list[Part]:
    """Classes on packets."""
    losses = ", ".join("-" if loss is None else f"{loss:+.3f}" for loss in found.windows)
    return [
        slo.slos("on packets", found.classes),
        *_open(found.classes),
        Line(f"largest loss in each window alone: {losses}"),
        Line(f"at least {count(found.least_flows)} flows of every class in each window", soft=True),
        _runs(found.runs),
    ]


def plan(found: FabricPlan) -> list[Part]:
    """Weights, what they achieve, and what they were chosen from."""
    weights = Table("weights", (Column("ports", "name"), *numbers(*found.names)))
    for ports, each in found.tiers.items():
        weights.add(ports, *map(str, each))
    chosen = Table(
        "chosen from, on the same flows",
        (Column("from", "name"), Column("weights", "name"), *numbers("largest loss")),
    )
    for row in found.candidates:
        own = "; ".join(f"{tier} {_ratio(each)}" for tier, each in row.tiers.items())
        text = f"{_ratio(row.weights)}{'; ' if own else ''}{own}"
        chosen.add(row.name, text, "-" if row.loss is None else f"{row.loss:+.3f}")
    parts: list[Part] = [
        weights,
        chosen,
        Line(f"two losses have to differ by {found.interval:.3f} to be told apart", soft=True),
        slo.slos("on the fluid, flows that nothing was chosen on", found.classes),
        *_open(found.classes),
        *_errors(found.errors),
    ]
    if found.verified is not None:
        parts += verification(found.verified)
    parts += [Line(f"{'advised' if found.advice else 'not advised'}: {found.why}")]
    return [*parts, _runs(found.runs)]


def whatif(found: FabricWhatIf) -> list[Part]:
    """Cases, what breaks most first."""
    table = Table(
        f"{found.name or 'fabric'}: what breaks first",
        (
            Column("case"),
            Column("SLOs", "state"),
            *numbers("largest loss"),
            Column("violated, or why it cannot run"),
        ),
    )
    for number, each in enumerate([*found.cases, found.today]):
        table.add(*_case(each), ends=number == len(found.cases) - 1)
    return [table, _runs(found.runs)]


def imported(found: FabricImport) -> list[Part]:
    """Windows and classes of logs, and what was taken for what."""
    taken = Table(
        f"{found.name or 'fabric'}: windows of the log",
        (
            Column("window", "name"),
            Column("file", "name"),
            *numbers("from", "length", "flows", "under way", "bytes"),
        ),
    )
    for window in found.windows:
        times = seconds(window.begin_s), seconds(window.length_s)
        flows = count(window.flows), count(window.under_way), count(window.bytes)
        taken.add(window.pick, window.file, *times, *flows)
    classes = Table(
        "classes of the log",
        (Column("class", "name"), *numbers("records", "flows", "share of bytes")),
    )
    for each in found.classes:
        share = f"{each.share_of_bytes:.1%}"
        classes.add(each.name, count(each.records), count(each.flows), share)
    return [taken, classes, *(Line(note, soft=True) for note in found.notes)]


def epoch(found: FabricEpoch) -> list[Part]:
    """A line about a log, and one about the weights that answer it."""
    risk = "at risk" if found.at_risk else "no SLO at risk"
    parts: list[Part] = [Line(f"{found.name}: {risk}: {_outcomes(found.classes)}")]
    if found.proposed is not None:
        then = _outcomes(found.proposed_classes)
        parts.append(Line(f"weights {_ratio(found.proposed)} on the fluid: {then}"))
    elif found.at_risk:
        parts.append(Line("no weights do better than those in force by more than chance"))
    return parts


def sampling(found: FabricSampling) -> list[Part]:
    """SLIs of all flows beside those of samples."""
    table = Table(
        f"{found.name or 'fabric'}: what sampling costs",
        (
            Column("class", "name"),
            Column("SLI", "name"),
            *numbers("all flows", "samples", "off", "each sample", "flows"),
        ),
    )
    for each in found.slis:
        mean = sum(each.sampled) / len(each.sampled)
        off = [f"{value / each.all_flows - 1:+.1%}" for value in (mean, *each.sampled)]
        values = (sli_value(each.attr, value) for value in (each.all_flows, mean))
        row = (each.traffic_class, each.sli, *values, off[0], ", ".join(off[1:]))
        table.add(*row, count(each.flows))
    kept = f"{found.records / found.flows:.1%} of {count(found.flows)} flows are recorded"
    return [table, Line(kept, soft=True)]


def _case(each: Case) -> tuple[str, str, str, str]:
    loss = "-" if each.loss is None else f"{each.loss:+.3f}"
    verdict = each.not_run or each.verdict or "-"
    return each.what, verdict, loss, each.why or ", ".join(each.broken) or "none"


def _outcomes(classes: Sequence[ClassFound]) -> str:
    return "; ".join(
        f"{each.name} {slo.outcome(each)}" for each in classes if each.loss is not None
    )


def _ratio(weights: Sequence[int]) -> str:
    return ":".join(map(str, weights))


def _open(classes: Sequence[ClassFound]) -> Iterator[Line]:
    """Why verdicts are open, each reason once."""
    reasons: dict[str, list[str]] = {}
    for each in classes:
        if each.verdict == "undecided":
            reasons.setdefault(each.why, []).append(each.name)
    for why, names in reasons.items():
        yield Line(f"undecided ({', '.join(names)}): {why}")


def _errors(errors: Sequence[Error]) -> Iterator[Line]:
    """What the fluid may be off by, in one line."""
    known = [each for each in errors if not each.open]
    if known:
        each = ", ".join(
            f"{error.traffic_class} {error.sli} {error.low - 1:+.0%} to {error.high - 1:+.0%}"
            for error in known
        )
        yield Line(f"intervals include how far the fluid was from packets: {each}", soft=True)


def _racks(found: FabricPrediction) -> Iterator[Part]:
    """Racks, the worst first."""
    with_slo = [each.name for each in found.classes if each.verdict is not None]
    if not with_slo or len(found.racks) < 2:
        return
    table = Table(
        "flows that start or end in a rack",
        (Column("rack", "name"), *(Column(name, "state") for name in with_slo)),
    )

    def order(place: int) -> tuple[int, float]:
        rack = found.racks[place]
        verdict = slo.worst(each.verdict for each in rack.classes)
        losses = [each.loss for each in rack.classes if each.loss is not None]
        return -slo.VERDICTS.index(verdict or "met"), -max(losses, default=0.0)

    for place in sorted(range(len(found.racks)), key=order)[:MOST_ROWS]:
        rack = found.racks[place]
        table.add(rack.name, *(slo.outcome(c) for c in rack.classes if c.name in with_slo))
    yield table
    yield from _more(len(found.racks))


def _pairs(pairs: Sequence[Pair]) -> Iterator[Part]:
    """Pairs of racks, the slowest first."""
    if len(pairs) < 2:
        return
    table = Table(
        "slowdown from rack to rack, the slowest first",
        (
            Column("from", "name"),
            Column("to", "name"),
            Column("class", "name"),
            *numbers("mean", "p50", "p99", "flows"),
        ),
    )
    for each in sorted(pairs, key=lambda pair: -pair.mean)[:MOST_ROWS]:
        values = (plain(each.mean), plain(each.p50), plain(each.p99), count(each.flows))
        table.add(each.source, each.destination, each.traffic_class, *values)
    yield table
    yield from _more(len(pairs))


def _tiers(found: FabricPrediction) -> Table:
    table = Table(
        "which links carry the delay",
        (
            Column("tier", "name"),
            Column("ports", "name"),
            Column("busiest link", "name"),
            *numbers("load", "share of waiting"),
        ),
    )
    for tier in found.tiers:
        share = "-" if tier.share is None or tier.ports == "nic" else f"{tier.share:.1%}"
        table.add(tier.name, tier.ports, tier.link, f"{tier.load:.3f}", share)
    return table


def _links(found: FabricPrediction) -> Iterator[Line]:
    """The links at which most waits."""
    if found.links:
        most = found.links[:MOST_ROWS]
        each = ", ".join(f"{link.link} {link.share:.1%}" for link in most)
        yield Line(f"most waits at {each}")


def _more(rows: int) -> Iterator[Line]:
    if rows > MOST_ROWS:
        yield Line(f"... and {rows - MOST_ROWS:,} more, which --json has", soft=True)


def _runs(runs: Runs) -> Line:
    plural = "" if len(runs.seeds) == 1 else "s"
    seeds = ", ".join(map(str, runs.seeds))
    text = f"{count(runs.flows)} flows on the {runs.engine} engine, seed{plural} {seeds}"
    if runs.warmup_s:
        found = " (found; measure.warmup sets it)" if runs.warmup_found else ""
        text += f", each after {seconds(runs.warmup_s)} of warm-up{found}"
    return Line(f"{text}; {seconds(runs.cpu_s)} of CPU time", soft=True)
