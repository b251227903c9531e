"""Fewer points that look the same: a page holds what an eye can see, the record holds all."""

from __future__ import annotations

from collections.abc import Sequence


def rounded(value: float | None, digits: int = 5) -> float | None:
    """Return a number with so many significant digits, which makes its JSON short."""
    return None if value is None else float(f"{value:.{digits}g}")


def kept(values: Sequence[float | None], limit: int) -> list[int]:
    """Return the places to keep of a curve: the lowest and the highest of each of ``limit / 2`` equal parts.

    No peak is lost, so an outlier that the record has is seen.

    Parameters
    ----------
    values : sequence of float or None
        In order; ``None`` is a gap.
    limit : int
        The most places to keep, at least 2.

    Returns
    -------
    list of int
        Ascending; all places if there are no more than ``limit``.
    """
    if len(values) <= limit:
        return list(range(len(values)))
    parts = max(1, limit // 2)
    places: list[int] = []
    for part in range(parts):
        run = range(part * len(values) // parts, (part + 1) * len(values) // parts)
        known = [(values[place], place) for place in run if values[place] is not None]
        ends = {min(known)[1], max(known)[1]} if known else {run[0]}
        places += sorted(ends)
    return places


def quantiles(values: Sequence[float], limit: int) -> list[float]:
    """Return at most ``limit`` values, at least 2, with the same distribution: evenly spaced order statistics."""
    ordered = sorted(values)
    if len(ordered) <= limit:
        return ordered
    return [ordered[round(i * (len(ordered) - 1) / (limit - 1))] for i in range(limit)]
