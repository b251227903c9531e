"""Times to a target, some censored: medians, means, exact intervals and the log-rank test, against known values."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from benchmarker.analysis.comparison import censored
from benchmarker.analysis.comparison.censored import (
    Time,
    least_paired_p,
    log_rank_p,
    median_interval,
    median_time,
    olympic_mean,
    paired_log_rank_p,
    share_interval,
)
from benchmarker.statistics import holm


def times(*values: float) -> list[Time]:
    """Return times, negative ones of runs that did not reach the target."""
    return [Time(abs(value), value > 0) for value in values]


def test_a_run_that_missed_is_slower_than_all() -> None:
    assert median_time(times(3, 1, 2)) == 2
    assert median_time(times(3, 1, -1)) == 3
    assert median_time(times(1, -2, -3)) == math.inf


@pytest.mark.parametrize(
    ("runs", "ends"),
    [(6, (1, 6)), (8, (1, 8)), (9, (2, 8)), (10, (2, 9)), (15, (4, 12)), (20, (6, 15)), (50, (18, 33))],
)
def test_the_median_has_the_interval_of_the_sign_test(runs: int, ends: tuple[int, int]) -> None:
    """Against the ranks of published tables for 95 %."""
    assert median_interval(times(*range(runs, 0, -1))) == ends


def test_too_few_runs_have_no_interval() -> None:
    assert median_interval(times(1, 2, 3, 4, 5)) is None
    assert median_interval(times(1, 2, 3, 4, 5), confidence=0.9) == (1, 5)
    assert median_interval([]) is None


def test_runs_that_missed_open_the_interval() -> None:
    assert median_interval(times(1, 2, 3, 4, 5, -1)) == (1, math.inf)
    assert median_interval(times(*range(1, 10), -3)) == (2, 9)
    assert median_interval(times(-9, -9, -9, -9, -9, -9)) == (math.inf, math.inf)


@pytest.mark.parametrize("runs", [6, 10, 17, 33])
def test_the_interval_covers_the_median_as_often_as_it_says(runs: int) -> None:
    binom = pytest.importorskip("scipy.stats").binom
    low, high = median_interval(times(*range(1, runs + 1))) or (0, 0)
    assert low + high == runs + 1
    assert binom.cdf(high - 1, runs, 0.5) - binom.cdf(low - 1, runs, 0.5) >= 0.95
    assert binom.cdf(high - 2, runs, 0.5) - binom.cdf(low, runs, 0.5) < 0.95


def test_the_olympic_mean_drops_both_ends() -> None:
    assert olympic_mean(times(1, 2, 4, 100)) == 3
    assert olympic_mean(times(1, 2, 4, -5)) == 3
    assert olympic_mean(times(1, 2, -4, -5)) == math.inf
    assert olympic_mean(times(1, 2)) is None


@pytest.mark.parametrize(
    ("reached", "runs", "low", "high"),
    [
        (0, 10, 0.0, 0.30849710),
        (10, 10, 0.69150290, 1.0),
        (9, 10, 0.55498390, 0.99747142),
        (3, 3, 0.29240177, 1.0),
        (5, 20, 0.08657147, 0.49104587),
    ],
)
def test_shares_have_the_exact_interval(reached: int, runs: int, low: float, high: float) -> None:
    assert share_interval(reached, runs) == pytest.approx((low, high), abs=1e-7)


def test_the_interval_is_that_of_the_beta_distribution() -> None:
    beta = pytest.importorskip("scipy.stats").beta
    for reached in range(1, 12):
        low, high = share_interval(reached, 12)
        assert low == pytest.approx(beta.ppf(0.025, reached, 13 - reached), abs=1e-9)
        assert high == pytest.approx(
            beta.ppf(0.975, reached + 1, 12 - reached) if reached < 12 else 1.0, abs=1e-9
        )


def test_log_rank_by_hand() -> None:
    # Of 6 arrangements of 2 and 2 runs, two are as far apart as these.
    assert log_rank_p(times(1, 2), times(3, 4)) == pytest.approx(2 / 6)
    assert log_rank_p(times(1, 1), times(1, 1)) == 1.0


def test_equal_groups_are_not_told_apart_and_far_ones_are() -> None:
    group = times(10, 12, 14, 16, 18)
    assert log_rank_p(group, group) == 1.0
    assert log_rank_p(group, times(20, 22, 24, 26, 28)) == pytest.approx(2 / math.comb(10, 5))
    assert log_rank_p(group, times(-100, -100, -100, -100, -100)) < 0.01


def test_drawn_arrangements_agree_with_all(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = times(3, 5, 7, -9, 2, 8), times(4, 6, 9, -9, 11, 12)
    exact = log_rank_p(first, second)
    monkeypatch.setattr(censored, "MAX_ARRANGEMENTS", 1)
    assert log_rank_p(first, second) == pytest.approx(exact, abs=0.02)
    assert log_rank_p(first, second) == log_rank_p(first, second)


def test_groups_of_very_different_sizes_take_no_longer() -> None:
    many = times(*range(1, 400))
    assert log_rank_p(times(500), many) == pytest.approx(1 / 400)
    assert log_rank_p(many, times(500)) == pytest.approx(1 / 400)


def test_pairs_by_hand() -> None:
    # Of 8 arrangements within 3 pairs, two are as far apart as these.
    assert paired_log_rank_p(times(1, 3, 5), times(2, 4, 6)) == pytest.approx(2 / 8)
    assert paired_log_rank_p(times(1, 3, 5), times(1, 3, 5)) == 1.0
    assert paired_log_rank_p(times(1, 3, 5), times(-9, -9, -9)) == least_paired_p(3)


def test_drawn_arrangements_within_pairs_agree_with_all(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = times(3, 5, 7, -9, 2, 8, 11), times(4, 6, 9, -9, 3, 7, 14)
    exact = paired_log_rank_p(first, second)
    monkeypatch.setattr(censored, "MAX_ARRANGEMENTS", 1)
    assert paired_log_rank_p(first, second) == pytest.approx(exact, abs=0.02)


def drawn_pairs(generator: np.random.Generator, ratio: float) -> tuple[list[Time], list[Time]]:
    """Return times of two groups that share most of what their seeds make of them, censored at a limit."""
    seeds = generator.normal(0.0, 0.4, 8)
    own = np.exp(seeds + generator.normal(0.0, 0.1, (2, 8))) * np.array([[1.0], [ratio]])
    first, second = ([Time(min(float(time), 1.5), time < 1.5) for time in times] for times in own)
    return first, second


def share_shown(test: Callable[[list[Time], list[Time]], float], ratio: float, campaigns: int) -> float:
    """Return the share of drawn campaigns in which a test shows a difference at 5 %."""
    generator = np.random.default_rng(7)
    return sum(test(*drawn_pairs(generator, ratio)) < 0.05 for _ in range(campaigns)) / campaigns


def test_at_most_one_in_twenty_campaigns_without_a_difference_shows_one() -> None:
    campaigns = 2000
    slack = 3.0 * math.sqrt(0.05 * 0.95 / campaigns)
    assert share_shown(paired_log_rank_p, 1.0, campaigns) <= 0.05 + slack
    # Without pairs it would show too few: seeds are taken for noise.
    assert share_shown(log_rank_p, 1.0, 200) < 0.01


def test_pairs_show_what_seeds_would_hide() -> None:
    assert share_shown(paired_log_rank_p, 1.2, 200) > share_shown(log_rank_p, 1.2, 200) + 0.3


def test_one_side_alone_may_count() -> None:
    slow, quick = times(20, 22, 24, 26), times(10, 12, 14, 16)
    assert log_rank_p(quick, slow, faster=True) == pytest.approx(1 / math.comb(8, 4))
    assert log_rank_p(slow, quick, faster=True) == 1.0


def test_holm_corrects_for_the_number_of_tests() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.6, 0.7]) == [1.0, 1.0]
    assert holm([]) == []
