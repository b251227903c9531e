from __future__ import annotations

import math
import random
import subprocess
import sys

import numpy as np
import pytest

from benchmarker.statistics import (
    across_processes,
    describe,
    fewest_for_percentile,
    geometric_mean,
    median,
    paired_ratio,
    student_t_interval,
    student_t_quantile,
    summarise,
)


@pytest.mark.parametrize("count", [1, 2, 3, 6, 7, 100, 1001])
def test_raw_statistics_agree_with_numpy(count: int) -> None:
    values = np.random.default_rng(count).lognormal(size=count)
    found = describe(values.tolist())
    assert found["count"] == count
    for percent in (5, 25, 75, 90, 95, 99):
        assert found[f"p{percent}"] == pytest.approx(np.percentile(values, percent), rel=1e-12)
    assert found["median"] == pytest.approx(np.median(values), rel=1e-12)
    assert found["mean"] == pytest.approx(values.mean(), rel=1e-12)
    assert (found["min"], found["max"]) == (values.min(), values.max())
    assert found["std"] == (pytest.approx(values.std(ddof=1), rel=1e-12) if count > 1 else None)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 1000, 1001])
def test_the_median_is_that_of_numpy_bit_for_bit(count: int) -> None:
    values = np.random.default_rng(count).lognormal(size=count)
    assert median(values.tolist()) == median(iter(values)) == np.median(values)


def test_the_median_tells_of_what_is_not_a_number() -> None:
    assert math.isnan(median([]))
    assert math.isnan(median([1.0, math.nan, 2.0]))
    assert median([math.inf, 1.0, math.inf, 2.0]) == median([math.inf, math.inf]) == math.inf


@pytest.mark.parametrize("count", [1, 10, 11, 28, 29, 58, 59, 298, 299, 1000])
def test_a_summary_is_the_raw_statistics_less_what_the_samples_do_not_bound(count: int) -> None:
    values = np.random.default_rng(count).lognormal(size=count).tolist()
    raw, summary = describe(values), summarise(values)
    for name in ("count", "median", "mean", "std", "min", "max"):
        assert getattr(summary, name) == raw[name]
    limits = {"p5": 59, "p25": 11, "p75": 11, "p90": 29, "p95": 59, "p99": 299}
    for name, fewest in limits.items():
        assert getattr(summary, name) == (raw[name] if count >= fewest else None)
    assert set(summary.percentiles_reason) == {name for name, fewest in limits.items() if count < fewest}
    for name, reason in summary.percentiles_reason.items():
        assert f"at least {limits[name]} samples" in reason
        assert f"there are {count}" in reason


@pytest.mark.parametrize("percent", [5, 10, 25, 75, 90, 95, 99, 99.9])
def test_a_percentile_is_given_from_the_fewest_samples_whose_extreme_lies_beyond_it(percent: float) -> None:
    inner = max(percent, 100 - percent) / 100
    fewest = fewest_for_percentile(percent)
    assert inner**fewest <= 0.05 < inner ** (fewest - 1)


def test_blocks_of_steps_have_no_percentiles_of_steps() -> None:
    summary = summarise([0.1] * 1000, block_steps=8)
    assert {getattr(summary, f"p{q}") for q in (5, 25, 75, 90, 95, 99)} == {None}
    assert set(summary.percentiles_reason.values()) == {"a sample is the mean of a block of 8 steps"}
    assert summary.ci95 == (0.1, 0.1)


def test_only_the_interval_depends_on_the_order_of_the_samples() -> None:
    draw = random.Random(3)
    mixed = [draw.lognormvariate(0, 0.1) for _ in range(100)]
    trend, shuffled = summarise(sorted(mixed)), summarise(mixed)
    assert trend.median == shuffled.median
    assert trend.ci95 is not None
    assert shuffled.ci95 is not None
    assert trend.ci95[1] - trend.ci95[0] > 2 * (shuffled.ci95[1] - shuffled.ci95[0])


@pytest.mark.parametrize("count", [12, 13, 249, 250, 251, 1003])
def test_statistics_of_equal_samples_are_that_sample(count: int) -> None:
    summary = summarise([0.1] * count)
    assert {summary.min, summary.median, summary.max} == {0.1}
    assert summary.ci95 == (0.1, 0.1)
    assert summary.std == pytest.approx(0, abs=1e-15)


@pytest.mark.parametrize("count", [1, 2, 11])
def test_too_few_samples_give_a_reason_and_no_interval(count: int) -> None:
    summary = summarise([1.0] * count)
    assert summary.ci95 is None
    assert summary.ci95_reason is not None
    assert f"there are {count}" in summary.ci95_reason


@pytest.mark.parametrize("count", [12, 13, 100, 777, 2000])
def test_the_interval_within_a_process_encloses_the_median_and_names_its_method(count: int) -> None:
    draw = random.Random(count)
    summary = summarise([draw.expovariate(1) for _ in range(count)])
    assert summary.ci95 is not None
    assert summary.ci95_reason is None
    assert summary.ci95[0] <= summary.median <= summary.ci95[1]
    assert summary.ci95_level == "within one process"
    assert "autocorrelation" in summary.ci95_method


def test_the_interval_is_the_same_for_times_and_for_their_logarithms() -> None:
    draw = random.Random(5)
    values = [draw.lognormvariate(0, 0.5) for _ in range(101)]
    plain, logs = summarise(values).ci95, summarise([math.log(x) for x in values]).ci95
    assert plain is not None
    assert logs is not None
    assert [math.log(x) for x in plain] == list(logs)


@pytest.mark.parametrize("bad", [[], [1.0, math.nan], [1.0, math.inf]])
def test_nothing_and_what_is_not_finite_are_refused(bad: list[float]) -> None:
    with pytest.raises(ValueError, match="samples"):
        summarise(bad)


@pytest.mark.parametrize("count", [1, 2])
def test_too_few_processes_have_a_centre_but_no_interval(count: int) -> None:
    across = across_processes([2.0] * count)
    assert across.count == count
    assert across.centre == pytest.approx(2.0)
    assert (across.ci95, across.half_width) == (None, None)
    assert across.reason is not None
    assert "at least 3 processes" in across.reason


def test_the_half_width_is_that_of_the_upper_end() -> None:
    across = across_processes([1.0, 1.1, 1.3, 0.9])
    assert across.ci95 is not None
    assert across.half_width is not None
    assert across.reason is None
    assert across.centre * (1 + across.half_width) == pytest.approx(across.ci95[1])
    assert across.centre / (1 + across.half_width) == pytest.approx(across.ci95[0])


def test_a_ratio_of_pairs_is_free_of_what_both_share() -> None:
    draw = random.Random(9)
    shared = [draw.lognormvariate(0, 1) for _ in range(8)]
    own = [draw.lognormvariate(0, 0.01) for _ in range(8)]
    found = paired_ratio([1.25 * a * b for a, b in zip(shared, own)], shared)
    expected = across_processes([1.25 * b for b in own])
    assert found.centre == pytest.approx(expected.centre)
    assert found.ci95 == pytest.approx(expected.ci95)
    assert found.half_width == pytest.approx(expected.half_width)
    assert found.count == 8


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        ([1.0], [1.0, 2.0], "got 1 and 2"),
        ([], [], "no values"),
        ([-1.0, -1.0], [-1.0, -1.0], "positive"),
    ],
)
def test_what_makes_no_pairs_is_refused(a: list[float], b: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        paired_ratio(a, b)


@pytest.mark.parametrize(
    ("probability", "degrees", "quantile"),
    [
        (0.975, 1, 12.706204736174694),
        (0.975, 2, 4.302652729749462),
        (0.975, 3, 3.1824463052837078),
        (0.975, 4, 2.776445105197793),
        (0.975, 9, 2.262157162798205),
        (0.975, 30, 2.0422724563012378),
        (0.975, 999, 1.9623414611334493),
        (0.995, 5, 4.032142983555228),
        (0.95, 10, 1.8124611228116756),
        (0.6, 7, 0.2631668613520229),
    ],
)
def test_student_t_quantile(probability: float, degrees: int, quantile: float) -> None:
    assert student_t_quantile(probability, degrees) == pytest.approx(quantile, rel=1e-9)
    assert student_t_quantile(1 - probability, degrees) == pytest.approx(-quantile, rel=1e-9)


@pytest.mark.parametrize(("probability", "degrees"), [(0.0, 3), (1.0, 3), (0.5, 0)])
def test_impossible_quantiles_are_refused(probability: float, degrees: int) -> None:
    with pytest.raises(ValueError, match="must be"):
        student_t_quantile(probability, degrees)


def test_interval_between_processes_covers_the_centre() -> None:
    draw = random.Random(11)
    trials, processes, spread = 4000, 5, 0.2
    hits = 0
    for _ in range(trials):
        low, high = student_t_interval([math.exp(draw.gauss(1.5, spread)) for _ in range(processes)])
        hits += low <= math.exp(1.5) <= high
    assert hits / trials == pytest.approx(0.95, abs=4 * math.sqrt(0.95 * 0.05 / trials))


def test_interval_encloses_the_geometric_mean_evenly_in_ratio() -> None:
    values = [1.0, 2.0, 4.0]
    low, high = student_t_interval(values)
    assert geometric_mean(values) == pytest.approx(2.0)
    assert math.sqrt(low * high) == pytest.approx(2.0)
    half = 4.302652729749462 * math.log(2) / math.sqrt(3)
    assert high == pytest.approx(2 * math.exp(half))


@pytest.mark.parametrize("values", [[], [0.0, 1.0], [-1.0, 1.0], [math.nan, 1.0]])
def test_geometric_mean_needs_positive_values(values: list[float]) -> None:
    with pytest.raises(ValueError, match=r"average|positive"):
        geometric_mean(values)


def test_one_process_has_no_interval_between_processes() -> None:
    with pytest.raises(ValueError, match="at least 2"):
        student_t_interval([1.0])


def test_the_module_needs_the_standard_library_alone() -> None:
    code = "import sys, benchmarker.statistics; print('numpy' in sys.modules or 'msgspec' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
