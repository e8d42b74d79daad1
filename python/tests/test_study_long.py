"""Doublings, readings and more seeds within one budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

from fctlab.cli.app import app
from fctlab.studies.framework import long
from fctlab.studies.framework.cells import Cell
from fctlab.studies.framework.conduct import study
from fctlab.studies.framework.left_open import Choice, LeftOpen, OpenSetting
from fctlab.studies.framework.long import Long
from fctlab.studies.framework.report import left, terminal
from fctlab.studies.framework.runs import Results, Run
from fctlab.studies.framework.study import Claim, ratio
from fctlab.studies.framework.verdict import Sign
from tests.test_study import TWO

A, B = (Cell(name, {"traffic": {"flows": 10}, "of": name}) for name in ("a", "b"))
CLAIMS = [Claim("m-1", "", "better", (ratio("a / b", A, B, Sign(1)),))]
ENDS = Choice("ends", "ends elsewhere", {"measure.fct_ends": "delivery"})
OPEN = LeftOpen((OpenSetting("end", "the ACK", "not stated", (ENDS,)),))


class Made:
    """Noise without an effect; a run takes a CPU hour for 10 flows."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, int, bool]] = []

    def run(self, cells: Sequence[Cell], seeds: int) -> Results:
        """Under the first seeds."""
        first = cells[0].scenario
        self.asked.append((seeds, first["traffic"]["flows"], "measure" in first))
        return Results(self._run(cell, seed) for cell in cells for seed in range(1, seeds + 1))

    def _run(self, cell: Cell, seed: int) -> Run:
        value = float(np.exp(np.random.default_rng([seed, ord(cell.id)]).normal(0, 0.1)))
        row = {"class": "all", "traffic_class": "all", "avg_slowdown": value}
        found = {"summary": [row], "counters": {}, "extras": {}}
        return Run(cell.id, seed, cell.scenario, found, 360.0 * cell.scenario["traffic"]["flows"])

    def done(self, asked: Long) -> long.Found:
        """Five seeds of two cells, which take ten CPU hours, and what is asked for."""
        own = self.run([A, B], 5)
        return long.do(CLAIMS, "quick", OPEN, own, self.run, 5, asked)


def test_one_budget_is_shared_in_order() -> None:
    made = Made()
    found = made.done(Long(True, True, True, 20, max_cpu_hours=50))
    # Ten hours are the study's own, twenty go to doublings. Readings never have more than five in
    # all where there is something else; so the seeds get what is left: ten more hours, not twenty.
    assert made.asked == [(5, 10, False), (5, 20, False), (10, 10, False)]
    assert found.lengths is not None and not found.lengths.left
    assert found.readings is not None and [each.cpu_s for each in found.readings.left] == [36000]
    assert (found.judged[0].seeds, len(found.runs.all)) == (10, 20)


def test_readings_alone_have_the_whole_budget() -> None:
    made = Made()
    found = made.done(Long(settings=True, max_cpu_hours=50))
    assert made.asked[:2] == [(5, 10, False), (5, 10, True)]
    assert found.readings is not None and not found.readings.left
    assert Long(settings=True).hours == Long(doubled=True).hours == 5
    assert Long(settled=True).hours == float("inf")


def test_nothing_is_begun_that_leads_beyond() -> None:
    made = Made()
    found = made.done(Long(True, True, True, 40, max_cpu_hours=10))
    assert made.asked == [(5, 10, False)]
    assert found.lengths is not None and list(found.lengths.left.values()) == [72000]


def test_a_study_says_what_its_budget_left_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends = Choice("delivery", "FCTs end at delivery", {"measure.fct_ends": "delivery"})
    open_ = LeftOpen((OpenSetting("end of an FCT", "the last ACK", "-", (ends,)),))
    chosen = replace(TWO, left_open=open_)
    everything = {"settled": True, "settings": True, "doubled": True, "max_seeds": 5}
    little = study(chosen, out=tmp_path, max_cpu_hours=1e-9, only=["two-1"], **everything)  # type: ignore[arg-type]
    told = left.rows(little.json)
    assert ("1 reading", "-") not in told and [what for what, _ in told if "reading" in what]
    assert any(what == "runs twice as long" for what, _ in told)
    assert "left, at most" in left.summary(little.json)
    console = Console(width=80, no_color=True)
    with console.capture() as capture:
        console.print(terminal.table(little.json))
    assert "CPU hours of engine" in capture.get()
    assert max(map(len, capture.get().splitlines())) <= 80
    much = study(chosen, out=tmp_path, max_cpu_hours=1, only=["two-1"], **everything)  # type: ignore[arg-type]
    assert left.summary(much.json).endswith("nothing is left.")
    assert "## Left" in (tmp_path / "report.md").read_text()
    monkeypatch.setattr("fctlab.results.simulation.simulate", lambda *_: pytest.fail("was run"))
    again = study(chosen, out=tmp_path, max_cpu_hours=1, only=["two-1"], **everything)  # type: ignore[arg-type]
    assert again.json["claims"] == much.json["claims"]
    assert again.json["readings"] == much.json["readings"]


def test_the_command_asks_for_all_three_where_there_is_something_to_read(tmp_path: Path) -> None:
    out = ["--out", str(tmp_path), "--max-cpu-hours", "1", "--only", "ascc-t1"]
    result = CliRunner().invoke(app, ["study", "bigswitch", "--long", *out])
    assert result.exit_code == 0, result.output
    assert "nothing is left" in result.output
