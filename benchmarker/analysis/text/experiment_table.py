"""The table at the end of an experiment, for the terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from benchmarker.analysis.text import generations, scenarios
from benchmarker.analysis.text.factors import (
    Factor,
    environment_factors,
    framework_label,
    short_digest,
    specification_factors,
)
from benchmarker.analysis.text.layout import Column, joined, numeric_column, table
from benchmarker.analysis.text.quality import (
    all_steady,
    finding,
    groups,
    rate_note,
    usable_above,
    worst_grade,
    worst_reason,
)
from benchmarker.analysis.text.summary import record_summary
from benchmarker.analysis.text.units import duration, significant, time_unit
from benchmarker.records.cells import Cell, cells
from benchmarker.records.lookup import Record
from benchmarker.records.precision import excluded
from benchmarker.statistics import MIN_FOR_INTERVAL, MIN_PROCESSES

__all__ = ["comparison_table", "record_summary"]

_NONE = "-"
_WITHIN = (
    "95 % interval: of the median within one process, from order statistics that allow for autocorrelation; "
    "it does not cover the difference between processes (--repeats does)."
)
_BETWEEN = "Of several processes: the geometric mean of their medians, and Student's 95 % t interval between processes."
_OF_TWO = (
    "Of two processes: the geometric mean of their medians, and the range from the smaller to the larger; an interval "
    f"between processes needs at least {MIN_PROCESSES} (--repeats)."
)
_IN_BRACKETS = "Relative in brackets: one of the two rows is not usable for comparisons."
_ABOVE = "Usable above: the smallest difference that two numbers known this well can show."
_OF_ALL = "Samples/s: of all timed steps; the median is of those from the steady state on."


def comparison_table(records: Iterable[Mapping[str, Any]], *, width: int = 80) -> str:
    """Return a table with one row for each configuration, in the order of the records.

    Repetitions (fresh processes) of a configuration are one row. What is the same in every row is said once
    above the table; whatever rows differ in is a column.

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
    frameworks = tuple(map(framework_label, known))
    conditions = [
        *specification_factors([cell.specification for cell in rows]),
        _precision(rows),
        *environment_factors(known),
    ]
    outcomes = _outcomes(rows)
    varying = [factor for factor in conditions if factor.varies]
    columns = [Column("framework", frameworks), *map(_column, varying), *_numbers(rows)]
    columns += [_column(factor) for factor in outcomes if factor.varies]
    said = [*(factor.caption for factor in (*conditions, *outcomes) if not factor.varies), _processes(rows)]
    labels = [joined(texts) for texts in zip(frameworks, *(factor.texts for factor in varying))]
    notes = [textwrap.fill(note, width, subsequent_indent="  ") for note in _notes(rows, labels)]
    return "\n".join([*textwrap.wrap(joined(said), width), "", table(columns, width), "", *notes])


def _column(factor: Factor) -> Column:
    return Column(factor.title, factor.texts)


def _outcomes(rows: Sequence[Cell]) -> list[Factor]:
    """Return how the runs of each row went: how well verified, how far to be trusted, and whether all ended well."""
    grades = tuple(worst_grade(cell.well) or _NONE for cell in rows)
    above = tuple(usable_above(cell) or _NONE for cell in rows)
    verdicts = tuple(cell.verification for cell in rows)
    statuses = tuple(cell.status for cell in rows)
    caption = f"verification {verdicts[0]}" if verdicts[0] != _NONE else ""
    return [
        Factor("verified", verdicts, len(set(verdicts)) > 1, caption),
        Factor("trust", grades, len(set(grades)) > 1, f"trust: {grades[0]}" if grades[0] != _NONE else ""),
        Factor("usable above", above, len(set(above)) > 1, _usable(above[0])),
        Factor("status", statuses, any(status != "ok" for status in statuses)),
    ]


def _usable(above: str) -> str:
    return f"usable for differences above {above}" if above != _NONE else ""


def _precision(rows: Sequence[Cell]) -> Factor:
    """Return how well each number was to be known."""
    replications = [_replication(cell) for cell in rows]
    texts = tuple(map(_within, replications))
    profile = "profile " if replications[0].get("profile") else ""
    caption = f"{profile}{texts[0]}" if texts[0] != _NONE else ""
    return Factor("precision asked", texts, len(set(texts)) > 1, caption)


def _replication(cell: Cell) -> Mapping[str, Any]:
    """Return what the last process says of all; nothing before 1.2."""
    return (cell.well or cell.records)[-1].get("replication") or {}


def _within(replication: Mapping[str, Any]) -> str:
    half_width = replication.get("target_half_width")
    if half_width is None:
        return _NONE
    return joined([replication["profile"], f"within {100 * half_width:.3g} %"])


def _processes(rows: Sequence[Cell]) -> str:
    """Return how many processes each row has, if all have the same number of several."""
    counts = {len(cell.well) for cell in rows}
    return f"{max(counts)} processes each" if len(counts) == 1 and max(counts) > 1 else ""


def _numbers(rows: Sequence[Cell]) -> list[Column]:
    steps = [cell.step_seconds for cell in rows]
    unit = time_unit(step for step in steps if step)
    heading = f" [{unit[1]}]" if unit else ""

    def shown(seconds: float) -> str:
        return significant(seconds / unit[0]) if unit else duration(seconds)

    columns = [
        numeric_column(f"median step{heading}", [_NONE if step is None else shown(step) for step in steps]),
        Column(f"95 % interval{heading}", tuple(_interval(cell, shown) for cell in rows), numeric=True),
        numeric_column(
            "samples/s", [_NONE if t is None else significant(t) for t in (c.throughput for c in rows)]
        ),
    ]
    columns += generations.columns(rows)
    columns += scenarios.columns(rows)
    if len(rows) > 1:
        relative = list(map(_relative_text, _relative(rows), rows))
        columns.append(numeric_column("relative", relative))
    counts = [len(cell.well) for cell in rows]
    if max(counts) > 1 and not _processes(rows):
        columns.append(Column("processes", tuple(map(str, counts)), numeric=True))
    return columns


def _interval(cell: Cell, shown: Callable[[float], str]) -> str:
    if cell.interval_seconds is not None:
        low, high = cell.interval_seconds
        return f"[{shown(low)}, {shown(high)}]"
    if cell.medians_seconds is not None:
        low, high = cell.medians_seconds
        return f"{shown(low)} to {shown(high)}"
    return _NONE


def _relative(rows: Sequence[Cell]) -> list[float | None]:
    """Return the step times by that of the first row that has one, where both are comparable."""
    baselines: dict[str, Cell] = {}
    return [
        _ratio(cell, baselines.setdefault(cell.work, cell)) if cell.step_seconds else None for cell in rows
    ]


def _relative_text(ratio: float | None, cell: Cell) -> str:
    if ratio is None:
        return _NONE
    text = f"{ratio:.2f}" if ratio >= 0.1 else significant(ratio, 2)
    return f"({text})" if _is_excluded(cell) else text


def _is_excluded(cell: Cell) -> bool:
    return bool(cell.well) and any(map(excluded, cell.well))


def _ratio(cell: Cell, baseline: Cell) -> float | None:
    step, first = cell.step_seconds, baseline.step_seconds
    if not step or not first or cell.other_values(baseline):
        return None
    return step / first


def _notes(rows: Sequence[Cell], labels: Sequence[str]) -> list[str]:
    measured = [cell for cell in rows if cell.well]
    notes = []
    if any(len(cell.well) == 1 for cell in measured):
        notes.append(_WITHIN)
    if any(len(cell.well) >= MIN_PROCESSES for cell in measured):
        notes.append(_BETWEEN)
    if any(len(cell.well) == 2 for cell in measured):
        notes.append(_OF_TWO)
    if any(cell.interval_seconds is None and len(cell.well) == 1 for cell in measured):
        notes.append(f"No interval: it needs at least {MIN_FOR_INTERVAL} samples.")
    if len(measured) > 1:
        notes.append(_relative_note(rows))
    if any(_is_excluded(cell) for cell in measured) and len(rows) > 1:
        notes.append(_IN_BRACKETS)
    if any(usable_above(cell) for cell in measured):
        notes.append(_ABOVE)
    if not all(all_steady(record["timing"]) for cell in measured for record in cell.well):
        notes.append(_OF_ALL)
    notes += _different_values(measured)
    notes += scenarios.notes(rows)
    notes += [
        f"{label}: {text}"
        for cell, label in zip(rows, labels)
        for text in (_unmet(cell), worst_reason(cell.well), *_findings(cell), _rate(cell), groups(cell.well))
        if text
    ]
    failures = [
        f"{label}: {_failure(record)}"
        for cell, label in zip(rows, labels)
        for record in cell.records
        if record["error"]
    ]
    return notes + list(dict.fromkeys(failures))


def _findings(cell: Cell) -> list[str]:
    """Return the findings of the processes of a row, of each kind the first."""
    found = [found for record in cell.well for found in (record.get("trust") or {}).get("findings") or ()]
    return [finding(one) for one in {one["kind"]: one for one in reversed(found)}.values()]


def _rate(cell: Cell) -> str | None:
    """Return why the rate of a row is not that of its median, by the process where both differ first."""
    return next(filter(None, map(rate_note, cell.well)), None)


def _unmet(cell: Cell) -> str | None:
    """Return what a profile asked for and did not reach."""
    last = _replication(cell)
    return f"not met: {', '.join(last['not_met'])}" if last.get("not_met") else None


def _relative_note(rows: Sequence[Cell]) -> str:
    what = (
        "problem, mode, batch size and scenario" if scenarios.are_in(rows) else "problem, mode and batch size"
    )
    same = f" with the same {what}" if len({cell.work for cell in rows}) > 1 else ""
    well = " that ended well" if any(not cell.well for cell in rows) else ""
    return f"Relative: step time divided by that of the first row{same}{well}."


def _different_values(measured: Sequence[Cell]) -> list[str]:
    """Say which rows should have computed with the same values and did not."""
    notes = []
    baselines: dict[str, Cell] = {}
    for cell in measured:
        baseline = baselines.setdefault(cell.work, cell)
        for name in cell.other_values(baseline):
            pair = (
                f"{short_digest(c.first['digests'][name])} in {framework_label(c.first)}"
                for c in (baseline, cell)
            )
            notes.append(f"Not comparable, digests.{name} differ: {', '.join(pair)}.")
    return notes


def _failure(record: Record) -> str:
    error = record["error"]
    stage = f" in stage '{error['stage']}'" if error["stage"] else ""
    message = error["message"].strip().splitlines()[0]
    return f"{record['status'].replace('_', ' ')}{stage}: {message}"
