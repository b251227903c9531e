from __future__ import annotations

import math
import random
import subprocess
import sys

import numpy as np
import pytest

from benchmarker.statistics import (
    geometric_mean,
    median_interval_ranks,
    student_t_interval,
    student_t_quantile,
    summarise,
)


@pytest.mark.parametrize("count", [1, 2, 3, 6, 7, 100, 1001])
def test_summary_agrees_with_numpy(count: int) -> None:
    values = np.random.default_rng(count).lognormal(size=count)
    summary = summarise(values.tolist())
    assert summary.count == count
    for percent in (5, 25, 75, 90, 95, 99):
        assert getattr(summary, f"p{percent}") == pytest.approx(np.percentile(values, percent), rel=1e-12)
    assert summary.median == pytest.approx(np.median(values), rel=1e-12)
    assert summary.mean == pytest.approx(values.mean(), rel=1e-12)
    assert (summary.min, summary.max) == (values.min(), values.max())
    if count > 1:
        assert summary.std == pytest.approx(values.std(ddof=1), rel=1e-12)


def test_order_of_samples_does_not_matter() -> None:
    assert summarise([3.0, 1.0, 2.0]) == summarise([1.0, 2.0, 3.0])


def test_statistics_of_equal_samples_are_that_sample() -> None:
    summary = summarise([0.1] * 20)
    assert {summary.min, summary.p5, summary.median, summary.p99, summary.max} == {0.1}
    assert summary.ci95 == (0.1, 0.1)
    assert summary.std == pytest.approx(0, abs=1e-15)


@pytest.mark.parametrize("count", range(1, 6))
def test_too_few_samples_give_a_reason_and_no_interval(count: int) -> None:
    summary = summarise([1.0] * count)
    assert summary.ci95 is None
    assert summary.ci95_coverage is None
    assert summary.ci95_reason is not None
    assert f"there are {count}" in summary.ci95_reason


def test_six_samples_are_enclosed_by_the_extremes() -> None:
    summary = summarise([6.0, 5.0, 4.0, 3.0, 2.0, 1.0])
    assert summary.ci95 == (1.0, 6.0)
    assert summary.ci95_coverage == pytest.approx(1 - 2 / 2**6)
    assert summary.ci95_reason is None


@pytest.mark.parametrize("bad", [[], [1.0, math.nan], [1.0, math.inf]])
def test_nothing_and_what_is_not_finite_are_refused(bad: list[float]) -> None:
    with pytest.raises(ValueError, match="samples"):
        summarise(bad)


@pytest.mark.parametrize("count", [6, 7, 8, 9, 10, 17, 30, 71, 200, 1000, 3001])
def test_median_interval_is_the_narrowest_that_suffices(count: int) -> None:
    """Against whole-number arithmetic: P(B < k) = sum of binomial coefficients / 2**count."""

    def outside(rank: int) -> float:
        return 2 * float(sum(math.comb(count, i) for i in range(rank)) / 2**count)

    ranks = median_interval_ranks(count)
    assert ranks is not None
    low, high, coverage = ranks
    assert high == count + 1 - low
    assert coverage == pytest.approx(1 - outside(low), abs=1e-10)
    assert coverage >= 0.95
    assert 1 - outside(low + 1) < 0.95


def test_median_interval_covers_as_often_as_it_says() -> None:
    draw = random.Random(7)
    trials, count = 4000, 25
    hits = 0
    for _ in range(trials):
        summary = summarise([draw.expovariate(1) for _ in range(count)])
        assert summary.ci95 is not None
        hits += summary.ci95[0] <= math.log(2) <= summary.ci95[1]
    assert summary.ci95_coverage is not None
    margin = 4 * math.sqrt(summary.ci95_coverage * (1 - summary.ci95_coverage) / trials)
    assert hits / trials == pytest.approx(summary.ci95_coverage, abs=margin)


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
    code = "import sys, benchmarker.statistics; print('numpy' in sys.modules or 'jsonschema' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
