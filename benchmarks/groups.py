"""How often processes of one kind are said to fall into groups, and how often groups that are there are found.

Step times of processes are drawn from one distribution, of several shapes and also drifting, then from two: fast ones
and slow ones, with some in between.
``python benchmarks/groups.py``
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping

import numpy as np
import numpy.typing as npt
from rows import Row, finish, make_parser

from benchmarker.records.groups import split

Array = npt.NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], Array]

SPREAD = 0.05
COUNTS = (10, 20, 30)
MAX_FALSE, MIN_FOUND = 0.05, 0.8

ONE_KIND: Mapping[str, Draw] = {
    "normal": lambda draw, n: draw.normal(size=n),
    "uniform": lambda draw, n: draw.uniform(-2, 2, n),
    "heavy-tailed (Student, 3)": lambda draw, n: draw.standard_t(3, n),
    "skewed (exponential)": lambda draw, n: draw.exponential(size=n),
    "drifting": lambda draw, n: np.linspace(0, 3, n) + draw.normal(size=n) / 2,
    "a random walk": lambda draw, n: np.cumsum(draw.normal(size=n)),
}
"""Logarithms of step times, in spreads."""


def two_kinds(ratio: float, between: float) -> Draw:
    """Return what draws six in ten fast ones, slow ones, and a share anywhere between them, in spreads."""

    def drawn(draw: np.random.Generator, n: int) -> Array:
        stray, fast, distance = round(between * n), round(0.6 * n), np.log(ratio) / SPREAD
        slow = draw.normal(distance, size=n - fast - stray)
        return np.concatenate([draw.normal(size=fast), slow, draw.uniform(0, distance, stray)])

    return drawn


TWO_KINDS: Mapping[str, Draw] = {
    "14 and 26 ms, one in seven between": two_kinds(26 / 14, 1 / 7),
    "14 and 26 ms": two_kinds(26 / 14, 0.0),
    "a slow half as long again": two_kinds(1.5, 0.0),
}


def share(draw: Draw, count: int, cases: int, seed: int) -> float:
    """Return the share of cases in which groups are found."""
    generator = np.random.default_rng(seed)
    drawn = (np.exp(SPREAD * draw(generator, count)) for _ in range(cases))
    return float(np.mean([split(seconds.tolist()) is not None for seconds in drawn]))


def percent(value: float) -> str:
    """Write a share."""
    return f"{value:.1%}"


def rows(cases: int, seed: int) -> Iterator[Row]:
    """Yield the share of false alarms, then of groups found."""
    for count in COUNTS:
        for name, draw in ONE_KIND.items():
            found = share(draw, count, cases, seed)
            yield Row(f"false groups, {count} processes, {name}", [found], MAX_FALSE, percent)
    for count in COUNTS:
        for name, draw in TWO_KINDS.items():
            found = share(draw, count, cases, seed)
            yield Row(f"groups found, {count} processes, {name}", [found], 1.0, percent, MIN_FOUND)


def main() -> int:
    """Simulate and print."""
    parser = make_parser(__doc__)
    parser.add_argument("--cases", type=int, default=500, help="simulated of each kind")
    parser.add_argument("--seed", type=int, default=0, help="of the simulated times")
    arguments = parser.parse_args()
    return finish(list(rows(arguments.cases, arguments.seed)), arguments)


if __name__ == "__main__":
    sys.exit(main())
