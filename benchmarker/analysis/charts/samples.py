"""Every sample in the course of a run: warm-up, where the steady state begins, and levels between change points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Literal

from benchmarker.analysis.charts.caption import caption
from benchmarker.analysis.charts.downsampling import kept
from benchmarker.analysis.charts.labels import framework_of, names, workload_labels
from benchmarker.analysis.charts.quantities import Unit, are_far_apart, plain, times
from benchmarker.analysis.charts.selection import Selection, gather
from benchmarker.api.chart import Axis, Chart, Mark, Panel, Series
from benchmarker.records.cells import Cell
from benchmarker.records.lookup import Record, value_at

Place = Literal["time", "step"]
_MAX_POINTS = 1500
_TIMED, _WARMING, _LEVEL = 1, 5, 7


def chart(
    records: Sequence[Record], *, over: Place = "time", most: int = 4, log: bool | None = None
) -> Chart:
    """Return the samples of the last process of each configuration, a panel each.

    Parameters
    ----------
    records : sequence of dict
        Any; those that did not end well are left out.
    over : {"time", "step"}
        Against what samples are drawn: the seconds spent in steps, or the number of the step.
    most : int
        Configurations at most, the first ones; the rest is left out.
    log : bool, optional
        Whether times of steps have a logarithmic axis; the values decide if not given.

    Raises
    ------
    UsageError
        If no run ended well.
    """
    needs = "runs that ended well, with several samples"
    gathered = gather(records, needs, has_course, "of a single sample", timed=False)
    chosen = gathered.cells[: max(1, most)]
    shown = Selection(tuple(Cell((cell.well[-1],)) for cell in chosen), gathered.skipped)
    titles = names(chosen, base=lambda cell: f"{framework_of(cell)}, {workload_labels([cell])[0]}")
    dropped = len(gathered.records) - len(shown.cells)
    if dropped:
        others = f"{dropped} other process{'es' if dropped > 1 else ''} or configurations"
        shown = Selection(shown.cells, (*shown.skipped, others))
    return Chart(
        kind="samples",
        title="Steps in the course of a run",
        caption=caption(shown, *_notes(shown.cells)),
        panels=tuple(_panel(cell.first, title, over, log) for cell, title in zip(shown.cells, titles)),
    )


def _notes(cells: Sequence[Cell]) -> list[str]:
    blocks = [block_steps(cell.first) for cell in cells]
    longest = max(len(cell.first["timing"]["samples_seconds"]) for cell in cells)
    return [
        f"A timed sample is the mean of a block of up to {max(blocks)} steps." if max(blocks) > 1 else "",
        f"Of more than {_MAX_POINTS:,} samples, the shortest and the longest of each stretch."
        if longest > _MAX_POINTS
        else "",
    ]


def _panel(record: Record, title: str, over: Place, log: bool | None) -> Panel:
    timing = record["timing"]
    warmup: list[float] = timing.get("warmup_samples_seconds") or []
    timed: list[float] = timing["samples_seconds"]
    every = [x for x in (*warmup, *timed) if x > 0]
    logarithmic = are_far_apart(every) if log is None else log
    y = times([record["timing"]["step_seconds"]["median"]], log=logarithmic)
    ends = _ends(record, warmup, timed, over)
    x = times([ends[-1]]) if over == "time" else plain("")
    begun = ends[len(warmup) - 1] if warmup else 0.0
    label = "time spent in steps" if over == "time" else "step"
    series = [
        _points("warm-up", warmup, ends, (x, y), _WARMING, faint=True),
        _points("timed", timed, ends[len(warmup) :], (x, y), _TIMED),
        _levels(record, ends[len(warmup) :], begun, (x, y)),
    ]
    return Panel(
        Axis(label, x.name, zero=True),
        Axis("step time", y.name, scale="log" if logarithmic else "linear", zero=not logarithmic),
        title,
        tuple(replace(one, runs=((str(record["id"]),),)) for one in series if one.x),
        tuple(_marks(record, ends[len(warmup) :], begun, x)),
    )


def _ends(record: Record, warmup: Sequence[float], timed: Sequence[float], over: Place) -> list[float]:
    """Return where each sample ends: in seconds spent in steps so far, or in steps."""
    steps = block_steps(record)
    lengths = [1] * len(warmup) + [steps] * len(timed)
    spans = [n * x for n, x in zip(lengths, (*warmup, *timed))] if over == "time" else map(float, lengths)
    return list(accumulate(spans))


def _points(
    name: str,
    samples: Sequence[float],
    ends: Sequence[float],
    units: tuple[Unit, Unit],
    colour: int,
    faint: bool = False,
) -> Series:
    places = kept(samples, _MAX_POINTS)
    x, y = units
    return Series(
        name,
        "points",
        tuple(ends[i] / x.size for i in places),
        tuple(samples[i] / y.size for i in places),
        colour=colour,
        faint=faint,
    )


def _levels(record: Record, ends: Sequence[float], begun: float, units: tuple[Unit, Unit]) -> Series:
    """Return the median of each stretch between change points, with a gap between two."""
    x, y = units
    places: list[float] = []
    values: list[float | None] = []
    for segment in value_at(record, "timing.steady_state.segments") or ():
        first = ends[segment["start"] - 1] if segment["start"] else begun
        last = ends[segment["end"] - 1]
        level = segment["median_seconds"] / y.size
        places += [first / x.size, last / x.size, last / x.size]
        values += [level, level, None]
    return Series(
        "median between change points", "line", tuple(places), tuple(values), colour=_LEVEL, marked=False
    )


def _marks(record: Record, ends: Sequence[float], begun: float, x: Unit) -> list[Mark]:
    marks = [Mark("warm-up", x=0.0, until=begun / x.size)] if begun else []
    start = steady_start(record)
    if start:
        marks.append(Mark("steady from here", x=ends[start - 1] / x.size))
    return marks


def has_course(record: Record) -> bool:
    """Tell whether a run has several samples; an imported record may have the mean of all alone."""
    return len(record["timing"]["samples_seconds"] or ()) > 1


def steady_samples(record: Record) -> list[float]:
    """Return the seconds per step of the timed samples from the steady state on."""
    samples: list[float] = record["timing"]["samples_seconds"]
    return samples[steady_start(record) :]


def steady_start(record: Record) -> int:
    """Return the number of the first sample that the statistics take."""
    return int(value_at(record, "timing.steady_state.start") or 0)


def block_steps(record: Record) -> int:
    """Return how many steps a sample is the mean of."""
    return int(value_at(record, "timing.block_steps") or 1)
