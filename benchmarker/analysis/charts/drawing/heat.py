"""Draws a table of numbers in colours."""

from __future__ import annotations

import math
import textwrap

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, Normalize, to_rgb
from matplotlib.ticker import FixedLocator, FuncFormatter

from benchmarker.analysis.charts.drawing.text import broken, plain, put_names
from benchmarker.analysis.charts.palette import FULL, LESS, MIDDLE, MORE, PALE
from benchmarker.api.chart import Heat

_LABEL_CHARACTERS, _FINE_LABEL_CHARACTERS = 26, 40
ROW_CHARACTERS = 30
"""Of a line of a row's name."""
_TICKS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
_FINE_TICKS = (0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9, 1, 1.1, 1.2, 1.5, 2, 3, 5, 7, 10)
"""For a scale that reaches less than ten times as far."""


def draw_heat(axes: Axes, heat: Heat) -> None:
    """Draw cells with their texts, and a colour bar; around a centre on a logarithmic scale."""
    values = np.array([[np.nan if v is None else v for v in row] for row in heat.values], dtype=float)
    shown = values if heat.centre is None else np.log(values / heat.centre)
    colours, norm = _scale(shown, heat)
    edges, width = ("face", 0.5) if heat.fine else ("white", 2.0)
    image = axes.pcolormesh(
        np.ma.masked_invalid(shown), cmap=colours, norm=norm, edgecolors=edges, linewidth=width
    )
    _put_names(axes, heat)
    axes.tick_params(length=0)
    axes.invert_yaxis()
    for spine in axes.spines.values():
        spine.set_visible(False)
    for row, texts in enumerate(heat.texts):
        for column, text in enumerate(texts):
            if not text:
                continue
            value = shown[row, column]
            ink = _ink(colours(norm(value))[:3]) if np.isfinite(value) else "black"
            axes.text(
                column + 0.5,
                row + 0.5,
                "\n".join(map(plain, text.splitlines())),
                ha="center",
                va="center",
                color=ink,
            )
    bar = axes.figure.colorbar(image, ax=axes, pad=0.02, shrink=0.9)
    width = _FINE_LABEL_CHARACTERS if heat.fine else _LABEL_CHARACTERS
    bar.set_label("\n".join(map(plain, textwrap.wrap(heat.label, width))))
    bar.outline.set_visible(False)
    if heat.centre is not None:
        centre = heat.centre
        low, high = (centre * math.exp(end or 0.0) for end in (norm.vmin, norm.vmax))
        marks = _TICKS if high / low > 10 else _FINE_TICKS
        ticks = [tick for tick in marks if low * 0.999 <= tick <= high * 1.001]
        bar.locator = FixedLocator([math.log(tick / centre) for tick in ticks])
        bar.formatter = FuncFormatter(lambda value, _: f"{math.exp(value) * centre:.3g}")
        bar.update_ticks()


def _put_names(axes: Axes, heat: Heat) -> None:
    across, down = heat.named_every(len(heat.columns)), heat.named_every(len(heat.rows))
    columns, rows = heat.columns[::across], [broken(name, ROW_CHARACTERS) for name in heat.rows[::down]]
    put_names(axes, [across * place + 0.5 for place in range(len(columns))], columns)
    axes.set_yticks([down * place + 0.5 for place in range(len(rows))], rows)


def _scale(shown: np.ndarray, heat: Heat) -> tuple[LinearSegmentedColormap, Normalize]:
    finite = shown[np.isfinite(shown)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    if heat.centre is None:
        low, high = heat.limits or (low, high)
        return LinearSegmentedColormap.from_list("much", [PALE, FULL]), Normalize(low, max(high, low + 1e-9))
    if low >= -1e-9:
        return LinearSegmentedColormap.from_list("more", [MIDDLE, MORE]), Normalize(0.0, max(high, 0.1))
    reach = max(-low, high, 0.1)
    return LinearSegmentedColormap.from_list("around", [LESS, MIDDLE, MORE]), Normalize(-reach, reach)


def _ink(colour: tuple[float, float, float]) -> str:
    """Return black or white, whichever can be read on a colour."""
    red, green, blue = to_rgb(colour)
    return "white" if 0.299 * red + 0.587 * green + 0.114 * blue < 0.5 else "black"
