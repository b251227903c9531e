"""Frameworks over several recipes: who is first, what is shown of the others, and what does not count."""

from __future__ import annotations

import math
from typing import Any

import pytest

from benchmarker.analysis.comparison.censored import log_rank_p
from benchmarker.analysis.comparison.recipe_rankings import recipe_rankings
from tests.support.records import make_record
from tests.support.trainings import trained

SEEDS = ([10, 95], [10, 20, 95], [10, 20, 30, 95], [10, 20, 30, 40, 95], [10, 20, 30, 40, 50, 95])


def framework(record: Any) -> str:
    return str(record["framework"]["name"])


def trainings(name: str, slowness: float, recipe: str = "small") -> list[dict[str, Any]]:
    return [
        trained(correct, seed=seed, framework=name, slowness=slowness, recipe=recipe)
        for seed, correct in enumerate(SEEDS)
    ]


def test_the_first_is_the_one_with_the_smallest_median_of_seconds() -> None:
    records = [
        *trainings("pytorch", 100.0),
        *trainings("numpy", 1.0),
        *trainings("jax", 1.1),
        *trainings("numpy", 3.0, "b"),
        *trainings("jax", 2.0, "b"),
    ]
    one, other = recipe_rankings(records, framework)
    assert (one.recipe, other.recipe) == ("small", "b")
    assert [group.label for group in one.comparison.groups] == ["numpy", "jax", "pytorch"]
    assert [group.label for group in other.comparison.groups] == ["jax", "numpy"]
    near, far = one.comparison.rows
    assert (near.verdict, far.verdict) == ("no difference shown", "slower")
    assert (near.steps_verdict, far.steps_verdict) == ("equal", "equal")


def test_verdicts_are_corrected_for_all_pairs_since_the_first_is_chosen_by_its_times() -> None:
    records = [*trainings("numpy", 1.0), *trainings("jax", 50.0), *trainings("pytorch", 5000.0)]
    (ranking,) = recipe_rankings(records, framework)
    alone = log_rank_p(ranking.comparison.rows[1].group.seconds, ranking.comparison.first.seconds)
    assert alone == pytest.approx(2 / math.comb(10, 5))
    assert [row.seconds_p for row in ranking.comparison.rows] == pytest.approx([3 * alone] * 2)


def test_other_numbers_of_steps_have_verdicts_of_their_own() -> None:
    late = [
        trained([*[10] * (12 + seed), 95], seed=seed, framework="jax", slowness=0.01) for seed in range(5)
    ]
    (ranking,) = recipe_rankings([*trainings("numpy", 1.0), *late], framework)
    (row,) = ranking.comparison.rows
    assert (ranking.comparison.first.label, row.group.label) == ("jax", "numpy")
    assert (row.steps_verdict, row.verdict) == ("fewer", "slower")


def test_trainings_that_missed_the_target_come_last() -> None:
    missed = [trained([10, 20], seed=seed, framework="jax", slowness=0.01) for seed in range(5)]
    (ranking,) = recipe_rankings([*missed, *trainings("numpy", 9.0)], framework)
    assert ranking.comparison.first.label == "numpy"


def test_what_failed_is_named_and_what_is_no_training_left_out() -> None:
    failed = {**trained([10, 95], framework="mxnet"), "training": None}
    (ranking,) = recipe_rankings([make_record(), failed, *trainings("numpy", 1.0)], framework)
    assert ranking.failed == ("mxnet",)
    assert ranking.comparison.rows == ()
    assert recipe_rankings([make_record()], framework) == []
    assert recipe_rankings([failed], framework) == []
    assert recipe_rankings([], framework) == []


def test_two_versions_of_a_recipe_are_told_apart() -> None:
    of_two_threads = trainings("numpy", 1.0)
    for record in of_two_threads:
        record["comparable"] = {"hash": "another", "keys": {}}
    found = recipe_rankings([*trainings("numpy", 1.0), *of_two_threads], framework)
    assert len({ranking.recipe for ranking in found}) == 2


def test_disturbed_seconds_make_nobody_the_first() -> None:
    quick = trainings("numpy", 0.01)
    for record in quick:
        record["trust"]["grade"] = "contaminated"
    (ranking,) = recipe_rankings([*quick, *trainings("jax", 1.0), *trainings("mxnet", 50.0)], framework)
    assert [group.label for group in ranking.comparison.groups] == ["jax", "mxnet", "numpy"]
    mxnet, numpy = ranking.comparison.rows
    assert (mxnet.verdict, numpy.verdict, numpy.steps_verdict) == ("slower", "inconclusive", "equal")
