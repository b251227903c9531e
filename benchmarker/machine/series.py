"""Quantities over time, a column each; a long series is thinned by averaging neighbours."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

MAX_POINTS = 600


class Series:
    """Columns of equal length, sampled at equal times.

    Parameters
    ----------
    digits : mapping
        For each column, how many digits after the decimal point are kept; with 0 it holds integers.
    most : int
        How many points there are at the end, at most; twice as many are kept meanwhile.
    """

    def __init__(self, digits: Mapping[str, int], most: int = MAX_POINTS) -> None:
        self._digits = dict(digits)
        self._most = most
        self._points: list[list[tuple[float, int]]] = []
        """For each point and column the sum of what was sampled, and of how many ticks."""
        self._ticks_in_last = 0
        self.ticks_per_point = 1
        """How many sampling times a point is the mean of."""

    def __len__(self) -> int:
        return len(self._points)

    def add(self, values: Sequence[float | None], ticks: int = 1) -> None:
        """Add one value per column that held for ``ticks`` sampling times; ``None`` where it is not known."""
        cells = [(0.0, 0) if value is None else (float(value), 1) for value in values]
        for _ in range(ticks):
            if self._points and self._ticks_in_last < self.ticks_per_point:
                self._points[-1] = _added(self._points[-1], cells)
                self._ticks_in_last += 1
                continue
            if len(self._points) == 2 * self._most:
                self._halve()
            self._points.append(cells)
            self._ticks_in_last = 1

    def columns(self) -> dict[str, list[float | None] | None]:
        """Return the means by column, at most as many as wished; ``None`` for a column of nothing."""
        while len(self._points) > self._most:
            self._halve()
        return {
            name: self._column(index, digits) for index, (name, digits) in enumerate(self._digits.items())
        }

    def _column(self, index: int, digits: int) -> list[float | None] | None:
        cells = [point[index] for point in self._points]
        if not any(count for _, count in cells):
            return None
        means = [total / count if count else None for total, count in cells]
        return [None if mean is None else round(mean, digits or None) for mean in means]

    def _halve(self) -> None:
        """Make one point of two."""
        pairs = [self._points[at : at + 2] for at in range(0, len(self._points), 2)]
        if len(pairs[-1]) == 2:
            self._ticks_in_last += self.ticks_per_point
        self._points = [_added(*pair) if len(pair) == 2 else pair[0] for pair in pairs]
        self.ticks_per_point *= 2


def _added(
    first: Iterable[tuple[float, int]], second: Iterable[tuple[float, int]]
) -> list[tuple[float, int]]:
    return [(a + b, m + n) for (a, m), (b, n) in zip(first, second)]
