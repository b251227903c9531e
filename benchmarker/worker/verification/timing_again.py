"""Whether steps after the timed part take as long: of mini-batches never seen, and once their results are collected."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import median_low
from time import perf_counter
from typing import Any

from benchmarker.worker.measurement.lateness import (
    MAX_SHARE,
    MIN_LATE_SECONDS,
    Collected,
    share_late,
    waited_for,
)
from benchmarker.worker.verification.budget import Budget
from benchmarker.worker.verification.findings import PASSED, Check, check_of, left_out
from benchmarker.worker.verification.further_steps import FurtherSteps

UNSEEN_TIME, WAITED_FOR = "time of unseen mini-batches", "synchronisation"
UNSEEN_ROUNDS, UNSEEN_BATCHES = 10, 5
"""Rounds until something is believed, and mini-batches of each; the fastest of them counts.

Where cores are short, most steps of two threads wait for one, but never in so many rounds.
"""
MAX_RATIO = 3.0
"""How much longer than a timed step one of an unseen mini-batch may take; a kept result is quicker by far more."""
MIN_DIFFERENCE_SECONDS = 5e-5
INNOCENT_TRIALS, LEAD_TRIALS, MAX_TRIALS = 3, 6, 40
"""Without a suspicion in the first, nothing was late; otherwise one verdict must be so many trials ahead of the other.

A busy machine can hide in one trial what was not waited for, or feign it: where others use the GPU, in every third.
"""
LATE_SECONDS, LATE_SECONDS_OF_SUSPECTS = 0.01, 0.16
"""Steps are queued for so long, so that what was not waited for adds up; what others add does not."""
ROW_MARGIN = 1.25
"""Steps beyond those that should take so long, since no two rows take the same time."""
MIN_GROWTH, MAX_GROWTH = 2.0, 8.0
"""Of a row that was too short: one that others disturbed may seem to take no time at all."""
MAX_QUEUED = 1024
MAX_KEPT = 32
"""More results would take so long to bring home that they seemed late, however soon they were there."""


def timing_checks(
    steps: FurtherSteps,
    unseen: Callable[[], Mapping[str, Any]],
    timed_seconds: float,
    budget: Budget,
    *,
    in_blocks: bool = False,
) -> Iterator[Check]:
    """Time further steps.

    Parameters
    ----------
    steps : FurtherSteps
        Makes them.
    unseen : callable
        Returns a mini-batch that no step has taken, another one at each call.
    timed_seconds : float
        The median of the timed steps.
    budget : Budget
        What the proof may cost.
    in_blocks : bool
        Whether several steps were timed with one synchronisation, each of them independent of those before.
    """
    if budget.affords(3 * timed_seconds):
        yield unseen_check(steps, unseen, timed_seconds, budget)
    else:
        yield left_out(UNSEEN_TIME, "steps take longer than this proof may last")
    kept = _kept(timed_seconds) if in_blocks else 0
    kept = kept if budget.affords(4 * (kept + 1) * timed_seconds) else 0
    if budget.affords(4 * timed_seconds):
        yield waiting_check(steps, steps.load(unseen()), kept)
    else:
        yield left_out(WAITED_FOR, "steps take longer than this proof may last")


def unseen_check(
    steps: FurtherSteps, unseen: Callable[[], Mapping[str, Any]], timed_seconds: float, budget: Budget
) -> Check:
    """Time steps of unseen mini-batches and the same again; a suspicion must hold in several rounds."""
    for _ in range(UNSEEN_ROUNDS):
        first, again = _round(steps, unseen, timed_seconds, budget)
        check = as_long(first, again, timed_seconds)
        if check.status == PASSED:
            return check
    return check


def _round(
    steps: FurtherSteps, unseen: Callable[[], Mapping[str, Any]], timed_seconds: float, budget: Budget
) -> tuple[float, float]:
    count = max(1, min(UNSEEN_BATCHES, int(budget.left / max(4 * timed_seconds, 1e-9))))
    loaded = [steps.load(unseen()) for _ in range(count)]
    first, again = (min(_seconds(steps, batch) for batch in loaded) for _ in range(2))
    return first, again


def as_long(unseen: float, seen: float, timed: float) -> Check:
    """Check that steps are no slower where nothing can have been kept from earlier ones.

    Parameters
    ----------
    unseen, seen : float
        Seconds of steps made here; a machine that is slower now is slower for both.
    timed : float
        The median of the timed steps.
    """
    words = f"steps on unseen mini-batches took {unseen:.3g} s, on others {seen:.3g} s, and {timed:.3g} s when timed"
    kept = unseen > MAX_RATIO * max(timed, seen) + MIN_DIFFERENCE_SECONDS
    return check_of(UNSEEN_TIME, [f"{words}: results were reused"] if kept else [], words)


def waited(shares: Sequence[float]) -> Check:
    """Check that nothing was going on any more once ``synchronize`` had returned, in the median of several steps.

    Parameters
    ----------
    shares : sequence of float
        Of the time of each, what passed until its results were there.
    """
    share = median_low(shares)
    if share <= MAX_SHARE:
        return check_of(WAITED_FOR, [], "nothing went on after it")
    words = (
        f"{share:.0%} of the time of steps passed after synchronize had returned: it does not wait for them"
    )
    return check_of(WAITED_FOR, [words], "")


def _seconds(steps: FurtherSteps, batch: Any) -> float:
    start = perf_counter()
    steps.program.synchronize(steps.step(batch))
    return perf_counter() - start


def _kept(timed_seconds: float) -> int:
    """Return of how many steps at the beginning of a row the results are collected, so that they could be late."""
    return max(1, min(MAX_KEPT, math.ceil(2 * MIN_LATE_SECONDS / max(timed_seconds, 1e-9))))


def waiting_check(steps: FurtherSteps, batch: Any, kept: int = 0) -> Check:
    """Queue steps for a while and look how late their results are; a suspicion is looked into.

    Parameters
    ----------
    steps : FurtherSteps
        Makes them.
    batch : object
        A loaded mini-batch.
    kept : int
        Of how many steps the results are looked at besides those of the last: of what nobody looks at a framework
        might compute nothing.
    """
    row, shares = _long_row(_Row(steps, batch, kept + 1, kept), LATE_SECONDS)
    if max(shares) <= MAX_SHARE:
        return waited(shares)
    longer, _ = _long_row(_Row(steps, batch, 1, 0), LATE_SECONDS_OF_SUSPECTS)
    check = waited(_decided(longer))
    return waited(_decided(row)) if kept and check.status == PASSED else check


def _long_row(row: _Row, seconds: float) -> tuple[_Row, list[float]]:
    """Return a row that takes ``seconds`` however little others add to it, and shares of its first trials.

    One trial tells how many steps that may take, and is enough of rows that turn out too short.
    """
    while True:
        trials = [row.waited_for()]
        if sum(trials[0]) >= seconds or row.count >= MAX_QUEUED:
            trials += [row.waited_for() for _ in range(INNOCENT_TRIALS - 1)]
        shortest = min(map(sum, trials))
        if shortest >= seconds or row.count >= MAX_QUEUED:
            return row, [share_late(*trial) for trial in trials]
        row = row.longer(seconds / max(shortest, 1e-9))


def _decided(row: _Row) -> list[float]:
    """Return shares of trials of which those on one side of :data:`MAX_SHARE` are well ahead."""
    shares: list[float] = []
    lead = 0
    while abs(lead) < LEAD_TRIALS and len(shares) < MAX_TRIALS:
        shares.append(share_late(*row.waited_for()))
        lead += 1 if shares[-1] > MAX_SHARE else -1
    return shares


class _Row:
    """Steps in a row; the results of the first of them are kept until they are collected."""

    def __init__(self, steps: FurtherSteps, batch: Any, count: int, kept: int) -> None:
        self._steps, self._batch = steps, batch
        self.count, self._kept = count, kept
        self._first: list[Any] = []

    def longer(self, times: float) -> _Row:
        """Return a row that should take so many times as long."""
        growth = min(MAX_GROWTH, max(MIN_GROWTH, ROW_MARGIN * times))
        return _Row(self._steps, self._batch, min(MAX_QUEUED, math.ceil(self.count * growth)), self._kept)

    def waited_for(self) -> tuple[float, float]:
        return waited_for(self._steps.program, self, self.collect)

    def __call__(self) -> Any:
        self._first = []
        for number in range(self.count):
            output = self._steps.step(self._batch)
            if number < self._kept:
                self._first.append(output)
        return output

    def collect(self, output: Any) -> Collected:
        if not self._first:
            return self._steps.collect(output)
        return [array for each in (*self._first, output) for array in self._steps.returned(each)]
