"""Cells of an experiment: the records of one configuration, its repetitions joined."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarker.statistics import geometric_mean, student_t_interval

# All that decides what is computed and how; what only a worker knows is told apart below.
_ASKED = (
    "framework.name",
    "framework.requested_version",
    "framework.options",
    "problem.name",
    "problem.parameters",
    "mode",
    "batch_size",
    "precision",
    "seed",
    "optimizer",
    "inputs.kind",
    "inputs.data.digest",
    "timing.window_seconds",
    "device.type",
    "device.count",
    "execution.launcher",
    "execution.threads",
    "execution.affinity",
    "environment.kind",
)
_FOUND = ("framework.full", "environment.python", "platform.host.name", "platform.cpu.model", "device.name")
_WORK = ("problem.name", "problem.parameters", "mode", "batch_size", "inputs.data.name")


def value_at(record: Mapping[str, Any], path: str) -> Any:
    """Return the value at a dotted path, ``None`` if there is nothing."""
    value: Any = record
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def key(record: Mapping[str, Any], paths: Iterable[str]) -> str:
    """Return the values at some paths as one text, equal if and only if they are."""
    return json.dumps([value_at(record, path) for path in paths], sort_keys=True)


@dataclass(frozen=True)
class Cell:
    """Records that differ in nothing but the process.

    Parameters
    ----------
    records : tuple of dict
        At least one.
    """

    records: tuple[Mapping[str, Any], ...]

    @property
    def first(self) -> Mapping[str, Any]:
        """A record that speaks for all, one that ended well if there is any."""
        return (self.well or self.records)[0]

    @property
    def well(self) -> tuple[Mapping[str, Any], ...]:
        """The records that ended well; only these have numbers."""
        return tuple(record for record in self.records if record["status"] == "ok")

    @property
    def work(self) -> str:
        """What one step computes; step times are only compared if it is the same."""
        return key(self.first, _WORK)

    @property
    def step_seconds(self) -> float | None:
        """The median step; of several processes, the geometric mean of their medians."""
        medians = self._medians()
        if len(medians) < 2 or min(medians) <= 0:
            return medians[0] if medians else None
        return geometric_mean(medians)

    @property
    def interval_seconds(self) -> tuple[float, float] | None:
        """The 95 % interval of :attr:`step_seconds`: between processes if there are several, else within."""
        medians = self._medians()
        if len(medians) > 1:
            return student_t_interval(medians) if min(medians) > 0 else None
        stated = self.well[0]["timing"]["step_seconds"]["ci95"] if self.well else None
        return (stated[0], stated[1]) if stated else None

    @property
    def throughput(self) -> float | None:
        """Samples per second: all samples of all processes by all their time."""
        seconds = math.fsum(record["timing"]["total_seconds"] for record in self.well)
        samples = sum(r["batch_size"] * r["timing"]["step_seconds"]["count"] for r in self.well)
        return samples / seconds if seconds > 0 else None

    @property
    def verification(self) -> str:
        """The verdict, counted if processes differ."""
        return _tally([record["verification"]["status"] or "-" for record in self.records])

    @property
    def status(self) -> str:
        """How the runs ended, counted if processes differ."""
        return _tally([record["status"].replace("_", " ") for record in self.records])

    def other_values(self, other: Cell) -> list[str]:
        """Return which digests differ although the seed, and so the values, should be the same."""
        ours, theirs = self.first, other.first
        if ours["seed"] != theirs["seed"]:
            return []
        return [name for name in ("parameters", "batch") if ours["digests"][name] != theirs["digests"][name]]

    def _medians(self) -> list[float]:
        return [record["timing"]["step_seconds"]["median"] for record in self.well]


def _tally(words: Sequence[str]) -> str:
    counts = Counter(words)
    if len(counts) == 1:
        return words[0]
    return ", ".join(f"{count} {word}" for word, count in counts.items())


def cells(records: Iterable[Mapping[str, Any]]) -> list[Cell]:
    """Return the cells of an experiment in the order of their first records.

    A run that ended before its framework's version was known joins its repetitions if there are any.
    """
    records = list(records)
    found = {
        key(record, _ASKED): key(record, _FOUND)
        for record in reversed(records)
        if value_at(record, "framework.full") is not None
    }
    joined: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for record in records:
        asked = key(record, _ASKED)
        known = value_at(record, "framework.full") is not None
        facts = key(record, _FOUND) if known else found.get(asked, "")
        joined.setdefault((asked, facts), []).append(record)
    return [Cell(tuple(group)) for group in joined.values()]
