"""Pictures of how far trainings are from the reference, and of who trains first, against numbers computed by hand."""

from __future__ import annotations

import math
from typing import Any

import pytest

from benchmarker.analysis.charts import chart, draw
from benchmarker.analysis.comparison.performance_profiles import Profile, performance_profiles
from benchmarker.analysis.page.chart_table import numbers
from benchmarker.analysis.page.interactive import figure
from benchmarker.errors import UsageError
from tests.support.trainings import Shares, diverging, trained

FOLLOWED: Shares = {"w": [1e-7, 2e-7, 3e-7], "b": [None, 5e-7, 1e-8]}
FREE: Shares = {"w": [1e-7, 1e-6, 1e-5], "b": [None, 1e-6, 2e-6]}
ALONE = [diverging(FOLLOWED, FREE), diverging({**FOLLOWED, "w": [3e-7, 4e-7, 5e-7]}, FREE, seed=1)]
SEVERAL = [*ALONE, diverging(FREE, framework="jax")]


def test_of_one_framework_each_parameter_is_a_line_of_medians() -> None:
    followed, free = chart("divergence", ALONE).panels
    of = {series.name: series for series in followed.series}
    assert of["w"].x == (1.0, 2.0, 3.0)
    assert of["w"].y == pytest.approx((2e-7, 3e-7, 4e-7))
    assert (of["b"].x, of["b"].y) == ((2, 3), (5e-7, 1e-8))
    assert {series.name for series in free.series} == {"w", "b"}
    assert followed.y.scale == "log"


def test_of_several_frameworks_each_is_a_line_of_its_worst_parameter() -> None:
    followed, _ = chart("divergence", SEVERAL).panels
    of = {series.name: series.y for series in followed.series}
    assert of["numpy"] == pytest.approx((2e-7, 5e-7, 4e-7))
    assert of["jax"] == pytest.approx((1e-7, 1e-6, 1e-5))


def test_a_parameter_may_be_asked_for_by_name() -> None:
    followed, _ = chart("divergence", SEVERAL, parameter="b").panels
    assert {series.name: series.y for series in followed.series}["jax"] == (1e-6, 2e-6)
    with pytest.raises(UsageError, match="has no parameter 'c'"):
        chart("divergence", SEVERAL, parameter="c")


def test_the_map_has_a_row_for_each_parameter_and_a_column_for_each_step() -> None:
    panels = chart("divergence_map", SEVERAL).panels
    assert len(panels) == 4
    heat = panels[1].heat
    assert heat is not None
    assert (heat.rows, heat.columns) == (("w", "b"), ("1", "2", "3"))
    assert heat.values[0] == pytest.approx((-7, -6, -5))
    assert heat.values[1][0] is None
    assert heat.limits == (-8.0, -5.0)


@pytest.mark.parametrize("kind", ["divergence", "divergence_map"])
def test_trainings_without_a_divergence_show_none(kind: str) -> None:
    with pytest.raises(UsageError, match="needs runs of a recipe alongside the reference"):
        chart(kind, [trained([10, 95])])


# --- performance profiles ---------------------------------------------------------------------------


def recipes() -> list[dict[str, Any]]:
    """Three recipes: NumPy is the best of two; PyTorch misses the third, which JAX was not trained by."""
    return [
        *(trained([10, 95], framework="numpy", recipe="a", seed=seed) for seed in range(3)),
        trained([10, 95], framework="pytorch", recipe="a", slowness=2.0),
        trained([10, 95], framework="jax", recipe="a", slowness=4.0),
        trained([10, 95], framework="numpy", recipe="b", slowness=3.0),
        trained([10, 95], framework="pytorch", recipe="b"),
        trained([10, 95], framework="jax", recipe="b"),
        trained([10, 95], framework="numpy", recipe="c"),
        trained([10, 20], framework="pytorch", recipe="c"),
    ]


def test_a_share_is_of_recipes_within_a_multiple_of_the_best_median() -> None:
    found = performance_profiles(
        [
            {**record, "comparable": {"keys": {"of": record["training"]["recipe"]["name"]}}}
            for record in recipes()
        ],
        lambda record: str(record["framework"]["name"]),
    )
    by_label = {profile.label: profile for profile in found.profiles}
    assert found.recipes == ("a", "b", "c")
    assert by_label["numpy"].ratios == pytest.approx((1.0, 3.0, 1.0))
    assert by_label["pytorch"].ratios == pytest.approx((2.0, 1.0, math.inf))
    assert found.left_out == ("jax (2 recipes alone)",)
    assert [profile.label for profile in found.profiles] == ["numpy", "pytorch"]


def test_recipes_of_other_frameworks_are_left_out() -> None:
    others = [trained([10, 95], framework=name, recipe="d") for name in ("chainer", "mxnet")]
    found = performance_profiles([*recipes(), *others], lambda record: str(record["framework"]["name"]))
    assert found.recipes == ("a", "b", "c")
    assert "d" in found.left_out


def test_shares_and_scores() -> None:
    profile = Profile("any", (1.0, 2.0, math.inf), (1.0, 2.0, math.inf))
    assert [profile.share(multiple) for multiple in (1.0, 1.9, 2.0, 100.0)] == pytest.approx(
        [1 / 3, 1 / 3, 2 / 3, 2 / 3]
    )
    # From 1 to 4: one recipe counts all the way, one from 2 on, one never.
    assert profile.score(4.0) == pytest.approx((3 + 2 + 0) / 3 / 3)


def test_profiles_of_fewer_than_two_recipes_are_refused() -> None:
    same = [trained([10, 95], framework=name) for name in ("numpy", "jax")]
    with pytest.raises(UsageError, match="at least 2 recipes that several frameworks were trained by, got 1"):
        chart("performance_profile", same)


# --- drawing ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "records"),
    [("divergence", SEVERAL), ("divergence_map", SEVERAL), ("performance_profile", recipes())],
)
def test_they_are_drawn_by_both_libraries_and_told_in_words(kind: str, records: list[dict[str, Any]]) -> None:
    shown = chart(kind, records)
    assert len(draw(kind, records).axes) >= len(shown.panels)
    assert figure.draw(shown).figures
    assert numbers(shown).rows


def test_disturbed_seconds_do_not_count_in_profiles() -> None:
    slow = [trained([10, 95], seed=9, slowness=500.0, recipe=name) for name in ("a", "b") for _ in range(5)]
    for record in slow:
        record["trust"]["grade"] = "contaminated"
    records = [
        trained([10, 95], framework=framework, slowness=slowness, recipe=name)
        for name in ("a", "b")
        for framework, slowness in (("numpy", 1.0), ("jax", 2.0))
    ]
    drawn = chart("performance_profile", [*records, *slow])
    assert drawn.panels[1].heat is not None
    best = dict(zip(drawn.panels[1].heat.columns, drawn.panels[1].heat.values[0]))
    assert best == {"numpy 1.0": 1.0, "jax 1.0": pytest.approx(2.0)}
    assert "5 of 6 of numpy 1.0" in drawn.caption
    assert (
        "Left out of seconds" not in chart("performance_profile", [*records, *slow], metric="steps").caption
    )
