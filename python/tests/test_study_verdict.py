from __future__ import annotations

import math

import pytest

from fctlab.studies.framework.verdict import (
    MOST_SEEDS,
    Apart,
    Band,
    Bound,
    Computed,
    Estimate,
    Exact,
    Expectation,
    Finding,
    Number,
    Range,
    Sign,
    Verdict,
    Within,
    agreeing,
    estimate,
    half_width,
    judge,
    judge_bounds,
    seeds_for,
    seeds_needed,
    span,
    weakest,
)

# Logarithms 0.1, 0.2, 0.3, 0.4, 0.5: mean 0.3, standard deviation sqrt(0.025) = 0.158114.
# t(0.975, 4 degrees) = 2.776445, so the half-width is 2.776445 x 0.158114 / sqrt(5) = 0.196324.
FIVE = [math.exp(x) for x in (0.1, 0.2, 0.3, 0.4, 0.5)]


def close(found: Estimate | None, point: float, low: float, high: float) -> None:
    assert found is not None
    assert (found.point, found.low, found.high) == pytest.approx((point, low, high), abs=2e-4)


def test_the_estimate_is_the_t_interval_of_the_logarithm() -> None:
    close(estimate(FIVE), math.exp(0.3), math.exp(0.103676), math.exp(0.496324))
    # 1 and 4: logarithms 0 and 1.386294, mean 0.693147 (2x), deviation 0.980258;
    # t(0.975, 1 degree) = 12.7062: half-width 12.7062 x 0.980258 / sqrt(2) = 8.80735.
    found = estimate([1, 4])
    assert found is not None and found.point == pytest.approx(2)
    assert math.log(found.high) == pytest.approx(0.693147 + 8.80735, abs=1e-3)
    # Ratios turned upside down give the interval turned upside down.
    close(estimate([1 / r for r in FIVE]), math.exp(-0.3), math.exp(-0.496324), math.exp(-0.103676))


def test_estimates_of_little() -> None:
    assert estimate([2.0]) == Estimate(2.0, 0.0, math.inf, 1)
    close(estimate([1.5, 1.5, 1.5]), 1.5, 1.5, 1.5)
    for nothing in ([], [1.0, 0.0], [1.0, -1.0], [1.0, math.nan], [math.inf, 1.0]):
        assert estimate(nothing) is None
        found = judge(nothing, Sign(1))
        assert found.verdict is Verdict.UNDECIDED and not found.settled


# FIVE is 1.35x with the interval 1.109 to 1.643.
@pytest.mark.parametrize(
    ("expected", "verdict"),
    [
        (Number(1.4), Verdict.AGREES),  # 1.3 to 1.5 agree
        (Number(1.47), Verdict.DIRECTION),  # 1.3525 to 1.5875 agree, 1.34986 does not
        (Number(1.466), Verdict.AGREES),  # 1.3495 to 1.5825
        (Number(9.7), Verdict.DIRECTION),
        (Number(0.9), Verdict.DIFFERS),
        (Range(1.2, 1.4), Verdict.AGREES),
        (Range(3), Verdict.DIRECTION),
        (Range(0.5, 0.9), Verdict.DIFFERS),
        (Sign(1), Verdict.AGREES),
        (Sign(-1), Verdict.DIFFERS),
        (Band(1.1, 1.7), Verdict.AGREES),
        (Band(1.2, 1.5), Verdict.DIRECTION),
        (Band(0.9, 1.2), Verdict.UNDECIDED),
        (Band.within(0.1), Verdict.DIFFERS),
        (Band(0.95, math.inf), Verdict.AGREES),
    ],
)
def test_verdicts(expected: Expectation, verdict: Verdict) -> None:
    assert judge(FIVE, expected).verdict is verdict


def test_an_interval_that_holds_one_is_undecided_whatever_the_point() -> None:
    wide = [0.8, 2.0, 1.1, 2.5, 0.9]
    for expected in (Number(1.3), Range(1.2, 1.5), Sign(1), Sign(-1)):
        found = judge(wide, expected)
        assert found.verdict is Verdict.UNDECIDED
        assert found.seeds_needed is not None and found.seeds_needed > 5


def test_one_seed_settles_nothing_but_an_equivalence_keeps_its_direction() -> None:
    assert judge([9.7], Number(9.7)).verdict is Verdict.UNDECIDED
    assert judge([9.7], Number(9.7)).seeds_needed is None
    assert judge([1.01], Band.within(0.05)).verdict is Verdict.DIRECTION


def test_seeds_needed() -> None:
    # Deviation 0.158114 around 0.05: n = 41 gives t(40) = 2.02108 and 0.049906, n = 40 gives
    # t(39) = 2.02269 and 0.050567.
    ratios = [math.exp(x - 0.25) for x in (0.1, 0.2, 0.3, 0.4, 0.5)]
    assert seeds_needed(ratios, 1.0) == 41
    assert judge(ratios, Sign(1)).seeds_needed == 41
    # An equivalence waits for the nearer end of its band: 0.09531 - 0.05 = 0.04531;
    # n = 50 gives t(49) = 2.00958 and 0.044935, n = 49 gives 2.01063 and 0.045415.
    assert judge(ratios, Band.within(0.1)).seeds_needed == 50
    assert seeds_needed([math.exp(-1), math.exp(1)], 1.0) is None  # the point is on the border
    assert seeds_needed([2.0], 1.0) is None


def test_what_is_settled_needs_no_more_seeds() -> None:
    for expected in (Number(1.4), Number(9.7), Sign(-1), Band(1.1, 1.7), Band.within(0.1)):
        assert judge(FIVE, expected).seeds_needed is None


def test_computed_numbers() -> None:
    assert judge([12], Exact(12)).verdict is Verdict.AGREES
    assert judge([11], Exact(12)).verdict is Verdict.DIFFERS
    assert judge([1334], Exact(1400, tolerance=0.05)).verdict is Verdict.AGREES
    assert judge([1334], Exact(1400, tolerance=0.04)).verdict is Verdict.DIFFERS


def test_a_claim_is_as_good_as_its_weakest_part() -> None:
    computed, agrees, direction, undecided, differs = Verdict
    assert weakest([computed]) is computed and weakest([computed, agrees]) is agrees
    assert weakest([agrees]) is agrees
    assert weakest([agrees, direction]) is direction
    assert weakest([undecided, direction, agrees]) is undecided
    assert weakest([agrees, differs, undecided]) is differs


def test_an_expectation_on_both_sides_of_no_effect_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="both sides"):
        judge(FIVE, Range(0.9, 1.2))


def test_what_was_not_computed_is_undecided() -> None:
    for values in ([], [math.nan], [1.0, math.nan]):
        found = judge(values, Within(0))
        assert found.verdict is Verdict.UNDECIDED and not found.settled


# What `make trust STEPS=verdicts` makes wrong in `verdict.py`, and nothing above notices.

BELOW = [1 / r for r in FIVE]
TWICE = [2.0, 2.0]
"""An interval of one point, 2 exactly."""


@pytest.mark.parametrize(
    ("ratios", "expected", "verdict"),
    [
        (BELOW, Sign(1), Verdict.DIFFERS),
        (BELOW, Sign(-1), Verdict.AGREES),
        ([1.0, 1.0], Sign(1), Verdict.UNDECIDED),  # the interval ends at 1
        (TWICE, Range(2.0, 3.0), Verdict.AGREES),  # ends of what is said belong to it
        (TWICE, Range(1.5, 2.0), Verdict.AGREES),
        (TWICE, Band(2.0, 3.0), Verdict.AGREES),
        (TWICE, Band(1.5, 2.0), Verdict.AGREES),
        ([2.0], Band(2.0, 3.0), Verdict.DIRECTION),
        ([2.0], Band(1.5, 2.0), Verdict.DIRECTION),
        ([2.0], Band(2.1, 3.0), Verdict.UNDECIDED),
        (TWICE, Band(2.1, 3.0), Verdict.DIFFERS),
        (TWICE, Band(1.0, 1.9), Verdict.DIFFERS),
    ],
)
def test_verdicts_at_the_ends(ratios: list[float], expected: Expectation, verdict: Verdict) -> None:
    assert judge(ratios, expected).verdict is verdict


def test_an_interval_that_touches_a_band_is_not_outside() -> None:
    found = estimate(FIVE)
    assert found is not None
    assert judge(FIVE, Band(found.high, 10.0)).verdict is Verdict.UNDECIDED
    assert judge(FIVE, Band(0.1, found.low)).verdict is Verdict.UNDECIDED


# Of 0.5, 0.667 to 1.5 are near.
@pytest.mark.parametrize(
    ("ratios", "verdict"),
    [
        ([1.1, 1.1], Verdict.DIFFERS),
        ([1.5, 1.5], Verdict.DIFFERS),
        ([0.9, 0.9], Verdict.DIFFERS),
        ([0.6, 0.6], Verdict.AGREES),
        ([0.8, 2.0, 1.1, 2.5, 0.9], Verdict.UNDECIDED),
        ([0.8, 0.5, 0.9, 0.4, 1.1], Verdict.UNDECIDED),
        (FIVE, Verdict.DIRECTION),  # 1.109 to 1.643
        (BELOW, Verdict.DIRECTION),
        ([1.9, 2.0, 2.1], Verdict.AGREES),
        ([0.5, 0.52, 0.48], Verdict.AGREES),
    ],
)
def test_verdicts_on_what_is_apart(ratios: list[float], verdict: Verdict) -> None:
    assert judge(ratios, Apart(0.5)).verdict is verdict


def test_what_is_just_far_enough_is_apart() -> None:
    found = estimate(FIVE)
    assert found is not None
    assert judge(FIVE, Apart(found.point - 1)).verdict is Verdict.AGREES
    end = Band.within(1.0).low  # 0.5 exactly, which is still near
    assert judge([end, end], Apart(1.0)).verdict is Verdict.DIFFERS
    wide = [0.8, 2.0, 1.1, 2.5, 0.9]
    assert judge(wide, Apart(0.1)).seeds_needed == seeds_needed(wide, 1.0)


def test_seeds_for_the_end_of_a_band_that_is_nearer() -> None:
    ratios = [math.exp(x - 0.25) for x in (0.1, 0.2, 0.3, 0.4, 0.5)]
    upside_down = [1 / r for r in ratios]
    assert judge(upside_down, Band.within(0.1)).seeds_needed == 50
    for band, nearer in (
        (Band(0.9, math.inf), 0.9),
        (Band(0.0, 1.2), 1.2),
        (Band(0.5, 1.2), 1.2),
        (Band(0.9, 3.0), 0.9),
    ):
        assert judge(ratios, band).seeds_needed == seeds_needed(ratios, nearer)


def test_seeds_for_a_distance_that_is_just_reached() -> None:
    assert seeds_needed([math.exp(0.1), math.exp(0.2)], 1.0) is not None
    # Logarithms -1 and 1.
    ratios, spread = [math.exp(-1), math.exp(1)], math.sqrt(2)
    assert seeds_for(ratios, half_width(spread, MOST_SEEDS)) is None
    assert seeds_for(ratios, half_width(spread, MOST_SEEDS - 1)) == MOST_SEEDS
    assert seeds_for(ratios, half_width(spread, 41)) == 42
    assert half_width(1.0, 1) == math.inf > half_width(1.0, 2)


@pytest.mark.parametrize(
    ("effects", "expected", "bound", "verdict"),
    [
        (FIVE, Number(1.4), Bound.NONE, Verdict.AGREES),
        (FIVE, Sign(1), Bound.LOWER, Verdict.AGREES),
        (FIVE, Number(1.4), Bound.LOWER, Verdict.DIRECTION),
        (FIVE, Sign(1), Bound.UPPER, Verdict.UNDECIDED),
        (BELOW, Sign(-1), Bound.UPPER, Verdict.AGREES),
        (BELOW, Sign(-1), Bound.LOWER, Verdict.UNDECIDED),
        (FIVE, Within(0), Bound.NOT_KNOWN, Verdict.UNDECIDED),
        # Further on is towards nothing where a number is negative.
        ([-1.0], Within(-2, 0), Bound.LOWER, Verdict.AGREES),
        ([-1.0], Within(-2, 0), Bound.UPPER, Verdict.UNDECIDED),
        ([0.0], Within(-2, 0), Bound.LOWER, Verdict.AGREES),
        ([1.0], Within(0, 2), Bound.LOWER, Verdict.UNDECIDED),
    ],
)
def test_verdicts_on_lower_bounds(
    effects: list[float], expected: Expectation, bound: Bound, verdict: Verdict
) -> None:
    found = judge_bounds(effects, expected, bound)
    assert (found.verdict, found.bound) == (verdict, bound)
    assert found.estimate == judge(effects, expected).estimate


def test_bounds_of_what_rests_on_two() -> None:
    for one in Bound:
        assert one | Bound.NONE is one and Bound.NONE | one is one and one | one is one
        assert one | Bound.NOT_KNOWN is Bound.NOT_KNOWN
    assert Bound.LOWER | Bound.UPPER is Bound.NOT_KNOWN
    assert [each.mark for each in Bound] == ["", ">", "<", "?"]
    with pytest.raises(TypeError):
        Bound.LOWER | "text"


def test_from_where_to_where() -> None:
    assert span(Number(9.7)) == (9.7, 9.7)
    assert span(Range(3)) == (3, None) and span(Range(1.2, 1.5)) == (1.2, 1.5)
    assert span(Band(0.0, 1.2)) == (None, 1.2)
    assert span(Sign(1)) is None and span(Exact(12)) is None
    assert agreeing(Sign(1)) == (1.0, math.inf) and agreeing(Sign(-1)) == (0.0, 1.0)
    assert agreeing(Number(3.0)) == (2.5, 3.5) and agreeing(Number(0.5)) == (0.375, 0.625)
    assert agreeing(Range(1.0, 2.0)) == (1.0, 2.0) and agreeing(Range(0.5, 1.0)) == (0.5, 1.0)
    assert Band.within(0.25) == Band(0.8, 1.25)


def test_numbers_that_are_read_off() -> None:
    found = judge([1.0, 2.0, 6.0], Within(1.0, 6.0))
    assert found == Finding(Verdict.AGREES, Estimate(3.0, 1.0, 6.0, 3))
    assert found.settled
    assert judge([1.0, 2.0, 6.0], Within(1.1)).verdict is Verdict.DIFFERS
    assert judge([1.0, 2.0, 6.0], Within(high=6.0)).verdict is Verdict.AGREES
    assert judge([-12.0], Exact(-10.0, tolerance=0.25)).verdict is Verdict.AGREES
    assert judge([12], Computed(12)).verdict is Verdict.COMPUTED
    assert judge([13], Computed(12)).verdict is Verdict.DIFFERS
    assert judge([13], Computed(12, tolerance=0.05)).verdict is Verdict.DIFFERS


def test_what_was_found_never_changes() -> None:
    said = (Number(2), Range(2), Sign(1), Band(1, 2), Apart(0.1), Exact(1), Within(), Computed(1))
    assert len({*said, judge(FIVE, Sign(1))}) == len(said) + 1
