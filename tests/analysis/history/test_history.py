"""The history of a number: what belongs together, what its points are, and where its level changed."""

from __future__ import annotations

import json
import math
import random
import uuid
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

import numpy as np
import pytest

from benchmarker import load_results
from benchmarker.analysis import charts
from benchmarker.analysis.history.levels import ALPHA, MIN_POINTS, find_changes
from benchmarker.analysis.history.points import History, differences, facts_of, histories
from benchmarker.analysis.text.history import histories_json, histories_text
from benchmarker.errors import UsageError
from tests.conftest import ROOT
from tests.support.kept_records import GROUP, Kept
from tests.support.records import make_record

pytestmark = pytest.mark.xdist_group(GROUP)

START = datetime(2026, 1, 1, 3, tzinfo=timezone.utc)


def measured(day: float, seconds: float, **changes: Any) -> dict[str, Any]:
    """Return the record of a run on that day with that median step."""
    samples = [seconds * (1 + 0.001 * (i % 5 - 2)) for i in range(25)]
    moment = START + timedelta(days=day)
    times = {"started_at": _text(moment), "ended_at": _text(moment + timedelta(minutes=1))}
    # Without a campaign that is named each is its own.
    return make_record(samples, **{"replication__campaign": uuid.uuid4().hex, **times, **changes})


def _text(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def only(records: Sequence[dict[str, Any]]) -> History:
    """Return the one history that the records are."""
    (history,) = histories(records)
    return history


def series(levels: Sequence[float], each: int, noise: float, seed: int = 0) -> list[float]:
    """Return so many days at each level, with noise of that size."""
    draw = random.Random(seed)
    return [level * math.exp(draw.gauss(0, noise)) for level in levels for _ in range(each)]


# --- what belongs together -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        {"batch_size": 8},
        {"framework__name": "mxnet"},
        {"framework__options": {"compile": True}},
        {"platform__cpu__model": "Example CPU 4000"},
        {"device__name": "Example GPU"},
        {"imported": {"tool": "another program"}},
    ],
)
def test_what_makes_another_number_is_another_history(change: dict[str, Any]) -> None:
    found = histories([measured(0, 0.05), measured(1, 0.05), measured(2, 0.05, **change)])
    assert [len(history.points) for history in found] == [2, 1]


def test_versions_are_what_changes_within_a_history() -> None:
    before, after = (
        measured(0, 0.05, framework__version="2.12.0"),
        measured(1, 0.05, framework__version="2.13.0"),
    )
    before["framework"]["full"], after["framework"]["full"] = "pytorch-2.12.0", "pytorch-2.13.0"
    after["platform"]["os"] = {**after["platform"]["os"], "kernel": "6.6.1"}
    before["platform"]["os"] = {**before["platform"]["os"], "kernel": "6.1.0"}
    name = before["framework"]["name"]
    points = only([after, before]).points
    assert [point.changed for point in points] == [(), (f"{name} 2.12.0 -> 2.13.0", "kernel 6.1.0 -> 6.6.1")]
    assert points[0].time < points[1].time


def test_another_build_of_python_is_a_change_unless_it_was_not_told_before() -> None:
    builds = [None, "GCC 12.2.0, main, Dec 4 2023", "GCC 12.2.0, main, Apr 28 2025"]
    points = only([measured(day, 0.05, environment__build=build) for day, build in enumerate(builds)]).points
    assert [point.changed for point in points] == [(), (), (f"Python build {builds[1]} -> {builds[2]}",)]


def test_packages_that_came_went_and_changed_are_named() -> None:
    before = facts_of(measured(0, 1, environment__packages={"a": "1", "b": "1", "c": "1"}))
    after = facts_of(measured(0, 1, environment__packages={"a": "1", "b": "2", "d": "1"}))
    assert differences(before, after) == ("b 1 -> 2", "d added", "c removed")
    nothing = facts_of(measured(0, 1, environment__packages={}))
    assert differences(before, nothing) == differences(nothing, before) == ()


def test_a_run_that_did_not_end_well_is_no_point() -> None:
    crashed = measured(1, 0.05)
    crashed["status"] = "crashed"
    assert len(only([measured(0, 0.05), crashed]).points) == 1
    assert histories([crashed]) == []


# --- points ----------------------------------------------------------------------------------------


def test_the_processes_of_a_campaign_are_one_point_with_an_interval_between_them() -> None:
    seconds = (0.050, 0.052, 0.054)
    records = [measured(i / 100, x, replication__campaign="a" * 32) for i, x in enumerate(seconds)]
    (point,) = only([*records[1:], records[0]]).points
    assert point.processes == 3
    assert point.centre_seconds == pytest.approx(math.prod(seconds) ** (1 / 3))
    low, high = point.ci95_seconds or (0, 0)
    # Student's t of two degrees of freedom, 4.303, on the logarithms.
    width = 4.3027 * float(np.std(np.log(seconds), ddof=1)) / math.sqrt(3)
    assert (low, high) == pytest.approx(
        (point.centre_seconds / math.exp(width), point.centre_seconds * math.exp(width)), rel=1e-4
    )
    assert point.time == START.timestamp()


def test_a_single_run_has_its_own_interval_and_two_have_none() -> None:
    alone = measured(0, 0.05, replication__campaign="a" * 32)
    pair = [measured(1, 0.05, replication__campaign="b" * 32) for _ in range(2)]
    first, second = only([alone, *pair]).points
    assert list(first.ci95_seconds or ()) == alone["timing"]["step_seconds"]["ci95"]
    assert (second.processes, second.ci95_seconds) == (2, None)


def test_the_worst_grade_is_told() -> None:
    records = [measured(0, 0.05, replication__campaign="a" * 32) for _ in range(3)]
    records[1]["trust"]["grade"] = "contaminated"
    records[2]["trust"]["grade"] = "noisy"
    (history,) = histories(records, include_contaminated=True)
    assert history.points[0].grade == "contaminated"


def test_disturbed_runs_are_in_no_point_and_make_no_change_of_level() -> None:
    records = [measured(day, x) for day, x in enumerate(series((0.050, 0.080), 12, 0.005))]
    for record in records[12:]:
        record["trust"]["grade"] = "contaminated"
    history = only(records)
    assert (len(history.points), history.changes, history.left_out) == (12, (), 12)
    (told,) = histories_json([history])["histories"]
    assert (told["left_out"], told["disturbed"]) == (12, False)
    text = " ".join(histories_text([history]).split())
    assert "Left out: 12 runs disturbed or otherwise not to be ranked; --include-contaminated" in text
    drawn = charts.chart("history", records)
    assert "Left out: 12 runs disturbed" in drawn.caption
    assert len(drawn.panels[0].series[0].x) == 12
    (every,) = histories(records, include_contaminated=True)
    assert (len(every.points), every.left_out) == (24, 0)
    assert every.changes
    assert len(charts.chart("history", records, include_contaminated=True).panels[0].series[0].x) == 24


def test_where_every_run_is_disturbed_the_history_says_so() -> None:
    records = [measured(day, 0.05, trust__grade="contaminated") for day in range(3)]
    history = only(records)
    assert (len(history.points), history.left_out, history.disturbed) == (3, 0, True)
    text = " ".join(histories_text([history]).split())
    assert "Every run of this history is disturbed" in text
    assert charts.chart("history", records).panels[0].title.endswith(" (disturbed)")


# --- where the level changed -----------------------------------------------------------------------


@pytest.mark.parametrize("count", [0, 1, MIN_POINTS - 1])
def test_few_points_have_no_change_however_far_apart(count: int) -> None:
    seconds = [0.05 if i < count / 2 else 0.5 for i in range(count)]
    assert find_changes(seconds) == []
    if count:
        history = only([measured(day, x) for day, x in enumerate(seconds)])
        assert history.too_short is not None
        assert f"at least {MIN_POINTS} points" in history.too_short
        assert str(count) in history.too_short


def test_known_changes_are_found_with_their_size() -> None:
    records = [measured(day, x) for day, x in enumerate(series((0.050, 0.055, 0.044), 15, 0.01))]
    for record in records[15:]:
        record["framework"]["version"] = "9.9.9"
    history = only(records)
    assert [change.point for change in history.changes] == [15, 30]
    assert [change.ratio for change in history.changes] == pytest.approx([1.10, 0.80], rel=0.02)
    assert "-> 9.9.9" in history.changes[0].changed[0]
    assert history.changes[1].changed == ()
    assert [(first, end) for first, end, _ in history.levels] == [(0, 15), (15, 30), (30, 45)]


def test_a_change_in_the_shortest_history_is_found() -> None:
    assert find_changes(series((1.0, 1.2), MIN_POINTS // 2, 0.01)) == [MIN_POINTS // 2]


@pytest.mark.parametrize("step", [1.005, 1 / 1.005])
def test_what_counts_as_equal_is_no_change(step: float) -> None:
    assert find_changes(series((1.0, step), 40, 0.0005)) == []


def test_a_lone_outlier_is_no_change() -> None:
    seconds = series((1.0,), 40, 0.01)
    seconds[17] *= 3
    assert find_changes(seconds) == []


def test_outliers_hide_no_change() -> None:
    seconds = series((1.0, 1.06), 15, 0.01)
    seconds[6] *= 2
    seconds[21] /= 2
    assert find_changes(seconds) == [15]


def test_a_history_without_any_noise_has_no_change() -> None:
    assert find_changes([0.05] * 30) == []


def _noise(kind: str, count: int, draw: np.random.Generator) -> Any:
    if kind == "normal":
        return draw.normal(0, 0.03, count)
    if kind == "heavy tail":
        return draw.standard_t(3, count) * 0.03 / math.sqrt(3)
    values = draw.normal(0, 0.03, count)
    for i in range(1, count):
        values[i] = 0.5 * values[i - 1] + values[i] * math.sqrt(0.75)
    return values


@pytest.mark.parametrize("kind", ["normal", "heavy tail", "autocorrelated"])
def test_false_marks_are_rare(kind: str) -> None:
    """Measured over 1,500: 0.7 % of such histories, and 5.3 % where days are autocorrelated by 0.5."""
    draw = np.random.default_rng(7)
    false = sum(bool(find_changes(np.exp(_noise(kind, 20, draw)))) for _ in range(200))
    assert false <= 200 * (0.08 if kind == "autocorrelated" else 3 * ALPHA)


def test_most_changes_of_three_times_the_noise_are_found() -> None:
    draw = np.random.default_rng(3)
    step = np.repeat([0.0, math.log(1.10)], 20)
    found = sum(
        len(places) == 1 and abs(places[0] - 20) <= 2
        for places in (find_changes(np.exp(step + _noise("normal", 40, draw))) for _ in range(50))
    )
    assert found >= 45


# --- what is told ----------------------------------------------------------------------------------


def test_a_level_that_changed_is_described_and_not_judged() -> None:
    records = [measured(day, x) for day, x in enumerate(series((0.050, 0.054), 12, 0.005))]
    for record in records[12:]:
        record["platform"]["os"] = {**record["platform"]["os"], "kernel": "9.0.0"}
    text = histories_text([only(records)])
    assert "Level changed by +8." in text
    assert "at 2026-01-13 03:00: kernel" in text
    assert "is not a verdict" in " ".join(text.split())
    assert "slower" not in text
    assert max(map(len, text.splitlines())) <= 80


def test_more_than_three_histories_are_a_row_each() -> None:
    records = [measured(day, 0.05, batch_size=size) for size in (1, 2, 4, 8) for day in range(2)]
    text = histories_text(histories(records))
    assert "batch size" in text
    assert text.count("too few") == 4
    assert "95 % interval" not in text


def test_numbers_of_one_point_are_counted_beside_histories() -> None:
    records = [measured(0, 0.05, batch_size=size) for size in range(1, 6)]
    alone = histories_text(histories(records))
    assert alone.count("too few") == 5
    text = histories_text(histories([*records, measured(1, 0.05, batch_size=3)]))
    assert "4 more numbers have a single point" in text
    assert "batch size 3" in text
    assert "batch size 2" not in text


def test_a_history_of_another_program_says_so() -> None:
    (history,) = histories([measured(0, 0.05, imported={"tool": "another program"})])
    assert "measured by another program" in " ".join(histories_text([history]).split())


def test_texts_of_a_record_reach_no_terminal_as_they_are() -> None:
    record = measured(0, 0.05)
    record["framework"]["version"] = "1\x1b[31m"
    record["platform"]["cpu"]["model"] = "CPU\x1b[2J"
    assert "\x1b" not in histories_text(histories([record]))


def test_json_has_every_point_and_level() -> None:
    records = [measured(day, x) for day, x in enumerate(series((0.050, 0.060), 40, 0.005))]
    told = json.loads(json.dumps(histories_json(histories(records))))
    (history,) = told["histories"]
    assert len(history["points"]) == 80
    assert [level["from_point"] for level in history["levels"]] == [0, 40]
    assert history["changes"][0]["time"] == history["points"][40]["time"] == "2026-02-10T03:00:00Z"
    assert history["points"][0]["ci95_level"] == "within one process"


def test_the_picture_shows_points_levels_and_marks() -> None:
    records = [measured(day, x) for day, x in enumerate(series((0.050, 0.060), 12, 0.005))]
    chart = charts.chart(
        "history", [*records, measured(0, 0.05, batch_size=64), measured(1, 0.05, batch_size=64)]
    )
    assert len(chart.panels) == 2
    points, levels = chart.panels[0].series
    assert len(points.x) == 24
    assert chart.panels[0].x.scale == "time"
    assert chart.panels[0].y.unit == "ms"
    assert [y for y in levels.y if y is not None] == pytest.approx([50, 50, 60, 60], rel=0.01)
    (mark,) = chart.panels[0].marks
    assert mark.x == points.x[12]
    assert "+2" in mark.text or "+19" in mark.text
    assert "too few points" in chart.caption
    assert "4 further" not in chart.caption


def test_a_picture_of_no_history_is_refused_in_words() -> None:
    with pytest.raises(UsageError, match="different times"):
        charts.chart("history", [measured(0, 0.05)])


@pytest.mark.parametrize("folder", ["results", "tests/data/old_records"])
def test_real_records_have_histories(folder: str, kept: Kept) -> None:
    records = kept.records if folder == "results" else list(load_results(ROOT / folder))
    found = histories(records)
    counted = sum(point.processes for history in found for point in history.points)
    left_out = sum(history.left_out for history in found)
    assert counted + left_out == sum(record["status"] == "ok" for record in records)
    assert histories_text(found)
