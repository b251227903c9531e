"""Cells of an experiment: the records of one configuration, its repetitions joined."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from benchmarker.experiment.keys import canonical
from benchmarker.experiment.options import RUN_OPTIONS
from benchmarker.quick_dataclass import dataclass
from benchmarker.records.keys import by_build, configuration, step_key
from benchmarker.records.lookup import Record, specification_of, value_at
from benchmarker.statistics import across_processes, geometric_mean

_FOUND = (
    "framework.full",
    "environment.python",
    "environment.kind",
    "environment.container.digest",
    "inputs.data.digest",
    "platform.host.name",
    "platform.cpu.model",
    "device.name",
    "distributed.network.kind",
)


def _found(record: Record) -> str | None:
    """Return what only a run finds out; None for one that ended before its framework's version was known."""
    if value_at(record, "framework.full") is None:
        return None
    return canonical([value_at(record, path) for path in _FOUND])


@dataclass(frozen=True)
class Cell:
    """Records that differ in nothing but the process; of trainings by a recipe, in the seed too.

    Parameters
    ----------
    records : tuple of dict
        At least one.
    """

    records: tuple[Mapping[str, Any], ...]

    @cached_property
    def first(self) -> Mapping[str, Any]:
        """A record that speaks for all, one that ended well if there is any."""
        return (self.well or self.records)[0]

    @cached_property
    def well(self) -> tuple[Mapping[str, Any], ...]:
        """The records that ended well; only these have numbers."""
        return tuple(record for record in self.records if record["status"] == "ok")

    @cached_property
    def specification(self) -> Mapping[str, Any]:
        """What was asked of all its runs, as a specification."""
        return {**specification_of(self.first), **(_OF_TRAININGS if _is_by_recipe(self.first) else {})}

    @cached_property
    def work(self) -> str:
        """What one step computes; step times are only compared if it is the same."""
        return step_key(self.first)

    @property
    def step_seconds(self) -> float | None:
        """The median step; of several processes, the geometric mean of their medians."""
        medians = self._medians()
        if len(medians) < 2 or min(medians) <= 0:
            return medians[0] if medians else None
        return geometric_mean(medians)

    @property
    def interval_seconds(self) -> tuple[float, float] | None:
        """The 95 % interval of :attr:`step_seconds`: between processes if there are several, else within.

        Two processes have none: with one degree of freedom Student's t is 12.7, and the interval says nothing.
        """
        medians = self._medians()
        if len(medians) > 1:
            return across_processes(medians).ci95 if min(medians) > 0 else None
        stated = self.well[0]["timing"]["step_seconds"]["ci95"] if self.well else None
        return (stated[0], stated[1]) if stated else None

    @property
    def medians_seconds(self) -> tuple[float, float] | None:
        """The smallest and the largest median of several processes."""
        medians = self._medians()
        return (min(medians), max(medians)) if len(medians) > 1 else None

    @property
    def throughput(self) -> float | None:
        """Samples per second: all samples of all processes by all their time."""
        seconds = math.fsum(record["timing"]["total_seconds"] for record in self.well)
        samples = sum(record["batch_size"] * _steps(record["timing"]) for record in self.well)
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


def _steps(timing: Mapping[str, Any]) -> int:
    """Return the number of timed steps: as many as samples, unless a sample is a block of steps."""
    return int(timing.get("steps") or timing["step_seconds"]["count"])


def _tally(words: Sequence[str]) -> str:
    counts = Counter(words)
    if len(counts) == 1:
        return words[0]
    return ", ".join(f"{count} {word}" for word, count in counts.items())


_OF_TRAININGS = {name: RUN_OPTIONS[name].default for name in ("seed", "divergence")}
"""In what trainings by a recipe differ that are told of together, and what stands for all of them."""


def _is_by_recipe(record: Record) -> bool:
    return value_at(record, "specification.training") is not None


def _configuration(record: Record) -> str:
    return configuration(record, ("repetition", *(_OF_TRAININGS if _is_by_recipe(record) else ())))


def cells(records: Iterable[Mapping[str, Any]]) -> list[Cell]:
    """Return the cells of an experiment in the order of their first records, two builds of one Python side by side.

    A run that ended before its framework's version was known joins its repetitions if there are any.
    """
    each = [(record, _configuration(record), _found(record)) for record in records]
    found = {alike: facts for _, alike, facts in reversed(each) if facts is not None}
    joined: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for record, alike, facts in each:
        facts = found.get(alike, "") if facts is None else facts
        joined.setdefault((alike, facts), []).append(record)
    return [Cell(tuple(group)) for alike in joined.values() for group in by_build(alike)]
