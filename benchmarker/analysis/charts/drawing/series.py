"""Draws the series of a panel: bars, lines, points, steps and violins, each with its intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.mlab import GaussianKDE
from matplotlib.patches import Patch

from benchmarker.analysis.charts.intervals import shown_bounds
from benchmarker.analysis.charts.palette import colour as colour_at
from benchmarker.api.chart import Axis, Panel, Place, Series

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "h")
HATCHES = (
    "", "///", "\\\\\\", "xxx", "---", "+++", "|||", "//////", "\\\\\\\\\\\\", "------", "||||||"
)  # fmt: skip
"""Lines only, since dots make files large; so many that a colour that comes again has another one."""
_GROUP, _DODGE = 0.82, 0.5
_STEP_ASIDE = 0.12
"""Of a doubling."""
_FEW, _MAX_MARKED = 16, 40
_SECONDS_PER_DAY = 86400.0
_INK = "#222222"


@dataclass
class Drawing:
    """A panel while it is drawn.

    Parameters
    ----------
    axes : Axes
        Where.
    panel : Panel
        What.
    tops : dict
        How high bars that stand upon each other are so far, by place.
    cut : bool
        Whether an interval goes on beyond what is shown of it.
    """

    axes: Axes
    panel: Panel
    tops: dict[Place, float] = field(default_factory=dict)
    cut: bool = False

    def offset(self, series: Series, place: Place) -> tuple[float, int]:
        """Return how far a series stands from the middle of a place, of 1, and how many stand there."""
        there = [
            other
            for other in self.panel.series
            if other.kind == series.kind
            and any(x == place and y is not None for x, y in zip(other.x, other.y))
        ]
        index = next((i for i, other in enumerate(there) if other is series), 0)
        return (index + 0.5) / max(1, len(there)) - 0.5, max(1, len(there))


def place_of(place: Place, axis: Axis) -> float:
    """Return where something stands, in matplotlib's numbers."""
    if axis.scale == "category":
        return float(axis.categories.index(str(place)))
    return float(place) / _SECONDS_PER_DAY if axis.scale == "time" else float(place)


def drawn(drawing: Drawing, series: Series) -> None:
    _DRAW[series.kind](drawing, series)


def handle(series: Series) -> Any:
    """Return what stands for a series in a legend."""
    colour = colour_at(series.colour)
    if series.kind in ("bars", "stacked", "violin"):
        return Patch(facecolor=colour, hatch=_hatch(series), edgecolor="white", linewidth=0)
    return Line2D(
        [],
        [],
        color=colour,
        linestyle="none" if series.kind == "points" else _dash(series),
        marker=_marker(series),
        markerfacecolor="white" if series.hollow else colour,
        markersize=5.5,
        alpha=_alpha(series),
    )


def _marker(series: Series) -> str:
    """Return the sign of a series; what is expected, or has no need of it, has none."""
    bare = series.kind != "points" and (series.dashed or not series.marked)
    return "none" if bare else MARKERS[series.colour % len(MARKERS)]


def _every(series: Series) -> tuple[int, int] | None:
    """Return the first and the distance of marked values where there are many, differing between series."""
    count = len(series.x)
    if count <= _MAX_MARKED:
        return None
    return (series.colour % 8 * count // 64, count // 8)


def _hatch(series: Series) -> str:
    return HATCHES[series.colour % len(HATCHES)]


def _dash(series: Series) -> Any:
    return (0, (5, 3)) if series.dashed else "-"


def _alpha(series: Series) -> float:
    return 0.45 if series.faint else 1.0


def _numbers(values: Sequence[float | None]) -> np.ndarray:
    return np.array([np.nan if value is None else value for value in values], dtype=float)


def _whiskers(drawing: Drawing, series: Series, x: np.ndarray, y: np.ndarray, ink: str) -> None:
    """Draw the interval of each value that has one."""
    if not series.low or not series.high:
        return
    low, high = _numbers(series.low), _numbers(series.high)
    known = np.isfinite(low) & np.isfinite(high) & np.isfinite(y)
    if not known.any():
        return
    least, most = shown_bounds(drawing.panel)
    for beyond, edge, sign in ((high > most, most, "^"), (low < least, least, "v")):
        at = known & beyond & (y >= least) & (y <= most)
        if at.any():
            drawing.cut = True
            drawing.axes.plot(
                x[at], np.full(int(at.sum()), edge), sign, color=ink, markersize=5, zorder=5, clip_on=False
            )
    low, high = np.clip(low, least, most), np.clip(high, least, most)
    ends = np.clip([y[known] - low[known], high[known] - y[known]], 0, None)
    drawing.axes.errorbar(
        x[known], y[known], yerr=ends, fmt="none", ecolor=ink, elinewidth=1.1, capsize=2.5, zorder=4
    )


def _bars(drawing: Drawing, series: Series) -> None:
    axis = drawing.panel.x
    stands = [drawing.offset(series, place) for place in series.x]
    x = np.array([place_of(place, axis) + off * _GROUP for place, (off, _) in zip(series.x, stands)])
    widths = [0.94 * _GROUP / max(2, count) for _, count in stands]
    y = _numbers(series.y)
    drawing.axes.bar(
        x,
        np.nan_to_num(y),
        width=widths,
        color=colour_at(series.colour),
        hatch=_hatch(series),
        edgecolor="white",
        linewidth=0,
        label=series.name,
        zorder=2,
    )
    _whiskers(drawing, series, x, y, _INK)


def _stacked(drawing: Drawing, series: Series) -> None:
    axis = drawing.panel.x
    heights = [value or 0.0 for value in series.y]
    bottoms = [drawing.tops.get(place, 0.0) for place in series.x]
    drawing.axes.bar(
        [place_of(place, axis) for place in series.x],
        heights,
        bottom=bottoms,
        width=0.6,
        color=colour_at(series.colour),
        hatch=_hatch(series),
        edgecolor="white",
        linewidth=0.8,
        label=series.name,
        zorder=2,
    )
    for place, bottom, height in zip(series.x, bottoms, heights):
        drawing.tops[place] = bottom + height


def _line(drawing: Drawing, series: Series) -> None:
    _curve(drawing, series, linewidth=1.3 if series.dashed else 1.7, zorder=1.5 if series.dashed else 3)


def _steps(drawing: Drawing, series: Series) -> None:
    _curve(drawing, series, linewidth=1.6, drawstyle="steps-post", zorder=3)


def _curve(drawing: Drawing, series: Series, **how: Any) -> None:
    x = np.array([place_of(place, drawing.panel.x) for place in series.x]) * _aside(drawing, series)
    y = _numbers(series.y)
    drawing.axes.plot(
        x,
        y,
        color=colour_at(series.colour),
        linestyle=_dash(series),
        marker=_marker(series),
        markevery=_every(series),
        markersize=5,
        alpha=_alpha(series),
        label=series.name,
        **how,
    )
    if series.band:
        low, high = _numbers(series.low), _numbers(series.high)
        drawing.axes.fill_between(
            x, low, high, color=colour_at(series.colour), alpha=0.15, linewidth=0, zorder=1
        )
    else:
        _whiskers(drawing, series, x, y, colour_at(series.colour))


def _aside(drawing: Drawing, series: Series) -> float:
    """Return the factor by which a line at doubling places steps aside, so that intervals are not on top of others."""
    alike = [one for one in drawing.panel.series if one.kind == series.kind]
    others = [one for one in alike if any(end is not None for end in one.low)]
    if drawing.panel.x.scale != "log2" or series not in others:
        return 1.0
    return float(2.0 ** (_STEP_ASIDE * ((others.index(series) + 0.5) / len(others) - 0.5)))


def _points(drawing: Drawing, series: Series) -> None:
    axis = drawing.panel.x
    dodge = _DODGE if axis.scale == "category" else 0.0
    places = [place_of(p, axis) + (dodge and dodge * drawing.offset(series, p)[0]) for p in series.x]
    x, y = np.array(places), _numbers(series.y)
    many = len(x) > 2 * _MAX_MARKED
    own = many or series.hollow
    drawing.axes.plot(
        x,
        y,
        linestyle="none",
        color=colour_at(series.colour),
        markerfacecolor="white" if series.hollow and not many else colour_at(series.colour),
        marker="." if many else _marker(series),
        markersize=3 if many else 7 if len(x) < _FEW else 5,
        markeredgecolor=colour_at(series.colour) if own else "white",
        markeredgewidth=0 if many else 1.4 if series.hollow else 0.6,
        alpha=_alpha(series),
        label=series.name,
        zorder=3,
        clip_on=not series.hollow,
    )
    _whiskers(drawing, series, x, y, colour_at(series.colour))


def _violin(drawing: Drawing, series: Series) -> None:
    """Draw the density of values on both sides of a line, with range, quartiles and median."""
    log = drawing.panel.y.scale == "log"
    y = np.sort(_numbers(series.y))
    y = y[np.isfinite(y) & ((y > 0) | (not log))]
    if not y.size:
        return
    place = place_of(series.x[0], drawing.panel.x)
    values = np.log(y) if log else y
    if values[-1] > values[0]:
        grid = np.union1d(np.linspace(values[0], values[-1], 100), values)
        density = GaussianKDE(values, _bandwidth(values)).evaluate(grid)
        half = 0.4 * density / density.max()
        drawing.axes.fill_betweenx(
            np.exp(grid) if log else grid,
            place - half,
            place + half,
            facecolor=colour_at(series.colour),
            hatch=_hatch(series),
            edgecolor="white",
            linewidth=0,
            label=series.name,
            zorder=2,
        )
    low, middle, high = np.percentile(y, [25, 50, 75])
    drawing.axes.plot([place, place], [y[0], y[-1]], color=_INK, linewidth=0.8, zorder=1.5)
    drawing.axes.plot([place, place], [low, high], color=_INK, linewidth=4, solid_capstyle="butt", zorder=3)
    drawing.axes.plot([place], [middle], "o", color="white", markeredgecolor=_INK, markersize=5, zorder=4)


def _bandwidth(values: np.ndarray) -> float:
    """Return the kernel's width over the standard deviation, which a few outliers shall not widen.

    B. W. Silverman: Density Estimation for Statistics and Data Analysis, 1986, equation 3.31.
    """
    deviation = float(np.std(values, ddof=1))
    quartiles = np.percentile(values, [25, 75])
    robust = min(deviation, float(quartiles[1] - quartiles[0]) / 1.34) or deviation
    return float(0.9 * robust / deviation * values.size**-0.2)


_DRAW = {
    "bars": _bars,
    "stacked": _stacked,
    "line": _line,
    "points": _points,
    "steps": _steps,
    "violin": _violin,
}
