"""The highest rate of arrivals at which a server keeps a bound of latency: found by trials, then confirmed by others.

Whatever serves is a function from a rate and the number of a trial to that trial, so a simulated server with a known
answer is searched by the same code. Latencies are assumed to rise with the rate.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field, replace
from typing import Any, Optional

from benchmarker.quick_dataclass import dataclass
from benchmarker.worker.measurement.percentile_bounds import MET, MISSED

RESOLUTION = 1.05
"""Rates that are closer than this are not told apart."""
TRIES = 2
"""Trials of a rate, each with arrivals of its own, until it counts as too high: the machine may have had other work."""
MAX_RATES = 14
"""That a search looks at."""
MIN_RATE_SHARE = 1 / 64
"""Of the server's own rate; the search looks at none below it."""
CONFIRMATIONS = 3
"""Trials with arrivals of their own in each of which the found rate must keep the bound."""
MAX_ROUNDS = 6
"""Rates at most that are tried to be confirmed, each by :data:`RESOLUTION` below the one before."""

SUSTAINED, UNREACHABLE, UNCONFIRMED = "sustained", "unreachable", "unconfirmed"
ALONE, SEARCH, CONFIRMATION = "alone", "search", "confirmation"


@dataclass(frozen=True)
class Trial:
    """One row of queries at one rate.

    Parameters
    ----------
    part : {"alone", "search", "confirmation"}
        What it was for; ``alone``: each query came when the one before it was answered.
    number : int
        Which arrivals it had.
    rate : float or None
        Queries per second that arrived in the mean; None for ``alone``.
    queries, late : int
        Queries answered, and those of them that took longer than the bound.
    verdict : str
        Whether the percentile kept the bound, as :func:`~.percentile_bounds.verdict` says. A trial ends once
        it is sure to have missed it.
    percentile_seconds : float
        The percentile of latencies.
    completed_per_second : float
        Queries answered, over the time from the start to the last answer.
    late_start_seconds : float
        The median of how much later than it arrived a query was begun though nothing else was served: the wake-up.
    """

    part: str
    number: int
    rate: Optional[float]
    queries: int
    late: int
    verdict: str
    percentile_seconds: float
    completed_per_second: float
    late_start_seconds: float


RunTrial = Callable[[float, int, str], Trial]
"""Takes a rate, the number of the trial and what it is for."""


@dataclass(frozen=True)
class Search:
    """What trials have told.

    Parameters
    ----------
    capacity : float
        Queries per second that the server answers one right after the other: it sustains no higher rate.
    trials : tuple of Trial
        All so far.
    outcome : str or None
        ``sustained``: a rate was found and confirmed; ``unreachable``: there is none; ``unconfirmed``: what was
        found did not hold again.
    rate : float or None
        The one that was found, in queries per second.
    reason : str or None
        Why there is none.
    """

    capacity: float
    trials: tuple[Trial, ...] = ()
    outcome: Optional[str] = None
    rate: Optional[float] = None
    reason: Optional[str] = None

    @property
    def interval(self) -> tuple[float, float]:
        """The rate that was confirmed and the lowest above it whose trials all missed the bound, or the capacity."""
        low = self.rate if self.outcome == SUSTAINED and self.rate is not None else 0.0
        missed = [rate for rate in self._rates if rate > low and self._verdicts(rate) == {MISSED}]
        return low, min([*missed, max(self.capacity, low)])

    @property
    def _rates(self) -> set[float]:
        return {trial.rate for trial in self.trials if trial.rate is not None}

    def _verdicts(self, rate: float) -> set[str]:
        return {trial.verdict for trial in self.trials if trial.rate == rate}

    def to_json(self) -> dict[str, Any]:
        """Return it as a record has it."""
        return {
            "outcome": self.outcome,
            "reason": self.reason,
            "rate": self.rate if self.outcome == SUSTAINED else None,
            "rate_interval": list(self.interval),
            "capacity": self.capacity,
            "trials": [vars(trial) for trial in self.trials],
        }


@dataclass(frozen=True)
class Searcher:
    """Looks for a rate.

    Parameters
    ----------
    run : callable
        Makes a trial.
    bound : float
        Seconds, for what is said.
    percent : float
        Which percentile must be within it, for what is said.
    """

    run: RunTrial
    bound: float
    percent: float
    resolution: float = field(default=RESOLUTION)

    def search(self, alone: Trial, capacity: float) -> Search:
        """Return the highest rate that kept the bound in one trial; how long one query alone takes is known.

        Parameters
        ----------
        alone : Trial
            Of queries one after the other: no rate of arrivals has shorter latencies.
        capacity : float
            Queries per second that it answered.
        """
        so_far = Search(capacity, (alone,))
        if alone.verdict == MISSED:
            return replace(so_far, outcome=UNREACHABLE, reason=self._too_slow(alone))
        low, high, rate = 0.0, capacity, capacity / 2
        for _ in range(MAX_RATES):
            so_far = self._tried(so_far, rate)
            low, high = (rate, high) if so_far.trials[-1].verdict == MET else (low, rate)
            rate = (low + high) / 2 if low else high / 2
            if rate < capacity * MIN_RATE_SHARE or (low and high <= low * self.resolution):
                break
        if low:
            return replace(so_far, rate=low)
        return replace(so_far, outcome=UNREACHABLE, reason=self._not_even(so_far.trials))

    def _tried(self, so_far: Search, rate: float) -> Search:
        """Add trials of a rate until one keeps the bound."""
        for _ in range(TRIES):
            trial = self.run(rate, len(so_far.trials), SEARCH)
            so_far = replace(so_far, trials=(*so_far.trials, trial))
            if trial.verdict == MET:
                break
        return so_far

    def confirm(self, found: Search) -> Search:
        """Return the rate that kept the bound in several further trials in a row: the found one, else a lower one."""
        rate = found.rate
        assert rate is not None
        for _ in range(MAX_ROUNDS):
            for _ in range(CONFIRMATIONS):
                trial = self.run(rate, len(found.trials), CONFIRMATION)
                found = replace(found, trials=(*found.trials, trial))
                if trial.verdict != MET:
                    break
            else:
                return replace(found, rate=rate, outcome=SUSTAINED)
            rate /= self.resolution
        reason = (
            f"the search found {found.rate:.4g} queries/s, but neither that rate nor any down to "
            f"{rate * self.resolution:.4g} kept the bound in {CONFIRMATIONS} further trials in a row"
        )
        return replace(found, outcome=UNCONFIRMED, rate=None, reason=reason)

    def _too_slow(self, alone: Trial) -> str:
        return (
            f"no rate keeps {self.bound:.4g} s: with nothing to wait for, the {self.percent:g}th percentile of "
            f"latencies is {alone.percentile_seconds:.4g} s, and {alone.late} of {alone.queries} took longer"
        )

    def _not_even(self, trials: Sequence[Trial]) -> str:
        last = trials[-1]
        said = "missed" if last.verdict == MISSED else "was not proven to keep"
        return (
            f"no rate was found that keeps {self.bound:.4g} s: even {last.rate:.4g} queries/s, the lowest rate "
            f"tried, {said} it: {last.late} of {last.queries} took longer, the {self.percent:g}th percentile is "
            f"{last.percentile_seconds:.4g} s"
        )
