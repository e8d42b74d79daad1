"""What a study found, for people and for programs.

``report.json`` for programs, ``report.md`` with ``figures/*.png``, and ``report.html``, one
file that needs nothing else.
"""

from __future__ import annotations

import html
import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from fctlab import formats
from fctlab.jobs import engine
from fctlab.results import store
from fctlab.studies import figures
from fctlab.studies.judged import Judged, effect, interval
from fctlab.studies.runs import Results
from fctlab.studies.study import Figure, Mode, Part, Plan, Study, Table
from fctlab.studies.verdict import Finding, Verdict

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

JSON = "report.json"
MARKDOWN = "report.md"
HTML = "report.html"
FIGURES = "figures"
COLOURS = {
    Verdict.COMPUTED: "default",
    Verdict.AGREES: "green",
    Verdict.DIRECTION: "cyan",
    Verdict.UNDECIDED: "yellow",
    Verdict.DIFFERS: "red",
    Verdict.COMPUTED: "white",
}


@dataclass
class Report:
    """A study that is done.

    Attributes:
        results: runs with the first `seeds` seeds, which figures, tables and checks show.
        runs: all of them; with more seeds where claims were given more.
        command: what repeats it.
        wall_s: how long this took; runs that were there already cost nothing.
    """

    study: Study
    plan: Plan
    results: Results
    runs: Results
    mode: Mode
    seeds: int
    command: str
    wall_s: float
    judged: Sequence[Judged]

    @property
    def json(self) -> dict[str, Any]:
        """The report as plain values; its claims are rows with an id and a verdict."""
        return {
            "study": self.study.name,
            "title": self.study.title,
            "paper": self.study.paper,
            "mode": self.mode,
            "seeds": self.seeds,
            "wall_s": self.wall_s,
            "command": self.command,
            "engine": engine(),
            "runs": self.speed,
            "claims": [_claim_json(judged) for judged in self.judged],
            "checks": [
                {"check": check.text, "paper": check.paper, "here": check.measure(self.results)}
                for check in self.plan.checks
            ],
            "notes": list(self.plan.notes),
            "intended": [
                {"keys": list(one.keys), "cells": list(one.cells), "why": one.why}
                for one in self.plan.intended
            ],
            "tables": [
                {
                    "table": table.id,
                    "title": table.title,
                    "header": list(table.header),
                    "rows": [list(row) for row in table.rows(self.results)],
                }
                for table in self.plan.tables
            ],
            "advice": self.advice,
        }

    @cached_property
    def advice(self) -> list[str]:
        """What follows for people who have to choose, if the study says."""
        advice = self.plan.advice
        return advice.sentences(self.results) if advice else []

    @property
    def speed(self) -> dict[str, float]:
        """How many runs there were and what they cost, in CPU time of one core."""
        runs = self.runs.all
        hops = sum(run.counters["packet_hops"] for run in runs)
        cpu = sum(run.cpu_s for run in runs)
        return {
            "runs": len(runs),
            "cpu_s": cpu,
            "packet_hops": hops,
            "packet_hops_per_cpu_s": hops / cpu if cpu else 0.0,
            "flows": sum(run.counters["flows_started"] for run in runs),
        }

    @property
    def tally(self) -> dict[Verdict, int]:
        """How many of the paper's claims got each verdict."""
        own = [j for j in self.judged if not j.claim.beyond and "." not in j.claim.id]
        return {v: sum(judged.verdict is v for judged in own) for v in Verdict}

    def save(self, out: Path) -> None:
        """Write every file of the report into `out`, which has a folder for figures."""
        drawn = [(figure, figure.draw(self.results)) for figure in self.plan.figures]
        names = {f"{figure.id}.png" for figure in self.plan.figures}
        for file in (out / FIGURES).iterdir():
            if file.suffix == ".png" and file.name not in names:
                file.unlink()  # of an earlier report with other claims
        for figure, drawing in drawn:
            store.write_whole(out / FIGURES / f"{figure.id}.png", figures.png(drawing))
        store.write_whole(out / MARKDOWN, markdown(self))
        store.write_whole(out / HTML, page(self, drawn))
        text = json.dumps(self.json, indent=2, ensure_ascii=False, allow_nan=False)
        store.write_whole(out / JSON, text + "\n")


def _claim_json(judged: Judged) -> dict[str, Any]:
    claim = judged.claim
    return {
        "id": claim.id,
        "claim": claim.text,
        "paper": claim.paper,
        "here": judged.here,
        "ci95": _interval_json(*judged.decisive),
        "seeds": judged.seeds,
        "confidence": judged.confidence,
        "verdict": judged.verdict.value,
        "decided_by": _part_json(*judged.decisive),
        "flows_per_host": judged.flows_per_host and list(judged.flows_per_host),
        "why": judged.why,
        "beyond_the_paper": claim.beyond,
        "parts": []
        if claim.combines
        else [_part_json(part, finding) for part, finding in judged.parts],
    }


def _part_json(part: Part, finding: Finding) -> dict[str, Any]:
    return {
        "part": part.name,
        "paper": part.paper,
        "counts": part.counts,
        "here": effect(part, finding),
        "value": finding.estimate and finding.estimate.point,
        "bound": {">": "lower", "<": "upper"}.get(finding.bound.value, finding.bound.value) or None,
        "ci95": _interval_json(part, finding),
        "interval": interval(part, finding),
        "seeds": finding.estimate.seeds if finding.estimate else 0,
        "seeds_needed": finding.seeds_needed,
        "verdict": finding.verdict.value,
        "cells": [cell.id for cell in part.cells],
    }


def _interval_json(part: Part, finding: Finding) -> list[float | None] | None:
    """``null`` for an end that is infinite, and for no interval at all."""
    found = finding.estimate
    if found is None or not interval(part, finding):
        return None
    return [found.low, found.high if found.high != float("inf") else None]


# For people


def table(report: Report) -> RenderableType:
    """The claims as a table for the terminal."""
    shown = RichTable(
        title=f"{report.study.title}: {_mode(report)}",
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        collapse_padding=True,
    )
    for name in ("id", "claim", "paper", "here [95%]", "verdict", FLOWS, "why"):
        shown.add_column(name, no_wrap=name in ("id", "verdict"))
    for judged in report.judged:
        if "." in judged.claim.id:
            continue  # in the report
        found = judged.here
        if len(judged.parts) == 1:
            found = " ".join(filter(None, (found, interval(*judged.decisive))))
        verdict = Text(judged.verdict.value, style=COLOURS[judged.verdict])
        claim = judged.claim
        flows = flows_per_host(judged.flows_per_host)
        shown.add_row(claim.id, claim.text, claim.paper, found, verdict, flows, judged.why)
    advice = [Text(f"- {sentence}") for sentence in report.advice]
    if advice:
        advice = [Text("What to choose", style="bold"), *advice, Text("")]
    return Group(shown, *advice, Text(_summary(report)), Text(_run_data(report), style="dim"))


FLOWS = "flows per host"


def flows_per_host(found: Sequence[float] | None) -> str:
    """``"190"``, or ``"23 to 190"`` where runs of a row differ; ``"-"`` where nothing was run."""
    if found is None:
        return "-"
    low, high = (f"{value:,.0f}" if value >= 10 else f"{value:.2g}" for value in found)
    return low if low == high else f"{low} to {high}"


def _mode(report: Report) -> str:
    most = max((judged.seeds for judged in report.judged), default=0)
    more = f" to {most}" if most > report.seeds else ""
    return f"{report.mode}, {report.seeds}{more} seed{'s'[: report.seeds > 1]}"


def _summary(report: Report) -> str:
    counts = [f"{number} {v.value}" for v, number in report.tally.items() if number]
    return f"{sum(report.tally.values())} claims: {', '.join(counts)}"


def _run_data(report: Report) -> str:
    speed = report.speed
    return (
        f"{speed['runs']:,} runs, {formats.count(speed['flows'])} flows, "
        f"{formats.count(speed['packet_hops'])} packet-hops in {_duration(speed['cpu_s'])} of CPU "
        f"time ({formats.count(speed['packet_hops_per_cpu_s'])} per second and core); this time "
        f"{_duration(report.wall_s)}"
    )


def _duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.3g} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _notes(report: Report) -> list[str]:
    """What is settled how, and how scenarios differ on purpose."""
    meant = [
        f"Differs on purpose: {', '.join(one.keys)} "
        f"({', '.join(one.cells) if one.cells != ('*',) else 'all runs'}): {one.why}."
        for one in report.plan.intended
    ]
    alike = ["In all else, every key of the scenarios that are compared is the same."]
    return [*report.plan.notes, *meant, *(alike if meant else [])]


# Markdown


def markdown(report: Report) -> str:
    """The report in Markdown; figures are files beside it."""
    lines = [f"# {report.study.title}", "", f"{report.study.paper}", "", _summary(report) + ".", ""]
    lines += markdown_table(
        ("id", "claim", "paper", "here", "95% interval", "verdict", FLOWS, "why"),
        (row for judged in report.judged for row in _rows(judged)),
    )
    if report.plan.advice:
        lines += ["## What to choose", "", *(f"- {s}" for s in report.advice), ""]
    for each in report.plan.tables:
        lines += [f"## {each.title}", "", each.caption, ""]
        lines += markdown_table(each.header, each.rows(report.results))
    if report.plan.checks:
        lines += ["## Is it the paper's setting?", ""]
        lines += markdown_table(("check", "paper", "here"), _checks(report))
    if report.plan.figures:
        lines += ["## Figures", ""]
    for figure in report.plan.figures:
        lines += [f"### {figure.title}", "", f"![{figure.title}]({FIGURES}/{figure.id}.png)", ""]
        lines += [figure.caption, ""]
    lines += ["## How it was done", "", *(f"- {note}" for note in _notes(report))]
    lines += [f"- {_run_data(report)}", f"- engine {engine()}", ""]
    lines += ["```sh", report.command, "```", ""]
    return "\n".join(lines)


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Lines of a table."""
    table = [header, ["---"] * len(header), *rows]
    return [f"| {' | '.join(c.replace('|', chr(92) + '|') for c in r)} |" for r in table] + [""]


def _rows(judged: Judged) -> Iterable[tuple[str, ...]]:
    """A claim's row, then one per part if there are several."""
    claim, single = judged.claim, len(judged.parts) == 1
    found = interval(*judged.decisive) if single else ""
    verdict = f"**{judged.verdict.value}**"
    flows = flows_per_host(judged.flows_per_host)
    yield (claim.id, claim.text, claim.paper, judged.here, found, verdict, flows, judged.why)
    for part, finding in () if single or claim.combines else judged.parts:
        verdict = finding.verdict.value if part.counts else f"({finding.verdict.value})"
        found = effect(part, finding)
        yield ("", part.name, part.paper, found, interval(part, finding), verdict, "", "")


def _checks(report: Report) -> list[tuple[str, str, str]]:
    return [(c.text, c.paper, c.measure(report.results)) for c in report.plan.checks]


# HTML


def page(report: Report, drawn: Sequence[tuple[Figure, Drawing]]) -> str:
    """The report as one HTML file."""
    skeleton = resources.files("fctlab.studies").joinpath("report.html").read_text(encoding="utf-8")
    return Template(skeleton).substitute(
        title=_escaped(report.study.title),
        paper=_escaped(report.study.paper),
        mode=_escaped(_mode(report)),
        tally=" ".join(
            f'<span class="verdict {v.value}">{number} {v.value}</span>'
            for v, number in report.tally.items()
            if number
        ),
        claims=_claims_html(report.judged, beyond=False),
        beyond=_claims_html(report.judged, beyond=True),
        advice=_advice_html(report.advice),
        tables="\n".join(_table_html(table, report.results) for table in report.plan.tables),
        checks=_checks_html(_checks(report)),
        figures="\n".join(_figure_html(figure, drawing) for figure, drawing in drawn),
        notes="\n".join(f"<li>{_escaped(note)}</li>" for note in _notes(report)),
        runs=_escaped(_run_data(report)),
        engine=_escaped(engine()),
        command=_escaped(report.command),
        date=time.strftime("%Y-%m-%d"),
    )


def _escaped(text: str) -> str:
    return html.escape(text)


def _claims_html(judged: Sequence[Judged], beyond: bool) -> str:
    """Claims as a table; those called ``ID.something`` are inside ID's row."""
    rows = []
    for each in judged:
        if each.claim.beyond is beyond and "." not in each.claim.id:
            inner = [j for j in judged if j.claim.id.startswith(each.claim.id + ".")]
            rows.append(_claim_html(each, "\n".join(_claim_html(j, "") for j in inner)))
    if not rows:
        return ""
    title = "Beyond the paper" if beyond else "Claim by claim"
    head = "".join(f"<th>{n}</th>" for n in ("id", "claim", "paper", "here, 95%", "verdict", FLOWS))
    table = f'<table class="claims"><tr>{head}</tr>{"".join(rows)}</table>'
    return f'<h2>{title}</h2><div class="wide">{table}</div>'


def _claim_html(judged: Judged, inner: str) -> str:
    """A row; `inner` are the rows of the claims that it combines."""
    claim, single = judged.claim, len(judged.parts) == 1
    counting = [(part, finding) for part, finding in judged.parts if part.counts]
    found = _escaped(judged.here)
    if single:
        found = _found_html(*judged.decisive)
    elif len(counting) <= 4:
        found = "<br>".join(f"{_escaped(p.name)} {_found_html(p, f)}" for p, f in counting)
    why = f'<p class="why">{_escaped(judged.why)}</p>' if judged.why else ""
    parts = "" if single or claim.combines else _parts_html(judged)
    row = (
        f'<tr id="{_escaped(claim.id)}"{" class=above" if claim.combines else ""}>'
        f'<td class="id">{_escaped(claim.id)}</td><td>{_escaped(claim.text)}{why}{parts}</td>'
        f"<td>{_escaped(claim.paper)}</td><td>{found}</td><td>{_verdict_html(judged.verdict)}</td>"
        f"<td>{_escaped(flows_per_host(judged.flows_per_host))}</td></tr>"
    )
    if claim.combines:  # a row of its own, as wide as the table
        details = f"<details><summary>one by one</summary><table>{inner}</table></details>"
        row += f'<tr class="inner"><td></td><td colspan="5">{details}</td></tr>'
    return row


def _found_html(part: Part, finding: Finding) -> str:
    found = interval(part, finding)
    small = f' <span class="interval">{_escaped(found)}</span>' if found else ""
    return f"<b>{_escaped(effect(part, finding))}</b>{small}"


def _verdict_html(verdict: Verdict) -> str:
    return f'<span class="verdict {verdict.value}">{verdict.value}</span>'


def _parts_html(judged: Judged) -> str:
    rows = "".join(
        f"<tr{'' if part.counts else ' class=beside'}><td>{_escaped(part.name)}"
        f"{'' if part.counts else ' (beside)'}</td><td>{_escaped(part.paper)}</td>"
        f"<td>{_found_html(part, finding)}</td><td>{_verdict_html(finding.verdict)}</td></tr>"
        for part, finding in judged.parts
    )
    return f"<details><summary>{len(judged.parts)} parts</summary><table>{rows}</table></details>"


def _checks_html(checks: Sequence[tuple[str, str, str]]) -> str:
    if not checks:
        return ""
    rows = "".join(
        "<tr>" + "".join(f"<td>{_escaped(text)}</td>" for text in check) + "</tr>"
        for check in checks
    )
    head = "<tr><th>check</th><th>paper</th><th>here</th></tr>"
    return f"<h2>Is it the paper's setting?</h2><table>{head}{rows}</table>"


def _advice_html(sentences: Sequence[str]) -> str:
    if not sentences:
        return ""
    items = "".join(f"<li>{_escaped(sentence)}</li>" for sentence in sentences)
    return f"<h2>What to choose</h2><ul>{items}</ul>"


def _table_html(table: Table, results: Results) -> str:
    head = "".join(f"<th>{_escaped(name)}</th>" for name in table.header)
    rows = "".join(
        "<tr>" + "".join(f"<td>{_escaped(text)}</td>" for text in row) + "</tr>"
        for row in table.rows(results)
    )
    inside = (
        f"<p>{_escaped(table.caption)}</p>"
        f'<div class="wide"><table class="numbers"><tr>{head}</tr>{rows}</table></div>'
    )
    if table.folded:
        return f"<details><summary>{_escaped(table.title)}</summary>{inside}</details>"
    return f"<h2>{_escaped(table.title)}</h2>{inside}"


def _figure_html(figure: Figure, drawing: Drawing) -> str:
    links = ", ".join(f'<a href="#{_escaped(c)}">{_escaped(c)}</a>' for c in figure.claims)
    return (
        f'<figure id="figure-{_escaped(figure.id)}"><h3>{_escaped(figure.title)}</h3>'
        f"{figures.svg(drawing, figure.id)}"
        f"<figcaption>{_escaped(figure.caption)} ({links})</figcaption></figure>"
    )
