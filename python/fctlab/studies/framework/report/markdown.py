"""A report in Markdown: ``report.md``; figures are files beside it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from fctlab.studies.framework.report import left, lengths, readings, words
from fctlab.studies.framework.report.words import FLOWS, Plain

if TYPE_CHECKING:
    from fctlab.studies.framework.study import Plan

FIGURES = "figures"


def text(report: Plain, plan: Plan) -> str:
    """The report; captions are the plan's."""
    lines = [f"# {report['title']}", "", report["paper"], "", words.summary(report) + ".", ""]
    lines += table(
        ("id", "claim", "paper", "here", "95% interval", "verdict", FLOWS, "why"),
        (row for claim in report["claims"] for row in _rows(report, claim)),
    )
    if report["lengths"]:
        lines += ["## Converged", "", lengths.summary(report["lengths"]), ""]
        lines += table(lengths.HEADER, lengths.rows(report["lengths"]))
    if report["readings"]:
        lines += _readings(report["readings"])
    if report["lengths"] or report["readings"]:
        lines += ["## Left", "", left.summary(report), "", *table(left.HEADER, left.rows(report))]
    if report["advice"]:
        lines += ["## What to choose", "", *(f"- {s}" for s in report["advice"]), ""]
    for found, each in zip(report["tables"], plan.tables, strict=True):
        lines += [f"## {found['title']}", "", each.caption, ""]
        lines += table(found["header"], found["rows"])
    if report["checks"]:
        lines += ["## Is it the paper's setting?", ""]
        checks = ((c["check"], c["paper"], c["here"]) for c in report["checks"])
        lines += table(("check", "paper", "here"), checks)
    if plan.figures:
        lines += ["## Figures", ""]
    for figure in plan.figures:
        lines += [f"### {figure.title}", "", f"![{figure.title}]({FIGURES}/{figure.id}.png)", ""]
        lines += [figure.caption, ""]
    lines += ["## How it was done", "", *(f"- {note}" for note in words.notes(report))]
    lines += [f"- {words.cost(report)}", f"- engine {report['engine']}", ""]
    lines += ["```sh", report["command"], "```", ""]
    return "\n".join(lines)


def _readings(found: Plain) -> list[str]:
    """Claims under every reading, and what the paper leaves open."""
    return [
        "## Under every reading",
        "",
        " ".join(readings.summary(found)),
        "",
        *table(readings.HEADER, readings.rows(found)),
        "## What the paper leaves open",
        "",
        *table(readings.OPENED, readings.opened(found)),
    ]


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Lines of a table."""
    cells = [header, ["---"] * len(header), *rows]
    return [f"| {' | '.join(c.replace('|', chr(92) + '|') for c in r)} |" for r in cells] + [""]


def _rows(report: Plain, claim: Plain) -> Iterable[tuple[str, ...]]:
    """A claim's row, then one per part if there are several."""
    parts = claim["parts"]
    found = claim["decided_by"]["interval"] if len(parts) == 1 else ""
    verdict = f"**{claim['verdict']}**"
    flows = words.scale(claim)
    moved = lengths.unconverged(report["lengths"], claim["id"])
    here, why = "; ".join(filter(None, (claim["here"], moved))), claim["why"]
    yield (claim["id"], claim["claim"], claim["paper"], here, found, verdict, flows, why)
    for part in parts if len(parts) > 1 else ():
        verdict = part["verdict"] if part["counts"] else f"({part['verdict']})"
        yield ("", part["part"], part["paper"], part["here"], part["interval"], verdict, "", "")
