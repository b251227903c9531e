"""What stands below a picture: how many runs, on which machine, what intervals cover, how far to trust it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from benchmarker.analysis.charts.labels import device_name, short, threads_of
from benchmarker.analysis.charts.selection import Selection
from benchmarker.analysis.text.factors import framework_label
from benchmarker.records.cells import Cell
from benchmarker.records.lookup import value_at, work_name
from benchmarker.records.precision import excluded
from benchmarker.statistics import MIN_PROCESSES

_MAX_NAMED = 6


BETWEEN = "Intervals: 95 %, Student's t between fresh processes."


WITHIN = "Intervals: 95 %, within the one process; they do not cover how processes differ."


MIXED = (
    f"Intervals: 95 %, between fresh processes where there are at least {MIN_PROCESSES}, else within the one "
    "process."
)


NO_INTERVALS = f"No intervals: they need at least {MIN_PROCESSES} fresh processes or 12 samples."


def caption(gathered: Selection, *sentences: str) -> str:
    """Return the caption of a picture.

    Parameters
    ----------
    gathered : Selection
        What it shows.
    sentences : str
        What else must be said; an empty one is left out.
    """
    parts = [f"{_counts(gathered.cells)} on {machine(gathered.cells)}.", f"{_versions(gathered.cells)}."]
    parts += [sentence for sentence in sentences if sentence]
    parts += [_trust(gathered.cells)]
    if gathered.skipped:
        parts.append(f"Left out: {'; '.join(gathered.skipped)}.")
    return " ".join(filter(None, parts))


def intervals(cells: Iterable[Cell]) -> str:
    """Return what the intervals of cells cover."""
    kinds = {len(cell.well) > 1 for cell in cells if cell.interval_seconds}
    if not kinds:
        return NO_INTERVALS
    return MIXED if len(kinds) == 2 else BETWEEN if True in kinds else WITHIN


def machine(cells: Sequence[Cell]) -> str:
    """Return devices, threads and precisions, each that occurs."""
    records = [cell.first for cell in cells]
    found = (map(device_name, records), map(threads_of, records), (str(r["precision"]) for r in records))
    return ", ".join(filter(None, (_listed(filter(None, dict.fromkeys(texts))) for texts in found)))


def _listed(texts: Iterable[str]) -> str:
    listed = list(texts)
    if len(listed) > _MAX_NAMED:
        return f"{', '.join(listed[:_MAX_NAMED])} and {len(listed) - _MAX_NAMED} more"
    return " and ".join([", ".join(listed[:-1]), listed[-1]] if len(listed) > 1 else listed)


def _counts(cells: Sequence[Cell]) -> str:
    processes = [len(cell.well) for cell in cells]
    total = sum(processes)
    if total == 1:
        return "1 run"
    low, high = min(processes), max(processes)
    each = f"{low}" if low == high else f"{low} to {high}"
    noun = "fresh process" if high == 1 else "fresh processes"
    return f"{total} runs, {each} {noun} each," if len(cells) > 1 else f"{total} fresh processes"


def _versions(cells: Sequence[Cell]) -> str:
    return _listed(dict.fromkeys(short(framework_label(cell.first)) for cell in cells))


def _trust(cells: Sequence[Cell]) -> str:
    grades = Counter(
        grade for cell in cells for record in cell.well if (grade := value_at(record, "trust.grade"))
    )
    bad = [f"{grades[grade]} {grade}" for grade in ("noisy", "contaminated") if grades[grade]]
    total = sum(len(cell.well) for cell in cells)
    out = dict.fromkeys(_place(cell) for cell in cells if any(map(excluded, cell.well)))
    named = f" Not to be ranked: {_listed(out)}." if out else ""
    return f"Trust: {', '.join(bad)} of {total}.{named}" if bad else named.strip()


def _place(cell: Cell) -> str:
    """Return which number of a picture it is."""
    record = cell.first
    work = f"{work_name(record)} {record['mode']}, {record['batch_size']}"
    return f"{short(framework_label(record))} on {work}"
