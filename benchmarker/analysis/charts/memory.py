"""Peak memory beside what the graph predicts, and the energy of a sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from benchmarker.analysis.charts.caption import caption
from benchmarker.analysis.charts.grouped_bars import MAX_PANELS, MAX_RATIO, panels
from benchmarker.analysis.charts.labels import framework_of, names, panel_titles, title_of
from benchmarker.analysis.charts.quantities import Quantity, Row, Value, counts, sizes
from benchmarker.analysis.charts.selection import few_series, gather, limit_workloads, networks
from benchmarker.api.chart import Axis, Chart, Panel, Series
from benchmarker.records.cells import Cell
from benchmarker.records.lookup import Record, number_at, value_at
from benchmarker.statistics import across_processes

_KINDS = (
    ("peak of the process", "memory.peak_bytes", 6),
    ("peak with all that it started, sampled", "monitors.tree_memory.peak_bytes", 14),
    ("peak that the framework allocated", "memory.framework.peak_allocated_bytes", 7),
    ("predicted", "memory.predicted.total", 5),
)
"""Name of the series, where a record has it, place in the palette: none of a known framework."""
_SAMPLED = (
    "Sampled: memory that processes share is divided between them and shorter peaks may be missed, so it may be "
    "below the peak of the process."
)
_WHAT = (
    "The process holds interpreter and libraries too. Predicted: parameters, activations, gradients and the "
    "optimizer's state, from the graph."
)


def chart(records: Sequence[Record], *, log: bool | None = None) -> Chart:
    """Return measured and predicted memory, a panel for each problem, and energy where a counter told it.

    Parameters
    ----------
    records : sequence of dict
        Any; those that did not end well are left out.
    log : bool, optional
        Points on a logarithmic axis, or bars from 0; the values decide if not given.

    Raises
    ------
    UsageError
        If no run that ended well knows its memory.
    """
    needs = "runs that ended well, with their memory measured"
    known = gather(
        records,
        needs,
        lambda record: value_at(record, "memory.peak_bytes"),
        "of unknown memory",
        timed=False,
    )
    gathered = limit_workloads(few_series(networks(known)), MAX_PANELS)
    cells = gathered.cells
    work = panel_titles(cells)
    labels = names(cells, work, timed=False)
    found = [_bytes(cell) for cell in cells]
    logarithmic = any(map(_needs_log_scale, found)) if log is None else log
    groups = [
        _memory(
            name, [(label, row) for label, row, of in zip(labels, found, work) if of == name], logarithmic
        )
        for name in dict.fromkeys(work)
    ]
    return Chart(
        kind="memory",
        title=title_of("Memory", cells),
        caption=caption(gathered, _WHAT, _sampled_note(cells), _energy_note(cells)),
        panels=(*groups, *_energy(cells, work, labels, log)),
    )


def _sampled_note(cells: Sequence[Cell]) -> str:
    known = any(
        number_at(record, "monitors.tree_memory.peak_bytes") for cell in cells for record in cell.well
    )
    return _SAMPLED if known else ""


def _bytes(cell: Cell) -> dict[str, float]:
    """Return what is known of a cell's memory: the largest of its processes."""
    found = {}
    for name, path, _ in _KINDS:
        values = [value for record in cell.well if (value := number_at(record, path)) is not None]
        if values:
            found[name] = float(max(values))
    return found


def _needs_log_scale(row: Mapping[str, float]) -> bool:
    known = [value for value in row.values() if value > 0]
    return bool(known) and max(known) / min(known) > MAX_RATIO


def _memory(title: str, rows: Sequence[tuple[str, Mapping[str, float]]], log: bool) -> Panel:
    unit = sizes([value for _, row in rows for value in row.values()], log=log)
    labels = tuple(label for label, _ in rows)
    series = tuple(
        Series(
            name,
            "points" if log else "bars",
            labels,
            # A logarithmic axis has no place for 0.
            tuple(unit(row.get(name) or (None if log else row.get(name))) for _, row in rows),
            texts=tuple(f"{name}: {unit.text(row[name])}" if name in row else "" for _, row in rows),
            colour=colour,
        )
        for name, _, colour in _KINDS
        if any(name in row for _, row in rows)
    )
    y = Axis("memory", unit.name, scale="log" if log else "linear", zero=not log)
    return Panel(Axis("framework", scale="category", categories=labels), y, title, series)


def _energy(
    cells: Sequence[Cell], work: Sequence[str], labels: Sequence[str], log: bool | None
) -> tuple[Panel, ...]:
    measured = [
        (cell, of, label, values) for cell, of, label in zip(cells, work, labels) if (values := _joules(cell))
    ]
    if not measured:
        return ()
    rows = [Row(label, framework_of(cell), of, _across(values)) for cell, of, label, values in measured]
    return panels(
        rows,
        [of for _, of, _, _ in measured],
        Quantity("energy per sample", partial(counts, name="J")),
        of="problem",
        log=log,
    )


def _joules(cell: Cell) -> list[float]:
    found = [value_at(record, "metrics.joules_per_sample") for record in cell.well]
    return [value for value in found if value is not None and value > 0]


def _across(values: Sequence[float]) -> Value:
    found = across_processes(values)
    return Value(found.centre, *(found.ci95 or (None, None)))


def _energy_note(cells: Sequence[Cell]) -> str:
    if any(map(_joules, cells)):
        return "Energy: of the timed part, idle draw left out."
    reasons: list[Any] = [value_at(cell.first, "collectors.energy.reason") for cell in cells]
    said = next((" ".join(str(reason).split()) for reason in reasons if reason), "")
    return f"Energy is not known: {said[:120]}." if said else "Energy is not known: no counter reported it."
