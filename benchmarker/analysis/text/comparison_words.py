"""What is compared, in words: sides, works, ratios and shares."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarker.analysis.comparison.compare import Number, Row
from benchmarker.analysis.text.layout import joined
from benchmarker.analysis.text.units import significant

NONE = "-"
ALWAYS_SAID = ("problem", "mode", "batch_size", "precision", "device", "threads")
"""Keys that are said even where all rows have the same."""


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
    return joined([named, *(f"{name.split('.')[-1]} {value_text(factors[name])}" for name in more)])


def title_of(name: str) -> str:
    return name.removesuffix(".name").rpartition(".")[2].replace("_", " ")


def flat_keys(keys: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of a work, those of objects by dotted name."""
    found: dict[str, Any] = {}
    for name, value in keys.items():
        inner = value if isinstance(value, Mapping) else None
        found.update({name: value} if inner is None else {f"{name}.{n}": v for n, v in inner.items()})
    return found


def conditions(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return what holds for both sides of each row: its work, and factors in which the sides of no row differ."""
    shared = [
        name
        for name in rows[0].first.factors
        if all(row.first.factors.get(name) == row.other.factors.get(name) for row in rows)
    ]
    return [{**flat_keys(row.keys), **{name: row.first.factors.get(name) for name in shared}} for row in rows]


def distinguishing_keys(keys: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the keys that tell works apart: those that vary among works which the keys before them do not.

    What is said of all rows else is among them wherever it varies.
    """
    telling: list[str] = []
    for name in dict.fromkeys(name for one in keys for name in one):
        alike = {json.dumps([one.get(n) for n in telling], sort_keys=True) for one in keys}
        finer = {json.dumps([one.get(n) for n in (*telling, name)], sort_keys=True) for one in keys}
        varies = len({json.dumps(one.get(name), sort_keys=True) for one in keys}) > 1
        if len(finer) > len(alike) or (name in ALWAYS_SAID and varies):
            telling.append(name)
    return telling


def skipped_text(skipped: Mapping[str, int]) -> str:
    counts = ", ".join(f"{count} {reason}" for reason, count in skipped.items())
    return f"pairs left out: {counts}" if counts else ""


def ratio_text(ratio: float) -> str:
    return significant(ratio, 4 if ratio >= 1 else 3)


def interval_text(row: Row) -> str:
    if row.paired is None:
        return NONE
    low, high = map(ratio_text, row.paired.ci95)
    return f"[{low}, {high}]"


def percent_text(share: float) -> str:
    return f"{significant(100 * share, 2)} %" if math.isfinite(share) else NONE


def value_text(value: Any) -> str:
    if value is None:
        return "none"
    return value if isinstance(value, str) else json.dumps(value)
