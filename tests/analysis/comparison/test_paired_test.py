"""The statistics of pairs, against scipy and against what is known of them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
import pytest
import scipy

from benchmarker.analysis.comparison.paired_test import (
    MAX_EXACT,
    Paired,
    hodges_lehmann,
    paired,
    power,
    signed_rank,
    smallest_effect,
)
from benchmarker.analysis.comparison.verdict import judge
from benchmarker.statistics import holm, student_t_tail


def pairs(*ratios: float) -> Paired:
    found = paired([1.0] * len(ratios), ratios)
    assert found is not None
    return found


def spread(count: int, centre: float, deviation: float) -> Paired:
    """Return pairs with exactly this centre and spread."""
    values = np.asarray(scipy.stats.norm.ppf((np.arange(count) + 0.5) / count))
    values = (values - values.mean()) / values.std(ddof=1)
    return pairs(*np.exp(math.log(centre) + deviation * values).tolist())


# --- ranks ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [3, 6, 10, MAX_EXACT])
@pytest.mark.parametrize("shift", [-0.5, 0.0, 0.4])
def test_the_signed_rank_test_is_exact_for_few_pairs(count: int, shift: float) -> None:
    values = np.random.default_rng(5).normal(shift, 1, count)
    found = signed_rank(values.tolist())
    assert found.p == pytest.approx(scipy.stats.wilcoxon(values, method="exact").pvalue)


def test_with_ties_it_counts_all_ways_to_give_signs() -> None:
    values = [1.0, 1.0, -2.0, 3.0, 3.0, 3.0, -4.0]
    ranks = scipy.stats.rankdata(np.abs(values))
    observed = abs(sum(math.copysign(r, v) for r, v in zip(ranks, values)))
    every = [abs(float(np.dot(signs, ranks))) for signs in itertools.product((-1, 1), repeat=len(values))]
    expected = sum(one >= observed for one in every) / len(every)
    assert signed_rank([*values, 0.0]).p == pytest.approx(expected)


def test_beyond_it_is_the_normal_distribution_of_these_ranks() -> None:
    values = np.round(np.random.default_rng(5).normal(0.2, 1, 80), 1)
    values = values[values != 0]
    found = signed_rank(values.tolist())
    assert found.p == pytest.approx(scipy.stats.wilcoxon(values, method="asymptotic").pvalue)
    assert found.direction == 1


def test_the_direction_is_that_of_the_larger_ranks() -> None:
    assert signed_rank([-3.0, 1.0]).direction == -1
    assert signed_rank([-3.0, 1.0, 4.0]).direction == 1
    assert signed_rank([-3.0, 1.0, 1.5]).direction == 0
    assert signed_rank([0.0, 0.0]).direction == 0
    assert signed_rank([0.0]).p == 1


def test_the_hodges_lehmann_shift_is_the_median_of_the_walsh_averages() -> None:
    values = np.random.default_rng(5).normal(0, 1, 9).tolist()
    walsh = [(x + y) / 2 for x, y in itertools.combinations_with_replacement(values, 2)]
    assert hodges_lehmann(values) == pytest.approx(np.median(walsh))
    assert hodges_lehmann([1.0, 1.1, 0.9, 100.0]) < 1.2


# --- Student's t -----------------------------------------------------------------------------------


@pytest.mark.parametrize("degrees", [1, 2, 9, 30, 501])
@pytest.mark.parametrize("value", [-3.0, 0.0, 0.7, 2.5, 8.0])
def test_the_tail_of_students_t(degrees: int, value: float) -> None:
    assert student_t_tail(value, degrees) == pytest.approx(scipy.stats.t.sf(value, degrees), abs=1e-12)


def test_the_tail_beyond_everything_is_nothing() -> None:
    assert student_t_tail(math.inf, 3) == 0
    assert student_t_tail(-math.inf, 3) == 1
    with pytest.raises(ValueError, match="at least 1"):
        student_t_tail(1.0, 0)


def test_the_ratio_and_its_interval_are_those_of_a_paired_t_test() -> None:
    draw = np.random.default_rng(5)
    first, other = np.exp(draw.normal(0, 0.1, 12)), np.exp(draw.normal(0.05, 0.1, 12))
    found = paired(first.tolist(), other.tolist())
    expected = scipy.stats.ttest_rel(np.log(other), np.log(first))
    interval = expected.confidence_interval()
    assert found is not None
    assert found.ratio == pytest.approx(math.exp(np.mean(np.log(other / first))))
    assert found.ci95 == pytest.approx((math.exp(interval.low), math.exp(interval.high)))
    assert 2 * min(found.p_above(1), found.p_below(1)) == pytest.approx(expected.pvalue)
    assert found.deviation == pytest.approx(np.std(np.log(other / first), ddof=1))


def test_two_pairs_say_nothing() -> None:
    assert paired([1.0, 1.0], [2.0, 2.1]) is None


def test_pairs_that_are_all_alike_leave_no_doubt() -> None:
    found = pairs(1.05, 1.05, 1.05)
    assert (found.p_above(1.02), found.p_below(1.02)) == (0, 1)
    assert judge([found], [0.02])[0].verdict == "slower"
    assert judge([pairs(1.0, 1.0, 1.0)], [0.02])[0].verdict == "equivalent"


def test_ranks_that_point_the_other_way_are_told() -> None:
    """Most pairs are faster, but one so much slower that the mean is above 1."""
    found = pairs(*[0.97 + 0.001 * i for i in range(13)], 2.5)
    assert found.ratio > 1 > found.hodges_lehmann
    assert found.non_normal is True
    assert spread(10, 1.1, 0.02).non_normal is False


def test_directions_do_not_matter_where_nothing_is_shown() -> None:
    assert pairs(0.99, 1.02, 0.995, 1.0, 1.001).non_normal is False


# --- verdicts --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("centre", "deviation", "verdict"),
    [
        (1.10, 0.02, "slower"),
        (0.90, 0.02, "faster"),
        (1.001, 0.01, "equivalent"),
        (1.10, 0.20, "inconclusive"),
        (1.02, 0.01, "inconclusive"),
        (1.032, 0.02, "inconclusive"),
        (1.03, 0.001, "slower"),
        (1.015, 0.001, "equivalent"),
    ],
)
def test_the_verdict_is_where_the_whole_interval_lies(centre: float, deviation: float, verdict: str) -> None:
    row = spread(10, centre, deviation)
    low, high = row.ci95
    beyond = "slower" if low > 1.02 else "faster" if high < 1 / 1.02 else None
    inside = "equivalent" if low > 1 / 1.02 and high < 1.02 else "inconclusive"
    assert judge([row], [0.02])[0].verdict == verdict == (beyond or inside)


def test_a_wider_margin_makes_equivalent_what_was_slower() -> None:
    row = spread(10, 1.05, 0.01)
    assert [judge([row], [margin])[0].verdict for margin in (0.02, 0.10)] == ["slower", "equivalent"]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0.01], [0.01]),
        ([0.01, 0.04, 0.03], [0.03, 0.06, 0.06]),
        ([0.9, 0.8], [1.0, 1.0]),
        ([0.02, 0.02], [0.04, 0.04]),
        ([], []),
    ],
)
def test_holm(values: Sequence[float], expected: Sequence[float]) -> None:
    assert holm(values) == pytest.approx(expected)


def test_what_one_row_shows_many_need_not() -> None:
    nearly = spread(10, 1.037, 0.02)
    alone = judge([nearly], [0.02])[0]
    assert alone.verdict == "slower"
    noise = spread(10, 1.0, 0.2)
    among = judge([nearly, *[noise] * 9], [0.02] * 10)[0]
    assert among.verdict == "inconclusive"
    assert among.p_adjusted == pytest.approx(10 * alone.p)
    clear = spread(10, 1.3, 0.02)
    assert judge([clear, *[noise] * 9], [0.02] * 10)[0].verdict == "slower"


# --- power -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [3, 5, 10, 30, 200])
@pytest.mark.parametrize("errors", [0.5, 2.0, 4.0])
def test_the_power_is_that_of_a_noncentral_t(count: int, errors: float) -> None:
    effect = errors * 0.05 / math.sqrt(count)
    critical = scipy.stats.t.ppf(0.975, count - 1)
    expected = scipy.stats.nct.sf(critical, count - 1, errors)
    assert power(effect, 0.05, count) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("count", [3, 10, 40])
def test_the_smallest_effect_is_seen_in_four_of_five(count: int) -> None:
    assert power(smallest_effect(0.03, count), 0.03, count) == pytest.approx(0.8, abs=1e-6)
    assert smallest_effect(0.0, count) == 0
    assert smallest_effect(0.03, count, level=0.01) > smallest_effect(0.03, count)
