"""Checks of honesty A3, B1 to B7: the statistics recover a truth that is known; each check finds a planted fault.

Each check takes the procedure under test as an argument, and is also made with one that is known to be wrong.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import cast

import numpy as np
import pytest
import scipy

from benchmarker.experiment.precision import PROFILES, Precision
from benchmarker.experiment.replication import count_for, decide, order
from benchmarker.records.steady_state import detect
from benchmarker.statistics import across_processes, describe, paired_ratio, student_t_interval, summarise
from tests.support.step_times import Array, process_effects, steps, true_median

Interval = tuple[float, float]


def honest(share: float) -> bool:
    """Return whether an interval that is called 95 % covers the truth as often as that."""
    return 0.93 <= share <= 0.97


def covers(interval: Interval | None, truth: float) -> bool:
    assert interval is not None
    return interval[0] <= truth <= interval[1]


def pooled(samples: Sequence[float]) -> Interval:
    """Return the interval of the median by order statistics, as if the samples were independent."""
    ordered, rank = np.sort(samples), rank_of_end(len(samples))
    return float(ordered[rank - 1]), float(ordered[-rank])


@functools.cache
def rank_of_end(count: int) -> int:
    """Return which of so many independent samples the interval of their median begins with."""
    return int(scipy.stats.binom.ppf(0.025, count, 0.5))


# --- A3: every statistic follows from the samples --------------------------------------------------


@pytest.mark.parametrize("count", [1, 2, 13, 300])
def test_a3_statistics_follow_from_the_samples_as_they_are_stored(count: int) -> None:
    samples = steps(np.random.default_rng(count), np.zeros(1), count)[0].tolist()
    stored = json.loads(json.dumps({"samples": samples, "statistics": describe(samples)}))
    assert describe(stored["samples"]) == stored["statistics"]
    assert summarise(stored["samples"]) == summarise(samples)


# --- B1: the interval covers the truth -------------------------------------------------------------

CAMPAIGNS = 2000
STEPS = 40


@functools.cache
def campaigns(processes: int) -> Array:
    """Return the steps of many campaigns: by campaign, process and step."""
    draw = np.random.default_rng(processes)
    return steps(draw, process_effects(draw, CAMPAIGNS, processes), STEPS)


def between(times: Array) -> Interval | None:
    return across_processes(np.median(times, axis=1).tolist()).ci95


def pooled_steps(times: Array) -> Interval | None:
    return pooled(times.ravel().tolist())


def coverage_between(processes: int, estimate: Callable[[Array], Interval | None]) -> float:
    """Return how often an interval from several processes covers the median step of the median process."""
    truth = true_median()
    return sum(covers(estimate(times), truth) for times in campaigns(processes)) / CAMPAIGNS


@pytest.mark.parametrize("processes", [5, 10, 20])
def test_b1_the_interval_between_processes_covers_the_truth(processes: int) -> None:
    assert honest(coverage_between(processes, between))


@pytest.mark.parametrize("processes", [5, 10, 20])
def test_b1_would_find_that_steps_of_processes_are_pooled(processes: int) -> None:
    assert coverage_between(processes, pooled_steps) < 0.7


RUNS = 400
SLOW = 30


def within(times: Array) -> Interval | None:
    return summarise(times.tolist()).ci95


def pooled_within(times: Array) -> Interval | None:
    return pooled(times.tolist())


def coverage_within(count: int, correlation: float, estimate: Callable[[Array], Interval | None]) -> float:
    """Return how often an interval from one process covers the median step of that process."""
    draw = np.random.default_rng(count)
    effects = process_effects(draw, RUNS)
    times = steps(draw, effects, count, correlation=correlation)
    return sum(covers(estimate(t), true_median(e)) for t, e in zip(times, effects.tolist())) / RUNS


@pytest.mark.parametrize("correlation", [0.0, 0.5])
@pytest.mark.parametrize("count", [20, 50, 100, 300, 600])
def test_b1_the_interval_within_a_process_covers_its_own_truth(count: int, correlation: float) -> None:
    assert honest(coverage_within(count, correlation, within))


@pytest.mark.parametrize("count", [20, 50, 100, 300, 600])
def test_b1_would_find_that_correlated_steps_are_taken_as_independent(count: int) -> None:
    assert coverage_within(count, 0.5, pooled_within) < 0.9


def whole_chain(times: Array) -> tuple[int, Interval | None]:
    start = detect(cast("Sequence[float]", times)).start
    return start, within(times[start:])


def nothing_cut(times: Array) -> tuple[int, Interval | None]:
    return 0, pooled_within(times)


def warm_runs(slower: float, judge: Callable[[Array], tuple[int, Interval | None]]) -> tuple[float, float]:
    """Return how often the end of 30 slow steps is found within 5 steps, and the truth is covered."""
    draw = np.random.default_rng(30)
    effects = process_effects(draw, RUNS)
    times = steps(draw, effects, SLOW + 100)
    times[:, :SLOW] *= slower
    found = [judge(t) for t in times]
    near = sum(abs(start - SLOW) <= 5 for start, _ in found)
    hits = sum(covers(interval, true_median(e)) for (_, interval), e in zip(found, effects.tolist()))
    return near / RUNS, hits / RUNS


@pytest.mark.parametrize("slower", [1.1, 1.5, 4.0])
def test_b1_a_warmup_is_cut_and_the_truth_behind_it_covered(slower: float) -> None:
    near, coverage = warm_runs(slower, whole_chain)
    assert near >= 0.95
    assert honest(coverage)


def test_b1_would_find_that_a_warmup_is_not_cut() -> None:
    near, coverage = warm_runs(1.5, nothing_cut)
    assert near == 0
    assert coverage < 0.9


# --- B2, B3: comparisons ---------------------------------------------------------------------------


def paired(a: Array, b: Array, margin: float = 0.0) -> bool:
    """Return whether pairs of processes differ by more than a margin, as far as the interval of their ratio says."""
    interval = paired_ratio(np.median(a, axis=1).tolist(), np.median(b, axis=1).tolist()).ci95
    return interval is not None and not (interval[0] <= 1 + margin and interval[1] >= 1 / (1 + margin))


def rank_test_of_steps(a: Array, b: Array) -> bool:
    return bool(scipy.stats.mannwhitneyu(a.ravel(), b.ravel()).pvalue < 0.05)


def alarms(differ: Callable[[Array, Array], bool], trials: int = CAMPAIGNS) -> float:
    """Return how often equal programs, each run in 10 processes, are called different."""
    return sum(differ(times[:10], times[10:]) for times in campaigns(20)[:trials]) / trials


def test_b2_equal_programs_are_seldom_called_different() -> None:
    assert alarms(paired) <= 0.06
    assert alarms(lambda a, b: paired(a, b, margin=0.02)) <= 0.01


def test_b2_would_find_that_steps_are_compared() -> None:
    assert alarms(rank_test_of_steps, trials=500) > 0.3


@pytest.mark.parametrize(("deviation", "half_width"), [(0.02, 0.02), (0.05, 0.05), (0.1, 0.05)])
def test_b3_a_known_difference_is_found_as_often_as_theory_says(deviation: float, half_width: float) -> None:
    pairs = count_for(deviation, half_width)
    draw = np.random.default_rng(pairs)
    a = np.exp(deviation * draw.standard_normal((1000, pairs)) + math.log(1.05))
    found = [paired_ratio(row.tolist(), [1.0] * pairs) for row in a]
    power = sum(ratio.ci95 is not None and ratio.ci95[0] > 1 for ratio in found) / len(found)
    shift = math.log(1.05) * math.sqrt(pairs) / deviation
    assert power == pytest.approx(
        scipy.stats.nct.sf(scipy.stats.t.ppf(0.975, pairs - 1), pairs - 1, shift), abs=0.05
    )
    widths = [ratio.half_width for ratio in found if ratio.half_width is not None]
    assert np.median(widths) <= half_width


# --- B4: stopping on precision ---------------------------------------------------------------------


def coverage_of_stopping(precision: Precision, deviation: float, trials: int = 2000) -> float:
    """Return how often the truth is covered by the interval that a campaign ends with."""
    draw = np.random.default_rng(precision.max_processes)
    hits = 0
    for medians in np.exp(deviation * draw.standard_normal((trials, precision.max_processes))).tolist():
        decision = next(
            decision
            for count in range(precision.min_processes, precision.max_processes + 1)
            if (decision := decide(precision, medians[:count], float(count))).stop_reason
        )
        hits += covers(decision.ci95, 1.0)
    return hits / trials


@pytest.mark.parametrize("share", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("profile", ["quick", "standard", "rigorous"])
def test_b4_stopping_on_precision_keeps_the_coverage(profile: str, share: float) -> None:
    precision = PROFILES[profile]
    assert coverage_of_stopping(precision, share * precision.half_width) >= 0.93


def test_b4_would_find_that_too_few_processes_suffice() -> None:
    assert coverage_of_stopping(replace(PROFILES["standard"], min_processes=3), 0.04) < 0.92


# --- B5: drift -------------------------------------------------------------------------------------


def blocked(cells: int, number: int, seed: int) -> list[int]:
    """Return the order of a campaign that runs one cell and then the other: the first half of rounds twice A."""
    return [0, 0] if number < ROUNDS // 2 else [1, 1]


ROUNDS = 10


def drift_alarms(arrange: Callable[[int, int, int], list[int]], trials: int = 500) -> float:
    """Return how often equal programs are called different on a machine that becomes 10 % slower meanwhile."""
    draw = np.random.default_rng(5)
    found = 0
    for trial in range(trials):
        arms: tuple[list[float], list[float]] = ([], [])
        sequence = [cell for number in range(ROUNDS) for cell in arrange(2, number, trial)]
        for place, cell in enumerate(sequence):
            slower = 1 + 0.1 * place / len(sequence)
            arms[cell].append(slower * math.exp(0.01 * draw.standard_normal()))
        found += not covers(paired_ratio(*arms).ci95, 1.0)
    return found / trials


def test_b5_drift_is_no_difference() -> None:
    assert drift_alarms(order) <= 0.05


def test_b5_would_find_that_programs_run_one_after_the_other() -> None:
    assert drift_alarms(blocked) > 0.5


def test_b5_would_find_that_one_program_is_always_first() -> None:
    assert drift_alarms(lambda cells, number, seed: [0, 1]) > 0.08


# --- B7: outliers (B6, the bank of courses, is tests/records/test_steady_state.py) --------------------------


def moved(statistic: Callable[[list[float]], float]) -> float:
    """Return by how much, relatively, one step that takes 50 times as long moves a statistic."""
    samples = steps(np.random.default_rng(7), np.zeros(1), 200)[0].tolist()
    spoiled = [*samples[:100], 50 * samples[100], *samples[101:]]
    return abs(statistic(spoiled) / statistic(samples) - 1)


def end_of_interval(end: int, samples: list[float]) -> float:
    interval = summarise(samples).ci95
    assert interval is not None
    return interval[end]


def test_b7_one_very_slow_step_shows_in_the_mean_and_the_maximum_alone() -> None:
    for end in (0, 1):
        assert moved(functools.partial(end_of_interval, end)) < 0.01
    assert moved(lambda samples: summarise(samples).median) < 0.01
    assert moved(lambda samples: summarise(samples).max) > 10
    assert moved(lambda samples: summarise(samples).mean) > 0.1
    samples = steps(np.random.default_rng(7), np.zeros(1), 200)[0]
    samples[100] *= 50
    assert detect(samples).kind == "flat"


def test_b7_would_find_an_interval_that_outliers_move() -> None:
    assert moved(lambda samples: student_t_interval(samples)[1]) > 0.01
