"""Trainings by one recipe that belong together: their steps and seconds to the target, and whose seconds count."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarker.analysis.comparison.censored import Time, share_interval
from benchmarker.quick_dataclass import dataclass
from benchmarker.records.lookup import Record
from benchmarker.records.precision import excluded


@dataclass(frozen=True)
class Sample:
    """Times to the target, each with the seed of its training."""

    seeds: tuple[int, ...]
    times: tuple[Time, ...]

    @property
    def by_seed(self) -> dict[int, Time]:
        """The times by seed; of several of one seed the last."""
        return dict(zip(self.seeds, self.times))


@dataclass(frozen=True)
class TrainingGroup:
    """Trainings by one recipe that belong together.

    Parameters
    ----------
    label : str
        What they have in common: their framework, or the side that they are.
    records : tuple of mapping
        In any order.
    include_contaminated : bool
        Whether the seconds of those count that the machine disturbed; steps do in any case.
    """

    label: str
    records: tuple[Record, ...]
    include_contaminated: bool = False

    @property
    def well(self) -> tuple[Record, ...]:
        """Those that ended well: at the target, or at a limit."""
        return tuple(record for record in self.records if record["training"])

    @property
    def steps(self) -> list[Time]:
        """Steps to the target of each."""
        return [_time(record, "steps_to_target", float(record["training"]["steps"])) for record in self.well]

    @property
    def timed(self) -> tuple[Record, ...]:
        """Those of :attr:`well` that nothing keeps out of comparisons of seconds; all where there are no such."""
        counting = tuple(record for record in self.well if self.counts(record))
        return counting or self.well

    def counts(self, record: Record) -> bool:
        """Tell whether nothing keeps the seconds of a training out of comparisons."""
        return excluded(record, include_contaminated=self.include_contaminated) is None

    @property
    def left_out(self) -> int:
        """How many of :attr:`well` there are whose seconds do not count."""
        return len(self.well) - len(self.timed)

    @property
    def is_disturbed(self) -> bool:
        """Whether its seconds are those of trainings that are kept out of comparisons, since there are no others."""
        return not any(map(self.counts, self.well))

    @property
    def seconds(self) -> list[Time]:
        """Seconds to the target of each that is :attr:`timed`."""
        return list(map(_seconds, self.timed))

    @property
    def steps_sample(self) -> Sample:
        """Steps to the target with their seeds."""
        return Sample(_seeds(self.well), tuple(self.steps))

    @property
    def seconds_sample(self) -> Sample:
        """Seconds to the target that tell of a difference, with their seeds: none if all are disturbed."""
        return Sample((), ()) if self.is_disturbed else Sample(_seeds(self.timed), tuple(self.seconds))

    @property
    def every_seconds(self) -> list[Time]:
        """Seconds to the target of each, disturbed or not."""
        return list(map(_seconds, self.well))

    @property
    def reached(self) -> int:
        """How many of :attr:`well` reached the target."""
        return sum(time.reached for time in self.steps)

    @property
    def share_interval(self) -> tuple[float, float]:
        """The exact 95 % interval of the share that reaches the target."""
        return share_interval(self.reached, len(self.well))

    @property
    def skipped_steps(self) -> list[int | None]:
        """Steps of each that made no update, for an overflow in fp16; None where that is not told."""
        return [record["training"].get("skipped_steps") for record in self.well]

    @property
    def by_seed(self) -> dict[int, Time]:
        """Steps to the target by seed; of several trainings of one seed those of the last."""
        return self.steps_sample.by_seed


def _seeds(records: Sequence[Record]) -> tuple[int, ...]:
    return tuple(record["seed"] for record in records)


def _time(record: Record, metric: str, ended: float) -> Time:
    value = record["metrics"][metric]
    return Time(ended, reached=False) if value is None else Time(float(value))


def _seconds(record: Record) -> Time:
    return _time(record, "seconds_to_target", _spent(record["training"]))


def _spent(training: Mapping[str, Any]) -> float:
    names = ("first_step_seconds", "training_seconds", "loading_seconds")
    return math.fsum(training[name] for name in names)
