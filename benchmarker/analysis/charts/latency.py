"""How the times of steps are distributed: a violin for each, and the share of steps within a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from benchmarker.analysis.charts.caption import caption
from benchmarker.analysis.charts.downsampling import quantiles
from benchmarker.analysis.charts.labels import framework_of, names, title_of
from benchmarker.analysis.charts.palette import colours
from benchmarker.analysis.charts.quantities import Unit, are_far_apart, runs_of, times
from benchmarker.analysis.charts.samples import block_steps, has_course, steady_samples
from benchmarker.analysis.charts.selection import few_series, gather, largest_group, networks
from benchmarker.api.chart import Axis, Chart, Panel, Series
from benchmarker.records.cells import Cell
from benchmarker.records.lookup import Record, work_name

_MAX_POINTS = 300
"""Quantiles that are drawn of more samples."""


def chart(records: Sequence[Record], *, log: bool | None = None) -> Chart:
    """Return the distribution of the steady samples of all processes, of the problem with the most runs.

    Parameters
    ----------
    records : sequence of dict
        Any; other problems are left out.
    log : bool, optional
        Whether times have logarithmic axes; the values decide if not given.

    Raises
    ------
    UsageError
        If no run ended well.
    """
    ended = gather(records, "runs that ended well, with several samples", has_course, "of a single sample")
    of_one = largest_group(networks(ended), lambda cell: cell.work, id, "of other problems, modes or sizes")
    gathered = few_series(of_one, names)
    cells = gathered.cells
    samples = [[x for record in cell.well for x in steady_samples(record)] for cell in cells]
    every = sorted(x for group in samples for x in group if x > 0)
    logarithmic = are_far_apart(every) if log is None else log
    unit = times(every, log=logarithmic)
    labels, colour = names(cells), colours([framework_of(cell) for cell in cells])
    axis = Axis("step time", unit.name, scale="log" if logarithmic else "linear")
    return Chart(
        kind="latency",
        title=title_of(f"Step times of {work_name(cells[0].first)}", cells),
        caption=caption(gathered, _what(cells, samples)),
        panels=(
            Panel(
                Axis("framework", scale="category", categories=labels),
                axis,
                "Distribution, with median",
                _of_cells(cells, [_violin(*one, unit) for one in zip(labels, samples, colour)]),
            ),
            Panel(
                axis,
                Axis("share of steps within that time", "%", zero=True),
                "Cumulative distribution",
                _of_cells(cells, [_cumulative(*one, unit) for one in zip(labels, samples, colour)]),
            ),
        ),
    )


def _of_cells(cells: Sequence[Cell], drawn: Sequence[Series]) -> tuple[Series, ...]:
    return tuple(replace(one, runs=(runs_of(cell),)) for cell, one in zip(cells, drawn))


def _violin(name: str, samples: Sequence[float], colour: int, unit: Unit) -> Series:
    return Series(name, "violin", (name,), tuple(map(unit, quantiles(samples, _MAX_POINTS))), colour=colour)


def _cumulative(name: str, samples: Sequence[float], colour: int, unit: Unit) -> Series:
    shown = quantiles(samples, _MAX_POINTS)
    shares = tuple(100 * (place + 1) / len(shown) for place in range(len(shown)))
    return Series(name, "steps", tuple(x / unit.size for x in shown), shares, colour=colour)


def _what(cells: Sequence[Cell], samples: Sequence[Sequence[float]]) -> str:
    """Say what a sample is: percentiles of means over blocks are not those of single steps."""
    counts = [len(group) for group in samples]
    count_text = f"{counts[0]:,}" if len(set(counts)) == 1 else f"{min(counts):,} to {max(counts):,}"
    blocks = sorted({block_steps(record) for cell in cells for record in cell.well})
    if blocks == [1]:
        return f"{count_text} steady samples each, every one a step."
    steps = f"{blocks[0]} to {blocks[-1]}" if len(blocks) > 1 else f"{blocks[0]}"
    return f"{count_text} steady samples each, every one the mean of a block of {steps} steps, so tails are not shown."
