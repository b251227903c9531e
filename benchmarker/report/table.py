"""The table at the end of an experiment, for the terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from benchmarker.report.aspects import aspects, framework_label
from benchmarker.report.cells import Cell, cells
from benchmarker.report.layout import Column, align_points, table
from benchmarker.report.summary import record_summary
from benchmarker.report.units import duration, significant, time_unit

__all__ = ["comparison_table", "record_summary"]

_NONE = "-"
_WITHIN = (
    "95 % interval: of the median within one process, from order statistics, steps taken as independent; "
    "it does not cover the difference between processes (--repeats does)."
)
_BETWEEN = "Of several processes: the geometric mean of their medians, and Student's 95 % t interval between processes."


def comparison_table(records: Iterable[Mapping[str, Any]], *, width: int = 100) -> str:
    """Return a table with one row for each configuration, in the order of the records.

    Repetitions (fresh processes) of a configuration are one row. Columns that say the same in every row
    are left out and said once above the table.

    Parameters
    ----------
    records : iterable of dict
        Valid records.
    width : int
        Characters a line should have at most; texts are wrapped for it, numbers never.
    """
    rows = cells(records)
    if not rows:
        return "no records"
    known = [cell.first for cell in rows]
    every = aspects(known)
    varying = [aspect for aspect in every if aspect.varies(known)]
    described = [(framework_label(record), *(aspect.show(record) for aspect in varying)) for record in known]
    titles = ("framework", *(aspect.title for aspect in varying))
    columns = [Column(title, texts) for title, texts in zip(titles, zip(*described))]
    columns += _numbers(rows)
    columns.append(Column("verification", tuple(cell.verification for cell in rows)))
    if any(cell.status != "ok" for cell in rows):
        columns.append(Column("status", tuple(cell.status for cell in rows)))
    caption = ", ".join(
        aspect.caption.format(text)
        for aspect in every
        if aspect.caption and aspect not in varying and (text := aspect.show(known[0]))
    )
    notes = [
        textwrap.fill(note, width, subsequent_indent="  ")
        for note in _notes(rows, [_joined(texts) for texts in described])
    ]
    return "\n".join([*textwrap.wrap(caption, width), "", table(columns, width), "", *notes])


def _numbers(rows: Sequence[Cell]) -> list[Column]:
    steps = [cell.step_seconds for cell in rows]
    intervals = [cell.interval_seconds for cell in rows]
    unit = time_unit(step for step in steps if step)
    heading = f" [{unit[1]}]" if unit else ""

    def shown(seconds: float) -> str:
        return significant(seconds / unit[0]) if unit else duration(seconds)

    columns = [
        _numeric(f"median step{heading}", [_NONE if step is None else shown(step) for step in steps]),
        Column(
            f"95 % interval{heading}",
            tuple(_NONE if i is None else f"[{shown(i[0])}, {shown(i[1])}]" for i in intervals),
            numeric=True,
        ),
        _numeric("samples/s", [_NONE if t is None else significant(t) for t in (c.throughput for c in rows)]),
        _numeric("relative", [_NONE if r is None else f"{r:.2f}" for r in _relative(rows)]),
    ]
    if any(len(cell.well) > 1 for cell in rows):
        columns.append(Column("processes", tuple(str(len(cell.well)) for cell in rows), numeric=True))
    return columns


def _numeric(title: str, numbers: Sequence[str]) -> Column:
    return Column(title, align_points(numbers), numeric=True)


def _relative(rows: Sequence[Cell]) -> list[float | None]:
    """Return the step times by that of the first row that has one, where both are comparable."""
    baselines: dict[str, Cell] = {}
    return [
        _ratio(cell, baselines.setdefault(cell.work, cell)) if cell.step_seconds else None for cell in rows
    ]


def _ratio(cell: Cell, baseline: Cell) -> float | None:
    step, first = cell.step_seconds, baseline.step_seconds
    if not step or not first or cell.other_values(baseline):
        return None
    return step / first


def _joined(texts: Iterable[str]) -> str:
    return ", ".join(filter(None, texts))


def _notes(rows: Sequence[Cell], labels: Sequence[str]) -> list[str]:
    measured = [cell for cell in rows if cell.well]
    notes = []
    if any(len(cell.well) == 1 for cell in measured):
        notes.append(_WITHIN)
    if any(len(cell.well) > 1 for cell in measured):
        notes.append(_BETWEEN)
    if any(cell.interval_seconds is None for cell in measured):
        notes.append("No interval: it needs at least 6 samples.")
    if len(measured) > 1:
        notes.append(_relative_note(rows))
    notes += _different_values(measured)
    failures = [
        f"{label}: {_failure(record)}"
        for cell, label in zip(rows, labels)
        for record in cell.records
        if record["error"]
    ]
    return notes + list(dict.fromkeys(failures))


def _relative_note(rows: Sequence[Cell]) -> str:
    same = " with the same problem, mode and batch size" if len({cell.work for cell in rows}) > 1 else ""
    well = " that ended well" if any(not cell.well for cell in rows) else ""
    return f"Relative: step time divided by that of the first row{same}{well}."


def _different_values(measured: Sequence[Cell]) -> list[str]:
    """Say which rows should have computed with the same values and did not."""
    notes = []
    baselines: dict[str, Cell] = {}
    for cell in measured:
        baseline = baselines.setdefault(cell.work, cell)
        for name in cell.other_values(baseline):
            pair = (f"{_digest(c, name)} in {framework_label(c.first)}" for c in (baseline, cell))
            notes.append(f"Not comparable, digests.{name} differ: {', '.join(pair)}.")
    return notes


def _digest(cell: Cell, name: str) -> str:
    return f"{str(cell.first['digests'][name])[:19]}..."


def _failure(record: Mapping[str, Any]) -> str:
    error = record["error"]
    stage = f" in stage '{error['stage']}'" if error["stage"] else ""
    message = error["message"].strip().splitlines()[0]
    return f"{record['status'].replace('_', ' ')}{stage}: {message}"
