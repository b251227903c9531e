"""What Python itself took on two sides whose Pythons are not the same: a part of every step that starts in Python."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median

from benchmarker.records.keys import build_of
from benchmarker.records.lookup import Record, value_at

MIN_RATIO = 1.25
"""Less is not worth a sentence: processes of one and the same Python vary by as much on a busy machine."""


def slower_pythons(pairs: Iterable[tuple[Sequence[Record], Sequence[Record]]]) -> list[str]:
    """Return a sentence for each two Pythons of which one took notably longer for known statements.

    Parameters
    ----------
    pairs : iterable of pair
        The processes of both sides, at least one each, for each work that is compared.
    """
    pooled: dict[tuple[str, str], tuple[list[float], list[float]]] = {}
    for ours, theirs in pairs:
        if _python(ours) == _python(theirs):
            continue
        names = (_name(ours), _name(theirs))
        seconds = pooled.setdefault(names, ([], []))
        seconds[0].extend(_interpreter_seconds(ours))
        seconds[1].extend(_interpreter_seconds(theirs))
    return [
        f"known statements of Python took {median(first) * 1e6:.0f} µs in {names[0]} and "
        f"{median(other) * 1e6:.0f} µs in {names[1]}, which short steps show"
        for names, (first, other) in pooled.items()
        if first and other and _ratio(median(first), median(other)) >= MIN_RATIO
    ]


def _ratio(first: float, other: float) -> float:
    return max(first, other) / min(first, other)


def _python(records: Sequence[Record]) -> str:
    version, build = records[0]["environment"]["python"], build_of(records)
    return f"{version}, {build}" if build else str(version)


def _name(records: Sequence[Record]) -> str:
    return f"{records[0]['framework']['name']}'s ({_python(records)})"


def _interpreter_seconds(records: Iterable[Record]) -> list[float]:
    told = (value_at(record, "trust.speed.interpreter_seconds") for record in records)
    return [seconds for seconds in told if seconds]
