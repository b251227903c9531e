"""The bounds of a percentile are wrong as rarely as they say, and prove what LoadGen's rule proves."""

from __future__ import annotations

import math
import random

import pytest

from benchmarker.api.scenario import MIN_SERVER_STEPS
from benchmarker.worker.measurement.percentile_bounds import (
    CONFIDENCE,
    MET,
    MISSED,
    UNDECIDED,
    bounded_percentile,
    max_late,
    min_late,
    verdict,
)
from benchmarker.worker.measurement.scenarios import MIN_QUERIES


@pytest.mark.parametrize(("percent", "count"), [(90, 64), (90, 200), (99, 662), (99, 1500)])
def test_bounds_are_wrong_in_one_of_a_hundred_cases_at_most(percent: float, count: int) -> None:
    """Of exponential latencies, whose percentiles are known."""
    draw, true = random.Random(count).expovariate, -math.log(1 - percent / 100)
    runs, above, below = 1500, 0, 0
    for _ in range(runs):
        found = bounded_percentile([draw(1.0) for _ in range(count)], percent)
        assert found.at_most is not None
        above += found.at_most < true
        below += found.at_least is not None and found.at_least > true
    expected = (1 - CONFIDENCE) * runs
    allowed = expected + 4 * math.sqrt(expected)
    assert above <= allowed
    assert below <= allowed
    assert max(above, below) > 0, "bounds that are never wrong are wider than they say"


def test_so_many_queries_are_needed_as_loadgen_needs() -> None:
    """With one late: 64 for the 90th percentile, 662 for the 99th; with none, 459."""
    assert [max_late(n, 90) for n in (43, 44, 63, 64)] == [None, 0, 0, 1]
    assert [max_late(n, 99) for n in (458, 459, 661, 662)] == [None, 0, 0, 1]
    assert max_late(MIN_SERVER_STEPS, 99) == 0
    assert all(max_late(count, percent) == 1 for count, percent in zip(MIN_QUERIES.values(), (90, 99)))


def test_a_verdict_is_that_of_the_bounds() -> None:
    draw = random.Random(1).random
    latencies = [draw() for _ in range(2000)]
    found = bounded_percentile(latencies, 99)
    assert found.at_least is not None
    assert found.at_most is not None
    assert found.at_least < found.value < found.at_most
    for bound, expected in (
        (found.at_most, MET),
        (math.nextafter(found.at_most, 0), UNDECIDED),
        (found.value, UNDECIDED),
        (found.at_least, UNDECIDED),
        (math.nextafter(found.at_least, 0), MISSED),
    ):
        assert verdict(sum(value > bound for value in latencies), 2000, 99) == expected


def test_few_queries_prove_nothing_but_that_all_are_late() -> None:
    assert verdict(0, 10, 99) == UNDECIDED
    assert verdict(10, 10, 99) == MISSED
    assert min_late(1, 90) is None
