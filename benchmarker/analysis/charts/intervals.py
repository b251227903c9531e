"""How far intervals are shown: not so far that they dwarf the values."""

from __future__ import annotations

import math

from benchmarker.api.chart import Panel

CUT = "▲▼ the interval goes on"
"""What an axis says where an interval is not shown to its end."""
_CUT, _CUT_LOG = 2.5, 10.0
"""Times the largest value, and on a logarithmic axis the smallest one too, beyond which no interval is drawn."""


def shown_bounds(panel: Panel) -> tuple[float, float]:
    """Return between which values the intervals of a panel are shown."""
    values = [abs(y) for one in panel.series if one.kind != "violin" for y in one.y if y]
    most, least = (max(values), min(values)) if values else (math.inf, 0.0)
    return (least / _CUT_LOG, most * _CUT_LOG) if panel.y.scale == "log" else (-_CUT * most, _CUT * most)
