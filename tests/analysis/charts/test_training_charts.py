"""Pictures of trainings by a recipe, against numbers computed here by hand."""

from __future__ import annotations

import pytest

from benchmarker.analysis.charts import chart, draw
from benchmarker.analysis.page.interactive import figure
from benchmarker.errors import UsageError
from tests.support.records import make_record
from tests.support.trainings import trained

RECORDS = [
    trained([10, 60, 80, 90], seed=0),
    trained([20, 70, 92], seed=1),
    trained([30, 50, 60, 70], seed=2),
    *(trained([12, 60, 91], seed=seed, framework="pytorch", slowness=2.0) for seed in range(2)),
]


def test_a_curve_is_the_median_over_seeds_and_its_band_all_of_them() -> None:
    by_steps, by_time = chart("training_curves", RECORDS).panels
    of = {series.name: series for series in by_steps.series}
    numpy = of["numpy"]
    assert numpy.x == (0.0, 10.0, 20.0, 30.0)
    assert numpy.y == (20.0, 60.0, 80.0, 80.0)
    assert (numpy.low, numpy.high) == ((10.0, 50.0, 60.0, 70.0), (30.0, 70.0, 92.0, 90.0))
    assert numpy.band
    assert [mark.y for mark in by_steps.marks] == [90]
    timed = {series.name: series for series in by_time.series}["pytorch"]
    assert timed.x == pytest.approx((0, 2 * 1.9, 2 * 2.9))


def test_a_line_ends_where_most_seeds_have_ended() -> None:
    records = [trained([10, 95], seed=0), trained([10, 95], seed=1), trained([10, 20, 95], seed=2)]
    (line,) = chart("training_curves", records).panels[0].series
    assert line.x == (0, 10)


def test_lines_that_lie_upon_each_other_are_named() -> None:
    same = [trained([10, 95], framework=name) for name in ("numpy", "jax")]
    drawn = chart("training_curves", [*same, trained([11, 95], framework="mxnet")])
    assert "The same over steps at every seed: numpy, jax." in drawn.caption


def test_the_share_that_reached_the_target_counts_all_runs() -> None:
    by_steps, by_time = chart("time_to_target", RECORDS).panels
    numpy, missed, pytorch = sorted(
        by_steps.series, key=lambda one: (one.name == "pytorch", one.kind == "points")
    )
    assert numpy.x == (20.0, 20.0, 30.0)
    assert numpy.y == pytest.approx((0, 100 / 3, 200 / 3))
    assert (missed.x, missed.name, missed.hollow) == ((30,), "", True)
    assert missed.y == pytest.approx((200 / 3,))
    assert pytorch.y == pytest.approx((0, 50, 100))
    (timed,) = (series for series in by_time.series if series.name == "pytorch")
    assert max(timed.x) == pytest.approx(2 + 2 * 1.9)


@pytest.mark.parametrize(("slowness", "scale"), [(2.0, "linear"), (30.0, "log")])
@pytest.mark.parametrize("kind", ["training_curves", "time_to_target"])
def test_times_far_apart_have_a_logarithmic_axis_and_steps_have_not(
    kind: str, slowness: float, scale: str
) -> None:
    records = [trained([10, 95]), trained([10, 95], framework="pytorch", slowness=slowness)]
    by_steps, by_time = chart(kind, records).panels
    assert (by_steps.x.scale, by_time.x.scale) == ("linear", scale)
    drawn = [x for series in by_time.series for x in series.x]
    assert scale == "linear" or min(map(float, drawn)) > 0


def test_a_caption_names_the_recipe_of_what_is_not_to_be_ranked() -> None:
    disturbed = trained([10, 95])
    disturbed["trust"]["grade"] = "contaminated"
    drawn = chart("training_curves", [disturbed, trained([10, 95], framework="pytorch")])
    assert "numpy 1.0 on small " in drawn.caption


def test_runs_of_which_none_reached_it_are_points_alone() -> None:
    (points,) = chart("time_to_target", [trained([1, 2]), trained([1, 2], seed=1)]).panels[0].series
    assert (points.name, points.y, points.hollow) == ("numpy", (0.0, 0.0), True)


def test_a_distribution_goes_on_without_a_sign_to_where_the_last_run_ended() -> None:
    panel = chart("time_to_target", [trained([1, 95]), trained([1, 2, 3], seed=1)]).panels[0]
    line, rest, missed = panel.series
    assert (line.x, line.y) == ((10, 10), (0.0, 50.0))
    assert (rest.x, rest.y, rest.marked, rest.name) == ((10, 20), (50.0, 50.0), False, "")
    assert (missed.x, missed.y) == ((20,), (50.0,))
    assert panel.y.most == 100


def test_distributions_that_lie_upon_each_other_are_named() -> None:
    same = [trained([10, 95], framework=name) for name in ("numpy", "jax")]
    drawn = chart("time_to_target", [*same, trained([10, 20, 95], framework="mxnet")])
    assert "The same over steps at every seed: numpy, jax." in drawn.caption


def test_other_recipes_are_left_out_and_told() -> None:
    drawn = chart("training_curves", [*RECORDS, trained([1, 95], recipe="another")])
    assert "small" in drawn.title
    assert drawn.caption.endswith("Left out: 1 run by other recipes.")


@pytest.mark.parametrize("kind", ["training_curves", "time_to_target"])
def test_records_of_runs_show_none(kind: str) -> None:
    with pytest.raises(UsageError, match="needs runs of a recipe"):
        chart(kind, [make_record([0.1] * 24)])


def test_the_accuracy_of_another_split_is_not_drawn_as_that_of_the_training_data() -> None:
    recorded = trained([10, 60, 95])
    recorded["mode"], recorded["metrics"]["accuracy"] = "training", 0.95
    with pytest.raises(UsageError, match="needs trainings of a stated length"):
        chart("learning", [recorded])
    recorded["training"] = None
    assert chart("learning", [recorded]).panels[-1].y.label == "accuracy on the training data"


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("kind", ["training_curves", "time_to_target"])
def test_they_are_drawn_by_both_libraries(kind: str, log: bool) -> None:
    shown = chart(kind, RECORDS, log=log)
    assert len(draw(kind, RECORDS, log=log).axes) == 2
    figures = figure.draw(shown).figures
    filled = [trace for trace in figures[0]["data"] if trace.get("fill")]
    assert len(filled) == (2 if kind == "training_curves" else 0)


def test_disturbed_seconds_are_not_drawn_and_their_steps_are() -> None:
    records = [trained([10, 95], seed=seed, slowness=1.0 if seed else 40.0) for seed in range(4)]
    records[0]["trust"]["grade"] = "contaminated"
    drawn = chart("time_to_target", records)
    (steps,), (seconds,) = (panel.series for panel in drawn.panels)
    assert (len(steps.x), len(seconds.x)) == (5, 4)
    assert max(seconds.x) == pytest.approx(1.9)
    assert (
        "Left out of seconds, not of steps, as disturbed or otherwise not to be ranked: 1 of 4 of"
        in drawn.caption
    )
