"""Sides of a comparison to its rows: each with its ratio, its interval, and a verdict where one may be given."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from benchmarker.comparison.cells import Cell, Match, Side, match
from benchmarker.comparison.margin import margin_of
from benchmarker.comparison.paired import FEWEST_PAIRS, paired
from benchmarker.comparison.pairing import Pairing, median_step, newest_number, pairs_of
from benchmarker.comparison.power import smallest_effect
from benchmarker.comparison.resolution import Resolution
from benchmarker.comparison.rows import OTHER_VALUES, UNPAIRED, Comparison, Number, Row
from benchmarker.comparison.verdict import INCONCLUSIVE, LEVEL, Verdict, judge
from benchmarker.replication import count_for
from benchmarker.statistics import across_processes

Record = Mapping[str, Any]
Kept = Callable[[Record], Resolution | None]
_LARGEST_EXPONENT = 700.0


def compare(
    sides: Sequence[Side],
    *,
    margin: float | None = None,
    resolution: Kept = lambda record: None,
    include_contaminated: bool = False,
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

    Raises
    ------
    UsageError
        If sides are not comparable, or no run of one ended well.
    """
    first = sides[0]
    rows: list[Row] = []
    notes: list[str] = []
    for other in sides[1:]:
        matched = match(first, other)
        notes += first.notes + other.notes
        notes += matched.notes
        for found in matched.matches:
            rows.append(_row(found, (first.name, other.name), margin, resolution, include_contaminated))
    return Comparison(tuple(sorted(_judged(rows), key=_place)), tuple(dict.fromkeys(notes)))


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
        ratio=other.median_seconds / first.median_seconds,
        paired=paired([median_step(r) for r in ours], [median_step(r) for r in theirs]) if used else None,
        left_out=dict(pairing.left_out),
        elsewhere=pairing.elsewhere,
        margin=margin_of(margin, resolution(ours[-1]), [*ours, *theirs]),
        why_none=_why_none(pairing, ours[0], theirs[0]),
    )


def _number(side: str, cell: Cell, records: Sequence[Record]) -> Number:
    found = across_processes([median_step(record) for record in records])
    grades = Counter((record.get("trust") or {}).get("grade") or "not graded" for record in records)
    return Number(side, cell.aspects, found.count, found.centre, found.ci95, dict(grades))


def _why_none(pairing: Pairing, first: Record, other: Record) -> str | None:
    """Return why a row must have no verdict; None if it may have one."""
    values = _other_values(first, other)
    if values:
        return f"{OTHER_VALUES}, digests of {' and '.join(values)} differ"
    if not pairing.pairs:
        return UNPAIRED
    if not pairing.fair:
        counts = ", ".join(f"{count} {reason}" for reason, count in pairing.left_out.items())
        if counts:
            return f"{counts} of {_pairs(len(pairing.pairs))}"
        return f"{_pairs(len(pairing.pairs))}, it takes {FEWEST_PAIRS}"
    return None


def _pairs(count: int) -> str:
    return "1 pair" if count == 1 else f"{count} pairs"


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
        smallest_effect=(1 + margin) * math.exp(min(beyond, _LARGEST_EXPONENT)),
        pairs_needed=needed if needed > pairs else None,
    )
