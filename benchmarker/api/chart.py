"""What a chart shows, without how it is drawn.

Matplotlib and the page's library both draw from a :class:`Chart`.
"""

from __future__ import annotations

from dataclasses import field
from typing import Union

from benchmarker.quick_dataclass import dataclass

Number = float


Place = Union[float, str]


@dataclass(frozen=True)
class Axis:
    """One axis of a panel.

    Parameters
    ----------
    label : str
        What it shows, e.g. ``"median step"``.
    unit : str
        Its unit, e.g. ``"ms"``; empty for a pure number or names.
    scale : {"linear", "log", "log2", "category", "time"}
        ``time``: values are seconds since 1970 in UTC; ``category``: values are texts, in the order of ``categories``.
    categories : tuple of str
        Of a ``category`` axis, in order.
    zero : bool
        Whether the axis must show 0 (bars do).
    most : float or None
        A value that an axis with 0 must show too: 100 of a share that may not be reached.
    """

    label: str
    unit: str = ""
    scale: str = "linear"
    categories: tuple[str, ...] = ()
    zero: bool = False
    most: Number | None = None


@dataclass(frozen=True)
class Series:
    """One thing that is drawn, with one name in the legend.

    Parameters
    ----------
    name : str
        In the legend; empty for none.
    kind : {"bars", "stacked", "line", "points", "steps", "violin"}
        ``bars`` stand beside those of other series at the same place, ``stacked`` upon them; a ``violin`` is the
        distribution of all ``y``, at the single place ``x``.
    x, y : tuple
        Places and values; ``None`` is a gap.
    low, high : tuple of float or None
        Ends of the 95 % interval of each value; empty where none are known.
    texts : tuple of str
        What is said of each value when pointed at (escaped by whoever draws); empty for nothing.
    runs : tuple of tuple of str
        Identifiers of the records behind each value, or once those behind all of them; empty where it cannot be told.
        Pages filter by them.
    colour : int
        Place in the palette; the same thing has the same colour in all pictures.
    dashed : bool
        For what is expected rather than measured, e.g. an ideal line.
    faint : bool
        For what only stands behind, e.g. single samples.
    marked : bool
        Whether a line has signs along it, which tell it from others without colour.
    band : bool
        Whether ``low`` and ``high`` of a line are the edges of a shaded band, not intervals of single values.
    hollow : bool
        For points that are only bounds: what they stand for is beyond them.
    """

    name: str
    kind: str
    x: tuple[Place, ...]
    y: tuple[Number | None, ...]
    low: tuple[Number | None, ...] = ()
    high: tuple[Number | None, ...] = ()
    texts: tuple[str, ...] = ()
    runs: tuple[tuple[str, ...], ...] = ()
    colour: int = 0
    dashed: bool = False
    faint: bool = False
    marked: bool = True
    band: bool = False
    hollow: bool = False


_FINE_STEP = 8
"""Of many small cells every eighth is named."""


@dataclass(frozen=True)
class Heat:
    """A table of numbers in colours.

    Parameters
    ----------
    rows, columns : tuple of str
        Their names, rows from top to bottom.
    values : tuple of tuple of float or None
        By row; ``None`` where there is nothing.
    texts : tuple of tuple of str
        Written into each cell.
    label : str
        Of the colour bar, with its unit.
    centre : float or None
        The value without colour, for ratios 1 on a logarithmic scale; None for a scale from pale to dark.
    limits : tuple of float or None
        Ends of the scale from pale to dark, for panels that share it; the values decide without.
    fine : bool
        For many small cells: no gaps between them, and only some of their names are shown.
    runs : tuple of tuple of str
        Identifiers of the records behind each row; empty where it cannot be told.
    """

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: tuple[tuple[Number | None, ...], ...]
    texts: tuple[tuple[str, ...], ...]
    label: str
    centre: float | None = None
    limits: tuple[float, float] | None = None
    fine: bool = False
    runs: tuple[tuple[str, ...], ...] = ()

    def named_every(self, count: int) -> int:
        """Return which of so many rows or columns have their names shown: each, or one of some."""
        return _FINE_STEP if self.fine and count > 2 * _FINE_STEP else 1


@dataclass(frozen=True)
class Mark:
    """A line across a panel, with a few words: the end of the warm-up, a change point, a peak.

    Parameters
    ----------
    text : str
        What it is.
    x, y : float or None
        Where: a vertical line at ``x``, or a horizontal one at ``y``.
    until : float or None
        With ``x``: shades from ``x`` to there instead of a line.
    """

    text: str
    x: float | None = None
    y: float | None = None
    until: float | None = None


@dataclass(frozen=True)
class Panel:
    """One pair of axes, and what is in it: series and marks, or a heat map."""

    x: Axis
    y: Axis
    title: str = ""
    series: tuple[Series, ...] = ()
    marks: tuple[Mark, ...] = ()
    heat: Heat | None = None


@dataclass(frozen=True)
class Chart:
    """A whole picture.

    Parameters
    ----------
    kind : str
        As on the command line, e.g. ``"frameworks"``.
    title : str
        What it shows, of what.
    caption : str
        Number of runs and processes, the machine, what the intervals cover; one or two sentences.
    panels : tuple of Panel
        Beside each other.
    """

    kind: str
    title: str
    caption: str
    panels: tuple[Panel, ...] = field(default=())
