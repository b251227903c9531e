"""A chart as figures of plotly.js: plain JSON, one figure a panel, colours named and not yet chosen.

A colour is written ``"@3"`` (place 3 of the palette), ``"@3/0.3"`` (the same, so much opaque) or ``"@ink"``; the page
puts in those of its theme. Texts go only where plotly.js shows them as they are, with its few tags escaped, and
never into its templates.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from datetime import datetime, timezone
from typing import Any

from benchmarker.analysis.charts.downsampling import kept, quantiles, rounded
from benchmarker.analysis.charts.intervals import CUT, shown_bounds
from benchmarker.analysis.charts.palette import FULL, LESS, MIDDLE, MORE, PALE
from benchmarker.analysis.page.interactive.intervals import is_cut, with_intervals
from benchmarker.analysis.page.interactive.markers import hatched, is_marked, marker
from benchmarker.api.chart import Axis, Chart, Heat, Mark, Panel, Place, Series
from benchmarker.quick_dataclass import dataclass

Figure = dict[str, Any]
MAX_POINTS = 40_000
"""Of all series of a chart together."""
_POINTS_OF_A_SERIES = (20, 600)
_HEIGHT, _ROW_HEIGHT, _NAMED_HEIGHT, _FINE_HEIGHT = 400, 34, 20, 8
_NAME_WIDTH, _LINE_OF_NAMES, _MAX_NAME = 20, 90, 44
"""Letters of a name on a line, of all names beside each other, and of one that is slanted."""
_LABELS = {"x": 60, "y": 40}
"""Letters of what an axis shows on a line."""
_MIN_LABEL, _LETTER = 18, 8
"""Letters of a line beside the bar of a table's colours, at least, and the height of a letter in pixels."""
_MAX_LEVEL = 3
_FEW_TIMES = 8
"""Of the smallest value the largest: so close that each multiple of a power of ten is a tick."""
_RATIOS = (1.01, 1.02, 1.05, 1.1, 1.25, 1.5, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)


@dataclass(frozen=True)
class Drawn:
    """The figures of a chart.

    Parameters
    ----------
    figures : tuple of dict
        ``data`` and ``layout`` for plotly.js, one a panel.
    thinned : bool
        Whether some series have more points than are drawn.
    """

    figures: tuple[Figure, ...]
    thinned: bool


def draw(chart: Chart) -> Drawn:
    series = [one for panel in chart.panels for one in panel.series]
    least, most = _POINTS_OF_A_SERIES
    limit = min(most, max(least, MAX_POINTS // max(1, len(series))))
    return Drawn(
        figures=tuple(_figure(panel, limit) for panel in chart.panels),
        thinned=any(len(one.y) > limit for one in series),
    )


def as_text(text: str) -> str:
    """Return a text that plotly.js shows as it is: it takes a few tags of HTML, and mathematics between dollars."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("$", "&#36;")


def _lines(text: str, width: int) -> str:
    """Return a text in lines of so many letters."""
    return "<br>".join(map(as_text, textwrap.wrap(text, width)))


def _figure(panel: Panel, limit: int) -> Figure:
    if panel.heat is not None:
        return _heat_figure(panel, panel.heat)
    named: set[str] = set()
    data = []
    for one in panel.series:
        if one.band:
            data += _band(one, panel, limit)
        data.append(_trace(one, panel, limit, first=one.name not in named))
        named.add(one.name)
    kinds = {one.kind for one in panel.series}
    layout = {
        "xaxis": _axis("x", panel.x, [x for one in panel.series for x in one.x]),
        "yaxis": _marked(panel, _axis("y", panel.y, [y for one in panel.series for y in one.y])),
        "barmode": "stack" if "stacked" in kinds else "group",
        "violinmode": "overlay",
        # Points of several series at one name stand beside each other, as bars do.
        "scattermode": "group" if panel.x.scale == "category" and "points" in kinds else "overlay",
        "shapes": [_mark(mark, panel, along=_crowded(panel)) for mark in panel.marks],
        "showlegend": False,  # the page has its own legend, for the keyboard too
        "height": _HEIGHT + _height_of_names(panel.x),
    }
    return {"data": data, "layout": layout}


def _marked(panel: Panel, axis: Figure) -> Figure:
    """Return the axis of values, which says what the signs at intervals mean if there are any."""
    bounds = shown_bounds(panel)
    if any(is_cut(one, bounds) for one in panel.series):
        axis["title"]["text"] += f"<br>{CUT}"
    return axis


def _trace(series: Series, panel: Panel, limit: int, *, first: bool) -> Figure:
    shared: Figure = {
        "name": as_text(series.name),
        "legendgroup": series.name,
        "showlegend": bool(series.name) and first,
        "opacity": 0.4 if series.faint else 1,
        "hoverlabel": {"namelength": -1},
    }
    if len(series.runs) == 1:
        shared["runs"] = list(series.runs)
    if series.kind == "violin":
        return {**shared, **_violin(series, panel.x, limit)}
    places = kept(series.y, limit)
    trace: Figure = {
        **shared,
        "x": [_place(series.x[i], panel.x) for i in places],
        "y": [_place(series.y[i], panel.y) for i in places],
        **_drawn_as(series, len(places)),
    }
    if len(series.runs) > 1:
        trace["runs"] = [series.runs[i] for i in places]
    if series.texts:
        trace.update(hovertext=[as_text(series.texts[i]) for i in places], hoverinfo="text")
    if series.low and series.high and not series.band:
        return with_intervals(trace, series, places, shown_bounds(panel))
    return trace


def _band(series: Series, panel: Panel, limit: int) -> list[Figure]:
    """Return the edges of a band, the space between them filled; its line in the legend switches both."""
    places = kept(series.y, limit)
    shared: Figure = {
        "type": "scatter",
        "mode": "lines",
        "legendgroup": series.name,
        "showlegend": False,
        "hoverinfo": "skip",
        "line": {"width": 0},
        "x": [_place(series.x[i], panel.x) for i in places],
    }
    low, high = (
        {**shared, "y": [_place(edge[i], panel.y) for i in places]} for edge in (series.low, series.high)
    )
    return [low, {**high, "fill": "tonexty", "fillcolor": f"@{series.colour}/0.15"}]


def _drawn_as(series: Series, count: int) -> Figure:
    if series.kind in ("bars", "stacked"):
        return {"type": "bar", "marker": hatched(series)}
    sign = {"marker": marker(series, count)} if is_marked(series) else {}
    if series.kind == "points":
        return {"type": "scatter", "mode": "markers", **sign}
    line = {
        "color": f"@{series.colour}",
        "width": 1 if series.faint else 2,
        "dash": "dash" if series.dashed else "solid",
        "shape": "hv" if series.kind == "steps" else "linear",
    }
    return {"type": "scatter", "mode": "lines+markers" if sign else "lines", "line": line, **sign}


def _violin(series: Series, x: Axis, limit: int) -> Figure:
    values = quantiles([y for y in series.y if y is not None], limit)
    colour = f"@{series.colour}"
    return {
        "type": "violin",
        "x": [_place(series.x[0], x)] * len(values),
        "y": [rounded(value) for value in values],
        "line": {"color": colour, "width": 1.5},
        "fillcolor": f"{colour}/0.3",
        "box": {"visible": True, "width": 0.12},
        "points": False,
        "spanmode": "hard",
        "scalemode": "width",
    }


def _place(value: Place | None, axis: Axis) -> Any:
    if isinstance(value, str):
        return as_text(value)
    if value is None or axis.scale != "time":
        return rounded(value)
    moment = datetime.fromtimestamp(value, tz=timezone.utc)
    return moment.strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]


def _axis(which: str, axis: Axis, values: Sequence[Place | None]) -> Figure:
    unit = f" [{axis.unit}]" if axis.unit else ""
    found: Figure = {
        "title": {
            "text": _lines(axis.label + unit, _LABELS[which]),
            "standoff": 10,
        },
        "type": {"linear": "linear", "category": "category", "time": "date"}.get(axis.scale, "log"),
        "automargin": True,
        "gridcolor": "@grid",
        "linecolor": "@ink",
        "zerolinecolor": "@grid",
        "hoverformat": "" if axis.scale in ("category", "time") else ".4~g",
        "exponentformat": "power",
        "minexponent": 5,
    }
    if axis.zero and axis.scale == "linear":
        found["rangemode"] = "tozero"
        if axis.most is not None:
            found["range"] = [0, 1.06 * axis.most]
    if axis.scale == "category":
        found |= _names(axis.categories)
    known = [value for value in values if isinstance(value, (int, float)) and value > 0]
    if axis.scale == "log2" and known:
        found |= _powers_of_two(known)
    if axis.scale == "log" and known and max(known) < 300 * min(known):
        # Also 2 and 5 of each power of ten, or all its multiples; without a format they were single digits.
        found["dtick"] = "D1" if 1 < max(known) / min(known) <= _FEW_TIMES else "D2"
        found["tickformat"] = ",.3~r" if min(known) >= 1e-3 else ".1~e"
    return found


def _names(categories: Sequence[str]) -> Figure:
    """Return the names of a category axis in order: on several lines if they are few, slanted if they are many."""
    names = [as_text(name) for name in categories]
    found = {"categoryorder": "array", "categoryarray": names, "tickvals": names}
    if _are_slanted(categories):
        return found | {"ticktext": [as_text(_short(name)) for name in categories], "tickangle": -40}
    lines = [textwrap.wrap(name, _NAME_WIDTH, break_on_hyphens=False) for name in categories]
    return found | {"ticktext": ["<br>".join(map(as_text, wrapped)) for wrapped in lines], "tickangle": 0}


def _are_slanted(categories: Sequence[str]) -> bool:
    longest = max(map(len, categories), default=0)
    return len(categories) * min(longest, _NAME_WIDTH) > _LINE_OF_NAMES


def _height_of_names(axis: Axis) -> int:
    """Return the pixels that slanted names take of a panel, beside what is always there for a line of them."""
    if axis.scale != "category" or not _are_slanted(axis.categories):
        return 0
    return round(4.2 * max(len(_short(name)) for name in axis.categories))


def _short(name: str) -> str:
    return name if len(name) <= _MAX_NAME else f"{name[: _MAX_NAME - 1]}…"


def _powers_of_two(values: Sequence[float]) -> Figure:
    powers = range(math.floor(math.log2(min(values))), math.ceil(math.log2(max(values))) + 1)
    return {"tickvals": [2.0**power for power in powers], "ticktext": [f"{2.0**power:g}" for power in powers]}


def _crowded(panel: Panel) -> bool:
    """Return whether there are so many upright marks that their words must be written along them."""
    return sum(mark.x is not None for mark in panel.marks) > _MAX_LEVEL


def _mark(mark: Mark, panel: Panel, *, along: bool) -> Figure:
    """Return a line over the whole height or width of a panel, or a shaded part, with its words."""
    across = mark.x is not None
    axis, start = (panel.x, mark.x) if across else (panel.y, mark.y)
    begin = _place(start, axis)
    end = _place(mark.until, axis) if across and mark.until is not None else begin
    label: Figure = {"text": as_text(mark.text), "font": {"size": 11, "color": "@ink"}}
    ends = {"x0": begin, "x1": end, "y0": 0, "y1": 1, "xref": "x", "yref": "paper"}
    if not across:
        ends = {"x0": 0, "x1": 1, "y0": begin, "y1": begin, "xref": "paper", "yref": "y"}
    if begin != end:
        shade = {"fillcolor": "@ink/0.08", "line": {"width": 0}, "layer": "below"}
        return {"type": "rect", **ends, **shade, "label": {**label, "textposition": "top left"}}
    line = {"color": "@ink", "width": 1.2, "dash": "dot"}
    level = {
        "textangle": 0,
        "xanchor": "left",
        "yanchor": "top" if across else "bottom",
    }
    where = {"textposition": "end" if across else "start"} | (
        {"xanchor": "right"} if along and across else level
    )
    return {"type": "line", **ends, "line": line, "label": {**label, **where}}


def _heat_figure(panel: Panel, heat: Heat) -> Figure:
    trace: Figure = {
        "type": "heatmap",
        "x": [as_text(name) for name in heat.columns],
        "y": [as_text(name) for name in heat.rows],
        "text": [["<br>".join(map(as_text, text.splitlines())) for text in row] for row in heat.texts],
        "texttemplate": "%{text}",
        "hoverinfo": "x+y+text",
        "xgap": 0 if heat.fine else 2,
        "ygap": 0 if heat.fine else 2,
        "colorbar": _bar(heat),
        **_colours(heat),
    }
    if heat.runs:
        trace["runs"] = list(heat.runs)
    columns = {**_axis("x", panel.x, ()), "type": "category", "gridcolor": "@none", **_names(heat.columns)}
    rows = {
        **_axis("y", panel.y, ()),
        **_names(heat.rows),
        "type": "category",
        "gridcolor": "@none",
        "autorange": "reversed",
        "ticktext": [as_text(_short(name)) for name in heat.rows],
        "tickangle": 0,
    }
    height = max(280, 170 + _row_height(heat) * len(heat.rows))
    if heat.fine:
        for axis, names in ((columns, heat.columns), (rows, heat.rows)):
            shown = slice(None, None, heat.named_every(len(names)))
            axis |= {
                "tickvals": axis["tickvals"][shown],
                "ticktext": axis["ticktext"][shown],
                "tickangle": 0,
            }
    return {
        "data": [trace],
        "layout": {
            "xaxis": columns,
            "yaxis": rows,
            "showlegend": False,
            "height": height + _height_of_names(panel.x),
        },
    }


def _row_height(heat: Heat) -> int:
    """Return pixels, enough for each name that is shown."""
    if not heat.fine:
        return _ROW_HEIGHT
    return _NAMED_HEIGHT if heat.named_every(len(heat.rows)) == 1 else _FINE_HEIGHT


def _colours(heat: Heat) -> Figure:
    """Return values and scale: ratios by their logarithm and away from the centre, others as they are."""
    if heat.centre is None:
        values = [[rounded(value) for value in row] for row in heat.values]
        ends = dict(zip(("zmin", "zmax"), heat.limits or ()))
        return {"z": values, **ends, "colorscale": [[0.0, PALE], [1.0, FULL]]}
    centre = heat.centre
    logs = [
        [math.log2(value / centre) if value and value > 0 else None for value in row] for row in heat.values
    ]
    known = [log for row in logs for log in row if log is not None]
    most = max(map(abs, known), default=0) or 0.1
    both_ways = min(known, default=0) < 0
    ticks = _ticks(most, both_ways=both_ways)
    return {
        "z": [[rounded(log) for log in row] for row in logs],
        "zmin": -most if both_ways else 0,
        "zmax": most,
        "colorscale": [[0.0, LESS], [0.5, MIDDLE], [1.0, MORE]]
        if both_ways
        else [[0.0, MIDDLE], [1.0, MORE]],
        "colorbar": {
            **_bar(heat),
            "tickvals": [rounded(math.log2(tick)) for tick in ticks],
            "ticktext": [f"{tick * centre:.3g}" for tick in ticks],
        },
    }


def _ticks(most: float, *, both_ways: bool) -> list[float]:
    """Return round ratios up to ``2 ** most``, so far apart on a logarithmic scale that they can be read."""
    above: list[float] = []
    last = 0.0
    for ratio in _RATIOS:
        place = math.log2(ratio)
        if place <= most and place - last >= most / 4:
            above.append(ratio)
            last = place
    return [*(1 / ratio for ratio in reversed(above) if both_ways), 1.0, *above]


def _bar(heat: Heat) -> Figure:
    long = max(_MIN_LABEL, _row_height(heat) * len(heat.rows) // _LETTER)
    return {"title": {"text": _lines(heat.label, long), "side": "right"}, "thickness": 14}
