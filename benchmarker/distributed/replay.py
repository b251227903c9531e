"""A server's log made again in one process, and what the log itself tells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from benchmarker.api.scheme import Update

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


def replay(
    log: Sequence[Update],
    start: Array,
    gradient: Callable[[int, int, Array], Array],
    update: Callable[[Array, Array], Array],
) -> Array:
    """Return the weights after all updates of a log, each with a gradient at the version that it was taken at.

    Versions are kept until the last gradient that was taken at them.

    Parameters
    ----------
    log : sequence of Update
        In their order.
    start : vector
        The weights of version 0.
    gradient : callable
        ``gradient(worker, step, weights)`` returns the gradient of that worker's mini-batch at those weights.
    update : callable
        ``update(weights, gradient)`` returns the weights after one update, in an array of its own.
    """
    last_reader = {one.read: version for version, one in enumerate(log)}
    kept = {0: start}
    weights = start
    for version, one in enumerate(log):
        weights = update(weights, gradient(one.worker, one.step, kept[one.read]))
        if last_reader[one.read] == version:
            del kept[one.read]
        if version + 1 in last_reader:
            kept[version + 1] = weights
    return weights


def staleness(log: Sequence[Update]) -> dict[str, int]:
    """Return how many updates had a gradient of weights so many versions old, by that number as text."""
    ages = Counter(version - one.read for version, one in enumerate(log))
    return {str(age): ages[age] for age in sorted(ages)}


def most_ahead(log: Sequence[Update]) -> int:
    """Return by how many steps a worker was ahead of the slowest when it was given weights, at most.

    A worker whose last step is made is not waited for, and not counted.
    """
    last = {one.worker: version for version, one in enumerate(log)}
    made = dict.fromkeys(last, 0)
    slowest = []
    for version, one in enumerate(log):
        slowest.append(min(made[worker] for worker in made if last[worker] >= version))
        made[one.worker] += 1
    return max((one.step - slowest[one.read] for one in log), default=0)


def log_fault(log: Sequence[Update], *, bound: int | None = None) -> str | None:
    """Return what in a log cannot have happened, None if nothing.

    Parameters
    ----------
    log : sequence of Update
        In their order.
    bound : int or None
        By how many steps a worker may be ahead of the slowest; None for any.
    """
    given: dict[int, int] = {}
    made: Counter[int] = Counter()
    for version, one in enumerate(log):
        if one.step != made[one.worker]:
            return f"update {version} is of step {one.step} of worker {one.worker}, not of step {made[one.worker]}"
        if not given.get(one.worker, 0) <= one.read <= version or (one.step == 0 and one.read):
            return f"update {version} is of weights {one.read}, which worker {one.worker} was not given"
        made[one.worker] += 1
        given[one.worker] = version + 1
    ahead = most_ahead(log)
    if bound is not None and ahead > bound:
        return f"a worker was {ahead} steps ahead of the slowest, but only {bound} are allowed"
    return None
