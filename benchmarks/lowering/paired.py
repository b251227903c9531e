"""Two steps timed side by side in one process: rounds of short blocks, and the ratio of their times."""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from rows import median_interval  # noqa: E402


@dataclass(frozen=True)
class Comparison:
    """Time of ``ours`` over time of ``theirs``.

    ``ratio`` is the median over rounds, ``low`` and ``high`` its 95 % interval by order statistics (of fewer than
    six rounds their range), seconds are medians per step, ``pairs`` is the number of rounds.
    """

    name: str
    ratio: float
    low: float
    high: float
    ours_seconds: float
    theirs_seconds: float
    pairs: int

    @staticmethod
    def of(name: str, ours: Sequence[float], theirs: Sequence[float]) -> Comparison:
        """Return the comparison of the seconds per step that each took in each round."""
        ratios = [a / b for a, b in zip(ours, theirs)]
        low, high = median_interval(ratios) or (min(ratios), max(ratios))
        return Comparison(
            name,
            statistics.median(ratios),
            low,
            high,
            statistics.median(ours),
            statistics.median(theirs),
            len(ratios),
        )

    def print(self) -> None:
        """Print the comparison as one JSON line."""
        print(json.dumps(asdict(self)), flush=True)


def _block(step: Callable[[], object], steps: int, clock: Callable[[], float]) -> float:
    start = clock()
    for _ in range(steps):
        step()
    return (clock() - start) / steps


def compare(
    name: str,
    ours: Callable[[], object],
    theirs: Callable[[], object],
    *,
    pairs: int = 12,
    steps: int = 1,
    warmup: int = 3,
    clock: Callable[[], float] = time.perf_counter,
) -> Comparison:
    """Time both steps by turns, as :func:`by_turns` does, and compare."""
    took = by_turns(ours, theirs, pairs=pairs, steps=steps, warmup=warmup, clock=clock)
    return Comparison.of(name, *took)


def by_turns(
    ours: Callable[[], object],
    theirs: Callable[[], object],
    *,
    pairs: int,
    steps: int,
    warmup: int,
    clock: Callable[[], float],
) -> tuple[list[float], list[float]]:
    """Return the seconds per step that each took in rounds of four blocks: the one, the other twice, the one again.

    So each round cancels what drifts evenly, and the median over rounds what hits a few of them. Who begins
    changes from round to round; the first round is dropped.

    Parameters
    ----------
    ours, theirs : callable
        They must return only when their work is finished.
    pairs : int
        How many rounds, each of which gives one pair of times.
    steps : int
        How many steps are a block.
    warmup : int
        How often both run before.
    clock : callable
        Tells seconds; it may be that of CPU time, on a machine with other work.
    """
    for _ in range(warmup):
        ours()
        theirs()
    took: tuple[list[float], list[float]] = ([], [])
    for number in range(pairs + 1):
        first, second = ((ours, 0), (theirs, 1))[:: 1 if number % 2 else -1]
        blocks: tuple[list[float], list[float]] = ([], [])
        for step, place in (first, second, second, first):
            blocks[place].append(_block(step, steps, clock))
        for total, found in zip(took, blocks):
            total.append(statistics.mean(found))
    return took[0][1:], took[1][1:]
