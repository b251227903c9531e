"""What tells series apart beside their colour: the same signs and hatches as on paper, as plotly.js names them."""

from __future__ import annotations

from typing import Any

from benchmarker.api.chart import Series

SYMBOLS = (
    "circle",
    "square",
    "triangle-up",
    "diamond",
    "triangle-down",
    "cross",
    "x",
    "triangle-left",
    "triangle-right",
    "pentagon",
    "hexagon",
)
_WIDE, _CLOSE = 9, 5
"""Pixels between the lines of a hatch."""
HATCHES = (
    ("", _WIDE),
    ("/", _WIDE),
    ("\\", _WIDE),
    ("x", _WIDE),
    ("-", _WIDE),
    ("+", _WIDE),
    ("|", _WIDE),
    ("/", _CLOSE),
    ("\\", _CLOSE),
    ("-", _CLOSE),
    ("|", _CLOSE),
)
"""One more than there are colours, so that a colour that comes again has another one."""
_MAX_MARKED, _MARKED_OF_MANY = 40, 9


def is_marked(series: Series) -> bool:
    """Tell whether a series has signs: what is expected, or has no need of them, has none."""
    return series.kind == "points" or (series.marked and not series.dashed)


def marker(series: Series, count: int) -> dict[str, Any]:
    """Return the sign of a series of which so many values are drawn, e.g. squares, smaller where there are many."""
    many = count > 2 * _MAX_MARKED
    points = series.kind == "points"
    found: dict[str, Any] = {
        "color": f"@{series.colour}",
        "symbol": "circle" if points and many else SYMBOLS[series.colour % len(SYMBOLS)],
        "size": (4 if many or series.faint else 9) if points else 7,
    }
    if points and series.hollow and not many:
        return {**found, "symbol": f"{found['symbol']}-open", "line": {"width": 2}}
    if points and not many:
        found["line"] = {"color": "@page", "width": 0.6}
    if not points and count > _MAX_MARKED:
        found["maxdisplayed"] = _MARKED_OF_MANY
    return found


def hatched(series: Series) -> dict[str, Any]:
    """Return how a bar of a series is filled: its colour, and lines across in that of the page."""
    shape, size = HATCHES[series.colour % len(HATCHES)]
    fill: dict[str, Any] = {"color": f"@{series.colour}"}
    if shape:
        fill["pattern"] = {
            "shape": shape,
            "size": size,
            "solidity": 0.2,
            "fillmode": "overlay",
            "fgcolor": "@page",
            "fgopacity": 0.9,
        }
    return fill
