"""Making the pairs that a comparison lacks: the cells of its sides in one campaign, rounds back to back."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

from benchmarker.analysis.comparison.matching import Match, Side, match
from benchmarker.analysis.reproduction import (
    experiment_from_record,
    fit_to_machine,
    interpreter_of,
    with_interpreter,
    with_problem_file,
)
from benchmarker.errors import BenchmarkerError, UsageError
from benchmarker.experiment.keys import identity
from benchmarker.experiment.planning import plan
from benchmarker.experiment.precision import Precision
from benchmarker.experiment.spec import RunSpec
from benchmarker.machine.threads import available_threads, usable_cpus
from benchmarker.quick_dataclass import dataclass
from benchmarker.records.lookup import Record

DEFAULT_PAIRS = 10
PAIRS_IN_TURNS = 20
"""They are short."""
_STATED = ("steps", "window", "samples_per_epoch", "scenario")
"""What says how many steps there are."""


@dataclass(frozen=True)
class Amount:
    """How many pairs.

    Parameters
    ----------
    pairs : int or None
        So many; None with a profile.
    profile : str or None
        Until each side's number is known that well.
    """

    pairs: int | None = None
    profile: str | None = None


@dataclass(frozen=True)
class PairPlan:
    """The campaign that makes the pairs.

    Parameters
    ----------
    runs : list of RunSpec
        Those of a cell one after the other, cells in their order.
    precision : Precision or None
        When to stop; None makes the repetitions that ``runs`` has.
    members : tuple of (str, frozenset of int)
        Each side, the baseline first, and which cells of the campaign are its.
    """

    runs: list[RunSpec]
    precision: Precision | None
    members: tuple[tuple[str, frozenset[int]], ...]

    @property
    def why_no_turns(self) -> str | None:
        """Why two workers of this machine cannot take turns; None if they can, e.g. one with itself."""
        cells = {cell for _, members in self.members for cell in members}
        if len(cells) > 2:
            return f"there are {len(cells)} numbers, and only two take turns"
        if self.precision is not None:
            return "a profile tells when each number is known, and turns take a number of pairs"
        if os.name != "posix":
            return "this system cannot stop processes for a while"
        return next(filter(None, map(_why_no_windows, self.runs)), None)

    def sides(self, made: Sequence[tuple[int, Record]]) -> list[Side]:
        """Return the sides with the records that were made, each given with its cell."""
        return [
            Side(name, tuple(record for cell, record in made if cell in cells))
            for name, cells in self.members
        ]


def _why_no_windows(spec: RunSpec) -> str | None:
    """Return why a run cannot be timed in windows; None if it can."""
    if spec.device != "cpu":
        return f"what runs on {spec.device} goes on while its worker stands still"
    if spec.launcher != "local":
        return f"only workers that are started locally take turns, not by {spec.launcher}"
    stated = next((name for name in _STATED if getattr(spec, name) is not None), None)
    return stated and f"the runs state {stated.replace('_', ' ')}, which windows would not keep to"


def pairs_to_make(sides: Sequence[Side], amount: Amount) -> PairPlan:
    """Return the campaign that compares the newest records of the sides' cells anew.

    Parameters
    ----------
    sides : sequence of Side
        The first is the baseline.
    amount : Amount
        How many pairs.

    Raises
    ------
    UsageError
        If sides are not comparable, ask for the same, or cannot run here.
    """
    known: dict[str, int] = {}
    specs: list[RunSpec] = []
    wanted: Precision | None = None
    members: dict[str, set[int]] = {side.name: set() for side in sides}

    def cell_of(name: str, spec: RunSpec) -> int:
        index = known.setdefault(identity(spec), len(specs))
        if index == len(specs):
            specs.append(spec)
        members[name].add(index)
        return index

    for other in sides[1:]:
        for found in match(sides[0], other).matches:
            (first_spec, wanted), (other_spec, _) = _specs(found, amount)
            if cell_of(sides[0].name, first_spec) == cell_of(other.name, other_spec):
                raise UsageError(_the_same(found, sides[0], other))
    return PairPlan(
        [replace(spec, repetition=i) for spec in specs for i in range(amount.pairs or 1)],
        wanted,
        tuple((name, frozenset(cells)) for name, cells in members.items()),
    )


def processes_to_make(side: Side, amount: Amount) -> PairPlan:
    """Return the campaign that compares the newest record of a side with itself: two processes for each pair.

    Raises
    ------
    UsageError
        If it cannot run here, or a profile is asked for.
    """
    if amount.pairs is None:
        raise UsageError("an A/A comparison must have a number of pairs, got a profile; give --pairs")
    newest = max(side.records, key=lambda record: str(record["started_at"]))
    spec, _ = _spec(newest, Amount(2 * amount.pairs))
    runs = [replace(spec, repetition=i) for i in range(2 * amount.pairs)]
    return PairPlan(runs, None, ((side.name, frozenset({0})),))


def _specs(found: Match, amount: Amount) -> list[tuple[RunSpec, Precision | None]]:
    """Return the runs of both cells: with the same seed, so that both have the same values."""
    first, other = _spec(found.first.newest, amount), _spec(found.other.newest, amount)
    return [first, (replace(other[0], seed=first[0].seed), other[1])]


def _spec(record: Record, amount: Amount) -> tuple[RunSpec, Precision | None]:
    if not record.get("specification"):
        raise UsageError(
            f"record {record['id']} is from before schema 1.1 and does not say what to run; rerun it"
        )
    try:
        experiment = with_problem_file(experiment_from_record(record), record)
        experiment = with_interpreter(
            experiment, record["framework"]["version"], interpreter_of(record, experiment)
        )
        experiment = fit_to_machine(experiment, usable_cpus(), available_threads)
        experiment = replace(
            experiment, repeats=1 if amount.profile is None else None, profile=amount.profile
        )
        return replace(plan(experiment)[0], repetition=0), experiment.wanted_precision
    except BenchmarkerError as error:
        raise UsageError(f"record {record['id']} cannot be run again: {error}") from error


def _the_same(found: Match, first: Side, other: Side) -> str:
    return (
        f"'{first.name}' and '{other.name}' ask for the same run of {found.keys['problem']} on "
        f"{found.first.factors['framework.name']}, so pairs of them would compare it with itself, which --aa does"
    )
