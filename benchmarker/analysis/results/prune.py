"""Remove records that are no longer wanted, each with what lies beside it, and nothing else."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from benchmarker.analysis.results.collection import Results
from benchmarker.analysis.results.selection import ordered
from benchmarker.errors import StoreError, UsageError
from benchmarker.quick_dataclass import dataclass
from benchmarker.records.attachments import log_of, trace_of
from benchmarker.records.timestamps import as_written

_CELL = (
    "comparable.hash",
    "framework.name",
    "framework.version",
    "framework.full",
    "platform.host.name",
    "device.name",
    "status",
)
"""With the framework's options: whose records replace each other. A failure is no newer number."""


@dataclass(frozen=True)
class PruneRule:
    """What is removed of the records that passed the filters; at least one of the two is asked for, or filters.

    Parameters
    ----------
    before : datetime or None
        Only those that started before.
    keep : int or None
        Only those that have so many newer ones of the same cell: what was computed, with which framework and
        options, on which machine, and how it ended.
    """

    before: datetime | None = None
    keep: int | None = None

    def __post_init__(self) -> None:
        if self.keep is not None and self.keep < 0:
            raise UsageError(
                f"--keep, how many records are kept of each cell, must be at least 0, got {self.keep}"
            )


@dataclass(frozen=True)
class Pruned:
    """A record that is removed, and the log and the trace that go with it."""

    record: Path
    log: Path | None
    size_bytes: int
    trace: Path | None = None

    @property
    def attachments(self) -> tuple[Path, ...]:
        """The files beside the record."""
        return tuple(file for file in (self.log, self.trace) if file is not None)


def find_unwanted(results: Results, unwanted: PruneRule) -> list[Pruned]:
    """Return the records to be removed, the oldest first.

    Parameters
    ----------
    results : Results
        Those that pass the filters.
    unwanted : PruneRule
        Which of them.
    """
    chosen = range(len(results)) if unwanted.keep is None else _beyond(results, unwanted.keep)
    started = results.values("started_at")
    logs, traces = results.values("log"), results.values("profile.trace")
    if unwanted.before is not None:
        before = as_written(unwanted.before)
        chosen = [index for index in chosen if started[index] < before]
    oldest_first = sorted(chosen, key=started.__getitem__)
    return [_pruned(results.paths[index], logs[index], traces[index]) for index in oldest_first]


def _beyond(results: Results, keep: int) -> Sequence[int]:
    """Return the positions of the records that have so many newer ones of their cell."""
    options = [name for name in results.columns if name.startswith("framework.options.")]
    keys = list(zip(*(results.values(name) for name in (*_CELL, *options))))
    cells: dict[tuple[Any, ...], list[int]] = defaultdict(list)
    for index in ordered(results):
        cells[keys[index]].append(index)
    return [index for members in cells.values() for index in members[keep:]]


def _pruned(path: Path, log_name: str | None, trace_name: str | None) -> Pruned:
    log, trace = log_of(path, log_name), trace_of(path, trace_name)
    size = sum(file.stat().st_size for file in (path, log, trace) if file is not None)
    return Pruned(path, log, size, trace)


def prune(found: Sequence[Pruned], folder: Path) -> None:
    """Remove records and what lies beside them.

    Raises
    ------
    StoreError
        If one is not inside of the folder, before anything is removed; or if one cannot be removed.
    """
    inside = folder.resolve()
    for item in found:
        if not item.record.parent.resolve().is_relative_to(inside):
            raise StoreError(f"only records inside of '{folder}' are removed, '{item.record}' is not")
    for item in found:
        try:
            # The record first: what is left of it if the others cannot be removed is only a text and a trace.
            item.record.unlink()
            for file in item.attachments:
                file.unlink(missing_ok=True)
        except OSError as error:
            raise StoreError(f"'{item.record}' could not be removed: {error.strerror}") from None
