"""What pictures show, against numbers computed here by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from benchmarker.analysis.charts import chart, kind_options, kinds
from benchmarker.api.chart import Chart, Panel, Series
from benchmarker.errors import UsageError
from benchmarker.records.lookup import specification_of
from tests.support.kept_records import GROUP, Kept
from tests.support.rank_records import several, single, trained_by
from tests.support.records import make_failed_record, make_record
from tests.support.trainings import diverging, trained, two_recipes

pytestmark = pytest.mark.xdist_group(GROUP)

T_OF_TWO_DEGREES = 4.302652729911275
"""Student's t, 97.5 %: the distribution function with two degrees of freedom has a closed form."""
ANOTHER_DAY: dict[str, Any] = {
    "started_at": "2025-03-08T12:00:00.000000Z",
    "ended_at": "2025-03-08T12:00:09.500000Z",
    "replication__campaign": "f" * 32,
}


def steady(seconds: float, **changes: Any) -> dict[str, Any]:
    """A record whose every step took as long."""
    return make_record([seconds] * 24, **changes)


def processes(medians: Sequence[float], **changes: Any) -> list[dict[str, Any]]:
    """Records of as many fresh processes of one configuration, in rounds of one campaign."""
    return [
        steady(median, repetition=number, replication__round=number, **changes)
        for number, median in enumerate(medians)
    ]


def training(losses: Sequence[float], *, steps: int = 24, **changes: Any) -> dict[str, Any]:
    """A record of a training that noted its losses, one a step of 50 ms."""
    noted = {
        "steps": list(range(1, len(losses) + 1)),
        "seconds": [0.05 * (i + 1) for i in range(len(losses))],
        "losses": list(losses),
    }
    sgd = {
        "kind": "sgd",
        "learning_rate": 0.01,
        "momentum": 0.9,
        "beta1": 0.9,
        "beta2": 0.999,
        "epsilon": 1e-8,
        "weight_decay": 0.0,
        "decay": 0.99,
    }
    return make_record(
        [0.05] * steps,
        mode="training",
        optimizer=sgd,
        learning=noted,
        execution__steps_requested=steps,
        **changes,
    )


def verified_operator() -> dict[str, Any]:
    """A record of an operator with a map of its differences."""
    norms = ("l1_absolute", "l1_relative", "l2_absolute", "l2_relative", "max_absolute", "max_relative")
    errors = {
        **dict.fromkeys(norms, 1e-7),
        "compared": 6,
        "worst": {"index": [0, 0], "expected": 1.0, "found": 1.0},
    }
    repeatability = {"bitwise_equal": True, "varying_share": 0.0, "largest_variance": 0.0}
    tensor = {
        "name": "gemm",
        "kind": "output",
        "shape": [2, 3],
        "errors": errors,
        "repeatability": repeatability,
        "difference_map": {"rows": 2, "columns": 3, "cells": [[0.0, 1e-7, 2e-7], [3e-7, None, 4e-7]]},
    }
    operator = {
        "reference": "NumPy, float64",
        "reruns": 5,
        **{f"{norm}_relative": 1e-7 for norm in ("l1", "l2", "max")},
        "bitwise_equal": True,
        "varying_share": 0.0,
        "tensors": [tensor],
    }
    return steady(0.002, operator=operator, mode="inference", optimizer=None)


SECOND = {
    "batch_size": [training([2.0], batch_size=64)],
    "threads": [training([2.0], execution__threads=1)],
    "speedup": [training([2.0], framework__name="mxnet", framework__full="mxnet-1.9.1")],
    "differences": [verified_operator()],
    "history": [training([2.0], **ANOTHER_DAY)],
    "training_curves": [trained([10, 95])],
    "time_to_target": [trained([10, 95])],
    "performance_profile": two_recipes(),
    "ranks": [single(), several()],
    "rank_parts": [several()],
    "communication": [several()],
    "ranks_to_target": [trained_by(2, [10, 95])],
    "divergence": [diverging({"w": [1e-7, 2e-7, 3e-7]})],
    "divergence_map": [diverging({"w": [1e-7, 2e-7, 3e-7]})],
}
"""What some kinds need beside one training."""


def named(panel: Panel) -> dict[str, Series]:
    return {series.name: series for series in panel.series}


def interval(values: Sequence[float]) -> tuple[float, float, float]:
    """Centre and 95 % interval of three values, Student's t on the logarithms."""
    assert len(values) == 3
    logs = [math.log(value) for value in values]
    mean = sum(logs) / 3
    deviation = math.sqrt(sum((x - mean) ** 2 for x in logs) / 2)
    half = T_OF_TWO_DEGREES * deviation / math.sqrt(3)
    return math.exp(mean), math.exp(mean - half), math.exp(mean + half)


# --- every kind ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", kinds())
def test_every_kind_shows_the_kept_records(kind: str, kept: Kept) -> None:
    assert lacking(kept.chart(kind)) == []


@pytest.mark.parametrize("kind", kinds())
def test_every_kind_shows_the_fewest_records(kind: str) -> None:
    """One is enough, but for what compares two."""
    assert lacking(chart(kind, [training([2.0, 1.0, 0.5]), *SECOND.get(kind, [])])) == []


@pytest.mark.parametrize("kind", SECOND)
def test_what_compares_needs_two_to_compare(kind: str) -> None:
    with pytest.raises(UsageError, match=r"^such a picture needs runs of .* and (all|none) .*"):
        chart(kind, [training([2.0, 1.0, 0.5]), training([2.0, 1.0, 0.5], repetition=1)])


def lacking(drawn: Chart) -> list[str]:
    """Return what a whole picture has and this one has not: a panel's content, an axis' label, a value's place."""
    parts: list[tuple[str, object]] = [
        ("title", drawn.title),
        ("caption", drawn.caption.endswith(".")),
        ("panels", drawn.panels),
    ]
    for panel in drawn.panels:
        parts += [("label of x", panel.x.label), ("label of y", panel.y.label)]
        parts.append(("content", panel.series or panel.heat))
        for series in panel.series:
            count = len(series.x)
            beside = [len(other) in (0, count) for other in (series.low, series.high, series.texts)]
            is_known = panel.x.scale != "category" or set(series.x) <= set(panel.x.categories)
            parts += [("places", series.x), ("beside values", all(beside)), ("categories", is_known)]
            parts.append(("values", count == (1 if series.kind == "violin" else len(series.y))))
    return [name for name, is_there in parts if not is_there]


def test_what_a_picture_lacks_is_seen() -> None:
    drawn = chart("frameworks", [training([2.0, 1.0, 0.5])])
    (panel, *_) = drawn.panels
    (series, *_) = panel.series
    short = replace(panel, y=replace(panel.y, label=""), series=(replace(series, y=()),))
    assert lacking(replace(drawn, title="", panels=())) == ["title", "panels"]
    assert lacking(replace(drawn, panels=(short,))) == ["label of y", "values"]
    assert lacking(replace(drawn, panels=(replace(panel, series=()),))) == ["content"]


@pytest.mark.parametrize("kind", kinds())
@pytest.mark.parametrize("records", [[], [make_failed_record()]], ids=["none", "failed"])
def test_nothing_to_draw_is_one_sentence_about_what_is_needed(kind: str, records: list[Any]) -> None:
    with pytest.raises(UsageError, match=r"needs") as caught:
        chart(kind, records)
    assert "\n" not in str(caught.value)


def test_the_caption_tells_counts_machine_versions_trust_and_what_is_left_out() -> None:
    noisy = {"trust__grade": "contaminated"}
    records = [
        *processes([0.05, 0.05, 0.05]),
        steady(0.1, framework__name="mxnet", framework__full="mxnet-1.9.1"),
    ]
    records[0] = steady(0.05, **noisy)
    caption = chart("frameworks", [*records, make_failed_record()]).caption
    assert caption.startswith("3 runs, 1 to 2 fresh processes each, on Example CPU 3000, 2 threads, fp32.")
    assert "pytorch 2.13.0+cpu and mxnet 1.9.1." in caption
    assert "Trust" not in caption
    assert caption.endswith(
        "Left out: 1 run that did not end well; 1 run disturbed or otherwise not to be ranked."
    )


def test_what_was_disturbed_is_drawn_only_where_there_is_nothing_else_and_marked() -> None:
    disturbed = {"trust__grade": "contaminated"}
    slow = [steady(2.45, framework__name="mxnet", framework__full="mxnet-1.9.1", **disturbed)]
    beside = chart("frameworks", [*processes([0.05] * 3), *slow])
    assert {series.name for series in beside.panels[0].series} == {"pytorch"}
    alone = chart("frameworks", slow)
    assert {series.name for series in alone.panels[0].series} == {"mxnet (disturbed)"}
    assert "Trust: 1 contaminated of 1." in alone.caption
    # How far something learned, and what it took of memory, has nothing to do with how fast the machine was.
    assert len(chart("memory", [*processes([0.05] * 3), *slow]).panels[0].series[0].x) >= 1
    assert "(disturbed)" in str(chart("samples", [*processes([0.05]), *slow]).panels)


# --- options -------------------------------------------------------------------------------------


def test_an_option_may_be_text() -> None:
    records = [steady(0.05)]
    as_text = chart("frameworks", records, metric="throughput", log="yes")
    assert as_text == chart("frameworks", records, metric="throughput", log=True)
    assert as_text != chart("frameworks", records)


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        ("framework", {}, "did you mean 'frameworks'"),
        ("frameworks", {"metrc": "step"}, "no option 'metrc'; did you mean 'metric'"),
        ("frameworks", {"metric": "speed"}, "'metric' must be step or throughput, got 'speed'"),
        ("frameworks", {"log": "perhaps"}, "'log' must be true or false, got 'perhaps'"),
        ("samples", {"most": "two"}, "'most' must be a whole number, got 'two'"),
        ("samples", {"most": True}, "'most' must be a whole number, got 'True'"),
        ("roofline", {"log": True}, "no option 'log'; it has none"),
        ("speedup", {"baseline": "mxnt"}, "got 'mxnt'; did you mean 'mxnet'"),
    ],
)
def test_what_makes_no_sense_is_told_in_a_sentence(kind: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        chart(kind, [steady(0.05), steady(0.06, framework__name="mxnet")], **options)
    assert message in str(caught.value)


def test_options_are_listed_with_what_they_take() -> None:
    options = {option.name: (option.takes, option.default) for option in kind_options("frameworks")}
    assert options == {"metric": ("step or throughput", "step"), "log": ("true or false", None)}


# --- names ---------------------------------------------------------------------------------------


def test_names_say_no_more_than_tells_apart() -> None:
    records = [
        steady(0.05),
        steady(0.06, execution__threads=1),
        steady(0.07, framework__name="mxnet", framework__full="mxnet-1.9.1", framework__version="1.9.1"),
    ]
    (panel,) = chart("frameworks", records).panels
    assert list(named(panel)) == ["pytorch, 1 thread", "pytorch, 2 threads", "mxnet, 2 threads"]
    assert panel.x.categories == ("mnist_mlp",)


def test_two_versions_of_a_framework_are_told_apart_by_them() -> None:
    newer = {"framework__version": "2.14.0", "framework__full": "pytorch-2.14.0+cpu"}
    (panel,) = chart("frameworks", [steady(0.05), steady(0.06, **newer)]).panels
    assert list(named(panel)) == ["pytorch, 2.13.0+cpu", "pytorch, 2.14.0+cpu"]


def test_names_too_long_to_tell_apart_are_numbered() -> None:
    names = ["a" * 200, "a" * 200 + "b"]
    records = [steady(0.05, framework__name=name, framework__full=None) for name in names]
    (panel,) = chart("frameworks", records).panels
    shown = list(named(panel))
    assert shown == [f"{'a' * 59}…", f"{'a' * 59}… (2)"]


# --- frameworks and devices ----------------------------------------------------------------------


def test_frameworks_show_centre_and_interval_of_several_processes() -> None:
    medians = [0.050, 0.052, 0.055]
    drawn = chart("frameworks", processes(medians))
    (series,) = drawn.panels[0].series
    centre, low, high = interval(medians)
    assert drawn.panels[0].y.unit == "ms"
    assert drawn.panels[0].y.zero
    assert series.y == pytest.approx([1000 * centre])
    assert series.low == pytest.approx([1000 * low])
    assert series.high == pytest.approx([1000 * high])
    assert "between fresh processes" in drawn.caption


def test_frameworks_show_the_own_interval_of_a_single_process_and_say_so() -> None:
    record = make_record()
    drawn = chart("frameworks", [record])
    (series,) = drawn.panels[0].series
    low, high = record["timing"]["step_seconds"]["ci95"]
    assert (series.low[0], series.high[0]) == pytest.approx((1000 * low, 1000 * high))
    assert "within the one process" in drawn.caption


def test_throughput_is_the_batch_by_the_step_with_its_interval_turned_over() -> None:
    medians = [0.050, 0.052, 0.055]
    (series,) = chart("frameworks", processes(medians, batch_size=8), metric="throughput").panels[0].series
    centre, low, high = interval(medians)
    assert series.y == pytest.approx([8 / centre])
    assert series.low == pytest.approx([8 / high])
    assert series.high == pytest.approx([8 / low])


def test_two_processes_have_no_interval() -> None:
    (series,) = chart("frameworks", processes([0.05, 0.06])).panels[0].series
    assert series.y == pytest.approx([1000 * math.sqrt(0.05 * 0.06)])
    assert series.low == series.high == (None,)


def test_problems_far_apart_have_panels_of_their_own_and_bars_from_zero() -> None:
    records = [steady(0.0001), steady(5.0, problem__name="resnet50")]
    drawn = chart("frameworks", records)
    assert [(panel.x.categories, panel.y.unit) for panel in drawn.panels] == [
        (("mnist_mlp",), "µs"),
        (("resnet50",), "s"),
    ]
    assert {series.kind for panel in drawn.panels for series in panel.series} == {"bars"}
    assert all(panel.y.zero for panel in drawn.panels)


def test_many_problems_far_apart_are_points_on_a_logarithmic_axis() -> None:
    records = [steady(0.0001 * 7**n, problem__name=f"problem{n}") for n in range(6)]
    (panel,) = chart("frameworks", records).panels
    assert (panel.y.scale, panel.y.zero, panel.series[0].kind) == ("log", False, "points")
    assert panel.x.categories == tuple(f"problem{n}" for n in range(6))


def test_devices_stand_beside_each_other_for_each_problem() -> None:
    records = [
        steady(0.05),
        steady(0.08, execution__threads=1),
        steady(0.01, device__name="Example GPU", device__type="cuda"),
        steady(0.2, problem__name="resnet50"),
    ]
    drawn = chart("devices", records)
    first, second = drawn.panels
    assert (first.title, second.title) == ("mnist_mlp", "resnet50")
    found = dict(zip(first.series[0].x, first.series[0].y))
    assert found == pytest.approx(
        {"Example CPU 3000, 1 thread": 80, "Example CPU 3000, 2 threads": 50, "Example GPU": 10}
    )


# --- scaling -------------------------------------------------------------------------------------


def test_batch_sizes_of_the_problem_that_has_most() -> None:
    records = [steady(0.01 * size, batch_size=size) for size in (16, 1, 4)]
    drawn = chart("batch_size", [*records, steady(1.0, problem__name="resnet50")])
    throughput, latency = drawn.panels
    assert throughput.x.scale == "log2"
    assert throughput.series[0].x == (1.0, 4.0, 16.0)
    assert throughput.series[0].y == pytest.approx((100, 100, 100))
    assert latency.series[0].y == pytest.approx((10, 40, 160))
    assert latency.y.unit == "ms"
    assert drawn.caption.endswith("Left out: 1 run of other problems or modes.")


def test_threads_show_the_speedup_over_the_fewest_from_pairs_of_the_same_round() -> None:
    one, two = [0.10, 0.12, 0.11], [0.06, 0.066, 0.064]
    records = [*processes(one, execution__threads=1), *processes(two, execution__threads=2)]
    speedup, throughput = chart("threads", records).panels
    centre, low, high = interval([a / b for a, b in zip(one, two)])
    measured, ideal = speedup.series
    assert measured.y == pytest.approx((1, centre))
    assert measured.low == pytest.approx((None, low))
    assert measured.high == pytest.approx((None, high))
    assert (ideal.x, ideal.y, ideal.dashed) == ((1, 2), (1, 2), True)
    assert throughput.series[0].y == pytest.approx((4 / interval(one)[0], 4 / interval(two)[0]))


def test_threads_of_different_campaigns_are_no_speedup() -> None:
    """Many runs of two campaigns, on other days, do not outweigh the few of one."""
    other = {"replication__campaign": "f" * 32}
    apart = [
        *processes([0.10] * 5, execution__threads=1),
        *processes([0.06] * 5, execution__threads=2, **other),
    ]
    with pytest.raises(UsageError, match=r"several numbers of threads in one campaign, and none of 10 runs"):
        chart("threads", apart)
    paired = [
        *processes([0.4, 0.4, 0.4], execution__threads=1, replication__campaign="e" * 32),
        *processes([0.1, 0.1, 0.1], execution__threads=2, replication__campaign="e" * 32),
    ]
    drawn = chart("threads", [*apart, *paired])
    assert drawn.panels[0].series[0].y == pytest.approx((1, 4))
    assert drawn.caption.endswith("Left out: 10 runs of other problems, modes, sizes or campaigns.")


def test_threads_of_no_campaign_have_no_interval_and_the_caption_says_so() -> None:
    none = {"replication__campaign": None}
    records = [
        *processes([0.10, 0.12, 0.11], execution__threads=1, **none),
        *processes([0.06, 0.066, 0.064], execution__threads=2, **none),
    ]
    drawn = chart("threads", records)
    assert drawn.panels[0].series[0].low == (None, None)
    assert "are not pairs: the speed-up has no interval" in drawn.caption


def test_a_framework_without_the_fewest_threads_has_a_throughput_and_no_speedup() -> None:
    mxnet = {"framework__name": "mxnet", "framework__full": "mxnet-1.9.1"}
    records = [steady(0.1, execution__threads=1), steady(0.05, execution__threads=2)]
    records += [steady(0.2, execution__threads=2, **mxnet), steady(0.1, execution__threads=4, **mxnet)]
    speedup, throughput = chart("threads", records).panels
    assert list(named(speedup)) == ["pytorch", "ideal"]
    assert list(named(throughput)) == ["pytorch", "mxnet"]


# --- what can be read ----------------------------------------------------------------------------


def test_of_many_problems_ten_are_shown_and_a_filter_shows_the_next() -> None:
    records = [steady(0.05, problem__name=f"problem{number:02}") for number in range(14)]
    drawn = chart("frameworks", records)
    assert drawn.panels[0].x.categories == tuple(f"problem{number:02}" for number in range(10))
    assert drawn.caption.endswith("Left out: 4 runs of further problems (e.g. problem=problem10 shows some).")


def test_of_many_settings_those_of_the_most_runs_are_shown() -> None:
    names = ("pytorch", "tensorflow", "mxnet", "chainer")
    few = [
        steady(0.05, framework__name=name, framework__full=name, execution__steps_requested=steps)
        for steps in (100, 200, 300)
        for name in names
    ]
    many = [
        steady(0.05, framework__name=name, framework__full=name, problem__name=problem)
        for problem in ("mnist_mlp", "resnet18", "resnet44")
        for name in names
    ]
    for record in (*few, *many):
        record["specification"] = specification_of(record)
    drawn = chart("frameworks", [*few, *many])
    (panel,) = drawn.panels
    assert len(panel.series) == 12
    assert panel.x.categories == ("mnist_mlp", "resnet18", "resnet44")
    assert drawn.caption.endswith(
        "4 runs of other settings (e.g. problem=mnist_mlp specification.steps=300 shows some)."
    )


def test_of_many_versions_of_one_setting_twelve_are_shown() -> None:
    records = [
        steady(0.05, framework__version=f"2.{n}", framework__full=f"pytorch-2.{n}") for n in range(20, 40)
    ]
    drawn = chart("frameworks", records)
    assert len(drawn.panels[0].series) == 12
    assert "8 runs of other settings (e.g. framework.full=pytorch-2.32 shows some)" in drawn.caption


def test_devices_are_in_the_order_of_their_threads_whatever_ran_first() -> None:
    mxnet = {"framework__name": "mxnet", "framework__full": "mxnet-1.9.1"}
    records = [steady(0.05, execution__threads=threads) for threads in (16, 8)]
    records += [steady(0.05, execution__threads=threads, **mxnet) for threads in (4, 16)]
    (panel,) = chart("devices", records).panels
    assert panel.x.categories == tuple(f"Example CPU 3000, {threads} threads" for threads in (4, 8, 16))


@pytest.mark.parametrize("kind", ["devices", "memory"])
def test_panels_tell_modes_and_sizes_where_they_differ(kind: str) -> None:
    records = [training([1.0], problem__name="resnet44"), steady(0.05, batch_size=8)]
    titles = [panel.title for panel in chart(kind, records).panels]
    assert titles[:2] == ["mnist_mlp, inference, batch size 8", "resnet44, training, batch size 4"]


# --- samples -------------------------------------------------------------------------------------


def test_latency_shows_all_steady_samples_and_the_share_within_each_time() -> None:
    samples = [0.9, *(0.05 + 0.001 * n for n in range(20))]
    record = make_record(
        samples, timing__steady_state={"kind": "warmup", "start": 1, "segments": [], "reason": "x"}
    )
    drawn = chart("latency", [record])
    violin, cumulative = (panel.series[0] for panel in drawn.panels)
    milliseconds = [50 + n for n in range(20)]
    assert violin.y == pytest.approx(milliseconds)
    assert cumulative.x == pytest.approx(milliseconds)
    assert cumulative.y == pytest.approx([5 * (n + 1) for n in range(20)])
    assert "20 steady samples each, every one a step." in drawn.caption


def test_latency_says_when_samples_are_means_of_blocks() -> None:
    drawn = chart("latency", [make_record([0.05] * 30, block_steps=10)])
    assert "the mean of a block of 10 steps, so tails are not shown" in drawn.caption


def test_many_samples_are_drawn_by_quantiles_with_both_extremes() -> None:
    samples = [0.05 + 1e-6 * (7919 * n % 5000) for n in range(5000)]
    violin = chart("latency", [make_record(samples)]).panels[0].series[0]
    assert len(violin.y) == 300
    assert (violin.y[0], violin.y[-1]) == pytest.approx((50, 1000 * max(samples)))


def test_samples_stand_where_they_ended_after_the_warm_up() -> None:
    record = make_record(
        [0.06] * 4 + [0.05] * 20,
        timing__warmup_samples_seconds=[0.1, 0.07],
        timing__steady_state={
            "kind": "warmup",
            "start": 4,
            "segments": [
                {"start": 0, "end": 4, "median_seconds": 0.06},
                {"start": 4, "end": 24, "median_seconds": 0.05},
            ],
            "reason": "slower at first",
        },
    )
    (panel,) = chart("samples", [record]).panels
    series = named(panel)
    assert series["warm-up"].x == pytest.approx((0.1, 0.17))
    assert series["warm-up"].y == pytest.approx((100, 70))
    assert series["timed"].x[:2] == pytest.approx((0.23, 0.29))
    assert len(series["timed"].x) == 24
    levels = series["median between change points"]
    assert levels.x == pytest.approx((0.17, 0.41, 0.41, 0.41, 1.41, 1.41))
    assert levels.y == (60.0, 60.0, None, 50.0, 50.0, None)
    begun, start = panel.marks
    assert (begun.text, begun.x) == ("warm-up", 0.0)
    assert begun.until == pytest.approx(0.17)
    assert start.text == "steady from here"
    assert start.x == pytest.approx(0.41)


def test_a_sample_of_a_block_takes_the_time_of_all_its_steps() -> None:
    record = make_record([0.05] * 20, block_steps=10, timing__warmup_samples_seconds=[])
    by_time, by_step = (
        chart("samples", [record], over=over).panels[0].series[0] for over in ("time", "step")
    )
    assert by_time.x[:2] == pytest.approx((0.5, 1.0))
    assert by_step.x[:2] == (10, 20)


def test_too_many_samples_keep_the_shortest_and_the_longest() -> None:
    samples = [0.05 + 1e-9 * (n % 10) for n in range(9000)]
    samples[4321] = 0.5
    samples[1234] = 0.01
    timed = named(chart("samples", [make_record(samples)]).panels[0])["timed"]
    assert len(timed.x) <= 1500
    assert (min(timed.y), max(timed.y)) == pytest.approx((10, 500))  # type: ignore[type-var]


def test_only_so_many_runs_are_shown_one_by_one() -> None:
    records = [steady(0.05, batch_size=2**n) for n in range(6)]
    drawn = chart("samples", records, most=2)
    assert len(drawn.panels) == 2
    assert drawn.caption.endswith("Left out: 4 other processes or configurations.")


def test_titles_of_runs_tell_apart_what_is_shown_alone() -> None:
    records = [steady(0.05, batch_size=2**n) for n in range(3)]
    assert [panel.title for panel in chart("samples", records, most=1).panels] == ["pytorch, mnist_mlp"]


# --- cost ----------------------------------------------------------------------------------------


def test_a_point_of_the_roofline_is_what_the_graph_counts_by_what_a_step_took() -> None:
    record = steady(0.05, problem__flops_per_step=10**9, problem__bytes_per_step=4 * 10**8)
    (panel,) = chart("roofline", [record]).panels
    point, roof = panel.series
    assert point.x == (2.5,)
    assert point.y == pytest.approx((20,))
    assert panel.y.unit == "GFLOP/s"
    assert roof.name == "peak, 2 threads, fp32"
    assert roof.dashed
    # 150 GFLOP/s and 12 GB/s meet at 12.5 FLOP/byte.
    assert roof.x == pytest.approx((1.25, 12.5, 25))
    assert roof.y == pytest.approx((15, 150, 150))
    assert [mark.x for mark in panel.marks] == [2.5]


def test_without_calibration_the_roofline_has_points_and_says_why() -> None:
    drawn = chart("roofline", [steady(0.05, peaks=None)])
    assert len(drawn.panels[0].series) == 1
    assert "No roofs" in drawn.caption


def test_what_multiplies_nothing_has_no_place_under_a_roof() -> None:
    drawn = chart("roofline", [steady(0.05), steady(0.01, problem__name="pool2d", problem__flops_per_step=0)])
    assert drawn.caption.endswith("Left out: 1 run of problems without products.")


def test_parts_of_a_step_are_medians_of_processes_without_the_waiting_they_contain() -> None:
    records = processes([0.05, 0.05, 0.05])
    for record, seconds in zip(records, (0.040, 0.050, 0.052)):
        record["timing"]["breakdown"]["parts"]["forward"]["median_seconds"] = seconds
    measured, _ = chart("breakdown", records).panels
    parts = named(measured)
    assert list(parts) == ["data", "forward"]
    assert parts["forward"].y == pytest.approx((50,))
    assert parts["data"].y == pytest.approx((0.009,))
    assert (measured.y.unit, measured.series[0].kind) == ("ms", "stacked")


def test_predicted_shares_are_those_of_the_graph() -> None:
    parameters = {"inputs": 784, "hidden1": 128, "hidden2": 64, "classes": 10}
    record = steady(0.05, problem__parameters=parameters)
    predicted = chart("breakdown", [record]).panels[1]
    shares = {name: dict(zip(series.x, series.y)) for name, series in named(predicted).items()}
    widths = [(784, 128), (128, 64), (64, 10)]
    gemm = sum(4 * (4 * n + n * m + m + 4 * m) for n, m in widths)
    relu = 2 * 4 * 4 * (128 + 64)
    assert shares["gemm"]["bytes moved"] == pytest.approx(100 * gemm / (gemm + relu))
    assert shares["relu"]["bytes moved"] == pytest.approx(100 * relu / (gemm + relu))
    for quantity in ("operations", "bytes moved"):
        assert sum(share[quantity] or 0 for share in shares.values()) == pytest.approx(100)


def test_a_problem_that_is_not_known_here_is_only_measured() -> None:
    drawn = chart("breakdown", [steady(0.05, problem__name="private_net")])
    assert [panel.title for panel in drawn.panels] == ["private_net: measured"]
    assert "not known here" in drawn.caption


# --- learning, memory ----------------------------------------------------------------------------


def test_losses_are_of_the_longest_training_and_count_its_warm_up() -> None:
    records = [training([2.0, 1.0], steps=20), training([2.0, 1.0, 0.5], steps=30)]
    by_steps, by_time = chart("learning", records).panels
    # The first step and the five of the warm-up come before the timed ones.
    assert by_steps.series[0].x == (7.0, 8.0, 9.0)
    assert by_steps.series[0].y == (2.0, 1.0, 0.5)
    assert by_time.x.unit == "ms"
    timing = records[1]["timing"]
    before = timing["compile_seconds"] + sum(timing["warmup_samples_seconds"])
    assert before > 0.1
    assert by_time.series[0].x == pytest.approx([1000 * (before + after) for after in (0.05, 0.1, 0.15)])


def test_each_accuracy_is_a_training_of_its_own() -> None:
    records = [training([1.0], steps=steps, metrics__accuracy=steps / 100) for steps in (90, 30, 60)]
    panels = chart("learning", records).panels
    by_steps, by_time = panels[2:]
    assert by_steps.series[0].x == (36.0, 66.0, 96.0)
    assert by_steps.series[0].y == pytest.approx((30, 60, 90))
    assert (by_steps.y.unit, by_time.x.unit) == ("%", "s")
    timing = records[0]["timing"]
    before = timing["compile_seconds"] + sum(timing["warmup_samples_seconds"])
    assert by_time.series[0].x == pytest.approx((before + 1.5, before + 3.0, before + 4.5))
    assert {panel.series[0].kind for panel in panels} == {"line"}


def test_repeated_trainings_say_how_many_they_are_and_are_not_mixed_with_others() -> None:
    longer = [
        training([2.0, 0.5], steps=90, metrics__accuracy=value, repetition=i)
        for i, value in enumerate((0.7, 0.8, 0.9))
    ]
    shorter = [training([2.0, 1.0], steps=30, metrics__accuracy=0.5)]
    drawn = chart("learning", [*shorter, *longer])
    assert drawn.panels[2].series[0].y == pytest.approx((50, 80))
    assert drawn.panels[0].series[0].y == (2.0, 0.5)
    assert "in the first of n = 3 processes of the longest training" in drawn.caption
    assert "the mean of n = 1 to 3 processes" in drawn.caption
    other = [training([2.0, 9.0], steps=90, metrics__accuracy=0.1, framework__options={"fuse": True})]
    both = chart("learning", [*longer, *other])
    assert sorted(series.y for series in both.panels[0].series) == [(2.0, 0.5), (2.0, 9.0)]


def test_accuracies_over_time_are_not_joined_where_a_longer_training_took_less_time() -> None:
    records = [training([1.0], steps=steps, metrics__accuracy=steps / 100) for steps in (30, 60, 90)]
    records[0]["timing"]["total_seconds"] = 100.0
    drawn = chart("learning", records)
    by_steps, by_time = (panel.series[0] for panel in drawn.panels[2:])
    assert (by_steps.kind, by_time.kind) == ("line", "points")
    assert list(by_time.x) == sorted(by_time.x)
    assert by_time.y == pytest.approx((60, 90, 30))
    assert "not joined where a longer training took less time" in drawn.caption


def test_a_training_on_data_comes_before_more_of_drawn_labels() -> None:
    drawn_labels = [training([1.0], steps=steps, problem__name="resnet18") for steps in (30, 60, 90)]
    data = {"name": "digits", "digest": None}
    on_data = training([1.0], inputs__data=data, metrics__accuracy=0.9)
    assert chart("learning", drawn_labels).title.startswith("Training of resnet18")
    drawn = chart("learning", [*drawn_labels, on_data])
    assert drawn.title.startswith("Training of mnist_mlp on digits")
    assert drawn.caption.endswith("Left out: 3 runs on labels drawn by the seed.")


def test_memory_is_the_largest_of_the_processes_beside_what_is_predicted() -> None:
    records = processes([0.05, 0.05])
    records[0]["memory"]["peak_bytes"], records[1]["memory"]["peak_bytes"] = 300 << 20, 310 << 20
    for record in records:
        record["memory"]["predicted"]["total"] = 100 << 20
    memory, energy = chart("memory", records).panels
    shown = named(memory)
    assert memory.y.unit == "MiB"
    assert shown["peak of the process"].y == (310.0,)
    assert shown["predicted"].y == (100.0,)
    assert energy.series[0].y == pytest.approx((0.258,))
    assert energy.y.unit == "J"


def test_a_sampled_peak_says_that_it_may_be_below_the_other() -> None:
    record = steady(0.05)
    record["monitors"]["tree_memory"] = {"peak_bytes": 100 << 20}
    drawn = chart("memory", [record])
    assert "peak with all that it started, sampled" in named(drawn.panels[0])
    assert "may be below the peak of the process" in drawn.caption
    record["monitors"]["tree_memory"] = None
    assert "Sampled" not in chart("memory", [record]).caption


def test_without_counters_the_reason_is_told() -> None:
    reason = {"status": "absent", "reason": "no processor package"}
    record = steady(0.05, metrics__joules_per_sample=None, collectors__energy=reason)
    drawn = chart("memory", [record])
    assert len(drawn.panels) == 1
    assert "Energy is not known: no processor package." in drawn.caption


# --- heat map ------------------------------------------------------------------------------------


def test_the_heat_map_divides_by_the_fastest_or_by_a_baseline() -> None:
    records = [
        steady(0.05),
        steady(0.10, framework__name="mxnet"),
        steady(0.30, problem__name="resnet50"),
        steady(0.15, problem__name="resnet50", framework__name="mxnet"),
        steady(0.60, problem__name="resnet50", framework__name="chainer"),
    ]
    heat = chart("speedup", records).panels[0].heat
    assert heat is not None
    assert (heat.rows, heat.columns) == (("mnist_mlp", "resnet50"), ("pytorch", "mxnet", "chainer"))
    assert [*heat.values] == [pytest.approx((1, 2, None)), pytest.approx((2, 1, 4))]
    assert heat.texts[1] == ("2.00", "1.00", "4.00")
    by_pytorch = chart("speedup", records, baseline="pytorch").panels[0].heat
    assert by_pytorch is not None
    assert [*by_pytorch.values] == [pytest.approx((1, 2, None)), pytest.approx((1, 0.5, 2))]
    assert by_pytorch.centre == 1.0


def test_what_computed_with_other_values_is_not_divided() -> None:
    other = steady(0.10, framework__name="mxnet", digests__batch=f"sha256:{'9' * 64}")
    drawn = chart("speedup", [steady(0.05), other])
    heat = drawn.panels[0].heat
    assert heat is not None
    assert heat.values == ((1.0, None),)
    assert heat.texts == (("1.00", "≠"),)
    assert "computed with different values" in drawn.caption
