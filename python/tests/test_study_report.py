"""What a study writes: its page, tables of the docs, figures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import fctlab
from fctlab import report
from fctlab.studies.framework import docs, figures, kept
from fctlab.studies.framework.cells import Cell
from fctlab.studies.framework.conduct import study
from fctlab.studies.framework.figures import Quantity
from fctlab.studies.framework.pictures import paint, svg
from fctlab.studies.framework.report import html
from fctlab.studies.framework.runs import SLOWDOWN, Results, Run
from fctlab.tables import Table
from tests.opened import Opened
from tests.test_study import TWO


def test_a_phone_shows_each_verdict_beside_its_id(browser: Any, tmp_path: Path) -> None:
    study(TWO, out=tmp_path / "out", seeds=2, only=["two-1", "two-2"])
    look = {"viewport": {"width": 390, "height": 700}}
    page = Opened(browser, tmp_path / "out" / "report.html", **look)
    rows = page.tab.query_selector_all("table.claims > tbody > tr[id]")
    assert len(rows) == 2
    for row in rows:
        name = row.query_selector(".id").bounding_box()
        verdict = row.query_selector("[data-is=verdict]").bounding_box()
        assert abs(verdict["y"] - name["y"]) < name["height"]
        assert name["x"] + name["width"] <= verdict["x"] < verdict["x"] + verdict["width"] <= 390
    page.tab.evaluate("() => document.querySelectorAll('details').forEach(e => e.open = true)")
    for part in page.tab.query_selector_all("table.parts td:last-child"):
        box = part.bounding_box()
        assert box["x"] + box["width"] <= 390, "beside wide columns it stays in sight"
    assert page.tab.evaluate("() => document.documentElement.scrollWidth") == 390
    anchors = "all => all.map(a => a.hash.slice(1)).filter(id => !document.getElementById(id))"
    assert page.tab.eval_on_selector_all("a[href^='#']", anchors) == []
    assert page.wrong == []


def test_the_page_of_a_saved_study_is_the_one_that_it_wrote(tmp_path: Path) -> None:
    study(TWO, out=tmp_path / "out", seeds=2)
    first = (tmp_path / "out" / "report.html").read_text()
    (tmp_path / "out" / "report.html").unlink()
    assert report.write(tmp_path / "out").read_text() == first
    made = report.page(tmp_path / "out")
    against, bars = made.charts
    assert (against.id, bars.id) == ("against", "figure-bars")
    # Of each claim that the paper gives a number of; itself within 5%, and 70x.
    here, paper = against.series
    assert list(here.x) == ["two-2", "two-10"]
    ends = list(zip(paper.x, paper.y, strict=True))
    assert ends == [("two-2", 0.9524), ("two-2", 1.05), ("two-10", 70)]
    assert [series.x for series in bars.series] == [["all"], ["all"]]
    (tmp_path / "out" / "report.json").unlink()
    with pytest.raises(fctlab.SpecError, match="holds a study that has not ended"):
        html.saved(tmp_path / "out")
    assert report.page(tmp_path / "out").kind.startswith("store of points")  # so far


def test_a_page_is_made_of_the_plain_report_and_what_is_beside() -> None:
    part = {"part": "p", "paper": "2x", "counts": True, "here": "> 2.10x", "value": 2.1}
    part |= {"bound": "lower", "ci95": None, "interval": "", "verdict": "agrees"}
    rows = [[f"{n} ±0.1", "a sentence that is longer than what stays on one line"] for n in (1, 2)]

    def claim(id: str, beyond: bool = False, **more: Any) -> dict[str, Any]:
        said = {"claim": id, "paper": "", "here": "> 2.10x", "verdict": "agrees", "why": ""}
        of = {"decided_by": part, "parts": [part], "flows_per_host": [20, 20], "seeds": 1}
        return {"id": id, "beyond_the_paper": beyond, **said, **of, **more}

    report: dict[str, Any] = {
        "title": "T",
        "paper": "P & Q",
        "mode": "quick",
        "seeds": 1,
        "wall_s": 1.0,
        "command": "fctlab study t",
        "engine": "e",
        "runs": dict.fromkeys(("runs", "flows", "packet_hops", "packet_hops_per_cpu_s"), 0),
        "claims": [claim("t-1"), claim("t-1.a"), claim("t-2"), claim("t-x", beyond=True)],
        "checks": [],
        "notes": [],
        "intended": [{"keys": ["a.b"], "cells": ["*"], "why": "so"}],
        "tables": [{"table": "t", "title": "Tt", "header": ["n", "s"], "rows": rows}],
        "advice": ["do <it>"],
    }
    report["runs"]["cpu_s"] = 0.0
    spans = [html.Expected(id, "p", 3.0, None) for id in ("t-1", "t-1.a", "t-2", "t-x")]
    page = html.page(report, html.Beside(folded=["t"], captions={"t": "C"}, expected=spans))
    assert [section.title for section in page.sections] == [
        "Claim by claim",
        "Here and in the paper",
        "Beyond the paper",
        "Tt",
        "What to choose",
        "How it was done",
        "What verdicts mean",
    ]
    (against,) = page.charts
    here, paper = against.series
    assert (list(here.x), list(here.open)) == (["t-1", "t-2"], [0, 1])  # at least so much
    assert (list(paper.y), list(paper.open)) == ([3, 3], [0, 1])
    _, table = page.sections[3].parts
    assert page.sections[3].folded and isinstance(table, Table)
    assert [column.kind for column in table.columns] == ["number", "text"]
    text = page.html()
    assert "do &lt;it&gt;" in text and "P &amp; Q" in text and "<summary>one by one" in text
    assert text.index('id="t-1.a"') < text.index('id="t-2"'), "inside the row of t-1"
    drawn = html.Shown("f", "F", "C", ["t-1", "left-out"], svg="<svg></svg>")
    text = html.page(report, html.Beside([drawn])).html()
    assert 'href="#t-1"' in text and "left-out" in text and "#left-out" not in text
    one = html.page(report, html.Beside(expected=spans[:1]))
    assert one.charts == [], "one effect is told by its row"
    part["bound"] = "not known"
    assert html.page(report, html.Beside(expected=spans)).charts == []


def test_a_row_tells_how_many_flows_per_host_were_measured(tmp_path: Path) -> None:
    found = study(TWO, out=tmp_path, seeds=2)
    hosts = found.results.all[0].scenario["topology"]
    number = hosts["leaves"] * hosts["hosts_per_leaf"]
    claims = {claim["id"]: claim for claim in found.json["claims"]}
    assert claims["two-1"]["flows_per_host"] == [300 / number] * 2
    header, _, first, *_ = [
        line for line in (tmp_path / "report.md").read_text().split("\n") if line.startswith("|")
    ]
    assert claims["two-1"]["hosts"] == [number] * 2
    column = header.split("|").index(" flows per host (hosts) ")
    assert first.split("|")[column].strip() == f"{300 / number:.0f} ({number})"
    assert ">flows per host (hosts)</th>" in (tmp_path / "report.html").read_text()


def test_a_report_makes_the_folder_of_its_figures(tmp_path: Path) -> None:
    found = study(TWO, out=tmp_path / "out", seeds=2)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    found.save(elsewhere)
    names = ("report.json", "report.md", "report.html", "figures/bars.png")
    assert all((elsewhere / name).stat().st_size > 0 for name in names)


def test_tables_of_the_docs_come_from_reports(tmp_path: Path) -> None:
    found = study(TWO, out=tmp_path / "two", seeds=2)
    text = tmp_path / "studies.md"
    text.write_text("before\n<!-- begin two -->\nold\n<!-- end two -->\nafter\n")
    docs.main([str(text), str(tmp_path / "two")])
    written = text.read_text()
    assert written.startswith("before\n<!-- begin two -->\n\n`fctlab study two --quick --seeds 2`")
    assert written.endswith("\n\n<!-- end two -->\nafter\n") and "old" not in written
    for judged in found.judged:
        (row,) = (li for li in written.split("\n") if li.startswith(f"| {judged.claim.id} |"))
        assert judged.here in row and f"| {judged.verdict.value} |" in row
    docs.main([str(text), str(tmp_path / "two")])
    assert text.read_text() == written
    with pytest.raises(ValueError, match="no lines <!-- begin two"):
        docs.put("nothing", kept.kept(found.json))


def runs_of(slowdowns: dict[str, list[float]]) -> Results:
    """Runs of cells whose average slowdowns are given, seed by seed."""
    row = {"class": "all", "traffic_class": "all"}
    return Results(
        Run(
            name,
            seed,
            {},
            {"summary": [row | {"avg_slowdown": value}], "counters": {}, "extras": {}},
        )
        for name, values in slowdowns.items()
        for seed, value in enumerate(values, 1)
    )


def test_bars_are_means_with_intervals_and_span_decades_on_a_log_axis() -> None:
    low, high = Cell("low", {}), Cell("high", {})
    results = runs_of({"low": [1.0, 2.0, 3.0], "high": [30.0, 30.0, 30.0]})
    near = {"a": {"low": ((low,), SLOWDOWN)}}
    far = near | {"b": {"high": ((high,), SLOWDOWN)}}
    panels = [("near", Quantity("ms", 1e3), near), ("far", Quantity("x"), far)]
    drawing = paint(figures.bars(results, panels, below=True))
    left, right = drawing.axes
    assert (left.get_yscale(), right.get_yscale()) == ("linear", "log")
    assert [text.get_text() for text in left.texts] == ["2000"]
    # Half-width of 1, 2, 3: t(0.975, 2) = 4.30265, times 1 / sqrt(3).
    (error,) = left.collections
    ends = error.get_segments()[0][:, 1]  # type: ignore[attr-defined]
    assert ends == pytest.approx([2000 - 2484.1, 2000 + 2484.1], rel=1e-4)
    assert [t.get_text() for t in right.get_xticklabels()] == ["a", "b"]


def test_lines_and_svgs() -> None:
    line = figures.Line("one", [0, 1, 2], [[1, 1.5], [2, 2.5], [3, 2]])
    drawing = paint(figures.lines([("left", [line]), ("right", [])], "x", "y"))
    assert [len(ax.lines) for ax in drawing.axes] == [1, 0]
    text = svg(drawing, "name")
    assert text.startswith("<svg") and "<metadata" not in text and "currentColor" in text
    assert 'style="width:' in text[:300] and "height=" not in text[:300]
