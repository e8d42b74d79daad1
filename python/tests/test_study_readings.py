"""What papers leave open, and claims under every reading of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

import fctlab
from fctlab import studies
from fctlab.scenario import Scenario
from fctlab.studies.framework import readings, under
from fctlab.studies.framework.cells import Cell, Source
from fctlab.studies.framework.conduct import study
from fctlab.studies.framework.left_open import Choice, LeftOpen, NotTried, OpenSetting, got, put
from fctlab.studies.framework.report import readings as told
from fctlab.studies.framework.report import terminal
from fctlab.studies.framework.runs import Results, Run
from fctlab.studies.framework.study import Claim, ratio
from fctlab.studies.framework.verdict import Number, Sign, Verdict
from tests.test_study import TWO

HOSTS = OpenSetting(
    "hosts",
    "no turns",
    "real ones do",
    (Choice("turns", "hosts take turns", {"nic.turns": 1}, cells=("srpt*",)),),
)
BUFFER = OpenSetting(
    "buffer",
    "large",
    "not stated",
    (Choice("small", "small buffers", {"port.buffer": 1}), Choice("none", "none", {"port": {}})),
)
ACKS = OpenSetting("ACKs", "40 B", "Ethernet", (Choice("long", "long ACKs", {"ack": 64}),))
OPEN = LeftOpen((HOSTS, BUFFER, ACKS), (NotTried("jitter", "no such key"),))
FIFO, SRPT = Cell("fifo", {"port": {"buffer": 9}}), Cell("srpt", {"port": {"buffer": 9}})


def test_keys_are_put_where_tables_are_shared_by_others() -> None:
    shared = {"discipline": "srpt"}
    scenario: dict[str, Any] = {"scheme": {"port": shared}}
    put(scenario, "scheme.port.discipline.starvation", False)
    put(scenario, "scheme.nic.limit", 1)
    assert scenario["scheme"]["port"] == {"discipline": {"kind": "srpt", "starvation": False}}
    assert (shared, got(scenario, "scheme.nic.limit")) == ({"discipline": "srpt"}, 1)
    assert got(scenario, "scheme.port.discipline.kind.of.it") is None


def test_readings_are_the_own_one_every_single_change_and_a_spread_of_joint_ones() -> None:
    found = OPEN.variants(11)
    names = [variant.name for variant in found]
    assert names[:5] == ["as read", "turns", "small", "none", "long"]
    assert len(set(names)) == 11 and all(" + " in name for name in names[5:])
    assert names == [variant.name for variant in OPEN.variants(11)], "the same every time"
    joint = {choice.name for variant in found[5:] for choice in variant.choices}
    assert joint == {"turns", "small", "none", "long"}
    assert len(OPEN.variants(100)) == 2 * 3 * 2, "there are no more"
    assert len(OPEN.variants(1)) == 5, "all single changes in any case"
    assert [variant.name for variant in LeftOpen().variants()] == ["as read"]


def test_a_reading_changes_the_cells_that_it_is_about_and_what_their_files_are_made_of() -> None:
    source = Source("map.json", str, (), {"ack": 40})
    srpt = replace(SRPT, scenario={**SRPT.scenario, "map": source})
    _, turns, small, _, long = OPEN.variants(1)
    assert turns.cells([FIFO])[0] is FIFO
    assert small.cells([FIFO])[0].scenario == {"port": {"buffer": 1}}
    assert FIFO.scenario == {"port": {"buffer": 9}}, "its own scenario is as it was"
    one, other = long.cells([srpt, replace(srpt, id="srpt-2")])
    assert one.scenario["map"].scenario == {"ack": 64}
    assert one.scenario["map"] is other.scenario["map"], "which is made once"
    assert turns.cells([srpt])[0].scenario["map"].scenario == {"ack": 40, "nic": {"turns": 1}}


class Made:
    """Slowdowns that follow from scenarios; each run takes a CPU hour."""

    def __init__(self) -> None:
        noise = np.random.default_rng(1).normal(0, 0.01, 100)
        self.noise = [float(each) for each in noise]
        self.asked: list[int] = []

    def run(self, cells: Sequence[Cell]) -> Results:
        """Under five seeds."""
        self.asked.append(len(cells))
        return Results(self._run(cell, seed) for cell in cells for seed in range(1, 6))

    def _run(self, cell: Cell, seed: int) -> Run:
        value = 2.0 if cell.id == "fifo" else 1.0
        if got(cell.scenario, "nic.turns"):
            value *= 1.5
        if cell.id == "fifo" and got(cell.scenario, "port.buffer") == 1:
            value *= 0.4
        value *= float(np.exp(self.noise[10 * seed + len(json.dumps(cell.scenario)) % 10]))
        row = {"class": "all", "traffic_class": "all", "avg_slowdown": value}
        found = {"summary": [row], "counters": {}, "extras": {}}
        return Run(cell.id, seed, cell.scenario, found, 3600.0)

    def read(self, hours: float = 1e6) -> readings.Readings:
        """Three claims under every reading."""
        claims = [
            Claim("m-1", "", "2x", (ratio("r", FIFO, SRPT, Number(2.0)),)),
            Claim("m-2", "", "1.4x", (ratio("r", FIFO, SRPT, Number(1.4)),)),
            Claim("m-3", "", "9x", (ratio("r", FIFO, SRPT, Number(9.0)),)),
            Claim("m-4", "", "less", (ratio("r", FIFO, SRPT, Sign(-1)),)),
            Claim("m-x1", "", "", (ratio("r", FIFO, SRPT, Sign(1)),), beyond=True),
        ]
        found = self.run([FIFO, SRPT])
        return readings.read(claims, OPEN, found, self.run, hours)


def test_a_claim_is_decided_by_what_changes_its_verdict() -> None:
    found = Made().read()
    claims = {claim["id"]: claim for claim in told.plain(found)["claims"]}
    assert list(claims) == ["m-1", "m-2", "m-3", "m-4"]
    assert len(found.read) == 12 and not found.left
    deciding = {id: [each["choice"] for each in claim["deciding"]] for id, claim in claims.items()}
    # Small buffers turn 2x into 0.8x, which leads farther from 2x than turns do (1.33x).
    assert deciding == {
        "m-1": ["small", "turns"],
        "m-2": ["turns", "small"],
        "m-3": ["small"],
        "m-4": ["small"],
    }
    turns = claims["m-2"]["deciding"][0]
    assert (turns["setting"], turns["verdict"]) == ("hosts", "agrees")
    assert turns["ci95"][0] < turns["moved"] < turns["ci95"][1] < 1
    # Of 12 readings a third has small buffers: 2 / 1.5 x 0.4 is the other way.
    assert claims["m-4"]["counts"] == {"agrees": 4, "direction": 0, "undecided": 0, "differs": 8}
    assert claims["m-3"]["best"] == {
        "reading": "as read",
        "words": "as the study reads it",
        "verdict": "direction",
        "changes": 0,
    }
    assert told.decides(claims["m-2"]).startswith("hosts take turns: agrees, effect -3")
    assert told.decides(claims["m-3"]).endswith("; none of 12 readings reproduces it")
    assert "reproduces" not in told.decides(claims["m-1"])


def test_what_no_reading_reproduces_is_said_and_the_nearest_reading_named() -> None:
    plain = told.plain(Made().read())
    sentences = told.summary(plain)
    assert sentences[:2] == ["Readings tried: 12.", "None of them reproduces m-3."]
    nearest = plain["nearest"]
    assert (nearest["choices"], nearest["agreeing"], nearest["of"]) == ([], 1, 4)
    distances = [each["distance"] for each in plain["readings"] if each["agreeing"] == 1]
    assert nearest["distance"] == min(distances)
    assert "chosen after the fact: as the study reads it (1 of 4 claims agree" in sentences[2]


def test_a_reading_beyond_the_budget_is_left_with_its_price() -> None:
    made = Made()
    found = made.read(22)
    # The study's own takes ten hours, turns five; then each takes ten and nothing fits.
    assert [read.variant.name for read in found.read] == ["as read", "turns"]
    assert made.asked == [2, 1]
    plain = told.plain(found)
    assert len(plain["left"]) == 11 and plain["left"][-1]["reading"] == "turns + longer"
    assert plain["left"][0]["cpu_hours"] == pytest.approx(10)
    hours = 10 * 10 + 2 * (10 + 10)
    assert told.summary(plain)[-1] == f"Left: 11 readings, about {hours} CPU hours more."


def test_what_changes_a_verdict_is_judged_again_twice_as_long() -> None:
    fifo, srpt = (Cell(c.id, {**c.scenario, "traffic": {"flows": 10}}) for c in (FIFO, SRPT))
    claims = [Claim("m-2", "", "1.4x", (ratio("r", fifo, srpt, Number(1.4)),))]
    made = Made()
    open_ = LeftOpen((HOSTS,))
    found = readings.read(claims, open_, made.run([fifo, srpt]), made.run, 1000)
    assert found.longer == {("turns", "m-2"): (Verdict.DIRECTION, Verdict.AGREES)}
    # Both as read, one with turns; then both twice as long, as read and with turns.
    assert made.asked == [2, 1, 2, 2]
    plain = told.plain(found)["claims"][0]
    assert plain["longer"] == [{"reading": "turns", "as_read": "direction", "verdict": "agrees"}]
    assert "; twice as long agrees, as read direction" in told.decides(plain)
    poor = readings.read(claims, open_, made.run([fifo, srpt]), made.run, 16)
    assert [each.variant.name for each in poor.left] == ["turns + longer"]
    assert poor.left[0].cpu_s == pytest.approx(2 * 4 * 5 * 3600)


LEFT_OPEN = [name for name in studies.STUDIES if studies.load(name).left_open.settings]
NAMES = [name for name in LEFT_OPEN if studies.load(name).asks is None]


@pytest.mark.parametrize("name", NAMES)
def test_every_choice_of_a_study_makes_other_scenarios_that_can_be_run(name: str) -> None:
    chosen = studies.load(name)
    variants = chosen.left_open.variants()
    assert len(variants) == 24 and len({variant.name for variant in variants}) == 24
    tried = under.tried(chosen.plan("quick").claims)
    cells = list(dict.fromkeys(cell for claim in tried for cell in claim.cells))
    for variant in variants[1:]:
        after = variant.cells(cells)
        changed = [cell for before, cell in zip(cells, after, strict=True) if cell is not before]
        assert changed, f"{variant.name} changes nothing"
        runs = [cell for cell in changed if not _files(cell.scenario)]
        for cell in runs[:: max(1, len(runs) // 3)]:
            before = next(each for each in cells if each.id == cell.id)
            resolved = [
                Scenario({**each.scenario, "seed": 1}).resolve().tables for each in (before, cell)
            ]
            assert resolved[0] != resolved[1], f"{variant.name} is what {cell.id} has"


def _files(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_files, value.values()))
    return isinstance(value, Source)


def test_a_study_is_tried_under_every_reading(tmp_path: Path) -> None:
    ends = Choice("delivery", "FCTs end at delivery", {"measure.fct_ends": "delivery"})
    small = Choice(
        "small",
        "small buffers",
        {"scheme": {"preset": "dctcp", "port": {"buffer": "9KB"}}},
        cells=("fifo",),
    )
    left = LeftOpen(
        (OpenSetting("end of an FCT", "the ACK", "", (ends,)), OpenSetting("b", "", "", (small,)))
    )
    two = replace(TWO, left_open=left)
    found = study(two, out=tmp_path, seeds=2, only=["two-1", "two-2"], settings=True)
    assert (
        found.json["command"] == "fctlab study two --quick --seeds 2 --settings --only two-1,two-2"
    )
    assert json.loads((tmp_path / "report.json").read_text()) == found.json
    plain = found.json["readings"]
    names = [each["reading"] for each in plain["readings"]]
    assert names == ["as read", "delivery", "small", "delivery + small"]
    assert [claim["id"] for claim in plain["claims"]] == ["two-1", "two-2"]
    page, text = ((tmp_path / name).read_text() for name in ("report.html", "report.md"))
    assert "Under every reading" in page and "FCTs end at delivery" in page
    assert "## What the paper leaves open" in text
    console = Console(width=80, no_color=True)
    with console.capture() as capture:
        console.print(terminal.table(found.json))
    shown = capture.get()
    assert "what decides it" in shown and max(map(len, shown.splitlines())) <= 80


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"settings": True}, "settings: study two names none that its paper leaves open"),
        ({"settings": True, "max_seeds": 9}, "max_seeds: is a limit of settled"),
    ],
)
def test_settings_that_cannot_be_tried_are_refused(
    arguments: dict[str, Any], error: str, tmp_path: Path
) -> None:
    with pytest.raises(fctlab.SpecError, match=error):
        study(TWO, out=tmp_path / "out", **arguments)
    assert not (tmp_path / "out").exists()
