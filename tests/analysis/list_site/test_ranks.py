"""Rank intervals: they hold for all entries at once, and tell apart what can be told apart."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Sequence

import pytest
import scipy

from benchmarker.analysis.list_site.ranks import Pairs, Rank
from benchmarker.statistics import holm

CONTESTS = 600


def rank_intervals(entries: Sequence[Sequence[float]]) -> list[Rank]:
    return Pairs(entries).ranks(range(len(entries)))


def drawn(
    draw: random.Random, centres: Sequence[float], spreads: Sequence[float], counts: Sequence[int]
) -> list[list[float]]:
    """Return the processes of each entry, whose logarithms are normal."""
    return [
        [math.exp(draw.gauss(centre, spread)) for _ in range(count)]
        for centre, spread, count in zip(centres, spreads, counts)
    ]


def true_ranks(centres: Sequence[float]) -> list[Rank]:
    """Return the ranks that equal entries share."""
    return [
        Rank(1 + sum(other < one for other in centres), sum(other <= one for other in centres))
        for one in centres
    ]


def holds(found: Sequence[Rank], true: Sequence[Rank]) -> bool:
    return all(one.best <= rank.best and one.worst >= rank.worst for one, rank in zip(found, true))


@pytest.mark.parametrize(
    "centres",
    [
        pytest.param([0.0] * 6, id="all equal"),
        pytest.param([0.0, 0.0, 0.0, 0.05, 0.05, 0.2], id="some equal"),
        pytest.param([0.0, 0.01, 0.02, 0.03, 0.04, 0.05], id="near each other"),
    ],
)
@pytest.mark.parametrize("spread", [1.0, 4.0])
def test_all_intervals_hold_the_true_ranks_at_once(centres: list[float], spread: float) -> None:
    draw = random.Random(11)
    spreads = [0.01, 0.01 * spread, 0.02, 0.02 * spread, 0.01, 0.03]
    counts = [5, 5, 7, 5, 20, 5]
    true = true_ranks(centres)
    held = sum(holds(rank_intervals(drawn(draw, centres, spreads, counts)), true) for _ in range(CONTESTS))
    # 95 % is promised; less than 93.4 % of 600 has a probability of 4 % even at that.
    assert held / CONTESTS >= 0.934


def test_the_simulation_would_see_intervals_that_do_not_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarker.analysis.list_site.ranks._step_down", lambda leads, tests: leads)
    draw = random.Random(11)
    true = true_ranks([0.0] * 6)
    found = [
        holds(rank_intervals(drawn(draw, [0.0] * 6, [0.01] * 6, [5] * 6)), true) for _ in range(CONTESTS)
    ]
    assert sum(found) / CONTESTS < 0.8


def test_what_is_far_apart_has_a_rank_of_its_own() -> None:
    draw = random.Random(3)
    found = rank_intervals(drawn(draw, [0.0, 0.5, 1.0, 1.5], [0.01] * 4, [5] * 4))
    assert found == [Rank(1, 1), Rank(2, 2), Rank(3, 3), Rank(4, 4)]
    assert list(map(str, found)) == ["1", "2", "3", "4"]


def test_what_cannot_be_told_apart_shares_a_rank() -> None:
    draw = random.Random(4)
    found = rank_intervals(drawn(draw, [0.5, 0.0, 0.0], [0.01] * 3, [5] * 3))
    assert found == [Rank(3, 3), Rank(1, 2), Rank(1, 2)]
    assert str(found[1]) == "1–2"


def test_processes_without_any_spread_are_told_apart_if_they_differ() -> None:
    assert rank_intervals([[0.1] * 5, [0.1] * 5, [0.2] * 5]) == [Rank(1, 2), Rank(1, 2), Rank(3, 3)]


def test_one_entry_and_none_have_their_ranks() -> None:
    assert rank_intervals([[0.1] * 5]) == [Rank(1, 1)]
    assert Pairs([]).ranks([]) == []


def test_holm_s_correction_is_that_of_comparisons() -> None:
    draw = random.Random(6)
    entries = drawn(draw, [0.0, 0.01, 0.02, 0.03, 0.05], [0.01] * 5, [5, 6, 7, 8, 9])
    pairs = list(itertools.permutations(range(5), 2))
    p = [
        scipy.stats.ttest_ind(
            [math.log(value) for value in entries[first]],
            [math.log(value) for value in entries[other]],
            equal_var=False,
            alternative="less",
        ).pvalue
        for first, other in pairs
    ]
    shown = {pair for pair, corrected in zip(pairs, holm(p)) if corrected <= 0.05}
    assert 3 <= len(shown) <= 9
    assert rank_intervals(entries) == [
        Rank(
            1 + sum((other, one) in shown for other in range(5)),
            5 - sum((one, other) in shown for other in range(5)),
        )
        for one in range(5)
    ]


def test_ranks_among_some_are_those_of_these_alone() -> None:
    draw = random.Random(5)
    entries = drawn(draw, [0.0, 0.5, 1.0], [0.01] * 3, [5] * 3)
    assert (
        Pairs(entries).ranks([2, 1]) == rank_intervals([entries[2], entries[1]]) == [Rank(2, 2), Rank(1, 1)]
    )
