"""Many comparisons at once: Holm's step-down correction."""

from __future__ import annotations

from collections.abc import Sequence


def adjusted(p_values: Sequence[float]) -> list[float]:
    """Return p values that may each be held against the level of the whole family, in the same order.

    The smallest of ``K`` is multiplied by ``K``, the next by ``K - 1`` and so on, and none is below one before
    it (Holm, Scandinavian Journal of Statistics 6, 1979). It needs no independence.
    """
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    found = [0.0] * len(p_values)
    largest = 0.0
    for place, i in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - place) * p_values[i]))
        found[i] = largest
    return found
