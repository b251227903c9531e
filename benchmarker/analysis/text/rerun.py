"""What running a record again has shown, for people and as JSON."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarker.analysis.reproduction.compare import Comparison, Number
from benchmarker.analysis.reproduction.verdict import CANNOT_TELL, NOT_REPRODUCED, REPRODUCED, Verdict
from benchmarker.analysis.text.factors import framework_label
from benchmarker.analysis.text.layout import labelled, labelled_path
from benchmarker.analysis.text.units import duration, significant
from benchmarker.errors import plural
from benchmarker.records.lookup import Record
from benchmarker.statistics import MIN_PROCESSES

_LABEL_WIDTH = 10
_SHOWN = 8
"""Things that differ and are shown; ``--json`` has them all."""
_MAX_VALUE = 48


def as_json(comparison: Comparison, original: Path, new: Sequence[Path]) -> dict[str, Any]:
    """Return a comparison as a JSON object, with the records it is of."""
    return {
        "record": str(original),
        "new_records": [str(path) for path in new],
        "sentence": sentence(comparison),
        **asdict(comparison),
    }


def as_text(comparison: Comparison, record: Record, path: Path, new: Sequence[Path], *, width: int) -> str:
    """Return a comparison for the terminal: the verdict first, then what it rests on."""
    what = f"{record['problem']['name']}, {record['mode']}, on {framework_label(record)}"
    lines = textwrap.wrap(f"{what}: {sentence(comparison)}", width, break_on_hyphens=False)
    lines += labelled(_lines(comparison), _LABEL_WIDTH, width)
    lines.append(labelled_path("record", path, _LABEL_WIDTH))
    lines += [labelled_path("new" if path is new[0] else "", path, _LABEL_WIDTH) for path in new]
    return "\n".join(lines)


def sentence(comparison: Comparison) -> str:
    """Return the verdict with its numbers or its reason."""
    numbers, now = comparison.numbers, comparison.now
    if numbers is None or now is None:
        return f"{CANNOT_TELL}: no new process ended well ({comparison.failures[0]})"
    if comparison.differences:
        return f"{comparison.verdict}: {_named(comparison)} differ; descriptive only: {_ratio(numbers)}"
    if comparison.verdict in (REPRODUCED, NOT_REPRODUCED):
        return f"{comparison.verdict}: {_ratio(numbers)}"
    if numbers.ci95 is None:
        counts = f"{comparison.original.processes} of the original, {now.processes} now"
        return (
            f"{CANNOT_TELL}: {_ratio(numbers)}; an interval between processes needs at least {MIN_PROCESSES} "
            f"of them on one side ({counts}): --repeats={numbers.needed}, better 5"
        )
    more = f"about --repeats={numbers.needed} would do" if numbers.needed else _hopeless(comparison.original)
    return f"{CANNOT_TELL}: {_ratio(numbers)}, which is too wide to tell; {more}"


def _hopeless(original: Number) -> str:
    few = plural(original.processes, "process")
    return f"no number of repeats would do, since the original is {few}"


def _named(comparison: Comparison) -> str:
    names = list(comparison.differences)
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def _ratio(numbers: Verdict) -> str:
    word = "slower" if numbers.ratio >= 1 else "faster"
    text = f"{_share(numbers.ratio)} {word}"
    if numbers.ci95 is None:
        return text
    low, high = numbers.ci95
    if low <= 1 <= high:
        return f"{text}, 95 % interval from {_share(low)} faster to {_share(high)} slower"
    near, far = sorted((low, high), key=lambda ratio: abs(math.log(ratio)))
    return f"{text}, 95 % interval [{_share(near)}, {_share(far)}]"


def _share(ratio: float) -> str:
    return f"{significant(100 * abs(ratio - 1), 2)} %"


def _lines(comparison: Comparison) -> Iterator[tuple[str, str]]:
    yield "original", _number(comparison.original)
    if comparison.now is not None:
        yield "now", _number(comparison.now)
    if comparison.numbers is not None and comparison.numbers.method:
        yield "method", f"interval of the ratio by {comparison.numbers.method}"
    if comparison.differences:
        yield "differ", _pairs(comparison.differences, len(comparison.differences))
    if comparison.also:
        yield "also", _pairs(comparison.also, _SHOWN)
    if comparison.function:
        yield "function", ", ".join(_check(name, *found) for name, found in comparison.function.items())
    yield "trust", _trust(comparison)
    if comparison.failures:
        yield "failed", "; ".join(comparison.failures)


def _number(number: Number) -> str:
    count = plural(number.processes, "process")
    text = f"{duration(number.median_seconds)} per step, "
    if number.ci95 is None:
        return f"{text}{count}"
    low, high = map(duration, number.ci95)
    return f"{text}95 % interval [{low}, {high}] {number.level}, {count}"


def _pairs(pairs: Mapping[str, tuple[Any, Any]], most: int) -> str:
    shown = [f"{name} {_value(old)} -> {_value(new)}" for name, (old, new) in list(pairs.items())[:most]]
    more = [f"and {len(pairs) - most} more (--json has them)"] if len(pairs) > most else []
    return ", ".join([*shown, *more])


def _value(value: Any) -> str:
    text = "none" if value is None else str(value)
    return text if len(text) <= _MAX_VALUE else f"{text[: _MAX_VALUE - 1]}…"


def _check(name: str, original: Any, now: Any, same: bool) -> str:
    label = name.replace("_", " ")
    if isinstance(original, float):
        return f"{label} {original:.6g} and {now:.6g}{'' if same else ' (differs)'}"
    return f"{'same' if same else 'other'} {label}"


def _trust(comparison: Comparison) -> str:
    sides = {"original": comparison.original, "now": comparison.now}
    return "; ".join(f"{name} {_grades(side)}" for name, side in sides.items() if side is not None)


def _grades(number: Number) -> str:
    grades = ", ".join(
        grade if count == number.processes else f"{grade} ({count} of {number.processes})"
        for grade, count in number.trust.items()
    )
    return f"{grades}: {', '.join(number.reasons)}" if number.reasons else grades
