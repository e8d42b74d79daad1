from __future__ import annotations

import math

import pytest

from fctlab.studies.framework.verdict import (
    Band,
    Estimate,
    Exact,
    Expectation,
    Number,
    Range,
    Sign,
    Verdict,
    Within,
    estimate,
    judge,
    seeds_needed,
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
    for nothing in ([], [1.0, 0.0], [1.0, math.nan], [math.inf, 1.0]):
        assert estimate(nothing) is None
        assert judge(nothing, Sign(1)).verdict is Verdict.UNDECIDED


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
        assert judge(values, Within(0)).verdict is Verdict.UNDECIDED
