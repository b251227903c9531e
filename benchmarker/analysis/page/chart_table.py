"""The numbers of a chart as a table of text: for who cannot see the picture, and for print."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from datetime import datetime, timezone

from benchmarker.analysis.text.units import significant
from benchmarker.api.chart import Axis, Chart, Heat, Panel, Place, Series
from benchmarker.quick_dataclass import dataclass

MAX_ROWS = 120
_MAX_VALUES = 40


@dataclass(frozen=True)
class Numbers:
    """A table: headings, rows of as many texts, and how many rows were left out."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    skipped: int


def numbers(chart: Chart) -> Numbers:
    """Return what a chart shows as a table; a series of many values is one row with its range."""
    rows = [row for panel in chart.panels for row in _rows(panel)]
    head = ("what", "at", "value", "95 % interval")
    return Numbers(head, tuple(rows[:MAX_ROWS]), max(0, len(rows) - MAX_ROWS))


def _rows(panel: Panel) -> Iterator[tuple[str, ...]]:
    if panel.heat is not None and panel.heat.fine:
        yield from _fine_rows(panel, panel.heat)
    elif panel.heat is not None:
        for row, texts in zip(panel.heat.rows, panel.heat.texts):
            for column, text in zip(panel.heat.columns, texts):
                yield row, column, ", ".join(text.splitlines()), ""
    for series in panel.series:
        name = ": ".join(part for part in (panel.title, series.name or panel.y.label) if part)
        if series.kind == "violin" or len(series.y) > _MAX_VALUES:
            yield name, *_range(series, panel)
        else:
            yield from ((name, *cells) for cells in _values(series, panel))


def _fine_rows(panel: Panel, heat: Heat) -> Iterator[tuple[str, ...]]:
    """Yield a row of many small cells with its range."""
    for row, values in zip(heat.rows, heat.values):
        known = [value for value in values if value is not None]
        name = ": ".join(part for part in (panel.title, row) if part)
        yield name, f"{len(known)} places", _range_of(known) if known else "nothing", ""


def _range_of(known: Sequence[float]) -> str:
    middle, low, high = (significant(f(known), 3) for f in (statistics.median, min, max))
    return f"median {middle}, from {low} to {high}"


def _values(series: Series, panel: Panel) -> Iterator[tuple[str, str, str]]:
    for index, (place, value) in enumerate(zip(series.x, series.y)):
        if value is not None:
            low = series.low[index] if series.low else None
            high = series.high[index] if series.high else None
            interval = "" if low is None or high is None else f"{significant(low)} to {_shown(high, panel.y)}"
            yield _shown(place, panel.x), _shown(value, panel.y), interval


def _range(series: Series, panel: Panel) -> tuple[str, str, str]:
    known = [value for value in series.y if value is not None]
    if not known:
        return "", "nothing", ""
    ends = f"{significant(min(known))} to {_shown(max(known), panel.y)}"
    at = _shown(series.x[0], panel.x) if series.kind == "violin" else f"{len(known)} places"
    return at, f"median {_shown(statistics.median(known), panel.y)} of {len(known)}, from {ends}", ""


def _shown(value: Place, axis: Axis) -> str:
    if isinstance(value, str):
        return value
    if axis.scale == "time":
        return f"{datetime.fromtimestamp(value, tz=timezone.utc):%Y-%m-%d %H:%M:%S} UTC"
    text = f"{value:,}" if isinstance(value, int) else significant(value)
    return f"{text} {axis.unit}".strip()
