"""Tables that several notebooks show."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from benchmarker.analysis.comparison import Comparison


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
