"""Numbers of a cell with their intervals, throughput among them, and a unit for all the numbers of an axis."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal

from benchmarker.analysis.charts.labels import framework_of
from benchmarker.analysis.charts.palette import colours
from benchmarker.analysis.text.units import significant, time_unit
from benchmarker.api.chart import Axis, Series
from benchmarker.errors import plural
from benchmarker.quick_dataclass import dataclass
from benchmarker.records.cells import Cell

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
    runs : tuple of str
        Identifiers of the records behind it.
    """

    name: str
    framework: str
    place: str | float
    value: Value
    text: str = ""
    runs: tuple[str, ...] = ()


def value_of(cell: Cell, metric: Metric) -> Value:
    """Return the median step in seconds, or the samples per second at the median step."""
    step, interval = cell.step_seconds or 0.0, cell.interval_seconds or (None, None)
    if metric == "step":
        return Value(step, *interval)
    batch = cell.first["batch_size"]
    low, high = (batch / end if end else None for end in interval)
    return Value(batch / step, high, low)


def row_of(cell: Cell, name: str, place: str | float, metric: Metric) -> Row:
    """Return the value of a cell as a picture shows it."""
    text = plural(len(cell.well), "process")
    return Row(name, framework_of(cell), place, value_of(cell, metric), text, runs_of(cell))


def runs_of(cell: Cell) -> tuple[str, ...]:
    """Return the identifiers of a cell's records."""
    return tuple(str(record["id"]) for record in cell.records)


def colours_of(rows: Sequence[Row]) -> dict[str, int]:
    """Return the place in the palette of each name."""
    frameworks: dict[str, str] = {}
    for row in rows:
        frameworks.setdefault(row.name, row.framework)
    return dict(zip(frameworks, colours(list(frameworks.values()))))


def series(
    rows: Sequence[Row], kind: str, unit: Unit, colour: Mapping[str, int] | None = None
) -> tuple[Series, ...]:
    """Return the rows as series, one per name in the order in which names first appear.

    Parameters
    ----------
    rows : sequence of Row
        Any; those of a line are put in the order of their places.
    kind : str
        Of :class:`~benchmarker.api.chart.Series`.
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
            runs=tuple(row.runs for row in group) if all(row.runs for row in group) else (),
            colour=colour[group[0].name],
        )
        for group in ordered
    )


def _text(row: Row, unit: Unit) -> str:
    low, high = row.value.low, row.value.high
    interval = "" if low is None or high is None else f" [{unit.text(low)}, {unit.text(high)}]"
    return ", ".join(filter(None, (f"{row.name}: {unit.text(row.value.value)}{interval}", row.text)))


_FAR = 8.0
_DECIMAL = ((1e18, "E"), (1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_BINARY = ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


@dataclass(frozen=True)
class Unit:
    """A unit of an axis.

    Parameters
    ----------
    size : float
        In the unit of the record, e.g. 0.001 for milliseconds of a time in seconds.
    name : str
        E.g. ``"ms"``.
    """

    size: float
    name: str

    def __call__(self, value: float | None) -> float | None:
        """Return a value of the record in this unit; nothing stays nothing."""
        return None if value is None else value / self.size

    def text(self, value: float) -> str:
        """Return a value of the record for people, e.g. ``"51.15 ms"``."""
        return f"{significant(value / self.size)} {self.name}".rstrip()


def plain(name: str) -> Unit:
    """Return a unit in which numbers stay as they are."""
    return Unit(1.0, name)


def times(seconds: Iterable[float | None], *, log: bool = False) -> Unit:
    size, name = time_unit([_typical(seconds, log)]) or (1.0, "s")
    return Unit(size, name)


def counts(values: Iterable[float | None], name: str, *, log: bool = False) -> Unit:
    """Return a unit with a decimal prefix, e.g. ``GFLOP/s``."""
    typical = _typical(values, log)
    size, prefix = next((step for step in _DECIMAL if typical >= step[0]), (1.0, ""))
    return Unit(size, prefix + name)


def sizes(byte_counts: Iterable[float | None], *, log: bool = False) -> Unit:
    """Return a unit of bytes with a binary prefix, e.g. ``MiB``."""
    typical = _typical(byte_counts, log)
    return Unit(*next((step for step in _BINARY if typical >= step[0]), (1.0, "B")))


def are_far_apart(values: Iterable[float]) -> bool:
    """Tell whether values are so far apart that only a logarithmic axis lets all of them be read."""
    positive = [value for value in values if value > 0]
    return bool(positive) and max(positive) > _FAR * min(positive)


def _typical(values: Iterable[float | None], log: bool) -> float:
    """Return the largest value, or on a logarithmic axis the middle one; 1 if none is above 0."""
    positive = [value for value in values if value is not None and value > 0]
    if not positive:
        return 1.0
    return math.sqrt(min(positive) * max(positive)) if log else max(positive)


@dataclass(frozen=True)
class Quantity:
    """What an axis of values shows.

    Parameters
    ----------
    label : str
        Its name.
    scaled : callable
        ``scaled(values, log=log)`` returns a unit that suits values of the record.
    """

    label: str
    scaled: Callable[..., Unit]

    def unit(self, rows: Sequence[Row], *, log: bool = False) -> Unit:
        return self.scaled([row.value.value for row in rows], log=log)

    def axis(self, unit: Unit, *, log: bool = False) -> Axis:
        """Return the axis of values in a unit, from 0 on if it is not logarithmic."""
        return Axis(self.label, unit.name, scale="log" if log else "linear", zero=not log)


METRICS: Mapping[Metric, Quantity] = {
    "step": Quantity("median step", times),
    "throughput": Quantity("throughput", lambda values, *, log: plain("samples/s")),
}
