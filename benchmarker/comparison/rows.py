"""What a comparison says: a row for each two cells that did the same work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from benchmarker.comparison.margin import Margin
from benchmarker.comparison.paired import Paired
from benchmarker.comparison.verdict import Verdict

UNPAIRED = "unpaired, descriptive only"
"""Why there is no verdict on numbers of different campaigns."""
OTHER_VALUES = "not computed with the same values"
"""Why there is none on numbers of different functions."""


@dataclass(frozen=True)
class Number:
    """One side of a row.

    Parameters
    ----------
    side : str
        As it was asked for.
    aspects : mapping
        Framework, version, options and machine, by dotted name as in a record.
    processes : int
        Those that the number is of.
    median_seconds : float
        Of a step: the geometric mean of their medians.
    ci95 : tuple of float or None
        Its 95 % interval between processes.
    trust : mapping of str to int
        Number of processes by grade.
    """

    side: str
    aspects: Mapping[str, Any]
    processes: int
    median_seconds: float
    ci95: tuple[float, float] | None
    trust: Mapping[str, int]


@dataclass(frozen=True)
class Row:
    """Two cells that did the same work.

    Parameters
    ----------
    keys : mapping
        What was computed, as a record's ``comparable`` has it, and what else was asked for, as its
        ``specification`` has it.
    first, other : Number
        The baseline, and what is compared with it.
    ratio : float
        Step time of the other over that of the first.
    paired : Paired or None
        What the pairs say; None without enough of them.
    left_out : mapping of str to int
        Pairs that do not count, by the reason.
    elsewhere : int
        Pairs of campaigns before, which do not count either.
    margin : Margin
        Half the region of practical equivalence.
    why_none : str or None
        Why there must be no verdict.
    verdict : Verdict or None
        None where there must not be one.
    smallest_effect : float or None
        The ratio from which on 80 % of such comparisons show ``slower``, correction included.
    pairs_needed : int or None
        Of an inconclusive row: how many pairs make the half-width that of the margin, at the present noise;
        None if there are as many already.
    """

    keys: Mapping[str, Any]
    first: Number
    other: Number
    ratio: float
    paired: Paired | None
    left_out: Mapping[str, int]
    elsewhere: int
    margin: Margin
    why_none: str | None
    verdict: Verdict | None = None
    smallest_effect: float | None = None
    pairs_needed: int | None = None


@dataclass(frozen=True)
class Comparison:
    """What a comparison has shown.

    Parameters
    ----------
    rows : tuple of Row
        Those with a verdict, then those of pairs, then the others; each by side, then by work.
    notes : tuple of str
        What was left out.
    """

    rows: tuple[Row, ...]
    notes: tuple[str, ...]
