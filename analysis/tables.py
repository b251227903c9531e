"""Tables that several notebooks show."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pandas as pd

from benchmarker.analysis.comparison import Comparison
from benchmarker.analysis.comparison.standings import standings
from benchmarker.analysis.text.factors import framework_label
from benchmarker.analysis.text.trainings import STANDINGS, standing_rows
from benchmarker.records.lookup import Record


def verdicts(comparisons: Iterable[Comparison]) -> pd.DataFrame:
    """Return a row for each pair of numbers: their ratio with its 95 % interval, and what it shows.

    Parameters
    ----------
    comparisons : iterable of Comparison
        As :func:`benchmarker.analysis.comparison.compare` returns them.
    """
    rows = [row for comparison in comparisons for row in comparison.rows]
    return pd.DataFrame(
        {
            "problem": row.keys["problem"],
            "baseline": row.first.side,
            "other": row.other.side,
            "ratio": round(row.ratio, 3),
            "95 % interval": _interval(row.paired.ci95 if row.paired else None),
            "pairs": row.paired.pairs if row.paired else 0,
            "verdict": row.verdict.verdict if row.verdict else f"none: {row.why_none}",
            "smallest effect": f"{row.smallest_effect - 1:.1%}" if row.smallest_effect else "",
        }
        for row in rows
    )


def _interval(ends: tuple[float, float] | None) -> str:
    return f"[{ends[0]:.3f}, {ends[1]:.3f}]" if ends else ""


def trained(records: Sequence[Record]) -> pd.DataFrame:
    """Return a row for each framework and recipe, the first at the target first, with probabilities of no difference.

    Parameters
    ----------
    records : sequence of dict
        Of trainings by recipes.
    """
    rows = []
    for standing in standings(records, framework_label):
        told = standing.comparison.rows
        probabilities = [(None, None), *((row.steps_p, row.seconds_p) for row in told)]
        rows += [(*row, *map(_probability, p)) for row, p in zip(standing_rows(standing), probabilities)]
    head = list(STANDINGS)
    head[4], head[6] = "steps, 95 % interval", "seconds, 95 % interval"
    frame = pd.DataFrame(rows, columns=[*head, "p, steps", "p, seconds"])
    return frame.set_index(["recipe", "framework"])


def _probability(value: float | None) -> str:
    return "" if value is None else f"{value:.2g}"
