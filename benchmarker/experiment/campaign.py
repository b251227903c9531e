"""The rounds of an experiment: each cell once a round in fresh processes, until its number is known well enough."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

from benchmarker.experiment.keys import identity
from benchmarker.experiment.precision import Precision
from benchmarker.experiment.replication import Decision, decide, order, requested_replication
from benchmarker.experiment.spec import RunSpec
from benchmarker.quick_dataclass import dataclass
from benchmarker.statistics import across_processes


@dataclass(frozen=True)
class ScheduledRun:
    """One run of a campaign.

    Parameters
    ----------
    spec : RunSpec
        With its repetition, which is the round.
    cell : int
        Which cell of the experiment it belongs to.
    position : int
        Its place in the round, from 0.
    """

    spec: RunSpec
    cell: int
    position: int


@dataclasses.dataclass
class _Cell:
    spec: RunSpec
    medians: list[float] = field(default_factory=list)
    resumed: list[str] = field(default_factory=list)
    seconds: float = 0.0
    closed: bool = False


class Campaign:
    """Which run comes next, and when there have been enough.

    A round has every cell once, in an order that is drawn anew, so that a drift of the machine falls on
    all alike; the cells of a round are back to back, and their ratio is free of what changes slowly.

    Parameters
    ----------
    runs : sequence of RunSpec
        The experiment; those that differ in their repetition alone are one cell.
    precision : Precision or None
        When to stop; None runs the repetitions that ``runs`` has.
    keep_first_order : bool
        Whether the first round is in the order of ``runs``, e.g. so that small batches come before large.

    Attributes
    ----------
    name : str
        What the records of the campaign have in common.
    """

    def __init__(
        self, runs: Sequence[RunSpec], precision: Precision | None = None, *, keep_first_order: bool = False
    ) -> None:
        self.name = os.urandom(16).hex()
        self._keep_first_order = keep_first_order
        self._precision = precision
        cells: dict[str, _Cell] = {}
        for run in runs:
            first = replace(run, repetition=0)
            cells.setdefault(identity(first), _Cell(first))
        self._cells = list(cells.values())
        self._rounds = precision.max_processes if precision else 1 + max(run.repetition for run in runs)

    @property
    def least(self) -> int:
        """The least number of runs that there will be if nothing fails."""
        rounds = self._precision.min_processes if self._precision else self._rounds
        return rounds * len(self._cells)

    def resume(self, before: Mapping[str, str]) -> None:
        """Name the records from before that count, so that each new one says what its number is made of.

        Parameters
        ----------
        before : mapping
            Identity of a run to the identifier of its record.
        """
        for number in range(self._rounds):
            for turn in self._round(number):
                known = before.get(identity(turn.spec))
                if known is not None:
                    self._cells[turn.cell].resumed.append(known)

    def every(self) -> list[RunSpec]:
        """Return all runs that there may be."""
        return [turn.spec for number in range(self._rounds) for turn in self._round(number)]

    def turns(self) -> Iterator[ScheduledRun]:
        """Yield what to run next; :meth:`take` or :meth:`leave_out` must have seen the turn before."""
        for number in range(self._rounds):
            for turn in self._round(number):
                if not self._cells[turn.cell].closed:
                    yield turn

    def _round(self, number: int) -> list[ScheduledRun]:
        count = len(self._cells)
        # One round alone cannot cancel a drift: it keeps the order that was asked for.
        keeps_order = self._rounds == 1 or (self._keep_first_order and number < 2)
        requested_order = range(count)[:: -1 if number % 2 else 1]
        drawn = requested_order if keeps_order else order(count, number, self._cells[0].spec.seed)
        return [
            ScheduledRun(replace(self._cells[index].spec, repetition=number), index, position)
            for position, index in enumerate(drawn)
        ]

    def take(self, turn: ScheduledRun, record: Mapping[str, Any]) -> dict[str, Any]:
        """Take the record of a turn and return its ``replication``.

        Parameters
        ----------
        turn : ScheduledRun
            Which was run.
        record : mapping
            As it will be stored, but for this.
        """
        cell = self._cells[turn.cell]
        step = record["timing"]["step_seconds"]
        if record["status"] == "ok" and step is not None:
            cell.medians.append(step["median"])
        cell.seconds += record["execution"].get("worker_seconds") or 0.0
        decision = self._decide(cell, turn)
        interrupted = record["status"] == "interrupted"
        cell.closed = decision.stop_reason is not None or interrupted
        if self._precision is not None and record["status"] != "ok":
            cell.closed = True  # what fails once would fail for the rest of the budget
        return self._replication(turn, decision, "interrupted" if interrupted else decision.stop_reason)

    def leave_out(self, turn: ScheduledRun) -> None:
        """End the cell of a turn that is not to be run."""
        self._cells[turn.cell].closed = True

    def _decide(self, cell: _Cell, turn: ScheduledRun) -> Decision:
        if self._precision is not None:
            return decide(self._precision, cell.medians, cell.seconds)
        found = across_processes(cell.medians) if cell.medians else None
        last = turn.spec.repetition + 1 >= self._rounds
        return Decision(
            stop_reason="max_processes" if last else None,
            not_met=(),
            processes=len(cell.medians),
            centre=found.centre if found else None,
            ci95=found.ci95 if found else None,
            half_width=found.half_width if found else None,
            expected_processes=None,
            expected_seconds=None,
        )

    def _replication(self, turn: ScheduledRun, decision: Decision, stop_reason: str | None) -> dict[str, Any]:
        return {
            "campaign": self.name,
            "resumed": list(self._cells[turn.cell].resumed),
            **requested_replication(self._precision, self._rounds),
            "round": turn.spec.repetition,
            "position": turn.position,
            "cells": len(self._cells),
            "processes": decision.processes,
            "centre_seconds": decision.centre,
            "ci95": list(decision.ci95) if decision.ci95 else None,
            "half_width": decision.half_width,
            "stop_reason": stop_reason,
            "not_met": list(decision.not_met),
            "expected_processes": decision.expected_processes,
            "expected_seconds": decision.expected_seconds,
        }


MIN_FOR_STATUS = 5
"""Fewer processes say little about how many more it takes."""


def replication_status(replication: Mapping[str, Any]) -> str | None:
    """Return how many processes the asked precision takes, while there is more to come."""
    half_width, expected = replication["half_width"], replication["expected_processes"]
    if replication["stop_reason"] or replication["processes"] < MIN_FOR_STATUS:
        return None
    if half_width is None or expected is None:
        return None
    more = max(expected - replication["processes"], 1)
    seconds = replication["expected_seconds"]
    time = f", {seconds:.0f} s" if seconds else ""
    return (
        f"known to within {half_width:.1%} after {replication['processes']} processes; "
        f"{replication['target_half_width']:.1%} needs about {more} more{time}"
    )
