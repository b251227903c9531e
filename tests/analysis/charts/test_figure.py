"""Pictures as matplotlib draws them: readable, the same bytes each time, and nobody else's settings touched."""

from __future__ import annotations

import functools
import itertools
import re
import resource
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import matplotlib
import numpy as np
import pytest
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.container import Container
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from benchmarker.analysis.charts import draw, kinds
from benchmarker.analysis.charts.drawing.figure import figure, rendered
from benchmarker.analysis.charts.saving import save
from benchmarker.api.chart import Axis, Chart, Panel, Series
from benchmarker.errors import StoreError, UsageError
from tests.analysis.charts.test_charts import ANOTHER_DAY, processes, steady, training, verified_operator
from tests.conftest import ROOT
from tests.support.every_series import ALL
from tests.support.rank_records import several, single, trained_by
from tests.support.records import make_record
from tests.support.trainings import diverging, trained, two_recipes

EVIL = "</text><script>alert(1)</script> $\\frac{ --> ${x}$ \n\x00 ünïcode_" + "long " * 30


@functools.cache
def some_records() -> Sequence[dict[str, Any]]:
    return [
        *processes([0.050, 0.052, 0.055]),
        steady(0.051, **ANOTHER_DAY),
        *processes([0.09, 0.10, 0.09], framework__name="mxnet", framework__full="mxnet-1.9.1"),
        training([2.0, 1.0, 0.5], metrics__accuracy=0.9),
        steady(0.08, execution__threads=1),
        steady(0.1, batch_size=8),
        verified_operator(),
        *(trained([10, 60, last], seed=seed) for seed, last in enumerate((91, 95, 80))),
        *two_recipes(),
        diverging({"w": [1e-7, 2e-7, 3e-7], "b": [2e-7, 2e-7, 1e-7]}),
        single(),
        *(
            several(ranks=ranks, scheme=scheme)
            for ranks in (2, 4)
            for scheme in ("all-reduce", "sparse/0.01")
        ),
        several(network="100mbit"),
        trained_by(2, [10, 60, 95]),
    ]


@functools.cache
def drawn(kind: str) -> Figure:
    """Return the picture of a kind, drawn once for all tests that only look at it."""
    return draw(kind, some_records())


@functools.cache
def drawn_file(kind: str, format: str) -> bytes:
    return rendered(drawn(kind), format)


@functools.cache
def places_of_axes(kind: str) -> Sequence[Bbox]:
    """Return where a drawn picture's axes are with what is drawn beside them: ticks beyond their limits are not."""
    return [place_of(axes) for axes in every_axes(drawn(kind))]


def place_of(axes: Axes) -> Bbox:
    box = axes.get_tightbbox()
    assert box is not None
    return box


def every_axes(picture: Figure) -> list[Axes]:
    return [axes for axes in picture.get_axes() if axes.get_visible()]


# --- what is in it -------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", kinds())
def test_a_drawn_file_has_labels_with_units_and_the_caption(kind: str) -> None:
    picture = drawn(kind)
    for axes in every_axes(picture):
        assert axes.get_xlabel() or axes.get_ylabel()
    svg = drawn_file(kind, "svg").decode()
    ElementTree.fromstring(svg)
    # Letters are drawn as curves; matplotlib notes each text beside them.
    assert "Example CPU 3000" in svg
    for panel_axes in every_axes(picture):
        for label in f"{panel_axes.get_xlabel()}\n{panel_axes.get_ylabel()}".split():
            assert label in svg


def test_times_have_their_unit_and_bars_begin_at_zero() -> None:
    picture = drawn("frameworks")
    axes = every_axes(picture)[0]
    assert axes.get_ylabel() == "median step [ms]"
    assert axes.get_ylim()[0] == 0


def test_each_series_is_one_artist_with_its_name() -> None:
    picture = figure(replace(ALL, panels=ALL.panels[:2]))
    first, second = every_axes(picture)
    for axes, names in (
        (first, ["one", "two", "up", "upon", "spread", "dots"]),
        (second, ["line", "ideal", "stairs"]),
    ):
        artists: list[Container | Artist] = [*axes.containers, *axes.lines, *axes.collections]
        drawn = [artist.get_label() for artist in artists]
        for name in names:
            assert drawn.count(name) == 1, name


def test_values_are_where_they_belong() -> None:
    picture = figure(ALL)
    bars = {container.get_label(): container for container in every_axes(picture)[0].containers}
    assert [patch.get_height() for patch in bars["one"]] == [1.0, 2.0]
    assert [patch.get_y() for patch in bars["upon"]] == [1.0, 1.0]
    left, right = bars["one"][0], bars["two"][0]
    assert left.get_x() + left.get_width() <= right.get_x()
    line = next(one for one in every_axes(picture)[1].lines if one.get_label() == "line")
    assert np.asarray(line.get_xdata()).tolist() == [1.7e9 / 86400, 1.7001e9 / 86400]
    assert np.asarray(line.get_ydata()).tolist() == [1.0, 2.0]


def test_panels_that_mean_other_things_by_a_colour_have_legends_of_their_own() -> None:
    axis = Axis("x", "s")
    panels = [
        Panel(axis, axis, series=(Series(name, "line", (1.0, 2.0), (1.0, 2.0)),)) for name in ("a", "b", "a")
    ]
    shared = figure(Chart("k", "t", "c.", (panels[0], panels[2])))
    apart = figure(Chart("k", "t", "c.", (panels[0], panels[1])))
    assert [len(part.legends) for part in shared.subfigs] == [1, 0]
    assert [
        [text.get_text() for text in part.legends[0].get_texts()] for part in apart.subfigs[0].subfigs
    ] == [
        ["a"],
        ["b"],
    ]


def test_intervals_of_lines_at_the_same_places_stand_beside_each_other() -> None:
    lines = [
        Series(name, "line", (1, 2), (3.0, 4.0), (2.0, 3.0), (4.0, 5.0), colour=i)
        for i, name in enumerate("ab")
    ]
    ideal = Series("ideal", "line", (1, 2), (1.0, 2.0), colour=7, dashed=True)
    panel = Panel(Axis("threads", scale="log2"), Axis("speed", "1/s"), series=(*lines, ideal))
    (axes,) = every_axes(figure(Chart("k", "t", "c.", (panel,))))
    a, b, expected = (
        np.asarray(line.get_xdata()).tolist()
        for line in axes.lines
        if line.get_label() in ("a", "b", "ideal")
    )
    assert expected == [1, 2]
    assert a[0] < 1 < b[0] < 1.1
    assert a[1] < 2 < b[1] < 2.2
    assert [label.get_text() for label in axes.get_xticklabels()] == ["1", "2"]


def test_small_differences_look_small_on_a_logarithmic_axis() -> None:
    panel = Panel(Axis("x"), Axis("y", "s", scale="log"), series=(Series("a", "line", (1, 2), (1.0, 1.001)),))
    (axes,) = every_axes(figure(Chart("k", "t", "c.", (panel,))))
    low, high = axes.get_ylim()
    assert high / low == pytest.approx(3)
    assert low < 1 < high


# --- readable ------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 2, 5, 6, 7, 10])
def test_names_along_an_axis_do_not_touch(count: int) -> None:
    records = [steady(0.05, problem__name=f"a_rather_long_problem_{number}") for number in range(count)]
    picture = draw("frameworks", records)
    axes = every_axes(picture)[0]
    labels = axes.get_xticklabels()
    assert len(labels) == count
    boxes = [label.get_window_extent() for label in labels]
    if labels[0].get_rotation():
        # Turned texts lie along each other; what counts is the distance of their lines.
        starts = [label.get_transform().transform(label.get_position())[0] for label in labels]
        height = float(labels[0].get_fontsize()) * picture.dpi / 72
        assert min(b - a for a, b in itertools.pairwise(starts)) > height
    else:
        assert not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2))


@pytest.mark.parametrize("kind", kinds())
def test_nothing_is_outside_of_the_picture(kind: str) -> None:
    picture = drawn(kind)
    whole = picture.bbox.padded(1)
    boxes = [*places_of_axes(kind)]
    parts = [picture, *picture.subfigs, *(part for above in picture.subfigs for part in above.subfigs)]
    boxes += [artist.get_window_extent() for part in parts for artist in (*part.texts, *part.legends)]
    assert len(boxes) >= 2
    for box in boxes:
        assert whole.x0 <= box.x0
        assert box.x1 <= whole.x1
        assert whole.y0 <= box.y0
        assert box.y1 <= whole.y1


@pytest.mark.parametrize("kind", kinds())
def test_title_legend_axes_and_caption_do_not_cover_each_other(kind: str) -> None:
    picture = drawn(kind)
    above, below = picture.subfigs
    legends = [legend.get_window_extent() for legend in above.legends]
    (title,) = (text.get_window_extent() for text in above.texts if text.get_text() == above.get_suptitle())
    caption = below.texts[0].get_window_extent()
    for one, other in itertools.combinations([title, caption, *legends], 2):
        assert not one.overlaps(other)
    for box in places_of_axes(kind):
        assert not any(box.overlaps(other) for other in (title, caption, *legends))


def test_a_long_title_of_a_panel_is_wrapped_within_the_picture() -> None:
    title = (
        "a_long_problem, inputs=784, hidden1=1024, training, batch size 128, fp32, 2 threads, on pytorch " * 2
    )
    axis = Axis("x", zero=True)
    panels = tuple(Panel(axis, axis, title, (Series("", "line", (0, 1), (0, 1)),)) for _ in range(3))
    picture = figure(Chart("history", "title", "Caption.", panels))
    for axes in every_axes(picture):
        box = place_of(axes)
        assert picture.bbox.x0 <= box.x0
        assert box.x1 <= picture.bbox.x1
        assert "\n" in axes.get_title("left")
        assert axes.get_title("left").replace("\n", " ").startswith(title[:60])
    boxes = [place_of(axes) for axes in every_axes(picture)]
    assert not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2))


def test_names_of_problems_lie_on_no_point_of_the_roofline_and_not_on_each_other() -> None:
    records = [
        steady(
            0.05 * 1.5**n, problem__name=f"a_long_problem_{n}", problem__flops_per_step=round(10**9 * 1.08**n)
        )
        for n in range(9)
    ]
    picture = draw("roofline", records)
    (axes,) = every_axes(picture)
    names = [text for text in axes.texts if text.get_text()]
    assert len(names) > 3
    top = axes.get_window_extent().y1
    assert all(name.get_window_extent().y0 >= top for name in names)
    # The words lean by 45 degrees: what counts is the distance across their lines.
    starts = [axes.transAxes.transform(name.get_position())[0] for name in names]
    for (start, name), (after, _) in itertools.pairwise(sorted(zip(starts, names), key=lambda pair: pair[0])):
        lines = name.get_text().count("\n") + 1
        assert (after - start) / 2**0.5 > lines * 7.5 * picture.dpi / 72 * 0.9


@pytest.mark.parametrize(
    ("apart", "form"), [(20, r"\d\d:\d\d:\d\d"), (7200, r"\d\d:\d\d"), (30 * 86400, r"\d\d|[A-Z][a-z]{2}")]
)
def test_times_at_ticks_are_whole(apart: float, form: str) -> None:
    begun = 1_790_000_000.0
    series = Series("", "points", (begun, begun + apart), (1.0, 2.0))
    picture = figure(
        Chart("history", "t", "C.", (Panel(Axis("date (UTC)", scale="time"), Axis("y"), "", (series,)),))
    )
    (axes,) = every_axes(picture)
    low, high = axes.get_xlim()
    texts = [label.get_text() for label in axes.get_xticklabels() if low <= label.get_position()[0] <= high]
    assert len(texts) > 2
    assert all(re.fullmatch(form, text) for text in texts), texts


def test_texts_of_a_record_are_shown_as_they_are() -> None:
    record = make_record(problem__name=EVIL, device__name=EVIL, framework__name=EVIL, framework__full=None)
    for kind in ("frameworks", "speedup", "roofline", "memory", "latency"):
        svg = rendered(draw(kind, [record, steady(0.06)]), "svg")
        tree = ElementTree.fromstring(svg)
        assert not [node for node in tree.iter() if node.tag.endswith("script")]


# --- the same each time --------------------------------------------------------------------------


@pytest.fixture
def odd_settings() -> Iterator[None]:
    with matplotlib.rc_context(
        {"font.size": 23, "axes.grid": True, "text.usetex": False, "svg.hashsalt": "x"}
    ):
        yield


@pytest.mark.parametrize(
    ("kind", "format"), [*((kind, "svg") for kind in kinds()), ("frameworks", "png"), ("frameworks", "pdf")]
)
def test_a_picture_is_the_same_bytes_each_time(kind: str, format: str) -> None:
    assert rendered(draw(kind, some_records()), format) == drawn_file(kind, format)


@pytest.mark.parametrize("format", ["svg", "png", "pdf"])
def test_a_picture_is_the_same_bytes_whenever_it_is_written(format: str) -> None:
    picture = figure(ALL)
    assert rendered(picture, format) == rendered(picture, format)


PROGRAM = """
import hashlib, sys
from benchmarker.analysis.charts import draw
from benchmarker.analysis.charts.drawing.figure import figure, rendered
from tests.support.every_series import ALL
from tests.support.records import make_record
draw("frameworks", [make_record()])
print(hashlib.sha256(rendered(figure(ALL), "svg")).hexdigest(), *sys.modules)
"""


@pytest.fixture(scope="module")
def printed() -> list[list[str]]:
    """What two processes print: the digest of a picture, and the modules that they have."""
    return [
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            cwd=ROOT,
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        for seed in ("1", "2")
    ]


def test_two_processes_draw_the_same_bytes(printed: list[list[str]]) -> None:
    (digest, *_), (other, *_) = printed
    assert len(digest) == 64
    assert digest == other


def test_the_settings_of_the_user_neither_matter_nor_change(odd_settings: None) -> None:
    before = dict(matplotlib.rcParams)
    there = rendered(draw("frameworks", [steady(0.05)]), "svg")
    assert dict(matplotlib.rcParams) == before
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        assert rendered(draw("frameworks", [steady(0.05)]), "svg") == there


def test_drawing_uses_no_pyplot(printed: list[list[str]]) -> None:
    for _, *loaded in printed:
        assert "matplotlib.figure" in loaded
        assert "matplotlib.pyplot" not in loaded


# --- files ---------------------------------------------------------------------------------------


def test_a_file_is_not_replaced_unasked(tmp_path: Any) -> None:
    target = tmp_path / "picture.svg"
    picture = draw("frameworks", [steady(0.05)])
    save(picture, target)
    target.write_text("mine")
    with pytest.raises(UsageError, match="--force"):
        save(picture, target)
    assert target.read_text() == "mine"
    save(picture, target, force=True)
    assert b"<svg" in target.read_bytes()
    assert list(tmp_path.iterdir()) == [target]


def test_a_picture_that_cannot_be_written_leaves_nothing(tmp_path: Any) -> None:
    picture, limits = draw("frameworks", [steady(0.05)]), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
    try:
        with pytest.raises(StoreError, match="could not be written"):
            save(picture, tmp_path / "picture.svg")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert list(tmp_path.iterdir()) == []
