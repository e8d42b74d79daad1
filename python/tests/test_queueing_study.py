"""Engines beside closed forms: a formula outside a mean's interval is a mistake somewhere."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from fctlab.studies import queueing
from fctlab.studies.framework import conduct, verdict
from fctlab.studies.queueing import formulas, setting
from fctlab.studies.queueing.formulas import Sizes

SPREAD, WHOLE, ONE = setting.SPREAD, setting.WHOLE, setting.ONE


def mean(formula: setting.Job, sizes: Sizes, load: float) -> float:
    """In mean sizes."""
    rate = load / sizes.mean
    return sizes.mean_of(lambda size: formula(rate, sizes, size)) / sizes.mean


def test_formulas_are_those_of_textbooks() -> None:
    assert mean(formulas.fifo, ONE, 0.5) == pytest.approx(1.5)  # M/D/1: 1 + load / (2 (1 - load))
    assert mean(formulas.sharing, SPREAD, 0.8) == pytest.approx(5)
    # A window of a quarter of what a round trip holds leaves the server idle; four of them do not.
    assert [formulas.closed(n, 5, 20.0) for n in (1, 4, 8)] == [0.25, 0.25, 0.125]
    # M/M/1 from a fine table: all that knows nothing of sizes has 1 / (1 - load).
    exponential = Sizes(_exponential())
    for blind in (formulas.fifo, formulas.least_attained, formulas.sharing):
        assert mean(blind, exponential, 0.5) == pytest.approx(2, rel=5e-3)


def _exponential() -> tuple[tuple[float, float], ...]:
    points = [(0.1 * i, 1 - math.exp(-0.1 * i)) for i in range(100)]
    return (*points, (10.0, 1.0))


def test_formulas_keep_what_theory_says_of_all() -> None:
    for load in (0.3, 0.6, 0.9):
        best = mean(formulas.srpt, SPREAD, load)
        others = (formulas.shortest_first, formulas.least_attained, formulas.fifo)
        assert all(best < mean(other, SPREAD, load) for other in others)
        # Kleinrock's conservation law: classes divide the work that FIFO has waiting.
        rates = [0.4 * load / WHOLE.mean, 0.6 * load / WHOLE.mean]
        waits = [formulas.priority(rates, WHOLE, n, 0.0) for n in (0, 1)]
        shared = sum(rate * wait for rate, wait in zip(rates, waits, strict=True)) / sum(rates)
        assert shared == pytest.approx(formulas.fifo(sum(rates), WHOLE, 0.0))


def test_engines_are_as_the_formulas_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Intervals hold all of them at once with 95%; whole packets may add a packet's time."""
    monkeypatch.setitem(setting.SCALES, "quick", setting.Scale((0.5,), 20_000, 2_000))
    conduct.study("queueing", "quick", out=tmp_path, seeds=4)
    told = json.loads((tmp_path / "report.json").read_text())
    parts = {f"{c['id']}: {p['part']}": p for c in told["claims"] for p in c["parts"]}
    assert len(parts) >= 20
    for name, part in parts.items():
        low, high = interval(part, 1 - 0.05 / len(parts))
        if "slots" in name:
            assert abs(part["value"] - 1) < 0.01, (name, part)
        else:
            packet = setting.PACKET / SPREAD.mean
            assert low - packet < 1 < high + packet, (name, part)
            assert abs(part["value"] - 1) < 0.1, (name, part)


def interval(part: dict[str, Any], confidence: float) -> tuple[float, float]:
    """That of a part's effect, from its 95% interval."""
    value, high, seeds = part["value"], part["ci95"][1], part["seeds"]
    wider = verdict.half_width(1, seeds, confidence) / verdict.half_width(1, seeds, 0.95)
    factor = (high / value) ** wider
    return value / factor, value * factor


def test_a_wrong_formula_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """FIFO's time is not that of an M/D/1: the judge says so."""
    wrong = setting.SERVERS | {
        "M/D/1": setting.Server(ONE, {}, lambda *given: 1.05 * formulas.fifo(*given), whole=True)
    }
    monkeypatch.setattr(queueing, "SERVERS", wrong)
    monkeypatch.setitem(setting.SCALES, "quick", setting.Scale((0.5,), 20_000, 4_000))
    conduct.study("queueing", "quick", out=tmp_path, seeds=4, only=["queueing-1"])
    told = json.loads((tmp_path / "report.json").read_text())
    _, high = interval(told["claims"][0]["parts"][0], 0.999)
    assert high < 1
