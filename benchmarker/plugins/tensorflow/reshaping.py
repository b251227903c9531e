"""How a reshape is done where the axes stand, so that no element moves that need not."""

from __future__ import annotations

import math

from benchmarker.plugins.tensorflow.tensors import Order

Group = tuple[list[int], list[int]]


def groups(source: tuple[int, ...], target: tuple[int, ...]) -> list[Group]:
    """Return the smallest runs of axes of ``source`` and ``target`` with the same number of elements.

    Reshaping happens within each of them alone. Axes of size 1 go with the run before them.
    """
    found: list[Group] = []
    i = j = 0
    while i < len(source) or j < len(target):
        ends = _end(source, i), _end(target, j)
        while math.prod(source[i : ends[0]]) != math.prod(target[j : ends[1]]):
            if math.prod(source[i : ends[0]]) < math.prod(target[j : ends[1]]):
                ends = _end(source, ends[0]), ends[1]
            else:
                ends = ends[0], _end(target, ends[1])
        found.append((list(range(i, ends[0])), list(range(j, ends[1]))))
        i, j = ends
    return found


def _end(sizes: tuple[int, ...], start: int) -> int:
    """Return where the axis at ``start`` ends, those of size 1 after it included."""
    end = min(start + 1, len(sizes))
    while end < len(sizes) and sizes[end] == 1:
        end += 1
    return end


def reshaped(
    shape: tuple[int, ...], order: Order, target: tuple[int, ...]
) -> tuple[Order, tuple[int, ...], Order]:
    """Return how to reshape a tensor that stands in ``order``.

    Parameters
    ----------
    shape, target : tuple of int
        Shapes as the graph has them.
    order : tuple of int
        How the tensor stands.

    Returns
    -------
    before : tuple of int
        The order to bring it into; ``order`` itself, up to axes of size 1, where that will do.
    native : tuple of int
        The shape to give it then.
    after : tuple of int
        How the result stands.
    """
    place = {axis: position for position, axis in enumerate(order)}
    standing: list[tuple[int, Group]] = []
    innermost = -1
    for left, right in groups(shape, target):
        # A run of size 1 stays beside the one before it.
        innermost = max((place[axis] for axis in left if shape[axis] != 1), default=innermost)
        standing.append((innermost, (left, right)))
    standing.sort(key=lambda placed: placed[0])
    before = tuple(axis for _, (left, _) in standing for axis in left)
    after = tuple(axis for _, (_, right) in standing for axis in right)
    return before, tuple(target[axis] for axis in after), after
