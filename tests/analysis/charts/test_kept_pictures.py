"""Every kind of picture over the kept records: no text cut off or upon another, nothing disturbed as if clean."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from benchmarker.analysis.charts import chart, kinds, picture
from benchmarker.analysis.charts.drawing.figure import styled
from benchmarker.analysis.charts.intervals import CUT
from benchmarker.api.chart import Axis, Chart, Panel, Series
from tests.support.kept_records import GROUP, Kept

pytestmark = [pytest.mark.xdist_group(GROUP), pytest.mark.timeout(600)]

KINDS = kinds()
LESS: Mapping[str, Mapping[str, str]] = {
    "ranks": {"problem": "mnist_mlp"},
    "rank_parts": {"problem": "mnist_mlp", "framework": "pytorch"},
    "communication": {"problem": "mnist_mlp"},
    "samples": {"problem": "resnet*"},
}
"""As pages draw them: of one problem."""


def beyond_the_axes(whole: Figure) -> set[int]:
    """Return the labels of ticks that a pair of axes has but does not show."""
    found: set[int] = set()
    for axes in whole.findobj(Axes):
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            slack = 1e-9 * (abs(low) + abs(high))
            for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
                if not low - slack <= tick.get_loc() <= high + slack:
                    found |= {id(tick.label1), id(tick.label2)}
    return found


def shown_texts(whole: Figure) -> Iterator[tuple[Text, Bbox]]:
    with styled():
        canvas = FigureCanvasAgg(whole)
        whole.draw_without_rendering()
        gone = beyond_the_axes(whole)
        for text in whole.findobj(Text):
            box = text.get_window_extent(canvas.get_renderer())
            hidden = text.axes is not None and not text.axes.get_visible()
            if text.get_text().strip() and text.get_visible() and id(text) not in gone and not hidden:
                yield text, box


def overlap(one: Sequence[float], other: Sequence[float]) -> bool:
    """Tell whether two boxes, each left, bottom, right and top, share more than their edges."""
    width = min(one[2], other[2]) - max(one[0], other[0])
    return width > 2 and min(one[3], other[3]) - max(one[1], other[1]) > 2


@pytest.mark.parametrize("kind", KINDS)
def test_no_text_is_cut_off_or_upon_another(kind: str, kept: Kept) -> None:
    whole = picture(chart(kind, kept.those(**LESS[kind])) if kind in LESS else kept.chart(kind))
    texts = list(shown_texts(whole))
    assert len(texts) > 5
    width, height = whole.bbox.size
    outside = [
        text.get_text()
        for text, box in texts
        if box.x0 < -1 or box.y0 < -1 or box.x1 > width + 1 or box.y1 > height + 1
    ]
    assert outside == []
    level = [
        (text.get_text(), [float(end) for end in box.extents])
        for text, box in texts
        if text.get_rotation() % 90 == 0
    ]
    upon = [(one, other) for (one, a), (other, b) in itertools.combinations(level, 2) if overlap(a, b)]
    assert upon == []


def test_networks_stand_before_operators_and_labels_are_short(kept: Kept) -> None:
    shown = kept.chart("frameworks")
    places = {place for panel in shown.panels for place in panel.x.categories}
    assert not any(place.startswith("deepbench") for place in places)
    assert "runs of operators (e.g. problem=" in shown.caption
    operators = kept.those(problem="deepbench_gemm")
    labels = {place for panel in chart("frameworks", operators).panels for place in panel.x.categories}
    assert "deepbench_gemm, m=512, gradient" in labels


def test_what_the_machine_disturbed_is_in_no_kept_picture_of_times(kept: Kept) -> None:
    heat = chart("speedup", kept.those(problem="conv2d_2")).panels[0].heat
    assert heat
    assert max(value for row in heat.values for value in row if value) < 30
    disturbed = sum((record["trust"] or {}).get("grade") == "contaminated" for record in kept.records)
    assert disturbed > 0
    for kind in ("frameworks", "speedup", "latency", "roofline", "batch_size", "threads"):
        assert "contaminated" not in kept.chart(kind).caption


@pytest.mark.parametrize("scale", ["linear", "log"])
def test_an_interval_that_dwarfs_the_values_is_cut_and_marked(scale: str) -> None:
    y = Axis("step time", "ms", scale=scale, zero=scale == "linear")
    x = Axis("framework", scale="category", categories=("a", "b"))
    wide = Series("a", "points", ("a", "b"), (1.0, 2.0), low=(0.5, 1e-6), high=(1.5, 900.0))
    calm = Series("a", "points", ("a", "b"), (1.0, 2.0), low=(0.5, 1.5), high=(1.5, 2.5))
    whole, usual = (
        picture(Chart("frameworks", "Title", "Caption.", (Panel(x, y, series=(one,)),)))
        for one in (wide, calm)
    )
    (axes,), (plain,) = whole.get_axes(), usual.get_axes()
    assert axes.get_ylim()[1] < 40
    assert CUT in axes.get_ylabel()
    assert CUT not in plain.get_ylabel()
    marks = [str(line.get_marker()) for line in axes.get_lines()]
    assert "^" in marks
    assert ("v" in marks) == (scale == "log")
