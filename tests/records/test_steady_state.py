from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest

from benchmarker.records.change_points import Array, change_points, fit_decay, medians, without_outliers
from benchmarker.records.steady_state import SteadyState, detect
from tests.support.step_times import steps

SERIES = 60
LENGTH = 300


def cost(series: Array, ends: list[int], penalty: float) -> float:
    """Return what a segmentation costs, by definition."""
    parts = np.split(series, ends[:-1])
    return float(sum(((part - part.mean()) ** 2).sum() for part in parts) + penalty * (len(parts) - 1))


def with_shifts(draw: np.random.Generator, count: int) -> Array:
    """Return noise of standard deviation 1 around levels that change after 1 to 60 points."""
    levels = np.repeat(2 * draw.standard_normal(count), draw.integers(1, 60, count))[:count]
    return np.asarray(draw.standard_normal(count) + levels)


# --- the search ------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(8))
def test_change_points_cost_the_least_of_all_segmentations(seed: int) -> None:
    draw = np.random.default_rng(seed)
    series = with_shifts(draw, 24)
    penalty = float(draw.uniform(0.5, 10))
    every = [
        [*inner, 24]
        for number in range(4)
        for inner in itertools.combinations(range(5, 20), number)
        if all(b - a >= 5 for a, b in zip(inner, inner[1:]))
    ]
    ends, least = change_points(series, penalty)
    assert ends == min(every, key=lambda ends: cost(series, ends, penalty))
    assert least == pytest.approx(cost(series, ends, penalty))


@pytest.mark.parametrize("seed", range(20))
def test_change_points_are_those_of_ruptures(seed: int) -> None:
    import ruptures  # with SciPy, which takes a second that every process would spend on it

    draw = np.random.default_rng(seed)
    count = int(draw.integers(20, 400))
    series = with_shifts(draw, count)
    penalty = 6 * np.log(count)
    expected = ruptures.KernelCPD("linear", min_size=5).fit(series).predict(pen=penalty)
    assert change_points(series, penalty)[0] == expected


@pytest.mark.parametrize("shape", [(1,), (2,), (11,), (1000,), (7, 11), (4, 2)])
def test_medians_are_those_of_numpy_bit_for_bit(shape: tuple[int, ...]) -> None:
    rows = np.random.default_rng(0).lognormal(size=shape)
    assert np.array_equal(medians(rows), np.median(rows, axis=-1))
    rows[..., 0] = np.nan
    assert np.isnan(medians(rows)).all()


def test_lone_outliers_are_looked_past_and_a_short_level_is_not() -> None:
    logs = 0.02 * np.random.default_rng(0).standard_normal(100)
    logs[[10, 30, 31, 70]] += 1.0
    logs[50:56] += 1.0
    cleaned, lead = without_outliers(logs)
    assert lead == 0
    assert np.flatnonzero(cleaned != logs).tolist() == [10, 30, 31, 70]
    assert np.abs(cleaned[[10, 30, 31, 70]]).max() < 0.1


def test_an_exponential_decay_is_fitted() -> None:
    decay = fit_decay(3.0 + 0.4 * np.exp(-np.arange(300) / 15))
    assert decay.height == pytest.approx(0.4, rel=0.05)
    assert decay.constant == pytest.approx(15, rel=0.1)
    assert decay.cost == pytest.approx(0, abs=1e-2)


# --- the bank of courses ---------------------------------------------------------------------------


def bank(shape: Callable[[Array], Array], *, seed: int = 7, correlation: float = 0.0) -> list[SteadyState]:
    """Return what is found in series of noise and tail around a course in relative step times."""
    relative = shape(np.arange(LENGTH, dtype=np.float64))
    series = steps(np.random.default_rng(seed), np.zeros(SERIES), LENGTH, correlation=correlation)
    return [detect(times * relative) for times in series]


def kinds(found: list[SteadyState]) -> Counter[str | None]:
    return Counter(state.kind for state in found)


def near(found: list[SteadyState], start: int, within: int = 5) -> float:
    """Return the share of starts that are near enough."""
    return sum(abs(state.start - start) <= within for state in found) / len(found)


def flat(i: Array) -> Array:
    return np.ones_like(i)


def drift(i: Array) -> Array:
    return 1 + 0.1 * i / LENGTH


def cycle(i: Array) -> Array:
    return np.where(i // 30 % 2, 1.1, 1.0)


@pytest.mark.parametrize("correlation", [0.0, 0.5])
def test_a_level_is_flat_even_if_its_noise_is_correlated(correlation: float) -> None:
    found = bank(flat, correlation=correlation)
    assert kinds(found)["flat"] >= 0.95 * SERIES


@pytest.mark.parametrize("correlation", [0.0, 0.5])
@pytest.mark.parametrize("slower", [1.1, 1.5, 3.0])
def test_thirty_slow_steps_are_found(slower: float, correlation: float) -> None:
    found = bank(lambda i: np.where(i < 30, slower, 1.0), correlation=correlation)
    assert kinds(found)["warmup"] >= 0.95 * SERIES
    assert near(found, 30) >= 0.95


@pytest.mark.parametrize("correlation", [0.0, 0.5])
def test_two_plateaus_are_both_cut(correlation: float) -> None:
    found = bank(lambda i: np.where(i < 15, 1.6, np.where(i < 80, 1.15, 1.0)), correlation=correlation)
    assert kinds(found)["warmup"] >= 0.95 * SERIES
    assert near(found, 80) >= 0.95


@pytest.mark.parametrize("correlation", [0.0, 0.5])
@pytest.mark.parametrize(("height", "constant"), [(0.5, 12), (1.0, 20), (0.2, 30)])
def test_a_slow_decay_is_cut_where_less_than_a_hundredth_is_left(
    height: float, constant: float, correlation: float
) -> None:
    found = bank(lambda i: 1 + height * np.exp(-i / constant), correlation=correlation)
    truth = constant * np.log(height / 0.01)
    assert kinds(found)["warmup"] >= 0.95 * SERIES
    assert np.median([state.start for state in found]) == pytest.approx(truth, abs=8)
    left = [height * np.exp(-state.start / constant) for state in found]
    assert np.quantile(left, 0.95) < 0.02


def test_a_slowdown_is_one() -> None:
    found = bank(lambda i: np.where(i < 120, 1.0, 1.1))
    assert kinds(found)["slowdown"] >= 0.95 * SERIES
    assert near(found, 120) >= 0.95


@pytest.mark.parametrize("correlation", [0.0, 0.5])
@pytest.mark.parametrize("shape", [drift, cycle])
def test_what_drifts_or_goes_round_is_never_steady(
    shape: Callable[[Array], Array], correlation: float
) -> None:
    found = kinds(bank(shape, correlation=correlation))
    assert found["no_steady_state"] + found["slowdown"] == SERIES
    if correlation == 0 or shape is cycle:
        assert found["no_steady_state"] >= 0.95 * SERIES


def test_a_slow_wave_is_not_taken_for_correlated_noise() -> None:
    found = kinds(bank(lambda i: 1 + 0.05 * np.sin(i / 10)))
    assert found["no_steady_state"] >= 0.95 * SERIES


@pytest.mark.parametrize(("count", "slower"), [(1, 50.0), (3, 3.0)])
def test_a_few_slow_first_steps_are_cut(count: int, slower: float) -> None:
    found = bank(lambda i: np.where(i < count, slower, 1.0))
    assert near(found, count, within=0) >= 0.95
    assert kinds(found)["warmup"] >= 0.95 * SERIES


# --- what the machine did --------------------------------------------------------------------------


def levels(*parts: tuple[int, float]) -> list[float]:
    """Return times of levels, each a number of samples and their median, with noise of 1 %."""
    draw = np.random.default_rng(1)
    exact = np.repeat([level for _, level in parts], [count for count, _ in parts])
    times: list[float] = (exact * np.exp(0.01 * draw.standard_normal(len(exact)))).tolist()
    return times


def hit(*spans: tuple[int, int]) -> Callable[[int, int], bool]:
    """Return who says that the machine disturbed some samples."""
    return lambda start, end: any(start < last and first < end for first, last in spans)


def test_a_slow_part_is_charged_to_the_machine_if_it_was_disturbed_then() -> None:
    times = levels((150, 1.0), (150, 1.3))
    assert detect(times).kind == "slowdown"
    assert detect(times, disturbed=hit()).kind == "slowdown"
    assert detect(times, disturbed=hit((20, 40))).kind == "slowdown"
    state = detect(times, disturbed=hit((160, 290)))
    assert (state.kind, state.start) == ("disturbed", 0)
    assert [(part.start, part.end) for part in state.segments] == [(0, 150), (150, 300)]


def test_a_disturbance_after_the_warmup_leaves_the_end_of_the_warmup() -> None:
    times = levels((30, 2.0), (100, 1.0), (40, 1.5), (130, 1.0))
    assert detect(times).kind == "no_steady_state"
    state = detect(times, disturbed=hit((135, 160)))
    assert (state.kind, state.start) == ("disturbed", 30)


def test_what_a_disturbance_slowed_at_first_stays_in() -> None:
    times = levels((200, 1.5), (100, 1.0))
    assert detect(times).kind == "no_steady_state"
    state = detect(times, disturbed=hit((10, 190)))
    assert (state.kind, state.start) == ("disturbed", 0)


def test_a_disturbance_does_not_excuse_what_is_unsteady_beside_it() -> None:
    times = levels((100, 1.0), (50, 1.5), (150, 1.2))
    assert detect(times, disturbed=hit((105, 145))).kind == "slowdown"


def test_a_warmup_in_a_disturbance_is_still_cut() -> None:
    state = detect(levels((30, 2.0), (200, 1.0)), disturbed=hit((0, 30)))
    assert (state.kind, state.start) == ("warmup", 30)


# --- edges -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [0, 1, 19])
def test_of_few_samples_nothing_is_said(count: int) -> None:
    state = detect([0.1] * count)
    assert (state.kind, state.start) == (None, 0)
    assert f"too few samples to tell: {count}" in state.reason


@pytest.mark.parametrize("bad", [0.0, -1.0, float("nan"), float("inf")])
def test_of_what_is_no_time_nothing_is_said(bad: float) -> None:
    state = detect([0.1] * 30 + [bad])
    assert state.kind is None
    assert "positive" in state.reason


def test_settling_samples_are_never_steady_and_not_looked_at() -> None:
    times = levels((10, 5.0), (100, 1.0))
    state = detect(times, settle=10)
    assert (state.kind, state.start) == ("flat", 10)
    assert [(part.start, part.end) for part in state.segments] == [(10, 110)]
    late = detect(times, settle=100)
    assert (late.kind, late.start) == (None, 100)


def test_segments_tell_the_medians_of_all_samples() -> None:
    times = levels((40, 2.0), (100, 1.0))
    state = detect(times)
    assert [(part.start, part.end) for part in state.segments] == [(0, 40), (40, 140)]
    assert [part.median for part in state.segments] == [np.median(times[:40]), np.median(times[40:])]
    assert "before sample 40" in state.reason


def test_equal_samples_are_flat() -> None:
    assert detect([1e-6] * 500).kind == "flat"


def test_a_coarse_clock_changes_nothing() -> None:
    times = np.round(np.array(levels((60, 2.0), (200, 1.0))), 2)
    state = detect(times.tolist())
    assert (state.kind, state.start) == ("warmup", 60)


@pytest.mark.parametrize("count", [2500, 20000])
def test_of_very_many_samples_the_end_of_the_warmup_is_found_to_a_block(count: int) -> None:
    times = steps(np.random.default_rng(2), np.zeros(1), count)[0]
    times[: count // 5] *= 1.5
    state = detect(times.tolist())
    assert state.kind == "warmup"
    assert abs(state.start - count // 5) <= count / 500
