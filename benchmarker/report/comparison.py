"""A comparison for people and as JSON: the ratio with its interval before the verdict, and never without."""

from __future__ import annotations

import json
import math
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from benchmarker.comparison.gate import Gate
from benchmarker.comparison.paired import FEWEST_PAIRS
from benchmarker.comparison.pairing import CONTAMINATED, Pairing
from benchmarker.comparison.resolution import Resolution
from benchmarker.comparison.rows import OTHER_VALUES, UNPAIRED, Comparison, Number, Row
from benchmarker.comparison.verdict import EQUIVALENT, INCONCLUSIVE, LEVEL
from benchmarker.report.layout import Column, align_points, table
from benchmarker.report.units import duration, significant, time_unit
from benchmarker.statistics import CONFIDENCE

_NONE = "-"
_SAID = ("problem", "mode", "batch_size", "precision", "device", "threads")
"""Keys that are said even where all rows have the same."""
_WIDEST_RANGE = 1e4
"""Step times that lie farther apart have a unit each."""
_LARGEST_EFFECT, _MOST_PAIRS = 10, 1000
_MOST_WITHOUT = 20
"""Rows without a verdict that are shown below others."""
_RATIO = "Base and other: geometric means of the median steps. Ratio: other over base, above 1 is slower."
_INTERVAL = "95 % interval: Student's t on the logarithms of the ratios of pairs of fresh processes; of each row alone."
_UNPAIRED = (
    "Unpaired: the numbers are of different campaigns, between which the machine may have changed, so there is no "
    "interval and no verdict; --run makes pairs."
)


# --- JSON ------------------------------------------------------------------------------------------


def as_json(comparison: Comparison, passed: Gate | None) -> dict[str, Any]:
    """Return a comparison as one JSON object."""
    return {
        "confidence": CONFIDENCE,
        "correction": "Holm",
        "rows": [_row(row) for row in comparison.rows],
        "notes": list(comparison.notes),
        "gate": None if passed is None else _gate(comparison, passed),
    }


def _row(row: Row) -> dict[str, Any]:
    values = asdict(row)
    verdict = values.pop("verdict") or {"verdict": None, "p": None, "p_adjusted": None}
    return {"sentence": sentence(row), **verdict, **values}


def _gate(comparison: Comparison, passed: Gate) -> dict[str, Any]:
    def places(rows: Sequence[Row]) -> list[int]:
        return [i for i, row in enumerate(comparison.rows) if any(row is one for one in rows)]

    return {"limit": passed.limit, "slower": places(passed.slower), "untold": places(passed.untold)}


def resolution_json(resolution: Resolution | None, pairing: Pairing, *, kept: bool) -> dict[str, Any]:
    """Return an A/A comparison as one JSON object."""
    return {
        "resolution": None if resolution is None else asdict(resolution),
        "kept": kept,
        "left_out": dict(pairing.left_out),
        "sentence": resolution_text(resolution, pairing, kept=kept),
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
        return f"{_processes(row.other.processes)} against {row.first.processes}"
    return f"95 % interval {_interval(row)} of {row.paired.pairs} pairs"


def _processes(count: int) -> str:
    return "1 process" if count == 1 else f"{count} processes"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def label(number: Number, against: Number) -> str:
    """Return the framework of a side, with what tells it from the other; the side as asked for if nothing does."""
    aspects = number.aspects
    differing = [name for name, value in aspects.items() if value != against.aspects.get(name, value)]
    if not differing:
        return f"'{number.side}'"
    if "framework.name" in differing:
        # Another framework has options and an environment of its own.
        differing = [
            name for name in differing if not name.startswith(("framework.options.", "environment."))
        ]
    named = f"{aspects['framework.name']} {aspects['framework.version'] or ''}".strip()
    more = [name for name in differing if name not in ("framework.name", "framework.version")]
    return _joined([named, *(f"{name.split('.')[-1]} {_text(aspects[name])}" for name in more)])


def gate_sentences(passed: Gate) -> Iterator[str]:
    """Yield what is to be said of rows that are too slow, or of which that cannot be told."""
    works = _works([*passed.slower, *passed.untold])
    told = ["slower by more than"] * len(passed.slower)
    told += ["cannot tell whether it is slower by more than"] * len(passed.untold)
    for row, work, how in zip((*passed.slower, *passed.untold), works, told):
        yield f"{how} {_percent(_bound(row, passed))}: {work}: {sentence(row)}"


def _bound(row: Row, passed: Gate) -> float:
    return max(passed.limit, row.margin.value)


def resolution_text(resolution: Resolution | None, pairing: Pairing, *, kept: bool) -> str:
    """Return what an A/A comparison says, and whether it bounds the margin from now on."""
    out = _left_out(pairing.left_out)
    if resolution is None:
        return (
            f"nothing can be told of what this machine resolves: {_count(len(pairing.pairs), 'pair')}, of which "
            f"{len(pairing.counting)} count{f' ({out})' if out else ''}"
        )
    found = resolution
    alarm = "" if found.verdict in (EQUIVALENT, INCONCLUSIVE) else f"; a false alarm: {found.verdict}"
    bound = f"margins on this machine are at least {_percent(2 * found.half_width)} now"
    end = bound if kept else "not kept, since disturbed processes were counted"
    return (
        f"{found.problem} on {found.framework} against itself, {_joined([_count(found.pairs, 'pair'), out])}: the "
        f"ratio is known to within {_percent(found.half_width)}{alarm}; {end}"
    )


# --- the table -------------------------------------------------------------------------------------


def as_text(comparison: Comparison, *, width: int = 80) -> str:
    """Return a comparison for the terminal: what all rows share, the table, and how to read it."""
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
    notes = [textwrap.fill(note, width, subsequent_indent="  ") for note in _notes(comparison, rows)]
    heading = textwrap.wrap(
        _joined([*said, *_same_sides(rows), _same_pairs(rows)]), width, break_on_hyphens=False
    )
    return "\n".join([*heading, "", table(columns, width), "", *notes])


def _shown(rows: Sequence[Row]) -> Sequence[Row]:
    """Return the rows of the table: many without a verdict are left out, unless there are no others."""
    judged = [row for row in rows if row.verdict]
    return judged if judged and len(rows) - len(judged) > _MOST_WITHOUT else rows


def _places(rows: Sequence[Row]) -> tuple[str, ...]:
    return tuple(str(place) for place in range(1, len(rows) + 1))


def _title(name: str) -> str:
    return name.removesuffix(".name").rpartition(".")[2].replace("_", " ")


def _said(name: str, value: Any) -> str:
    if name == "threads":
        return _count(value, "thread")
    return f"batch {value}" if name == "batch_size" else str(value)


def _flat(keys: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in keys.items():
        inner = value if isinstance(value, Mapping) else None
        found.update({name: value} if inner is None else {f"{name}.{n}": v for n, v in inner.items()})
    return found


def _conditions(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return what holds for both sides of each row: its work, and aspects in which the sides of no row differ."""
    shared = [
        name
        for name in rows[0].first.aspects
        if all(row.first.aspects.get(name) == row.other.aspects.get(name) for row in rows)
    ]
    return [{**_flat(row.keys), **{name: row.first.aspects.get(name) for name in shared}} for row in rows]


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
    unit = time_unit(seconds) if max(seconds) / min(seconds) <= _WIDEST_RANGE else None
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
    return _percent(effect) if effect <= _LARGEST_EFFECT else f"over {_percent(_LARGEST_EFFECT)}"


# --- notes -----------------------------------------------------------------------------------------


def _notes(comparison: Comparison, rows: Sequence[Row]) -> list[str]:
    judged = [row for row in rows if row.verdict]
    notes = [_RATIO]
    if any(row.paired for row in rows):
        notes.append(_INTERVAL)
    if judged:
        notes += [_verdict(rows), _smallest(judged)]
    if len(rows) < len(comparison.rows):
        notes.append(_without([row for row in comparison.rows if row.verdict is None]))
    if any(row.why_none == UNPAIRED for row in comparison.rows):
        notes.append(_UNPAIRED)
    notes += _by_row(rows, [list(_of_row(row)) for row in rows])
    if any(CONTAMINATED in row.left_out for row in comparison.rows if row.why_none):
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
    if row.left_out:
        return "disturbed" if CONTAMINATED in row.left_out else "without a steady state"
    return f"with fewer than {FEWEST_PAIRS} pairs"


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
    if row.verdict and row.left_out:
        yield _left_out(row.left_out)
    disturbed = sum(number.trust.get(CONTAMINATED, 0) for number in (row.first, row.other))
    if row.verdict and disturbed:
        yield f"{disturbed} of {row.first.processes + row.other.processes} processes that count were disturbed"
    if row.elsewhere:
        yield f"{_count(row.elsewhere, 'pair')} of other campaigns not counted"
    if row.paired is not None and row.paired.non_normal:
        yield (
            f"non-normal: the mean says {_number(row.ratio)}, the Hodges-Lehmann shift "
            f"{_number(row.paired.hodges_lehmann)}, Wilcoxon's p is {row.paired.signed_rank_p:.2g}"
        )
    if row.verdict and row.verdict.verdict == INCONCLUSIVE:
        yield _inconclusive(row)


def _inconclusive(row: Row) -> str:
    if row.pairs_needed is not None and row.pairs_needed > _MOST_PAIRS:
        return f"more than {_MOST_PAIRS} pairs would make the interval as narrow as the margin; find what disturbs"
    if row.pairs_needed is not None:
        return (
            f"about {row.pairs_needed} pairs would make the interval as narrow as the margin (--run --pairs)"
        )
    if row.verdict is not None and row.verdict.p <= LEVEL:
        return "shown by its own interval, but not after the correction"
    return "the ratio is too near the edge of the margin to tell"


def _left_out(left_out: Mapping[str, int]) -> str:
    counts = ", ".join(f"{count} {reason}" for reason, count in left_out.items())
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
