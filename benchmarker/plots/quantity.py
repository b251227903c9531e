"""Numbers of a cell with their intervals: the time of a step, and the throughput that follows from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from benchmarker.plots.chart import Axis, Series
from benchmarker.plots.naming import framework_of
from benchmarker.plots.palette import colours
from benchmarker.plots.scaling import Unit, plain, times
from benchmarker.report.cells import Cell

Metric = Literal["step", "throughput"]


@dataclass(frozen=True)
class Value:
    """A number of a record's unit, with the ends of its 95 % interval where they are known."""

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Row:
    """One value in a picture.

    Parameters
    ----------
    name : str
        Of the series.
    framework : str
        Decides the colour of the series.
    place : str or float
        Where it stands.
    value : Value
        How much.
    text : str
        What else is said of it.
    """

    name: str
    framework: str
    place: str | float
    value: Value
    text: str = ""


def value_of(cell: Cell, metric: Metric) -> Value:
    """Return the median step in seconds, or the samples per second at the median step."""
    step, interval = cell.step_seconds or 0.0, cell.interval_seconds or (None, None)
    if metric == "step":
        return Value(step, *interval)
    batch = cell.first["batch_size"]
    low, high = (batch / end if end else None for end in interval)
    return Value(batch / step, high, low)


def unit_of(values: Sequence[Value], metric: Metric, *, log: bool = False) -> Unit:
    """Return the unit that suits some values."""
    return times([v.value for v in values], log=log) if metric == "step" else plain("samples/s")


def axis_of(unit: Unit, metric: Metric, *, log: bool = False, zero: bool = True) -> Axis:
    """Return the axis of a metric."""
    label = "median step" if metric == "step" else "throughput"
    return Axis(label, unit.name, scale="log" if log else "linear", zero=zero and not log)


def row_of(cell: Cell, name: str, place: str | float, metric: Metric) -> Row:
    """Return the value of a cell as a picture shows it."""
    count = len(cell.well)
    text = "1 process" if count == 1 else f"{count} processes"
    return Row(name, framework_of(cell), place, value_of(cell, metric), text)


def colours_of(rows: Sequence[Row]) -> dict[str, int]:
    """Return the place in the palette of each name."""
    frameworks: dict[str, str] = {}
    for row in rows:
        frameworks.setdefault(row.name, row.framework)
    return dict(zip(frameworks, colours(list(frameworks.values()))))


def series(
    rows: Sequence[Row], kind: str, unit: Unit, colour: Mapping[str, int] | None = None
) -> tuple[Series, ...]:
    """Return the rows as series, one a name in the order in which names first appear.

    Parameters
    ----------
    rows : sequence of Row
        Any; those of a line are put in the order of their places.
    kind : str
        Of :class:`~benchmarker.plots.chart.Series`.
    unit : Unit
        Of the values.
    colour : mapping, optional
        The place in the palette by name, where several panels must agree.
    """
    named: dict[str, list[Row]] = {}
    for row in rows:
        named.setdefault(row.name, []).append(row)
    colour = colours_of(rows) if colour is None else colour
    ordered = [
        sorted(group, key=lambda row: row.place) if kind == "line" else group for group in named.values()
    ]
    return tuple(
        Series(
            name=group[0].name,
            kind=kind,
            x=tuple(row.place for row in group),
            y=tuple(unit(row.value.value) for row in group),
            low=tuple(unit(row.value.low) for row in group),
            high=tuple(unit(row.value.high) for row in group),
            texts=tuple(_text(row, unit) for row in group),
            colour=colour[group[0].name],
        )
        for group in ordered
    )


def _text(row: Row, unit: Unit) -> str:
    low, high = row.value.low, row.value.high
    interval = "" if low is None or high is None else f" [{unit.text(low)}, {unit.text(high)}]"
    return ", ".join(filter(None, (f"{row.name}: {unit.text(row.value.value)}{interval}", row.text)))
