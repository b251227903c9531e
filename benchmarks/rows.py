"""What the benchmarks share: a row is a median over pairs with its interval, a goal, and a verdict."""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

HEADER = ("measured", "median", "95 % interval", "pairs", "goal", "verdict")


@dataclass(frozen=True)
class Row:
    """One measured quantity.

    Parameters
    ----------
    name : str
        What was measured.
    values : sequence of float
        One a pair.
    goal : float or None
        The most that the median may be; ``None`` where there is no goal.
    show : callable
        Writes a value with its unit.
    least : float or None
        The least that it may be, where that matters too.
    """

    name: str
    values: Sequence[float]
    goal: float | None
    show: Callable[[float], str]
    least: float | None = None

    @property
    def centre(self) -> float:
        """The median."""
        return statistics.median(self.values)

    @property
    def interval(self) -> tuple[float, float] | None:
        """Nonparametric 95 % interval of the median, ``None`` for fewer than six pairs."""
        return median_interval(self.values)

    @property
    def verdict(self) -> str:
        """``met``, ``not met``, or ``unclear`` where the goal lies inside the interval."""
        if self.goal is None:
            return ""
        low, high = self.interval or (self.centre,) * 2
        least = -math.inf if self.least is None else self.least
        if least <= low and high <= self.goal:
            return "met"
        return "not met" if low > self.goal or high < least else "unclear"

    def cells(self) -> tuple[str, ...]:
        """Return the row's texts in the order of :data:`HEADER`."""
        interval = self.interval
        return (
            self.name,
            self.show(self.centre),
            " to ".join(map(self.show, interval)) if interval else "too few pairs",
            str(len(self.values)),
            self._asked(),
            self.verdict,
        )

    def _asked(self) -> str:
        if self.goal is None:
            return ""
        if self.least is None:
            return f"at most {self.show(self.goal)}"
        return f"{self.show(self.least)} to {self.show(self.goal)}"


def median_interval(values: Sequence[float]) -> tuple[float, float] | None:
    """Return the 95 % interval of the median of independent values by order statistics; it takes six of them."""
    ordered, count = sorted(values), len(values)
    below, rank = 0.5**count, 0
    # As far inwards as leaves at most 2.5 % on each side.
    while below <= 0.025:
        rank += 1
        below += math.comb(count, rank) * 0.5**count
    return (ordered[rank - 1], ordered[-rank]) if rank else None


def ratio(value: float) -> str:
    """Write a ratio."""
    return f"{value:.4f}"


def seconds(value: float) -> str:
    """Write a time of a whole command."""
    return f"{value:.3f} s"


def nanoseconds(value: float) -> str:
    """Write a very short time, given in seconds."""
    return f"{value * 1e9:.0f} ns"


def print_table(cells: Sequence[Sequence[str]]) -> None:
    """Print cells under their header, and the machine's load beside which they were measured."""
    lines = [HEADER, *cells]
    widths = [max(map(len, column)) for column in zip(*lines)]
    for line in lines:
        print("  ".join(text.ljust(width) for text, width in zip(line, widths)).rstrip())
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    print(f"load averages over 1, 5 and 15 minutes: {load}, on {len(os.sched_getaffinity(0))} CPUs")


def finish(rows: Sequence[Row], arguments: argparse.Namespace) -> int:
    """Print the table, or hand it to whoever asked, and return the status: 1 where a goal that is checked is missed."""
    cells = [row.cells() for row in rows]
    if arguments.cells:
        arguments.cells.write_text(json.dumps(cells))
    else:
        print_table(cells)
    return int(arguments.check and any(row.verdict == "not met" for row in rows))


def make_parser(description: str | None) -> argparse.ArgumentParser:
    """Return a parser with the options that all have."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--check", action="store_true", help="exit with status 1 if a goal is not met")
    parser.add_argument("--cells", type=Path, help=argparse.SUPPRESS)
    return parser
