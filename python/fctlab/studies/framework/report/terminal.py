"""A report on the terminal: claims as a table, advice, and what it took."""

from __future__ import annotations

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from fctlab.studies.framework.report import left, lengths, readings, words
from fctlab.studies.framework.report.words import FLOWS, Plain

COLOURS = {
    "computed": "white",
    "agrees": "green",
    "direction": "cyan",
    "undecided": "yellow",
    "differs": "red",
}


def table(report: Plain) -> RenderableType:
    """The claims as a table; those that others combine are in the other forms."""
    shown = _titled(f"{report['title']}: {words.mode(report)}")
    for name in ("id", "claim", "paper", "here [95%]", "verdict", FLOWS, "why"):
        shown.add_column(name, no_wrap=name in ("id", "verdict"))
    for claim in report["claims"]:
        if words.is_inner(claim):
            continue
        found = claim["here"]
        if len(claim["parts"]) == 1:
            found = " ".join(filter(None, (found, claim["decided_by"]["interval"])))
        if lengths.unconverged(report["lengths"], claim["id"]):
            found += "; not converged"
        verdict = Text(claim["verdict"], style=COLOURS[claim["verdict"]])
        flows = words.scale(claim)
        shown.add_row(
            claim["id"], claim["claim"], claim["paper"], found, verdict, flows, claim["why"]
        )
    advice = [Text(f"- {sentence}") for sentence in report["advice"]]
    if advice:
        advice = [Text("What to choose", style="bold"), *advice, Text("")]
    tried = (*_lengths(report), *_readings(report), *_left(report))
    told = words.rises(report)
    rising = [Text(told)] if told else []
    summary, cost = Text(words.summary(report)), Text(words.cost(report), style="dim")
    return Group(shown, *advice, *tried, *rising, summary, cost)


def _lengths(report: Plain) -> list[RenderableType]:
    """Whether effects are converged."""
    found = report["lengths"]
    if not found:
        return []
    shown = _titled("Doublings")
    for name in lengths.HEADER:
        shown.add_column(name, no_wrap=name in ("id", "within"))
    for row in lengths.rows(found):
        shown.add_row(*row)
    return [*([shown] if found["claims"] else []), Text(lengths.summary(found)), Text("")]


def _left(report: Plain) -> list[RenderableType]:
    """What a budget left, where something was asked for beyond the study's own runs."""
    if not (report["lengths"] or report["readings"] or "--settle" in report["command"]):
        return []
    rows = left.rows(report)
    shown = _titled("Left")
    for name in left.HEADER:
        shown.add_column(name)
    for row in rows:
        shown.add_row(*row)
    return [*([shown] if rows else []), Text(left.summary(report)), Text("")]


def _readings(report: Plain) -> list[RenderableType]:
    """Claims under every reading."""
    found = report["readings"]
    if not found:
        return []
    shown = _titled("Under every reading of the paper")
    for name in readings.NARROW:
        number = len(name) == 1
        wraps = name == readings.NARROW[-1]
        shown.add_column(name, no_wrap=not wraps, justify="right" if number else "left")
    for id, verdict, *rest in readings.rows(found):
        shown.add_row(id, Text(verdict, style=COLOURS[verdict]), *rest)
    sentences = [Text(f"- {each}") for each in readings.summary(found)]
    return [shown, Text(readings.LEGEND, style="dim"), *sentences, Text("")]


def _titled(title: str) -> Table:
    """A table of a report, without columns yet."""
    return Table(
        title=title,
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        collapse_padding=True,
    )
