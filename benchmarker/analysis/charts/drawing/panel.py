"""Draws one panel of a chart into a pair of axes."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter, NullLocator

from benchmarker.analysis.charts.drawing.heat import draw_heat
from benchmarker.analysis.charts.drawing.series import Drawing, drawn, handle, place_of
from benchmarker.analysis.charts.drawing.text import broken, plain, put_names
from benchmarker.analysis.charts.intervals import CUT
from benchmarker.api.chart import Axis, Mark, Panel

_GRID = "#E3E3E3"
_QUIET = "#555555"
_MIN_RATIO = 3.0
"""The end of a logarithmic axis over its beginning, at least, so that small differences look small."""
_CLOSE = 0.04
"""Of the width of a panel: how close two marks' words may stand."""
_UPRIGHT_LABEL, _LEVEL_LABEL = 40, 60
"""Characters of what an axis shows on a line."""
_TITLE_POINTS, _TITLE_LINES, _LEFT_INCHES = 5.8, 3, 1.1
"""Width of a character of a title, its most lines, and what stands left of it."""
_NAMED_DEGREES, _NAMED_CLOSE = 45, 0.042
"""Of words above a panel: how they lean, and how close two lines of them may stand."""
_TICKS = ("%Y", "%b", "%d", "%H:%M", "%H:%M", "%H:%M:%S")
_FIRST_TICKS = ("", "%Y", "%b", "%d", "%H:%M", "%H:%M:%S")
_OFFSETS = ("", "%Y", "%Y-%b", "%Y-%b-%d", "%Y-%b-%d", "%Y-%b-%d")
"""Of times whose distance is years, months, days, hours, minutes or seconds."""


def draw_panel(axes: Axes, panel: Panel, inches: float) -> None:
    """Draw a panel of some width: axes with labels and units, then what is shown, then marks."""
    if panel.title:
        axes.set_title("\n".join(map(plain, title_lines(panel.title, inches))), loc="left")
    if panel.heat:
        draw_heat(axes, panel.heat)
        axes.set_xlabel(label_of(panel.x))
        axes.set_ylabel(label_of(panel.y))
        return
    axes.grid(True, axis="y" if panel.x.scale == "category" else "both", color=_GRID, linewidth=0.7)
    _set_scale(axes, panel, "x")
    _set_scale(axes, panel, "y")
    drawing = Drawing(axes, panel)
    for series in panel.series:
        drawn(drawing, series)
    if drawing.cut:
        axes.set_ylabel(f"{axes.get_ylabel()}\n{CUT}")
    _fit(axes, panel)
    if named_above(panel):
        _draw_names(axes, panel)
        return
    for mark, high, right in _placed(axes, panel):
        _draw_mark(axes, panel, mark, high, right)


def legend_handles(panel: Panel) -> dict[str, Any]:
    """Return what the legend shows of each series that has a name."""
    return {series.name: handle(series) for series in panel.series if series.name}


def title_lines(title: str, inches: float) -> list[str]:
    """Return a panel's title in lines that are no longer than the panel of some width."""
    width = max(20, int((inches - _LEFT_INCHES) * 72 / _TITLE_POINTS))
    return textwrap.wrap(title, width, max_lines=_TITLE_LINES, placeholder=" …")


def named_above(panel: Panel) -> bool:
    """Tell whether the words of marks stand above a panel, where they cover no points: it has no title."""
    return bool(panel.marks) and not panel.title and all(_is_line(mark) for mark in panel.marks)


def _is_line(mark: Mark) -> bool:
    return mark.x is not None and mark.until is None


def label_of(axis: Axis, width: int = _LEVEL_LABEL) -> str:
    """Return what an axis shows, with its unit, in lines of some width."""
    return broken(f"{axis.label} [{axis.unit}]" if axis.unit else axis.label, width)


def _set_scale(axes: Axes, panel: Panel, which: str) -> None:
    axis: Axis = getattr(panel, which)
    ours = getattr(axes, f"{which}axis")
    width = _UPRIGHT_LABEL if which == "y" else _LEVEL_LABEL
    getattr(axes, f"set_{which}label")(label_of(axis, width))
    if axis.scale == "category":
        put_names(axes, range(len(axis.categories)), axis.categories)
        axes.set_xlim(-0.6, len(axis.categories) - 0.4)
        return
    if axis.scale == "time":
        locator = AutoDateLocator()
        ours.set_major_locator(locator)
        ours.set_major_formatter(
            ConciseDateFormatter(locator, None, list(_TICKS), list(_OFFSETS), list(_FIRST_TICKS))
        )
        return
    if axis.scale in ("log", "log2"):
        getattr(axes, f"set_{which}scale")("log", base=2 if axis.scale == "log2" else 10)
        ours.set_minor_formatter(NullFormatter())
    if axis.scale == "log2":
        values = {value for series in panel.series for value in getattr(series, which) if value}
        ours.set_major_locator(FixedLocator(sorted(values)))
        ours.set_minor_locator(NullLocator())
    ours.set_major_formatter(FuncFormatter(lambda value, _: number(value)))


def number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1e5 else f"{value:,.6g}"


def _fit(axes: Axes, panel: Panel) -> None:
    """Show 0 where it must be seen, and on a logarithmic axis enough ticks to read values off."""
    if panel.x.zero and panel.x.scale == "linear":
        axes.set_xlim(0, 1.04 * axes.dataLim.xmax or 1.0)
    if panel.y.zero and panel.y.scale == "linear":
        axes.set_ylim(0, 1.06 * max(axes.dataLim.ymax, panel.y.most or 0.0) or 1.0)
    for which, axis in (("x", panel.x), ("y", panel.y)):
        if axis.scale == "log":
            low, high = getattr(axes, f"get_{which}lim")()
            wider = math.sqrt(max(1.0, _MIN_RATIO * low / high)) if low > 0 else 1.0
            getattr(axes, f"set_{which}lim")(low / wider, high * wider)
            decades = math.log10(high / low * wider**2) if low > 0 else 1.0
            getattr(axes, f"{which}axis").set_major_locator(LogLocator(subs=_subs(decades), numticks=20))


def _subs(decades: float) -> tuple[float, ...]:
    """Return which multiples of powers of ten have ticks, so that there are about five."""
    if decades < 1.2:
        return (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0)
    return (1.0, 2.0, 5.0) if decades < 2.5 else (1.0, 3.0) if decades < 4 else (1.0,)


def _placed(axes: Axes, panel: Panel) -> list[tuple[Mark, bool, bool]]:
    """Return the marks, and whether the words of each stand high and on the right of its line.

    They stand low and on the right but where a neighbour is close.
    """
    to_axes = axes.transData + axes.transAxes.inverted()
    marks = sorted(panel.marks, key=lambda mark: mark.x or 0.0)
    at = [float(to_axes.transform((place_of(mark.x or 0.0, panel.x), 1.0))[0]) for mark in marks]
    placed: list[tuple[Mark, bool, bool]] = []
    high = False
    for number, mark in enumerate(marks):
        if mark.x is None or mark.until is not None:
            placed.append((mark, True, True))
            continue
        after_another = number > 0 and at[number] - at[number - 1] < _CLOSE
        before_another = number + 1 < len(at) and at[number + 1] - at[number] < _CLOSE
        high = after_another and not high
        placed.append((mark, high, after_another or not before_another))
    return placed


def _draw_names(axes: Axes, panel: Panel) -> None:
    """Draw the lines of marks, and their words leaning above the panel, moved apart where lines are close."""
    to_axes = axes.transData + axes.transAxes.inverted()
    marks = sorted(panel.marks, key=lambda mark: mark.x or 0.0)
    places = [place_of(mark.x or 0.0, panel.x) for mark in marks]
    texts = [plain(mark.text).replace("; ", ";\n") for mark in marks]
    at = [float(to_axes.transform((place, 1.0))[0]) for place in places]
    for place, text, foot in zip(places, texts, _spread(at, [text.count("\n") + 1 for text in texts])):
        axes.axvline(place, color=_QUIET, linewidth=0.8, linestyle=(0, (2, 2)), zorder=0.5)
        axes.annotate(
            text,
            (place, 1.0),
            xycoords=axes.get_xaxis_transform(),
            xytext=(foot, 1.05),
            textcoords="axes fraction",
            rotation=_NAMED_DEGREES,
            rotation_mode="anchor",
            ha="left",
            va="bottom",
            color=_QUIET,
            fontsize=7.5,
            arrowprops={"arrowstyle": "-", "color": _QUIET, "linewidth": 0.6, "shrinkA": 0, "shrinkB": 0},
        )


def _spread(at: Sequence[float], lines: Sequence[int]) -> list[float]:
    """Return places in order that are as far apart as their lines need, and no more right than they must be."""
    feet: list[float] = []
    for place, count in zip(at, lines):
        feet.append(max(place, feet[-1] + _NAMED_CLOSE * count) if feet else place)
    limit = 1.0
    for number in range(len(feet) - 1, -1, -1):
        feet[number] = min(feet[number], limit)
        limit = feet[number] - _NAMED_CLOSE * lines[number]
    return feet


def _draw_mark(axes: Axes, panel: Panel, mark: Mark, high: bool, right: bool) -> None:
    box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.7, "pad": 0.6}
    quiet: dict[str, Any] = {"color": _QUIET, "fontsize": 7.5, "zorder": 1, "bbox": box}
    if mark.x is None:
        y = mark.y or 0.0
        axes.axhline(y, color=_QUIET, linewidth=0.9, linestyle=(0, (4, 3)))
        at = axes.get_yaxis_transform()
        axes.text(0.01, y, plain(mark.text), transform=at, ha="left", va="bottom", **quiet)
        return
    x = place_of(mark.x, panel.x)
    if mark.until is not None:
        axes.axvspan(x, place_of(mark.until, panel.x), color="#F3E3BF", alpha=0.55, linewidth=0, zorder=0)
    else:
        axes.axvline(x, color=_QUIET, linewidth=0.8, linestyle=(0, (2, 2)), zorder=0.5)
    axes.annotate(
        plain(mark.text),
        (x, 0.98 if high else 0.02),
        xycoords=axes.get_xaxis_transform(),
        xytext=(2 if right else -2, 0),
        textcoords="offset points",
        rotation=90,
        ha="left" if right else "right",
        va="top" if high else "bottom",
        **quiet,
    )
