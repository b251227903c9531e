"""Draws a chart with matplotlib: title, panels in a grid, one legend outside of them, the caption below."""

from __future__ import annotations

import contextlib
import io
import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from matplotlib import style
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from benchmarker.analysis.charts.drawing.heat import ROW_CHARACTERS
from benchmarker.analysis.charts.drawing.panel import draw_panel, legend_handles, named_above, title_lines
from benchmarker.analysis.charts.drawing.text import MAX_LEVEL, broken, plain
from benchmarker.api.chart import Chart, Panel

if TYPE_CHECKING:
    from matplotlib.figure import SubFigure

_COLUMNS = {1: 1, 2: 2, 3: 3, 4: 2}
_MAX_COLUMNS = 3
_MIN_WIDTH, _MAX_WIDTH = 7.0, 14.0
"""Inches of a picture."""
_TITLE_POINTS, _CAPTION_POINTS = 12.0, 8.0
_NARROW_NAME = 24
"""Characters of a column of a table that may need turning."""
_FINE_INCHES = (4.4, 3.3)
"""Of a table of many small cells."""
_NAMED_WIDTH, _LEANING_INCHES = 9.5, 0.042
"""Of a panel with names above it, and what a character of these adds to its height."""
_LEGEND_POINTS = 8.5
_CHARACTER, _BOLD = 0.56, 0.68
"""Width of a character over its height, about."""
_STYLE = {
    "font.family": "DejaVu Sans",
    "font.size": 9.0,
    "axes.titlesize": 10.0,
    "axes.labelsize": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#444444",
    "axes.axisbelow": True,
    "axes.formatter.useoffset": False,
    "legend.fontsize": _LEGEND_POINTS,
    "legend.frameon": False,
    "hatch.linewidth": 0.6,
    "svg.hashsalt": "benchmarker",
    "savefig.dpi": 150.0,
}
"""The fonts are matplotlib's own, so that a picture is the same everywhere."""
_METADATA: Mapping[str, Mapping[str, Any]] = {
    "svg": {"Date": None, "Creator": "benchmarker"},
    "png": {"Software": "benchmarker"},
    "pdf": {"CreationDate": None, "Creator": "benchmarker", "Producer": None},
}


@contextlib.contextmanager
def styled() -> Iterator[None]:
    """Draw as stated here, whatever the user's settings; they are as before afterwards."""
    with style.context(["default", _STYLE]):
        yield


def figure(chart: Chart) -> Figure:
    """Return the picture of a chart.

    No state of matplotlib is changed: pyplot does not know of the figure, and its settings stay as they are.

    Parameters
    ----------
    chart : Chart
        Its texts may be anything: they are shown as they are, without TeX.
    """
    with styled():
        return _figure(chart)


def rendered(picture: Figure, format: str) -> bytes:
    """Return a picture as a file's content: the same bytes each time.

    Parameters
    ----------
    picture : Figure
        Of :func:`figure`.
    format : {"svg", "png", "pdf"}
        Of the file.
    """
    stream = io.BytesIO()
    with styled():
        picture.savefig(stream, format=format, metadata=_METADATA[format])
    return stream.getvalue()


def _figure(chart: Chart) -> Figure:
    widths, heights = zip(*map(_size, chart.panels))
    wanted = _COLUMNS.get(len(chart.panels), _MAX_COLUMNS)
    columns = max(1, min(wanted, int(_MAX_WIDTH / max(widths))))
    rows = math.ceil(len(chart.panels) / columns)
    width = min(_MAX_WIDTH, max(_MIN_WIDTH, columns * max(widths)))
    legends = _legends(chart.panels)
    across = width if len(legends) == 1 else width / columns
    caption = _wrapped(chart.caption, width, _CAPTION_POINTS * _CHARACTER)
    title = _wrapped(chart.title, width, _TITLE_POINTS * _BOLD)
    keys = max(_legend_inches(legend, across) for legend in legends) * (1 if len(legends) == 1 else rows)
    lines = max(len(title_lines(panel.title, width / columns)) for panel in chart.panels)
    top = rows * (max(heights) + 0.16 * max(0, lines - 1)) + keys + 0.25 * len(title)
    bottom = 0.25 + len(caption) * _CAPTION_POINTS * 1.35 / 72
    layout = ConstrainedLayoutEngine()
    whole = Figure(figsize=(width, top + bottom), layout=layout, facecolor="white")
    parts: Any = whole.subfigures(2, 1, height_ratios=[top, bottom])
    above, below = parts
    above.suptitle("\n".join(title), fontsize=_TITLE_POINTS, fontweight="bold", x=0.02, ha="left")
    _draw_panels(above, chart.panels, (rows, columns), legends, across)
    below.text(
        0.02, 0.92, "\n".join(caption), fontsize=_CAPTION_POINTS, color="#444444", va="top", linespacing=1.35
    )
    # Laid out once: each time anew, the parts would move a little, and no two files be the same.
    layout.execute(whole)
    whole.set_layout_engine(None)  # with one that does nothing, files would be drawn twice
    _round_positions(whole)
    return whole


def _round_positions(part: Figure | SubFigure) -> None:
    """Drop the last bits of what the layout's solver found: they follow the addresses of its variables."""
    for axes in part.axes:
        place = axes.get_position(original=True)
        left, bottom, width, height = (round(float(value), 6) for value in place.bounds)
        axes.set_position((left, bottom, width, height))
    for below in part.subfigs:
        below.bbox_relative.set_points(below.bbox_relative.get_points().round(6))
        _round_positions(below)


def _size(panel: Panel) -> tuple[float, float]:
    """Return inches for a panel with its labels."""
    if panel.heat and panel.heat.fine:
        return _FINE_INCHES
    if panel.heat:
        turned = 1.6 if max(map(len, panel.heat.columns)) > _NARROW_NAME else 0.0
        lines = max(len(broken(name, ROW_CHARACTERS).splitlines()) for name in panel.heat.rows)
        rows = max(0.42, 0.12 + 0.165 * lines) * len(panel.heat.rows)
        return 3.2 + 1.0 * len(panel.heat.columns), max(2.6, 1.2 + rows) + turned
    names = len(panel.x.categories)
    bars = sum(len(series.x) for series in panel.series if series.kind != "stacked") if names else 0
    slot, height = (0.95, 3.5) if names <= MAX_LEVEL else (0.45, 4.3)
    if named_above(panel):
        longest = max(len(line) for mark in panel.marks for line in mark.text.split("; "))
        return _NAMED_WIDTH, 4.3 + _LEANING_INCHES * longest
    return max(4.6, min(_MAX_WIDTH, max(1.2 + 0.2 * bars, 1.2 + slot * names))), height


def _legends(panels: Sequence[Panel]) -> list[dict[str, Any]]:
    """Return one legend for all panels, or one for each where a colour would mean two things."""
    each = [legend_handles(panel) for panel in panels]
    every: dict[str, Any] = {}
    for name, handle in (item for found in each for item in found.items()):
        every.setdefault(name, handle)
    colours: dict[tuple[int, str], str] = {}
    for series in (series for panel in panels for series in panel.series if series.name):
        if colours.setdefault((series.colour, "dashed" if series.dashed else ""), series.name) != series.name:
            return each
    return [every]


def _draw_panels(
    above: SubFigure,
    panels: Sequence[Panel],
    shape: tuple[int, int],
    legends: Sequence[Mapping[str, Any]],
    inches: float,
) -> None:
    if len(legends) == 1:
        grid = list(above.subplots(*shape, squeeze=False).flat)
        for axes, panel in zip(grid, panels):
            draw_panel(axes, panel, inches / shape[1])
        for axes in grid[len(panels) :]:
            axes.set_visible(False)
        _add_legend(above, legends[0], inches)
        return
    parts: Any = above.subfigures(*shape, squeeze=False)
    for part, panel, legend in zip(parts.flat, panels, legends):
        draw_panel(part.subplots(), panel, inches)
        _add_legend(part, legend, inches)


def _add_legend(part: SubFigure, handles: Mapping[str, Any], inches: float) -> None:
    if not handles:
        return
    part.legend(
        list(handles.values()),
        [plain(name) for name in handles],
        loc="outside lower center",
        ncols=_legend_columns(handles, inches),
        handlelength=2.2,
    )


def _legend_columns(handles: Mapping[str, Any], inches: float) -> int:
    characters = inches * 72 / (_LEGEND_POINTS * _CHARACTER)
    return max(1, min(len(handles), int(characters / (max(map(len, handles)) + 10))))


def _legend_inches(handles: Mapping[str, Any], inches: float) -> float:
    if not handles:
        return 0.0
    return 0.1 + 0.2 * math.ceil(len(handles) / _legend_columns(handles, inches))


def _wrapped(text: str, inches: float, character_points: float) -> list[str]:
    lines = textwrap.wrap(text, int(0.95 * inches * 72 / character_points), break_on_hyphens=False)
    return [plain(line) for line in lines] or [""]
