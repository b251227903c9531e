"""A chart that has each kind of series, axis and mark."""

from __future__ import annotations

from benchmarker.api.chart import Axis, Chart, Heat, Mark, Panel, Series

ALL = Chart(
    "all",
    "All",
    "All of it.",
    (
        Panel(
            Axis("framework", scale="category", categories=("a", "b")),
            Axis("time", "s", zero=True),
            "bars",
            (
                Series("one", "bars", ("a", "b"), (1.0, 2.0), (0.9, None), (1.2, None), colour=0),
                Series("two", "bars", ("a",), (3.0,), colour=1),
                Series("up", "stacked", ("a", "b"), (1.0, 1.0), colour=2),
                Series("upon", "stacked", ("a", "b"), (1.0, 2.0), colour=3),
                Series("spread", "violin", ("b",), (1.0, 2.0, 2.5), colour=4),
                Series("same", "violin", ("b",), (1.0, 1.0, 1.0), colour=12),
                Series("dots", "points", ("a", "b"), (1.0, None), colour=5),
            ),
        ),
        Panel(
            Axis("when", scale="time"),
            Axis("time", "s", scale="log"),
            "lines",
            (
                Series("line", "line", (1.7e9, 1.7001e9), (1.0, 2.0), (0.9, 1.9), (1.1, 2.3), colour=6),
                Series("ideal", "line", (1.7e9, 1.7001e9), (1.0, None), colour=7, dashed=True),
                Series("stairs", "steps", (1.7e9, 1.7001e9), (1.0, 2.0), colour=8, faint=True),
            ),
            (Mark("here", x=1.70005e9), Mark("there", y=1.5), Mark("between", x=1.7e9, until=1.70002e9)),
        ),
        Panel(
            Axis("column", scale="category", categories=("c",)),
            Axis("row", scale="category", categories=("r", "s")),
            heat=Heat(("r", "s"), ("c",), ((0.5,), (None,)), (("0.50",), ("",)), "ratio", centre=1.0),
        ),
    ),
)
