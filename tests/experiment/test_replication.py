from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

import pytest

from benchmarker.experiment.precision import PROFILES, Precision
from benchmarker.experiment.replication import Decision, count_for, decide, order
from benchmarker.statistics import across_processes, student_t_quantile

ASKED = Precision("mine", 0.02, 4, 12, 100.0, 1.0, 20)


def spread(count: int, deviation: float) -> list[float]:
    """Return values around 0.5 whose logarithms have that standard deviation."""
    offsets = [(i - (count - 1) / 2) for i in range(count)]
    scale = deviation * math.sqrt((count - 1) / sum(x * x for x in offsets))
    return [0.5 * math.exp(scale * x) for x in offsets]


def test_the_profiles_are_those_that_were_promised() -> None:
    assert [tuple(vars(PROFILES[name]).values()) for name in ("quick", "standard", "rigorous")] == [
        ("quick", 0.05, 5, 10, 120.0, 1.0, 20),
        ("standard", 0.02, 10, 30, 900.0, 2.0, 30),
        ("rigorous", 0.01, 15, 60, 3600.0, 5.0, 50),
    ]
    assert list(PROFILES) == [precision.profile for precision in PROFILES.values()]


def test_nothing_is_known_without_processes() -> None:
    assert decide(ASKED, [], 0.0) == Decision(None, (), 0, None, None, None, None, None)


def test_enough_precision_stops_only_from_the_fewest_processes_on() -> None:
    assert decide(ASKED, spread(3, 0.001), 3.0).stop_reason is None
    decision = decide(ASKED, spread(4, 0.001), 4.0)
    assert decision.stop_reason == "precision"
    assert decision.not_met == ()
    across = across_processes(spread(4, 0.001))
    assert (decision.centre, decision.ci95) == (across.centre, across.ci95)
    assert decision.half_width == across.half_width


@pytest.mark.parametrize(("deviation", "stops"), [(0.019, True), (0.021, False)])
def test_the_half_width_decides(deviation: float, stops: bool) -> None:
    deviation *= math.sqrt(9) / student_t_quantile(0.975, 8)
    assert (decide(ASKED, spread(9, deviation), 9.0).stop_reason == "precision") is stops


def test_the_most_processes_stop_and_say_what_is_not_met() -> None:
    medians = spread(12, 0.1)
    decision = decide(ASKED, medians, 12.0)
    assert decision.stop_reason == "max_processes"
    assert decision.half_width is not None
    assert decision.not_met == (f"half-width at most 2 %, it is {100 * decision.half_width:.3g} %",)


def test_the_time_budget_stops_and_says_what_is_not_met() -> None:
    assert decide(ASKED, spread(2, 0.1), 99.0).stop_reason is None
    decision = decide(ASKED, spread(2, 0.1), 100.0)
    assert decision.stop_reason == "time_budget"
    assert decision.not_met == (
        "2 of at least 4 processes",
        "half-width at most 2 %, there is no interval yet",
    )
    assert decide(ASKED, [], 100.0).stop_reason == "time_budget"


def test_precision_that_is_reached_with_the_last_process_is_the_reason() -> None:
    assert decide(ASKED, spread(12, 0.001), 200.0).stop_reason == "precision"


@pytest.mark.parametrize(("shift", "reason"), [(1.0, None), (100.0, None)])
def test_a_difference_is_never_a_reason(shift: float, reason: str | None) -> None:
    assert decide(ASKED, [shift * x for x in spread(6, 0.1)], 6.0).stop_reason is reason


@pytest.mark.parametrize(
    ("deviation", "half_width", "processes"),
    [
        (0.01, 0.01, 7),
        (0.01, 0.02, 4),
        (0.02, 0.01, 18),
        (0.02, 0.02, 7),
        (0.05, 0.01, 99),
        (0.05, 0.02, 27),
        (0.05, 0.05, 7),
        (0.10, 0.01, 387),
        (0.10, 0.02, 99),
        (0.10, 0.05, 18),
    ],
)
def test_the_forecast_is_the_planning_table(deviation: float, half_width: float, processes: int) -> None:
    """On logarithms, of which the table speaks."""
    assert count_for(deviation, math.expm1(half_width)) == processes


def test_the_forecast_is_the_fewest_that_suffice() -> None:
    for deviation in (0.003, 0.03, 0.3, 2.0):
        count = count_for(deviation, 0.05)

        def half(n: int, deviation: float = deviation) -> float:
            return math.expm1(student_t_quantile(0.975, min(n - 1, 1000)) * deviation / math.sqrt(n))

        assert half(count) <= 0.05
        assert count == 3 or half(count - 1) > 0.05


def test_the_forecast_comes_after_five_processes_and_counts_what_is_left() -> None:
    assert decide(ASKED, spread(4, 0.05), 8.0).expected_processes is None
    decision = decide(ASKED, spread(5, 0.05), 10.0)
    needed = count_for(0.05, 0.02)
    assert decision.expected_processes == needed
    assert decision.expected_seconds == pytest.approx((needed - 5) * 2.0)


def test_the_forecast_is_never_below_the_fewest_processes_that_are_asked_for() -> None:
    decision = decide(PROFILES["rigorous"], spread(5, 0.0001), 10.0)
    assert decision.expected_processes == 15
    assert decision.expected_seconds == pytest.approx(20.0)
    done = decide(replace(ASKED, max_processes=60), spread(60, 0.01), 60.0)
    assert done.expected_seconds == 0


@pytest.mark.parametrize("cells", [1, 2, 3, 7])
def test_a_round_has_every_cell_once_and_the_next_is_its_mirror_image(cells: int) -> None:
    for block in range(20):
        first, second = order(cells, 2 * block, 5), order(cells, 2 * block + 1, 5)
        assert sorted(first) == list(range(cells))
        assert second == first[::-1]


def test_the_order_of_two_cells_is_decided_by_a_fair_coin() -> None:
    counts = Counter(order(2, 2 * block, seed)[0] for seed in range(50) for block in range(20))
    assert 430 < counts[0] < 570


def test_the_order_depends_on_the_seed_alone() -> None:
    assert order(8, 4, 1) == order(8, 4, 1)
    drawn = {tuple(order(8, number, seed)) for seed in range(5) for number in (0, 2, 4)}
    assert len(drawn) == 15


def test_the_order_is_the_same_under_every_python() -> None:
    assert [order(5, number, 0) for number in (0, 1)] == [[0, 1, 4, 3, 2], [2, 3, 4, 1, 0]]
