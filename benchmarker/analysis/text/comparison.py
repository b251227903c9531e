"""A comparison for people and as JSON: the ratio with its interval before the verdict, and never without."""

from __future__ import annotations

import json
import math
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

from benchmarker.analysis.comparison.compare import OTHER_VALUES, UNPAIRED, Comparison, Number, Row
from benchmarker.analysis.comparison.gate import Gate
from benchmarker.analysis.comparison.paired_test import MIN_PAIRS
from benchmarker.analysis.comparison.self_comparison import SelfComparison
from benchmarker.analysis.comparison.verdict import EQUIVALENT, INCONCLUSIVE, LEVEL
from benchmarker.analysis.text.layout import Column, align_points, table
from benchmarker.analysis.text.slowdown import least_slowdown
from benchmarker.analysis.text.units import duration, significant, time_unit
from benchmarker.errors import plural
from benchmarker.records.precision import CONTAMINATED
from benchmarker.statistics import CONFIDENCE

_NONE = "-"
_SAID = ("problem", "mode", "batch_size", "precision", "device", "threads")
"""Keys that are said even where all rows have the same."""
_MAX_RANGE = 1e4
"""Step times that lie farther apart have a unit each."""
_MAX_EFFECT, _MAX_PAIRS = 10, 1000
_MAX_WITHOUT = 20
"""Rows without a verdict that are shown below others."""
_RATIO = "Base and other: geometric means of the median steps. Ratio: other over base, above 1 is slower."
_TURNS = "In turns: of each pair the median of the ratios of neighbouring windows, while the other side stood still."
_INTERVAL = "95 % interval: Student's t on the logarithms of the ratios of pairs of fresh processes; of each row alone."
_UNPAIRED = (
    "Unpaired: the numbers are of different campaigns, between which the machine may have changed, so there is no "
    "interval and no verdict; --run makes pairs."
)


# --- JSON ------------------------------------------------------------------------------------------


def as_json(comparison: Comparison, passed: Gate | None) -> dict[str, Any]:
    return {
        "confidence": CONFIDENCE,
        "correction": "Holm",
        "rows": [_row(row) for row in comparison.rows],
        "notes": list(comparison.notes),
        "gate": None if passed is None else _gate(comparison, passed),
    }


def _row(row: Row) -> dict[str, Any]:
    values = asdict(row)
    # Readers of the JSON know these by names of their own.
    values["left_out"] = values.pop("skipped")
    for side in ("first", "other"):
        values[side]["aspects"] = values[side].pop("factors")
    verdict = values.pop("verdict") or {"verdict": None, "p": None, "p_adjusted": None}
    return {"sentence": sentence(row), **verdict, **values}


def _gate(comparison: Comparison, passed: Gate) -> dict[str, Any]:
    def places(rows: Sequence[Row]) -> list[int]:
        return [i for i, row in enumerate(comparison.rows) if any(row is one for one in rows)]

    return {"limit": passed.limit, "slower": places(passed.slower), "untold": places(passed.untold)}


def self_comparison_json(found: SelfComparison) -> dict[str, Any]:
    return {
        "resolution": None if found.resolution is None else asdict(found.resolution),
        "kept": found.kept,
        "left_out": dict(found.pairing.skipped),
        "sentence": self_comparison_text(found),
    }


# --- sentences -------------------------------------------------------------------------------------


def sentence(row: Row) -> str:
    """Return what a row says: the two sides, the ratio with its interval, and the verdict or why there is none."""
    verdict = row.verdict.verdict if row.verdict else None
    words = {None: "against", EQUIVALENT: "is equivalent to", INCONCLUSIVE: "against"}
    relation = words.get(verdict, f"is {verdict} than")
    end = f"no verdict: {row.why_none}" if row.why_none else ""
    if verdict == INCONCLUSIVE:
        end = INCONCLUSIVE
    parts = [f"ratio {_number(row.ratio)}", _known(row), end]
    return f"{label(row.other, row.first)} {relation} {label(row.first, row.other)}: {_joined(parts)}"


def _known(row: Row) -> str:
    if row.paired is None:
        return f"{plural(row.other.processes, 'process')} against {row.first.processes}"
    return f"95 % interval {_interval(row)} of {row.paired.pairs} pairs"


def label(number: Number, against: Number) -> str:
    """Return the framework of a side, with what tells it from the other; the side as asked for if nothing does."""
    factors = number.factors
    differing = [name for name, value in factors.items() if value != against.factors.get(name, value)]
    if not differing:
        return f"'{number.side}'"
    if "framework.name" in differing:
        # Another framework has options and an environment of its own.
        differing = [
            name for name in differing if not name.startswith(("framework.options.", "environment."))
        ]
    named = f"{factors['framework.name']} {factors['framework.version'] or ''}".strip()
    more = [name for name in differing if name not in ("framework.name", "framework.version")]
    return _joined([named, *(f"{name.split('.')[-1]} {_text(factors[name])}" for name in more)])


def gate_sentences(passed: Gate) -> Iterator[str]:
    """Yield what is to be said of rows that are too slow, or of which that cannot be told."""
    works = _works([*passed.slower, *passed.untold])
    told = ["slower by more than"] * len(passed.slower)
    told += ["cannot tell whether it is slower by more than"] * len(passed.untold)
    for row, work, how in zip((*passed.slower, *passed.untold), works, told):
        yield f"{how} {_percent(_bound(row, passed))}: {work}: {sentence(row)}"


def _bound(row: Row, passed: Gate) -> float:
    return max(passed.limit, row.margin.value)


def self_comparison_text(found: SelfComparison) -> str:
    """Return what an A/A comparison says, and whether it bounds the margin from now on."""
    resolution, pairing = found.resolution, found.pairing
    out = _skipped(pairing.skipped)
    if resolution is None:
        return (
            f"nothing can be told of what this machine resolves: {plural(len(pairing.pairs), 'pair')}, of which "
            f"{len(pairing.counting)} count{f' ({out})' if out else ''}"
        )
    verdict, width = resolution.verdict, resolution.half_width
    alarm = "" if verdict in (EQUIVALENT, INCONCLUSIVE) else f"; a false alarm: {verdict}"
    bound = f"margins on this machine are at least {_percent(2 * width)} now"
    end = bound if found.kept else "not kept, since disturbed processes were counted"
    return (
        f"{resolution.problem} on {resolution.framework} against itself, "
        f"{_joined([plural(resolution.pairs, 'pair'), out])}: the ratio is known to within "
        f"{_percent(width)}{alarm}; {end}"
    )


# --- the table -------------------------------------------------------------------------------------


class Parts(NamedTuple):
    """What is shown of a comparison: what all rows share, the table's columns, and how to read it."""

    heading: str
    columns: list[Column]
    notes: list[str]


def parts(comparison: Comparison) -> Parts:
    """Return what is shown of a comparison, in whatever form."""
    rows = _shown(comparison.rows)
    flat = _conditions(rows)
    telling = _telling(flat)
    said = [_said(name, flat[0][name]) for name in _SAID if name not in telling]
    columns = [
        *([Column("row", _places(rows), numeric=True, key=True)] if len(rows) > 1 else []),
        *(
            Column(_title(name), tuple(_text(keys.get(name)) for keys in flat), breaks="_")
            for name in telling
        ),
        *_sides(rows),
        *_numbers(rows),
    ]
    return Parts(_joined([*said, *_same_sides(rows), _same_pairs(rows)]), columns, _notes(comparison, rows))


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


def _title(name: str) -> str:
    return name.removesuffix(".name").rpartition(".")[2].replace("_", " ")


def _said(name: str, value: Any) -> str:
    if name == "threads":
        return plural(value, "thread")
    return f"batch {value}" if name == "batch_size" else str(value)


def _flat(keys: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in keys.items():
        inner = value if isinstance(value, Mapping) else None
        found.update({name: value} if inner is None else {f"{name}.{n}": v for n, v in inner.items()})
    return found


def _conditions(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return what holds for both sides of each row: its work, and factors in which the sides of no row differ."""
    shared = [
        name
        for name in rows[0].first.factors
        if all(row.first.factors.get(name) == row.other.factors.get(name) for row in rows)
    ]
    return [{**_flat(row.keys), **{name: row.first.factors.get(name) for name in shared}} for row in rows]


def _telling(keys: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the keys that tell works apart: those that vary among works which the keys before them do not.

    What is said of all rows else is among them wherever it varies.
    """
    telling: list[str] = []
    for name in dict.fromkeys(name for one in keys for name in one):
        alike = {json.dumps([one.get(n) for n in telling], sort_keys=True) for one in keys}
        finer = {json.dumps([one.get(n) for n in (*telling, name)], sort_keys=True) for one in keys}
        varies = len({json.dumps(one.get(name), sort_keys=True) for one in keys}) > 1
        if len(finer) > len(alike) or (name in _SAID and varies):
            telling.append(name)
    return telling


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
        Column("ratio", align_points([_number(row.ratio) for row in rows]), numeric=True),
        Column("95 % interval", tuple(_interval(row) for row in rows), numeric=True),
        Column("verdict", tuple(row.verdict.verdict if row.verdict else "none" for row in rows)),
    ]
    counts = tuple(str(row.paired.pairs) if row.paired else _NONE for row in rows)
    if len(set(counts)) > 1:
        columns.append(Column("pairs", counts, numeric=True))
    if any(row.smallest_effect is not None for row in rows):
        columns.append(Column("least effect", tuple(map(_effect, rows)), numeric=True))
    return columns


def _effect(row: Row) -> str:
    if row.smallest_effect is None:
        return _NONE
    effect = row.smallest_effect - 1
    return _percent(effect) if effect <= _MAX_EFFECT else f"over {_percent(_MAX_EFFECT)}"


# --- notes -----------------------------------------------------------------------------------------


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
    told = ", ".join(f"{count} {reason}" for reason, count in counts)
    return f"{len(rows)} rows without a verdict are not shown: {told}; --json has them all."


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
    said = [[f"{_percent(row.margin.value)} ({row.margin.reason})"] if row.verdict else [] for row in rows]
    margins = list(dict.fromkeys(text for texts in said for text in texts))
    if len(margins) > 1:
        each = " ".join(_by_row(rows, said))
        return f"Verdict: the whole interval is beyond or within a margin around 1{several}. {each}"
    return f"Verdict: the whole interval is beyond or within {margins[0]} around 1{several}."


def _smallest(judged: Sequence[Row]) -> str:
    corrected = ", with the correction" if len(judged) > 1 else ""
    return f"Least effect: how much slower is shown in 80 % of such comparisons{corrected}."


def _of_row(row: Row) -> Iterator[str]:
    if row.why_none and row.why_none != UNPAIRED:
        yield f"no verdict: {row.why_none}"
    if row.verdict and row.skipped:
        yield _skipped(row.skipped)
    disturbed = sum(number.trust.get(CONTAMINATED, 0) for number in (row.first, row.other))
    if row.verdict and disturbed:
        yield f"{disturbed} of {row.first.processes + row.other.processes} processes that count were disturbed"
    if row.elsewhere:
        yield f"{plural(row.elsewhere, 'pair')} of other campaigns not counted"
    if row.paired is not None and row.paired.non_normal:
        yield (
            f"non-normal: the mean says {_number(row.ratio)}, the Hodges-Lehmann shift "
            f"{_number(row.paired.hodges_lehmann)}, Wilcoxon's p is {row.paired.signed_rank_p:.2g}"
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


def _skipped(skipped: Mapping[str, int]) -> str:
    counts = ", ".join(f"{count} {reason}" for reason, count in skipped.items())
    return f"pairs left out: {counts}" if counts else ""


def _works(rows: Sequence[Row]) -> list[str]:
    """Return the work of each row, with what tells it from the other rows' work."""
    flat = _conditions(rows) if rows else []
    telling = [name for name in _telling(flat) if name not in ("problem", "mode", "batch_size")]
    return [
        _joined(
            [
                f"{keys['problem']} {keys['mode']}, batch {keys['batch_size']}",
                *(f"{_title(name)} {_text(keys.get(name))}" for name in telling),
            ]
        )
        for keys in flat
    ]


# --- words -----------------------------------------------------------------------------------------


def _number(ratio: float) -> str:
    return significant(ratio, 4 if ratio >= 1 else 3)


def _interval(row: Row) -> str:
    if row.paired is None:
        return _NONE
    low, high = map(_number, row.paired.ci95)
    return f"[{low}, {high}]"


def _percent(share: float) -> str:
    return f"{significant(100 * share, 2)} %" if math.isfinite(share) else _NONE


def _text(value: Any) -> str:
    if value is None:
        return "none"
    return value if isinstance(value, str) else json.dumps(value)


def _joined(texts: Sequence[str]) -> str:
    return ", ".join(filter(None, texts))
