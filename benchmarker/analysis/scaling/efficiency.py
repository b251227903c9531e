"""What more ranks were worth, as measured: each run of several against a named one of a single rank."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarker.analysis.scaling.periods import typical_step
from benchmarker.experiment.keys import canonical
from benchmarker.quick_dataclass import dataclass
from benchmarker.records.cells import Cell
from benchmarker.records.keys import MEASURING, configuration
from benchmarker.records.lookup import Record, specification_of, value_at

OF_RANKS = (
    "repetition",
    "ranks",
    "scheme",
    "exchange",
    "scaling",
    "network",
    "batch_size",
    "threads",
    "affinity",
    "environment",
)
"""Members of a specification in which a run of several ranks may differ from its baseline."""
_WHERE = ("framework.full", "device.name", "platform.cpu.model", "platform.host.name", "inputs.data.digest")
"""What only the runs found out, and must be the same of both."""


@dataclass(frozen=True)
class Ratio:
    """A ratio with the ends of its 95 % interval, where both sides have one."""

    value: float
    low: float | None = None
    high: float | None = None

    def over(self, number: float) -> Ratio:
        """Return it divided by a number."""
        return Ratio(
            self.value / number,
            None if self.low is None else self.low / number,
            None if self.high is None else self.high / number,
        )


@dataclass(frozen=True)
class Scaled:
    """A run of several ranks, or one that stands alone.

    Parameters
    ----------
    cell : Cell
        Its processes.
    baseline : Cell or None
        The run of one rank that it is held to; None if there is none.
    """

    cell: Cell
    baseline: Cell | None

    @property
    def ranks(self) -> int:
        return ranks_of(self.cell.first)

    @property
    def distributed(self) -> Mapping[str, Any]:
        """What the record says of its ranks; empty for a single one."""
        return self.cell.first.get("distributed") or {}

    @property
    def step_seconds(self) -> float | None:
        """A typical step; of ranks that exchange every so many steps, the mean of as many."""
        return typical_step(self.cell)[0]

    @property
    def speedup(self) -> Ratio | None:
        """Samples per second over those of one rank."""
        base, (step, ends) = self.baseline, typical_step(self.cell)
        if base is None or not step or not base.step_seconds:
            return None
        if base is self.cell:
            return Ratio(1.0)
        more = self.cell.first["batch_size"] / base.first["batch_size"]
        ends_of_base = base.interval_seconds
        if not ends or not ends_of_base or not ends[0]:
            return Ratio(more * base.step_seconds / step)
        # The widest that both intervals allow.
        return Ratio(
            more * base.step_seconds / step,
            more * ends_of_base[0] / ends[1],
            more * ends_of_base[1] / ends[0],
        )

    @property
    def efficiency(self) -> Ratio | None:
        """The speed-up over the number of ranks."""
        speedup = self.speedup
        return None if speedup is None else speedup.over(self.ranks)


def ranks_of(record: Record) -> int:
    """Return how many ranks a run has."""
    return int(specification_of(record).get("ranks") or 1)


def scaled(cells: Sequence[Cell]) -> list[Scaled]:
    """Return each cell with the one of a single rank that it is held to.

    That is one of the same framework, version, machine, problem and settings; of strong scaling of the same mini-batch,
    of weak of one as large as a rank's rows. One with as many threads as a rank goes before others, the latest before
    older ones.
    """
    singles = [cell for cell in cells if ranks_of(cell.first) == 1 and cell.step_seconds]
    by_work: dict[str, list[Cell]] = {}
    for cell in singles:
        by_work.setdefault(_alike(cell.first), []).append(cell)
    return [Scaled(cell, _baseline(cell, by_work.get(_alike(cell.first), ()))) for cell in cells]


def _alike(record: Record) -> str:
    """Return a text that runs have in common whose steps may be held to each other's."""
    apart = (*OF_RANKS, *(path.removeprefix("specification.") for path in MEASURING))
    return canonical([configuration(record, apart), [value_at(record, path) for path in _WHERE]])


def _baseline(cell: Cell, singles: Sequence[Cell]) -> Cell | None:
    record = cell.first
    specification, ranks = specification_of(record), ranks_of(record)
    rows = record["batch_size"] // ranks if specification.get("scaling") == "weak" else record["batch_size"]
    fitting = [one for one in singles if one.first["batch_size"] == rows]
    threads = record["execution"]["threads"]
    return max(
        fitting,
        key=lambda one: (one.first["execution"]["threads"] == threads, one.first["started_at"]),
        default=None,
    )
