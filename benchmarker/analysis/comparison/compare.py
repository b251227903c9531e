"""Sides of a comparison to its rows, one for each two cells that did the same work, each with its verdict."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from benchmarker.analysis.comparison.matching import Cell, Match, Side, match
from benchmarker.analysis.comparison.paired_test import MIN_PAIRS, Paired, paired, smallest_effect
from benchmarker.analysis.comparison.pairs import Pairing, median_step, newest_number, pairs_of, window_ratios
from benchmarker.analysis.comparison.resolution import Resolution
from benchmarker.analysis.comparison.verdict import INCONCLUSIVE, LEVEL, Margin, Verdict, judge, margin_of
from benchmarker.errors import plural
from benchmarker.experiment.replication import count_for
from benchmarker.quick_dataclass import dataclass
from benchmarker.records.groups import Groups, groups_of
from benchmarker.records.lookup import Record
from benchmarker.statistics import across_processes, geometric_mean

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
    factors : mapping
        Framework, version, options and machine, by dotted name as in a record.
    processes : int
        Those that the number is of.
    median_seconds : float
        Of a step: the geometric mean of their medians.
    ci95 : tuple of float or None
        Its 95 % interval between processes.
    trust : mapping of str to int
        Number of processes by grade.
    groups : Groups or None
        Into which the processes fall; None where they are alike or too few.
    """

    side: str
    factors: Mapping[str, Any]
    processes: int
    median_seconds: float
    ci95: tuple[float, float] | None
    trust: Mapping[str, int]
    groups: Groups | None = None


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
    skipped : mapping of str to int
        Pairs that do not count, by the reason.
    elsewhere : int
        Pairs of campaigns before, which do not count either.
    margin : Margin
        Half the region of practical equivalence.
    why_none : str or None
        Why there must be no verdict.
    in_turns : bool
        Whether processes of a pair took turns, so that the ratio is of neighbouring windows.
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
    skipped: Mapping[str, int]
    elsewhere: int
    margin: Margin
    why_none: str | None
    in_turns: bool = False
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


Kept = Callable[[Record], Resolution | None]
_MAX_EXPONENT = 700.0


def compare(
    sides: Sequence[Side],
    *,
    margin: float | None = None,
    resolution: Kept = lambda record: None,
    include_contaminated: bool = False,
    chosen_afterwards: bool = False,
) -> Comparison:
    """Compare each side with the first.

    Parameters
    ----------
    sides : sequence of Side
        At least two.
    margin : float or None
        Half the width of the region of practical equivalence, relative; None takes the default.
    resolution : callable
        Returns the A/A comparison that is kept for the machine of a record.
    include_contaminated : bool
        Whether processes count that the machine disturbed.
    chosen_afterwards : bool
        Whether the first is the first because of its times: verdicts are then corrected for all pairs of sides, of
        which any could have been looked at.

    Raises
    ------
    UsageError
        If sides are not comparable, or no run of one ended well.
    """
    first, *others = sides
    rows: list[Row] = []
    notes: list[str] = []

    def rows_of(one: Side, other: Side, matches: Sequence[Match]) -> list[Row]:
        return [_row(m, (one.name, other.name), margin, resolution, include_contaminated) for m in matches]

    for other in others:
        matched = match(first, other)
        notes += first.notes + other.notes
        notes += matched.notes
        rows += rows_of(first, other, matched.matches)
    also = itertools.combinations(others, 2) if chosen_afterwards else ()
    looked_at = [row for one, other in also for row in rows_of(one, other, match(one, other).matches)]
    judged = _judged([*rows, *looked_at])[: len(rows)]
    return Comparison(tuple(sorted(judged, key=_place)), tuple(dict.fromkeys(notes)))


def _place(row: Row) -> tuple[bool, bool]:
    """Return what puts rows that say more first."""
    return row.verdict is None, row.paired is None


def _row(
    found: Match, names: tuple[str, str], margin: float | None, resolution: Kept, include_contaminated: bool
) -> Row:
    """Return a row without its verdict."""
    pairing = pairs_of(found.first.records, found.other.records, include_contaminated=include_contaminated)
    used = pairing.counting if pairing.fair else pairing.pairs
    if used:
        ours: Sequence[Record] = [pair.first for pair in used]
        theirs: Sequence[Record] = [pair.other for pair in used]
    else:
        ours, theirs = newest_number(found.first.records), newest_number(found.other.records)
    first, other = _number(names[0], found.first, ours), _number(names[1], found.other, theirs)
    return Row(
        keys=found.keys,
        first=first,
        other=other,
        ratio=geometric_mean([pair.ratio for pair in used])
        if used
        else other.median_seconds / first.median_seconds,
        paired=paired([1.0] * len(used), [pair.ratio for pair in used]) if used else None,
        in_turns=any(window_ratios(pair.first, pair.other) for pair in used),
        skipped=dict(pairing.skipped),
        elsewhere=pairing.elsewhere,
        margin=margin_of(margin, resolution(ours[-1]), [*ours, *theirs]),
        why_none=_why_none(pairing, ours[0], theirs[0]),
    )


def _number(side: str, cell: Cell, records: Sequence[Record]) -> Number:
    found = across_processes([median_step(record) for record in records])
    grades = Counter((record.get("trust") or {}).get("grade") or "not graded" for record in records)
    return Number(side, cell.factors, found.count, found.centre, found.ci95, dict(grades), groups_of(records))


def _why_none(pairing: Pairing, first: Record, other: Record) -> str | None:
    """Return why a row must have no verdict; None if it may have one."""
    values = _other_values(first, other)
    if values:
        return f"{OTHER_VALUES}, digests of {' and '.join(values)} differ"
    if not pairing.pairs:
        return UNPAIRED
    if not pairing.fair:
        counts = ", ".join(f"{count} {reason}" for reason, count in pairing.skipped.items())
        if counts:
            return f"{counts} of {plural(len(pairing.pairs), 'pair')}"
        return f"{plural(len(pairing.pairs), 'pair')}, it takes {MIN_PAIRS}"
    return None


def _other_values(first: Record, other: Record) -> list[str]:
    """Return which digests differ although the seed, and so the values, should be the same."""
    if first["seed"] != other["seed"]:
        return []
    names = {"parameters": "weights", "batch": "mini-batch"}
    return [name for key, name in names.items() if first["digests"][key] != other["digests"][key]]


def _judged(rows: Sequence[Row]) -> list[Row]:
    """Return the rows with the verdicts of those that may have one, corrected for their number."""
    judged = {i: row.paired for i, row in enumerate(rows) if row.why_none is None and row.paired}
    verdicts = judge(list(judged.values()), [rows[i].margin.value for i in judged])
    level = LEVEL / max(1, len(judged))
    found = dict(zip(judged, verdicts))
    return [_with_verdict(row, found[i], level) if i in found else row for i, row in enumerate(rows)]


def _with_verdict(row: Row, verdict: Verdict, level: float) -> Row:
    assert row.paired is not None  # only such rows are judged
    deviation, pairs, margin = row.paired.deviation, row.paired.pairs, row.margin.value
    beyond = smallest_effect(deviation, pairs, level=level)
    needed = count_for(deviation, margin) if verdict.verdict == INCONCLUSIVE else 0
    return replace(
        row,
        verdict=verdict,
        smallest_effect=(1 + margin) * math.exp(min(beyond, _MAX_EXPONENT)),
        pairs_needed=needed if needed > pairs else None,
    )
