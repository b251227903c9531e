"""What is asked of a comparison, checked; its sides found, or made anew; and what they show."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Union

from benchmarker.analysis.comparison.compare import Comparison, compare
from benchmarker.analysis.comparison.gate import Gate, gate
from benchmarker.analysis.comparison.matching import Side
from benchmarker.analysis.comparison.pair_plan import (
    DEFAULT_PAIRS,
    PAIRS_IN_TURNS,
    Amount,
    PairPlan,
    pairs_to_make,
    processes_to_make,
)
from benchmarker.analysis.comparison.resolution import keep, resolution_for
from benchmarker.analysis.comparison.self_comparison import SelfComparison, pairs_with_itself, resolution_of
from benchmarker.analysis.comparison.sides import OnProgress, find_side, is_variant
from benchmarker.analysis.comparison.variants import Made, make_pairs
from benchmarker.analysis.comparison.verdict import DEFAULT as DEFAULT_MARGIN
from benchmarker.api.given_values import shown
from benchmarker.errors import UsageError
from benchmarker.experiment.campaign import Campaign
from benchmarker.experiment.progress import Progress
from benchmarker.orchestration.orchestrator import Orchestrator
from benchmarker.quick_dataclass import dataclass
from benchmarker.records.remote.opening import store_at
from benchmarker.records.store import DEFAULT_FOLDER, as_stored

MIN_PAIRS, MAX_PAIRS = 3, 5000
SHARE = "a share must be between 0% and 100%, e.g. 5% or 0.05"
_VARIANTS_WITHOUT_TURNS = "each commit or version is run by a command of its own"


@dataclass(frozen=True)
class _Executed:
    """A campaign that was run.

    Parameters
    ----------
    made : list of (int, dict)
        Its records as they were stored, each with its cell.
    interrupted : bool
        Whether the user stopped it.
    troubles : list of str
        What became of each record that is not in the results folder, and of each run that left none.
    without_turns : str or None
        Why its processes did not take turns, where they were to.
    """

    made: list[tuple[int, dict[str, Any]]]
    interrupted: bool
    troubles: list[str]
    without_turns: str | None


@dataclass(frozen=True)
class ComparisonRequest:
    """A comparison as it was asked for.

    Parameters
    ----------
    sides : sequence of str or Side
        The first is the baseline; a text is what :func:`~benchmarker.analysis.comparison.sides.find_side` takes.
    results : Path
        The folder of records.
    run : bool
        Whether to make the pairs first.
    words : sequence of str
        What to run at sides that are commits or versions of a framework, as options of the command ``run``.
    self_comparison : str or None
        A record to compare with itself, instead of sides.
    pairs : int or None
        How many to make.
    profile : str or None
        How well to know each number, instead of ``pairs``.
    margin : float or None
        Half the region of practical equivalence, relative.
    include_contaminated : bool
        Whether processes count that the machine disturbed.
    fail_if_slower : float or None
        The gate's limit, relative.
    turns : bool
        Whether the processes of a pair that is made take turns, where they can.

    Raises
    ------
    UsageError
        If that makes no sense.
    """

    sides: Sequence[Union[str, Side]] = ()
    results: Path = DEFAULT_FOLDER
    run: bool = False
    words: Sequence[str] = ()
    self_comparison: str | None = None
    pairs: int | None = None
    profile: str | None = None
    margin: float | None = None
    include_contaminated: bool = False
    fail_if_slower: float | None = None
    turns: bool = True

    def __post_init__(self) -> None:
        self._check_sides()
        if self.pairs is not None and type(self.pairs) is not int:
            raise UsageError(f"pairs must be a whole number, got {shown(self.pairs)}")
        for share in (self.margin, self.fail_if_slower):
            if share is not None and (isinstance(share, bool) or not isinstance(share, (int, float))):
                raise UsageError(f"{SHARE}, got {shown(share)}")
        if (self.pairs or self.profile) and not (self.run or self.self_comparison):
            raise UsageError(
                "--pairs and --profile say how many pairs are made: they must come with --run or --aa"
            )
        if self.pairs is not None and not MIN_PAIRS <= self.pairs <= MAX_PAIRS:
            raise UsageError(f"--pairs must be from {MIN_PAIRS} to {MAX_PAIRS}, got {self.pairs}")
        for share in (self.margin, self.fail_if_slower):
            if share is not None and not 0 < share < 1:
                raise UsageError(f"{SHARE}, got {shown(share)}")
        if self.fail_if_slower is not None and self.fail_if_slower < self._margin:
            raise UsageError(
                f"--fail-if-slower must be at least the margin, below which ratios are equivalent: "
                f"{self.fail_if_slower:.3g} is below {self._margin:.3g}; give a smaller --margin"
            )

    def _check_sides(self) -> None:
        names = [side if isinstance(side, str) else side.name for side in self.sides]
        if self.self_comparison and (names or self.run or self.fail_if_slower):
            raise UsageError(
                "--aa compares one record with itself: it must come without SIDEs, --run and --fail-if-slower"
            )
        if not self.self_comparison and len(names) < 2:
            raise UsageError(f"a comparison must have at least two sides, got {len(names)}")
        if len(set(names)) < len(names):
            raise UsageError(
                "the sides of a comparison must differ, but one is given twice; --aa compares a record with itself"
            )

    @property
    def _margin(self) -> float:
        return DEFAULT_MARGIN if self.margin is None else self.margin

    @property
    def _amount(self) -> Amount:
        if self.profile:
            return Amount(profile=self.profile)
        return Amount(self.pairs or (PAIRS_IN_TURNS if self.turns else DEFAULT_PAIRS))

    def found_sides(self, on_read: OnProgress = None) -> list[Side]:
        """Return the sides with the records that there are; ``on_read`` is called with those read, and all."""
        return [
            find_side(side, self.results, on_read) if isinstance(side, str) else side for side in self.sides
        ]

    def made_sides(
        self, progress: Progress, prepare: Callable[[], None] = lambda: None, on_read: OnProgress = None
    ) -> Made:
        """Return the sides with pairs that are made now.

        Parameters
        ----------
        progress : Progress
            Who is told.
        prepare : callable
            Called when it is known that records can be written.
        on_read : callable or None
            Called with the number of records that are read, and of those that must be.
        """
        first = self.sides[0]
        if isinstance(first, str) and is_variant(first):
            return self._made_of_variants(progress, prepare)
        pair_plan = pairs_to_make(self.found_sides(on_read), self._amount)
        executed = self._execute(pair_plan, progress, prepare)
        sides = pair_plan.sides(executed.made)
        return Made(sides, executed.interrupted, executed.troubles, executed.without_turns)

    def _made_of_variants(self, progress: Progress, prepare: Callable[[], None]) -> Made:
        if self.profile:
            raise UsageError(
                f"pairs of commits or versions must be a number, --pairs=N, got --profile={self.profile}"
            )
        store_at(self.results).check_writable()
        prepare()
        names = [side if isinstance(side, str) else side.name for side in self.sides]
        without_turns = _VARIANTS_WITHOUT_TURNS if self.turns else None
        note = without_turns and _without_turns_note(without_turns)
        pairs = self.pairs or DEFAULT_PAIRS
        made = make_pairs(names, self.words, pairs, self.results, progress, note=note)
        return replace(made, without_turns=without_turns)

    def _execute(self, pair_plan: PairPlan, progress: Progress, prepare: Callable[[], None]) -> _Executed:
        store = store_at(self.results)
        store.check_writable()
        prepare()
        orchestrator = Orchestrator(store, progress)
        campaign = Campaign(pair_plan.runs, pair_plan.precision)
        without_turns = pair_plan.why_no_turns if self.turns else None
        if without_turns is not None:
            progress.note(_without_turns_note(without_turns))
        in_turns = self.turns and without_turns is None
        between = False
        try:
            for _ in orchestrator.run_in_turns(campaign) if in_turns else orchestrator.run(campaign):
                pass
        except KeyboardInterrupt:
            between = True  # of two processes, where there is no record to tell it
        made = [(run.cell, as_stored(run.path, run.record)) for run in orchestrator.every]
        interrupted = between or any(run.interrupted for run in orchestrator.every)
        return _Executed(made, interrupted, orchestrator.troubles, without_turns)

    def compared(self, sides: Sequence[Side]) -> tuple[Comparison, Gate | None]:
        """Return what the sides show, and what the gate says of it if there is one.

        Raises
        ------
        UsageError
            If they are not comparable, or no run of one ended well.
        """
        comparison = compare(
            sides,
            margin=self.margin,
            resolution=resolution_for,
            include_contaminated=self.include_contaminated,
        )
        limit = self.fail_if_slower
        return comparison, None if limit is None else gate(comparison.rows, limit)

    def compared_with_itself(
        self, progress: Progress, prepare: Callable[[], None] = lambda: None, on_read: OnProgress = None
    ) -> SelfComparison:
        """Compare a record with itself, and keep what that says of the machine."""
        side = find_side(str(self.self_comparison), self.results, on_read)
        executed = self._execute(processes_to_make(side, self._amount), progress, prepare)
        records = [record for _, record in executed.made]
        pairing = pairs_with_itself(records, include_contaminated=self.include_contaminated)
        found = resolution_of(pairing, self._margin)
        kept = found is not None and not self.include_contaminated
        if found is not None and kept:
            keep(found)
        outcome = (executed.interrupted, executed.troubles, executed.without_turns)
        return SelfComparison(found, pairing, kept, *outcome)


def _without_turns_note(reason: str) -> str:
    return f"the processes of a pair run one after the other, not in turns: {reason}"
