"""Two steps timed side by side in one process: alternating blocks in random order, and the ratio of their times."""

from __future__ import annotations

import json
import math
import random
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Comparison:
    """Time of ``ours`` over time of ``theirs``.

    ``ratio`` is the geometric mean over pairs of blocks, ``low`` and ``high`` its 95 % interval from
    the logarithms (normal approximation), seconds are medians a step.
    """

    name: str
    ratio: float
    low: float
    high: float
    ours_seconds: float
    theirs_seconds: float
    pairs: int

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
    steps: int = 2,
    warmup: int = 3,
    clock: Callable[[], float] = time.perf_counter,
) -> Comparison:
    """Time both steps in ``pairs`` of blocks of ``steps``, the order within a pair drawn at random.

    Both callables must return only when their work is finished. ``clock`` may be that of CPU time, on a machine
    with other work.
    """
    for _ in range(warmup):
        ours()
        theirs()
    order = random.Random(0)
    a, b = [], []
    for _ in range(pairs):
        if order.random() < 0.5:
            a.append(_block(ours, steps, clock))
            b.append(_block(theirs, steps, clock))
        else:
            b.append(_block(theirs, steps, clock))
            a.append(_block(ours, steps, clock))
    logs = [math.log(x / y) for x, y in zip(a, b)]
    centre = statistics.mean(logs)
    half = 1.96 * statistics.stdev(logs) / math.sqrt(pairs)
    return Comparison(
        name,
        math.exp(centre),
        math.exp(centre - half),
        math.exp(centre + half),
        statistics.median(a),
        statistics.median(b),
        pairs,
    )
