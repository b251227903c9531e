"""Intervals of a series as plotly.js draws them: cut, and marked, where they dwarf the values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarker.analysis.charts.downsampling import rounded
from benchmarker.analysis.text.units import significant
from benchmarker.api.chart import Series


def with_intervals(
    trace: dict[str, Any], series: Series, places: Sequence[int], bounds: tuple[float, float]
) -> dict[str, Any]:
    """Return a trace with the 95 % interval of each value, and a sign at those that go on beyond the bounds."""
    marks = [_mark(series, i, bounds) for i in places]
    found = {**trace, "error_y": _lengths(series, places, bounds)}
    if not any(marks):
        return found
    is_bar = trace["type"] == "bar"
    found |= {
        "text": marks,
        "textposition": "outside"
        if is_bar
        else ["bottom center" if one == "▼" else "top center" for one in marks],
        "cliponaxis": False,
    }
    if not is_bar:
        found["mode"] = f"{trace['mode']}+text"
    # Else only the part that is drawn would be told.
    return {"hovertext": [_interval_text(series, i) if one else "" for i, one in zip(places, marks)], **found}


def is_cut(series: Series, bounds: tuple[float, float]) -> bool:
    """Tell whether an interval of a series goes on beyond what is shown."""
    if not series.low or not series.high or series.band or series.kind == "violin":
        return False
    return any(_mark(series, i, bounds) for i in range(len(series.y)))


def _mark(series: Series, i: int, bounds: tuple[float, float]) -> str:
    low, high, value = series.low[i], series.high[i], series.y[i]
    if low is None or high is None or value is None or not bounds[0] <= value <= bounds[1]:
        return ""
    return ("▲" if high > bounds[1] else "") + ("▼" if low < bounds[0] else "")


def _interval_text(series: Series, i: int) -> str:
    low, high = series.low[i], series.high[i]
    return "" if low is None or high is None else f"95 % interval: {significant(low)} to {significant(high)}"


def _lengths(series: Series, places: Sequence[int], bounds: tuple[float, float]) -> dict[str, Any]:
    """Return lengths up and down from the value."""

    def length(i: int, end: float | None, sign: int) -> float | None:
        value = series.y[i]
        if value is None or end is None:
            return None
        return rounded(max(0.0, sign * (min(max(end, bounds[0]), bounds[1]) - value)))

    return {
        "type": "data",
        "symmetric": False,
        "array": [length(i, series.high[i], 1) for i in places],
        "arrayminus": [length(i, series.low[i], -1) for i in places],
        # Upon a bar its own colour could not be seen.
        "color": "@ink" if series.kind in ("bars", "stacked") else f"@{series.colour}",
        "thickness": 1.3,
        "width": 4,
    }
