"""What the benchmarks share: a row is a median over pairs with its interval, a goal, and a verdict."""

from __future__ import annotations

import argparse
import os
import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarker.statistics import summarise  # noqa: E402

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
    """

    name: str
    values: Sequence[float]
    goal: float | None
    show: Callable[[float], str]

    @property
    def interval(self) -> tuple[float, float] | None:
        """Nonparametric 95 % interval of the median, ``None`` for fewer than six pairs."""
        return summarise(self.values).ci95

    @property
    def verdict(self) -> str:
        """``met``, ``not met``, or ``unclear`` where the goal lies inside the interval."""
        if self.goal is None:
            return ""
        low, high = self.interval or (statistics.median(self.values),) * 2
        if high <= self.goal:
            return "met"
        return "not met" if low > self.goal else "unclear"

    def cells(self) -> tuple[str, ...]:
        """Return the row's texts in the order of :data:`HEADER`."""
        interval = self.interval
        return (
            self.name,
            self.show(statistics.median(self.values)),
            " to ".join(map(self.show, interval)) if interval else "too few pairs",
            str(len(self.values)),
            "" if self.goal is None else f"at most {self.show(self.goal)}",
            self.verdict,
        )


def ratio(value: float) -> str:
    """Write a ratio."""
    return f"{value:.4f}"


def seconds(value: float) -> str:
    """Write a time of a whole command."""
    return f"{value:.3f} s"


def nanoseconds(value: float) -> str:
    """Write a very short time, given in seconds."""
    return f"{value * 1e9:.0f} ns"


def print_table(rows: Sequence[Row]) -> None:
    """Print rows under their header, and the machine's load beside which they were measured."""
    cells = [HEADER, *(row.cells() for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells)]
    for line in cells:
        print("  ".join(text.ljust(width) for text, width in zip(line, widths)).rstrip())
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    print(f"load averages over 1, 5 and 15 minutes: {load}, on {len(os.sched_getaffinity(0))} CPUs")


def finish(rows: Sequence[Row], check: bool) -> int:
    """Print the table and return the exit status: 1 where ``check`` is set and a goal is not met."""
    print_table(rows)
    return int(check and any(row.verdict == "not met" for row in rows))


def make_parser(description: str | None) -> argparse.ArgumentParser:
    """Return a parser with the option that all have."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--check", action="store_true", help="exit with status 1 if a goal is not met")
    return parser
