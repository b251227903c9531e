"""A comparison as a table with notes on how to read it."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from benchmarker.analysis.comparison.compare import OTHER_VALUES, UNPAIRED, Comparison, Number, Row
from benchmarker.analysis.comparison.paired_test import MIN_PAIRS
from benchmarker.analysis.comparison.verdict import INCONCLUSIVE, LEVEL
from benchmarker.analysis.text.comparison_words import (
    ALWAYS_SAID,
    NONE,
    conditions,
    distinguishing_keys,
    interval_text,
    label,
    percent_text,
    ratio_text,
    skipped_text,
    title_of,
    value_text,
)
from benchmarker.analysis.text.layout import Column, align_points, joined, numeric_column, table
from benchmarker.analysis.text.quality import groups_text
from benchmarker.analysis.text.slowdown import least_slowdown
from benchmarker.analysis.text.units import duration, significant, time_unit
from benchmarker.errors import plural
from benchmarker.records.precision import CONTAMINATED

_MAX_RANGE = 1e4
"""Step times that lie farther apart have a unit each."""
_MAX_EFFECT, _MAX_PAIRS = 10, 1000
_MAX_WITHOUT = 20
"""Rows without a verdict that are shown below others."""
_RATIO = "Base and other: geometric means of the median steps. Ratio: other over base, above 1 is slower."
_TURNS = (
    "Taking turns: for each pair, the median ratio of neighbouring windows, while the other side was paused."
)
_INTERVAL = (
    "95 % interval: Student's t on the logarithms of the ratios of pairs of fresh processes, each row alone."
)
_UNPAIRED = (
    "Unpaired: the numbers are from different campaigns, between which the machine may have changed, so there is no "
    "interval and no verdict; --run makes pairs."
)


class Parts(NamedTuple):
    """What is shown of a comparison: what all rows share, the table's columns, and how to read it."""

    heading: str
    columns: list[Column]
    notes: list[str]


def parts(comparison: Comparison) -> Parts:
    """Return what is shown of a comparison, in whatever form."""
    rows = _shown(comparison.rows)
    flat = conditions(rows)
    telling = distinguishing_keys(flat)
    said = [_said(name, flat[0][name]) for name in ALWAYS_SAID if name not in telling]
    columns = [
        *([Column("row", _places(rows), numeric=True, key=True)] if len(rows) > 1 else []),
        *(
            Column(title_of(name), tuple(value_text(keys.get(name)) for keys in flat), breaks="_")
            for name in telling
        ),
        *_sides(rows),
        *_numbers(rows),
    ]
    return Parts(joined([*said, *_same_sides(rows), _same_pairs(rows)]), columns, _notes(comparison, rows))


def as_text(comparison: Comparison, *, width: int = 80) -> str:
    found = parts(comparison)
    notes = [textwrap.fill(note, width, subsequent_indent="  ") for note in found.notes]
    heading = textwrap.wrap(found.heading, width, break_on_hyphens=False)
    allowed = textwrap.wrap(least_slowdown([row.smallest_effect for row in comparison.rows]), width)
    return "\n".join([*heading, *allowed, "", table(found.columns, width), "", *notes])


def _shown(rows: Sequence[Row]) -> Sequence[Row]:
    """Return the rows of the table: many without a verdict are left out, unless there are no others."""
    judged = [row for row in rows if row.verdict]
    return judged if judged and len(rows) - len(judged) > _MAX_WITHOUT else rows


def _places(rows: Sequence[Row]) -> tuple[str, ...]:
    return tuple(str(place) for place in range(1, len(rows) + 1))


def _said(name: str, value: Any) -> str:
    if name == "threads":
        return plural(value, "thread")
    return f"batch {value}" if name == "batch_size" else str(value)


def _sides(rows: Sequence[Row]) -> list[Column]:
    sides = (("base", _firsts(rows)), ("other", _others(rows)))
    return [Column(title, labels, breaks="_") for title, labels in sides if len(set(labels)) > 1]


def _same_sides(rows: Sequence[Row]) -> list[str]:
    firsts, others = _firsts(rows), _others(rows)
    shown = [f"baseline {firsts[0]}"] if len(set(firsts)) == 1 else []
    return shown + ([f"other {others[0]}"] if len(set(others)) == 1 else [])


def _same_pairs(rows: Sequence[Row]) -> str:
    """Return how many pairs each row has, if all have as many."""
    counts = {row.paired.pairs if row.paired else 0 for row in rows}
    each = " each" if len(rows) > 1 else ""
    return f"{max(counts)} pairs{each}" if len(counts) == 1 and max(counts) else ""


def _firsts(rows: Sequence[Row]) -> tuple[str, ...]:
    return tuple(label(row.first, row.other) for row in rows)


def _others(rows: Sequence[Row]) -> tuple[str, ...]:
    return tuple(label(row.other, row.first) for row in rows)


def _numbers(rows: Sequence[Row]) -> list[Column]:
    seconds = [number.median_seconds for row in rows for number in (row.first, row.other)]
    unit = time_unit(seconds) if max(seconds) / min(seconds) <= _MAX_RANGE else None
    heading = f" [{unit[1]}]" if unit else ""

    def steps(numbers: Sequence[Number]) -> tuple[str, ...]:
        if unit is None:
            return tuple(duration(number.median_seconds) for number in numbers)
        return align_points([significant(number.median_seconds / unit[0]) for number in numbers])

    columns = [
        Column(f"base{heading}", steps([row.first for row in rows]), numeric=True),
        Column(f"other{heading}", steps([row.other for row in rows]), numeric=True),
        numeric_column("ratio", [ratio_text(row.ratio) for row in rows]),
        Column("95 % interval", tuple(interval_text(row) for row in rows), numeric=True),
        Column("verdict", tuple(row.verdict.verdict if row.verdict else "none" for row in rows)),
    ]
    counts = tuple(str(row.paired.pairs) if row.paired else NONE for row in rows)
    if len(set(counts)) > 1:
        columns.append(Column("pairs", counts, numeric=True))
    if any(row.smallest_effect is not None for row in rows):
        columns.append(Column("smallest effect", tuple(map(_effect, rows)), numeric=True))
    return columns


def _effect(row: Row) -> str:
    if row.smallest_effect is None:
        return NONE
    effect = row.smallest_effect - 1
    return percent_text(effect) if effect <= _MAX_EFFECT else f"over {percent_text(_MAX_EFFECT)}"


def _notes(comparison: Comparison, rows: Sequence[Row]) -> list[str]:
    judged = [row for row in rows if row.verdict]
    notes = [_RATIO]
    if any(row.in_turns for row in rows):
        notes.append(_TURNS)
    if any(row.paired for row in rows):
        notes.append(_INTERVAL)
    if judged:
        notes += [_verdict(rows), _smallest(judged)]
    if len(rows) < len(comparison.rows):
        notes.append(_without([row for row in comparison.rows if row.verdict is None]))
    if any(row.why_none == UNPAIRED for row in comparison.rows):
        notes.append(_UNPAIRED)
    notes += _by_row(rows, [list(_of_row(row)) for row in rows])
    if any(CONTAMINATED in row.skipped for row in comparison.rows if row.why_none):
        notes.append("--include-contaminated counts what the machine disturbed too.")
    return notes + [f"{note[0].upper()}{note[1:]}." for note in comparison.notes]


def _without(rows: Sequence[Row]) -> str:
    """Return how many rows have no verdict, by the reason."""
    counts = Counter(map(_reason, rows)).most_common()
    reasons = ", ".join(f"{count} {reason}" for reason, count in counts)
    return f"{len(rows)} rows without a verdict are not shown: {reasons}; --json has them all."


def _reason(row: Row) -> str:
    """Return why a row has no verdict, in the words of all that have none for the same reason."""
    if row.why_none and row.why_none.startswith(OTHER_VALUES):
        return OTHER_VALUES
    if row.why_none == UNPAIRED:
        return "unpaired"
    if row.skipped:
        return "disturbed" if CONTAMINATED in row.skipped else "without a steady state"
    return f"with fewer than {MIN_PAIRS} pairs"


def _by_row(rows: Sequence[Row], said: Sequence[Sequence[str]]) -> list[str]:
    """Return what is said of single rows, the same of several once."""
    found: dict[str, list[str]] = {}
    for place, texts in zip(_places(rows), said):
        for text in texts:
            found.setdefault(text, []).append(place)
    if len(rows) == 1:
        return [f"{text[0].upper()}{text[1:]}." for text in found]
    return [
        f"{'Row' if len(places) == 1 else 'Rows'} {', '.join(places)}: {text}."
        for text, places in found.items()
    ]


def _verdict(rows: Sequence[Row]) -> str:
    judged = [row for row in rows if row.verdict]
    several = f", after Holm's correction over {len(judged)} rows" if len(judged) > 1 else ""
    said = [
        [f"{percent_text(row.margin.value)} ({row.margin.reason})"] if row.verdict else [] for row in rows
    ]
    margins = list(dict.fromkeys(text for texts in said for text in texts))
    if len(margins) > 1:
        each = " ".join(_by_row(rows, said))
        return f"Verdict: the whole interval is beyond or within a margin around 1{several}. {each}"
    return f"Verdict: the whole interval is beyond or within {margins[0]} around 1{several}."


def _smallest(judged: Sequence[Row]) -> str:
    corrected = ", with the correction" if len(judged) > 1 else ""
    return f"Smallest effect: the slowdown that would be shown in 80 % of such comparisons{corrected}."


def _of_row(row: Row) -> Iterator[str]:
    if row.why_none and row.why_none != UNPAIRED:
        yield f"no verdict: {row.why_none}"
    if row.verdict and row.skipped:
        yield skipped_text(row.skipped)
    disturbed = sum(number.trust.get(CONTAMINATED, 0) for number in (row.first, row.other))
    if row.verdict and disturbed:
        yield f"{disturbed} of {row.first.processes + row.other.processes} processes that count were disturbed"
    for number, against in ((row.first, row.other), (row.other, row.first)):
        if number.groups is not None:
            yield f"two groups of {label(number, against)}: {groups_text(number.groups)}"
    if row.elsewhere:
        yield f"{plural(row.elsewhere, 'pair')} of other campaigns not counted"
    if row.paired is not None and row.paired.non_normal:
        yield (
            f"non-normal: the mean says {ratio_text(row.ratio)}, the Hodges-Lehmann shift "
            f"{ratio_text(row.paired.hodges_lehmann)}, Wilcoxon's p is {row.paired.signed_rank_p:.2g}"
        )
    if row.verdict and row.verdict.verdict == INCONCLUSIVE:
        yield _inconclusive(row)


def _inconclusive(row: Row) -> str:
    if row.pairs_needed is not None and row.pairs_needed > _MAX_PAIRS:
        return f"more than {_MAX_PAIRS} pairs would make the interval as narrow as the margin; find what disturbs"
    if row.pairs_needed is not None:
        return (
            f"about {row.pairs_needed} pairs would make the interval as narrow as the margin (--run --pairs)"
        )
    if row.verdict is not None and row.verdict.p <= LEVEL:
        return "shown by its own interval, but not after the correction"
    return "the ratio is too near the edge of the margin to tell"
