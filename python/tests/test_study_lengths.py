"""Whether effects are converged: runs twice as long."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

import fctlab
from fctlab import studies
from fctlab.studies.framework import lengths, under
from fctlab.studies.framework.cells import Cell
from fctlab.studies.framework.conduct import study
from fctlab.studies.framework.left_open import Variant, got
from fctlab.studies.framework.longer import LONGER, TWICE, WIDER
from fctlab.studies.framework.report import lengths as told
from fctlab.studies.framework.report import terminal
from fctlab.studies.framework.runs import Results, Run
from fctlab.studies.framework.study import Claim, ratio
from fctlab.studies.framework.verdict import Number
from tests.test_study import TWO

BASE = Cell("base", {"traffic": {"flows": 100}})
CELLS = {
    name: Cell(name, {"traffic": {"flows": 100}, "grows": grows, "noise": noise})
    for name, grows, noise in (("still", 1.0, 0.01), ("grows", 1.2, 0.01), ("noisy", 1.0, 0.3))
}


def run(cells: Sequence[Cell]) -> Results:
    """Slowdowns of 2 against 1, that grow with the number of flows or are noisy."""
    return Results(_run(cell, seed) for cell in cells for seed in range(1, 6))


def _run(cell: Cell, seed: int) -> Run:
    doublings = cell.scenario["traffic"]["flows"] / 100 - 1
    value = 1.0
    if cell.id != "base":
        noise = np.random.default_rng([seed, int(doublings)]).normal(0, cell.scenario["noise"])
        value = 2.0 * cell.scenario["grows"] ** doublings * float(np.exp(noise))
    row = {"class": "all", "traffic_class": "all", "avg_slowdown": value}
    found = {"summary": [row], "counters": {}, "extras": {}}
    return Run(cell.id, seed, cell.scenario, found, 3600.0 * (1 + doublings))


CLAIMS = [
    Claim(f"c-{name}", "", "1.4x", (ratio("r", cell, BASE, Number(1.4)),))
    for name, cell in CELLS.items()
]


def test_converged_is_what_a_doubling_moves_by_less_than_counts_and_surely_so() -> None:
    found = lengths.double(CLAIMS, run([BASE, *CELLS.values()]), run, 1000)
    plain = told.plain(found)
    assert {each["id"]: each["converged"] for each in plain["claims"]} == {
        "c-still": True,
        "c-grows": False,
        "c-noisy": False,
    }
    grows = plain["claims"][1]
    assert grows["moved"] == pytest.approx(1.2, rel=0.03) and grows["limit"] == pytest.approx(0.1)
    assert plain["cpu_hours"] == pytest.approx(4 * 5 * 2)
    assert told.summary(plain).startswith("Doublings (40 CPU hours): 1 of 3 claims are")


def test_what_takes_too_long_is_not_run_and_has_its_price() -> None:
    own = run([BASE, *CELLS.values()])
    found = lengths.double(CLAIMS, own, lambda _: pytest.fail("was run"), 39)
    assert found.left == {TWICE: pytest.approx(40 * 3600)} and found.claims == {}
    summary = told.summary(told.plain(found))
    assert summary.endswith("Left: runs twice as long, about 40 CPU hours.")


def test_a_fabric_is_doubled_as_well_and_the_worse_doubling_told() -> None:
    fabric = {"topology": {"kind": "leaf-spine", "leaves": 2}, "traffic": {"flows": 100}}
    base, still = Cell("base", fabric), Cell("still", {**fabric, "grows": 1.0, "noise": 0.01})
    (wider,) = Variant((WIDER,)).cells([still])
    assert got(wider.scenario, "topology.leaves") == 4
    assert got(wider.scenario, "traffic.flows") == 200, "for the same time"

    def on_wide(cells: Sequence[Cell]) -> Results:
        made = run(cells)
        for each in made.all:
            wide = got(each.scenario, "topology.leaves") == 4 and each.cell != "base"
            each.summary[0]["avg_slowdown"] *= 1.3 if wide else 1.0
        return made

    claims = [Claim("c-1", "", "1.4x", (ratio("r", still, base, Number(1.4)),))]
    found = lengths.double(claims, on_wide([base, still]), on_wide, 1000)
    assert found.claims["c-1"].by is WIDER and found.claims["c-1"].excess > 1
    plain = told.plain(found)
    assert told.unconverged(plain, "c-1").startswith(
        "not converged: fabrics of twice the leaves: +29."
    )
    # At the papers' scale fabrics are the papers' own.
    full = lengths.double(claims, on_wide([base, still]), on_wide, 1000, "full")
    assert full.claims["c-1"].by is TWICE and full.claims["c-1"].excess < 1
    # 20 CPU hours of longer runs fit, as many of wider fabrics do not.
    some = lengths.double(claims, on_wide([base, still]), on_wide, 25)
    assert some.left == {WIDER: pytest.approx(20 * 3600)} and some.claims["c-1"].by is TWICE


@pytest.mark.parametrize("name", ["ads", "ascc", "awafs", "crosscut", "dsrtf"])
def test_fabrics_of_studies_can_be_made_wider(name: str) -> None:
    plan = studies.load(name).plan("quick")
    fabrics = [c for c in plan.cells() if got(c.scenario, "topology.kind") == "leaf-spine"]
    for before, after in zip(fabrics, Variant((WIDER,)).cells(fabrics), strict=True):
        leaves = [got(each.scenario, "topology.leaves") for each in (before, after)]
        assert leaves[1] == 2 * leaves[0]


@pytest.mark.parametrize("name", ["ads", "ascc", "awafs", "dsrtf"])
def test_cells_of_studies_can_be_made_longer(name: str) -> None:
    tried = under.tried(studies.load(name).plan("quick").claims)
    cells = list(dict.fromkeys(cell for claim in tried for cell in claim.cells))
    same = []
    for before, after in zip(cells, LONGER.cells(cells), strict=True):
        amounts = [
            (got(before.scenario, path), got(after.scenario, path))
            for path in ("traffic.flows", "traffic.duration")
        ]
        same += [before.id] if all(a == b for a, b in amounts) else []
    assert [id for id in same if not id.startswith(("case study", "shift"))] == []


def test_the_flows_of_a_seed_begin_alike_at_both_lengths(tmp_path: Path) -> None:
    cell = TWO.plan("quick").cells()[0]
    scenario = {**cell.scenario, "traffic": {**cell.scenario["traffic"], "workload": "websearch"}}
    (longer,) = LONGER.cells([replace(cell, scenario=scenario)])
    one, two = (
        fctlab.run({**each, "seed": 3}, out=tmp_path / str(i)).flows.select("start_s", "size_bytes")
        for i, each in enumerate((scenario, longer.scenario))
    )
    assert 2 * len(one) == len(two) and one.equals(two.head(len(one)))


def test_a_study_says_which_claims_are_converged(tmp_path: Path) -> None:
    found = study(TWO, out=tmp_path / "two", seeds=2, only=["two-1", "two-2"], doubled=True)
    assert "--double" in found.json["command"]
    rows = {each["id"]: each for each in found.json["lengths"]["claims"]}
    assert list(rows) == ["two-1", "two-2"] and rows["two-2"]["moved"] == 1.0
    assert "Converged" in (tmp_path / "two" / "report.html").read_text()
    assert "## Converged" in (tmp_path / "two" / "report.md").read_text()
    console = Console(width=80, no_color=True)
    with console.capture() as capture:
        console.print(terminal.table(found.json))
    assert "moved by" in capture.get()
    assert max(map(len, capture.get().splitlines())) <= 80
