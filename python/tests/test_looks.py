"""Rules that add seeds, on made-up sweeps: of normal numbers, and of real seeds."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np
import pytest

from fctlab.intervals import half_width
from fctlab.sweep import looks
from tests import pool


def test_looks_are_at_fixed_numbers() -> None:
    def first(rule: looks.Rule) -> list[int]:
        each: Iterator[int] = rule.looks()
        return [next(each) for _ in range(4)]

    assert first(looks.Narrow(0.05)) == [10, 15, 23, 35]
    assert first(looks.Decided(0.01)) == [5, 10, 20, 40]


def test_one_number_for_all_gives_the_widest_interval() -> None:
    random = np.random.default_rng(1)
    spreads = {10: 0.02, 35: 0.1, 80: 0.15}
    draws = {n: random.normal(0, spread, n).tolist() for n, spread in spreads.items()}
    found = {n: looks.estimate(logs, 0.95) for n, logs in draws.items()}
    same = looks.same_for_all((n, each.half_width) for n, each in found.items())
    widest = max(each.half_width for each in found.values())
    spread = max(float(np.std(logs, ddof=1)) for logs in draws.values())
    assert spread * half_width(same, 0.95) <= widest * 1.000001
    assert spread * half_width(same - 1, 0.95) > widest
    assert looks.same_for_all([(10, 0.05)]) == 10


def test_an_estimate_by_hand() -> None:
    found = looks.estimate([0.1, 0.2, 0.3], 0.95)
    # Student's t for two degrees of freedom is 4.30265 at 97.5%; the standard deviation is 0.1.
    half = 4.302653 * 0.1 / math.sqrt(3)
    assert found.seeds == 3 and found.mean == pytest.approx(0.2)
    assert found.half_width == pytest.approx(half, rel=1e-6)
    assert found.ratio == pytest.approx(math.exp(0.2))
    assert found.interval == pytest.approx((math.exp(0.2 - half), math.exp(0.2 + half)), rel=1e-6)
    assert looks.estimate([0.3], 0.95) == looks.Estimate(1, 0.3, math.inf)
    assert looks.estimate([0.0, 0.2], 0.95).half_width == pytest.approx(1.270620, rel=1e-5)


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    # In edges of what is no effect.
    [
        (0, 0, "no effect"),
        (1, 1, "no effect"),
        (-1, -1, "no effect"),
        (-0.9, 0.9, "no effect"),
        (0.1, 0.9, "no effect"),
        (-0.9, -0.1, "no effect"),
        (1.1, 1.1, "higher"),
        (0.1, 2, "higher"),
        (2, 3, "higher"),
        (-1.1, -1.1, "lower"),
        (-2, -0.1, "lower"),
        (-3, -2, "lower"),
        (-2, 0.5, "open"),
        (-0.5, 2, "open"),
        (-5, 5, "open"),
    ],
)
def test_where_an_interval_lies_decides(low: float, high: float, verdict: str) -> None:
    rule = looks.Decided(0.01)
    edge, t = math.log1p(0.01), math.sqrt(2) * half_width(2, 0.975)
    middle, far = (low + high) / 2 * edge, (high - low) / 2 * edge / t
    found, seen = rule.judge([middle - far, middle + far], 1)
    assert found == verdict
    assert (seen.mean, seen.half_width) == pytest.approx((middle, far * t), abs=1e-15)


def test_each_look_asks_for_more() -> None:
    rule = looks.Decided(0.01, alpha=0.1)
    assert [rule.confidence(look) for look in (1, 2, 3)] == pytest.approx(
        [1 - 0.1 / 2, 1 - 0.1 / 6, 1 - 0.1 / 12]
    )
    assert looks.Decided(0.0).confidence(1) == pytest.approx(0.975)
    # Ten values decide at the first look what the second leaves open.
    logs = [0.1 + 0.13 * (-1) ** k for k in range(10)]
    assert [rule.judge(logs, look)[0] for look in (1, 4)] == ["higher", "open"]


@pytest.mark.parametrize(("share", "verdict"), [(0.9, "narrow"), (1.1, "open")])
def test_narrow_is_within_the_share(share: float, verdict: str) -> None:
    far = share * math.log1p(0.05) / (math.sqrt(2) * half_width(2, 0.95))
    # Wherever the mean lies.
    for mean in (-1.0, 0.0, 1.0):
        assert looks.Narrow(0.05).judge([mean - far, mean + far], 1)[0] == verdict


def test_seeds_that_are_needed_grow_with_the_square_of_the_width() -> None:
    wide = looks.Estimate(10, 0.3, 3 * math.log1p(0.05))
    assert looks.Narrow(0.05).needed(wide) == pytest.approx(90)
    rule, edge = looks.Decided(0.01), math.log1p(0.01)
    for mean in (0.05, -0.05):  # as far as its sign
        assert rule.needed(looks.Estimate(10, mean, 0.1)) == pytest.approx(40)
    # Nearer to none than to an effect: as far as the edge.
    for mean in (0.0, edge / 4, -edge / 4):
        room = edge - abs(mean)
        assert rule.needed(looks.Estimate(5, mean, 3 * room)) == pytest.approx(45)


SWEEPS = 2000


def outcome(
    rule: looks.Rule, values: np.ndarray[Any, Any], most: int
) -> tuple[str, looks.Estimate]:
    """Where a sweep over these values stops."""
    draws: list[float] = values.tolist()
    verdict, found = "open", looks.estimate(draws[:2], 0.95)
    for look, seeds in enumerate(rule.looks(), start=1):
        if seeds > most:
            break
        verdict, found = rule.judge(draws[:seeds], look)
        if verdict != "open":
            break
    return verdict, found


EDGE = math.log1p(0.01)
Draw: TypeAlias = Callable[[np.random.Generator, int], np.ndarray[Any, Any]]


def of_normal(spread: float) -> Draw:
    return lambda random, count: random.normal(0, spread, count)


def of_pool(cell: str) -> Draw:
    """Differences of real seeds from their mean."""
    logs = np.array(json.loads(pool.FILE.read_text())[cell])
    return lambda random, count: random.choice(logs - logs.mean(), count)


# What is drawn around an effect, and the shares of sweeps that may decide wrongly and miss.
DRAWN = [
    pytest.param(of_normal(0.03), 0.05, 0.07, id="normal"),
    pytest.param(of_normal(0.12), 0.05, 0.07, id="wide normal"),
    *(pytest.param(of_pool(cell), 0.07, 0.08, id=cell) for cell in pool.CELLS),
]


@pytest.mark.parametrize("effect", [0.0, EDGE, -EDGE])
@pytest.mark.parametrize(("drawn", "most_wrong", "_"), DRAWN)
def test_decisions_are_rarely_wrong(
    drawn: Draw, most_wrong: float, _: float, effect: float
) -> None:
    random = np.random.default_rng(7)
    # At the border "no effect" is true as well as its sign; without one a sign is wrong.
    wrong = ("higher", "lower") if effect == 0 else ("lower",) if effect > 0 else ("higher",)
    rule = looks.Decided(0.01)
    told = [outcome(rule, effect + drawn(random, 640), 640)[0] for _ in range(SWEEPS)]
    assert sum(verdict in wrong for verdict in told) <= most_wrong * SWEEPS


@pytest.mark.parametrize(("drawn", "most_wrong", "_"), DRAWN)
def test_just_beyond_the_border_no_effect_is_rarely_told(
    drawn: Draw, most_wrong: float, _: float
) -> None:
    random = np.random.default_rng(8)
    rule, effect = looks.Decided(0.01), 1.0001 * EDGE
    told = [outcome(rule, effect + drawn(random, 640), 640)[0] for _ in range(SWEEPS)]
    assert told.count("no effect") + told.count("lower") <= most_wrong * SWEEPS


@pytest.mark.parametrize(("drawn", "__", "most_missed"), DRAWN)
def test_narrow_intervals_rarely_miss(drawn: Draw, __: float, most_missed: float) -> None:
    random = np.random.default_rng(9)
    missed = 0
    for _ in range(SWEEPS):
        found = outcome(looks.Narrow(0.05), 0.2 + drawn(random, 400), 400)[1]
        missed += abs(found.mean - 0.2) > found.half_width
    assert missed <= most_missed * SWEEPS


def test_the_pool_is_of_real_seeds() -> None:
    kept = json.loads(pool.FILE.read_text())
    assert {cell: len(logs) for cell, logs in kept.items()} == dict.fromkeys(pool.CELLS, pool.SEEDS)
    assert pool.ratios(3) == {cell: logs[:3] for cell, logs in kept.items()}
