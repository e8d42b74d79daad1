"""A report as plain values: ``report.json``, and what the other forms are made of."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fctlab.jobs import engine
from fctlab.results import rising
from fctlab.studies.framework.judged import Judged, effect, interval
from fctlab.studies.framework.report import lengths, readings

if TYPE_CHECKING:
    from fctlab.studies.framework.report import Report
    from fctlab.studies.framework.runs import Results
    from fctlab.studies.framework.study import Part
    from fctlab.studies.framework.verdict import Finding


def plain(report: Report) -> dict[str, Any]:
    """Everything that was found; claims are rows with an id and a verdict."""
    plan, results = report.plan, report.results
    return {
        "study": report.study.name,
        "title": report.study.title,
        "paper": report.study.paper,
        "mode": report.mode,
        "seeds": report.seeds,
        "wall_s": report.wall_s,
        "command": report.command,
        "engine": engine(),
        "runs": _runs(report.runs),
        "asked_cpu_s": report.asked_s,
        "claims": [claim(judged) for judged in report.judged],
        "checks": [
            {"check": check.text, "paper": check.paper, "here": check.measure(results)}
            for check in plan.checks
        ],
        "notes": list(plan.notes),
        "rising": rising_of(results),
        "intended": [
            {"keys": list(one.keys), "cells": list(one.cells), "why": one.why}
            for one in plan.intended
        ],
        "tables": [
            {
                "table": table.id,
                "title": table.title,
                "header": list(table.header),
                "rows": [list(row) for row in table.rows(results)],
            }
            for table in plan.tables
        ],
        "advice": plan.advice.sentences(results) if plan.advice else [],
        "lengths": lengths.plain(report.lengths) if report.lengths else None,
        "readings": readings.plain(report.readings) if report.readings else None,
    }


def text(report: dict[str, Any]) -> str:
    """The file."""
    return json.dumps(report, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _runs(results: Results) -> dict[str, float]:
    """How many runs there were and what they cost, in CPU time of one core."""
    runs = results.all
    hops = sum(run.counters["packet_hops"] for run in runs)
    cpu = sum(run.cpu_s for run in runs)
    return {
        "runs": len(runs),
        "cpu_s": cpu,
        "packet_hops": hops,
        "packet_hops_per_cpu_s": hops / cpu if cpu else 0.0,
        "flows": sum(run.counters["flows_started"] for run in runs),
    }


def rising_of(results: Results) -> dict[str, Any] | None:
    """In which cells slowdowns still rise while measured, of so many of which that is known."""
    cells: dict[str, list[Sequence[float]]] = {}
    for run in results.all:
        if run.tenths:
            cells.setdefault(run.cell, []).append(run.tenths)
    return {"of": len(cells), "cells": rising.rises(cells)} if cells else None


def claim(judged: Judged) -> dict[str, Any]:
    """A row of ``claims``."""
    claim = judged.claim
    return {
        "id": claim.id,
        "claim": claim.text,
        "paper": claim.paper,
        "here": judged.here,
        "ci95": _interval(*judged.decisive),
        "seeds": judged.seeds,
        "confidence": judged.confidence,
        "verdict": judged.verdict.value,
        "settled": not judged.is_open,
        "price": judged.price and {"seeds": judged.price[0], "cpu_hours": judged.price[1]},
        "decided_by": _part(*judged.decisive),
        "flows_per_host": judged.flows_per_host and list(judged.flows_per_host),
        "hosts": judged.hosts and list(judged.hosts),
        "why": judged.why,
        "beyond_the_paper": claim.beyond,
        "parts": [] if claim.combines else [_part(part, finding) for part, finding in judged.parts],
    }


def _part(part: Part, finding: Finding) -> dict[str, Any]:
    return {
        "part": part.name,
        "paper": part.paper,
        "counts": part.counts,
        "here": effect(part, finding),
        "value": finding.estimate and finding.estimate.point,
        "bound": {">": "lower", "<": "upper"}.get(finding.bound.value, finding.bound.value) or None,
        "ci95": _interval(part, finding),
        "interval": interval(part, finding),
        "seeds": finding.estimate.seeds if finding.estimate else 0,
        "seeds_needed": finding.seeds_needed,
        "settled": finding.settled,
        "no_effect": finding.nothing is not None,
        "verdict": finding.verdict.value,
        "cells": [cell.id for cell in part.cells],
    }


def _interval(part: Part, finding: Finding) -> list[float | None] | None:
    """``null`` for an end that is infinite, and for no interval at all."""
    found = finding.estimate
    if found is None or not interval(part, finding):
        return None
    return [found.low, found.high if found.high != float("inf") else None]
