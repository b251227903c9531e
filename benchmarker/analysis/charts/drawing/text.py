"""Texts of records in matplotlib: shown as they are, and broken or turned so that they do not touch."""

from __future__ import annotations

import re
from collections.abc import Sequence

from matplotlib.axes import Axes

MAX_LEVEL = 6
"""Names along an axis that stand upright; more are turned."""
_MIN_LINE, _TURNED_LINE = 12, 26
_AXIS_LINE = 45
"""Characters that fit along the narrowest axis."""
_DEGREES = 35


def plain(text: str) -> str:
    """Return a text that matplotlib shows as it is: a dollar begins no formula, nothing breaks the line."""
    return "".join(c if c.isprintable() else " " for c in text).replace("$", r"\$")


def put_names(axes: Axes, places: Sequence[float], names: Sequence[str]) -> None:
    """Write names along the horizontal axis: in lines, or turned where they are many or long."""
    width = max(_MIN_LINE, _AXIS_LINE // max(1, len(names)))
    texts = [broken(name, width) for name in names]
    longest = max((len(line) for text in texts for line in text.splitlines()), default=0)
    if len(names) <= MAX_LEVEL and longest <= width + 1:
        axes.set_xticks(places, texts)
        return
    axes.set_xticks(places, [broken(name, _TURNED_LINE) for name in names])
    axes.tick_params(axis="x", rotation=_DEGREES)
    for label in axes.get_xticklabels():
        label.set_horizontalalignment("right")
        label.set_rotation_mode("anchor")


def broken(name: str, width: int) -> str:
    """Return a name as it is shown, broken after its commas if it is too long, then at spaces and underscores."""
    if len(name) > width and ", " in name:
        return "\n".join(broken(part, width) for part in name.replace(", ", ",\0").split("\0"))
    lines = [""]
    for piece in re.findall("[^ _]*[ _]|[^ _]+", name):
        if lines[-1] and len(lines[-1]) + len(piece.rstrip()) > width:
            lines.append("")
        lines[-1] += piece
    return "\n".join(plain(line.rstrip()) for line in lines)
