"""The slowest of many draws, against all that can be drawn and against simulation."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from benchmarker.analysis.scaling.slowest import StepTimes

SECONDS = (0.010, 0.011, 0.011, 0.030)


@pytest.mark.parametrize("ranks", [1, 2, 3, 5])
def test_the_mean_is_that_of_all_draws(ranks: int) -> None:
    slowest = [max(drawn) for drawn in itertools.product(SECONDS, repeat=ranks)]
    assert StepTimes(SECONDS).mean_of_slowest(ranks) == pytest.approx(np.mean(slowest))


@pytest.mark.parametrize("ranks", [1, 2, 3, 5])
@pytest.mark.parametrize("share", [0.025, 0.5, 0.975])
def test_quantiles_are_those_of_all_draws(ranks: int, share: float) -> None:
    slowest = [max(drawn) for drawn in itertools.product(SECONDS, repeat=ranks)]
    expected = np.quantile(slowest, share, method="inverted_cdf")
    assert StepTimes(SECONDS).quantile_of_slowest(share, ranks) == expected


def test_of_very_many_ranks_one_is_as_slow_as_the_slowest_known() -> None:
    times = StepTimes(SECONDS)
    assert times.mean_of_slowest(1 << 20) == pytest.approx(0.030)
    assert times.quantile_of_slowest(0.025, 1 << 20) == 0.030


def test_the_order_of_the_values_does_not_matter() -> None:
    assert StepTimes(SECONDS[::-1]).mean_of_slowest(3) == StepTimes(SECONDS).mean_of_slowest(3)
