"""What stands below a picture: how many runs, on which machine, what intervals cover, how far to trust it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from benchmarker.plots.gathering import Gathered
from benchmarker.plots.naming import device_name, short, threads_of
from benchmarker.report.asked import value_at
from benchmarker.report.aspects import framework_label
from benchmarker.report.cells import Cell
from benchmarker.statistics import FEWEST_PROCESSES

_MOST_NAMED = 6
BETWEEN = "Intervals: 95 %, Student's t between fresh processes."
WITHIN = "Intervals: 95 %, within the one process; they do not cover how processes differ."
MIXED = (
    f"Intervals: 95 %, between fresh processes where there are at least {FEWEST_PROCESSES}, else within the one "
    "process."
)
NO_INTERVALS = f"No intervals: they need at least {FEWEST_PROCESSES} fresh processes or 12 samples."


def caption(gathered: Gathered, *sentences: str) -> str:
    """Return the caption of a picture.

    Parameters
    ----------
    gathered : Gathered
        What it shows.
    sentences : str
        What else must be said; an empty one is left out.
    """
    parts = [f"{_counts(gathered.cells)} on {machine(gathered.cells)}.", f"{_versions(gathered.cells)}."]
    parts += [sentence for sentence in sentences if sentence]
    parts += [_trust(gathered.cells)]
    if gathered.left_out:
        parts.append(f"Left out: {'; '.join(gathered.left_out)}.")
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
    if len(listed) > _MOST_NAMED:
        return f"{', '.join(listed[:_MOST_NAMED])} and {len(listed) - _MOST_NAMED} more"
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
    return f"Trust: {', '.join(bad)} of {total}." if bad else ""
