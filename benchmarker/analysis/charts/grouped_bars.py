"""Things beside each other in groups: as bars from 0, or as points where a common scale would hide some."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarker.analysis.charts.quantities import Quantity, Row, colours_of, series
from benchmarker.api.chart import Axis, Panel

MAX_RATIO = 40.0
"""The largest value of a panel over its smallest for which bars show both."""
MAX_PANELS = 4
_MAX_INTERVAL_RATIO = 3.0
"""The highest end of an interval over the largest value, likewise."""


def panels(
    rows: Sequence[Row],
    panel_of: Sequence[str],
    quantity: Quantity,
    *,
    of: str,
    log: bool | None = None,
    separate: bool = False,
    places: Sequence[str] = (),
) -> tuple[Panel, ...]:
    """Return the rows in one panel, or in a panel for each group where they lie too far apart for one.

    Parameters
    ----------
    rows : sequence of Row
        Their places are names.
    panel_of : sequence of str
        The group of each row.
    quantity : Quantity
        What the values are.
    of : str
        What the places are, e.g. ``"problem"``.
    log : bool, optional
        Points on a logarithmic axis, or bars from 0; the values decide if not given.
    separate : bool
        A panel for each group in any case.
    places : sequence of str
        All places in their order; that of the rows if not given.
    """
    groups = list(dict.fromkeys(panel_of))
    apart = [[row for row, group in zip(rows, panel_of) if group == name] for name in groups]
    together = log or not _needs_log_scale(rows) or len(groups) > MAX_PANELS
    shown = [("", list(rows))] if together and not separate else list(zip(groups, apart))
    # The same in all panels, which have one legend.
    points = any(_needs_log_scale(group) for _, group in shown) if log is None else log
    colour = colours_of(rows)
    drawn = []
    for title, group in shown:
        found = dict.fromkeys(str(row.place) for row in group)
        along = tuple(dict.fromkeys(place for place in places if place in found)) or tuple(found)
        scale = quantity.unit(group, log=points)
        values = series(group, "points" if points else "bars", scale, colour)
        x = Axis(of, scale="category", categories=along)
        drawn.append(Panel(x, quantity.axis(scale, log=points), "" if title in along else title, values))
    return tuple(drawn)


def _needs_log_scale(rows: Sequence[Row]) -> bool:
    """Return whether bars from 0 would hide some values, or be hidden by an interval."""
    values = [row.value.value for row in rows if row.value.value > 0]
    highest = max((row.value.high or 0.0 for row in rows), default=0.0)
    return bool(values) and (
        max(values) / min(values) > MAX_RATIO or highest / max(values) > _MAX_INTERVAL_RATIO
    )
