"""Tensors that know how their axes stand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Order = tuple[int, ...]


@dataclass(frozen=True)
class Columns:
    """The axes that a matrix's axis 1 was flattened from, and how they stand in it.

    Parameters
    ----------
    sizes : tuple of int
        Their sizes as the graph has them.
    order : tuple of int
        Native axis ``i`` is the graph's axis ``order[i]`` of them.
    """

    sizes: tuple[int, ...]
    order: Order


@dataclass(frozen=True)
class Tensor:
    """A tensor or variable whose axis ``i`` is the graph's axis ``order[i]``.

    Parameters
    ----------
    value : tf.Tensor or tf.Variable
        The native tensor.
    order : tuple of int
        How its axes stand.
    parameter : bool
        Whether it is a parameter as it is stored, whatever type the program computes in.
    columns : Columns or None
        Of a matrix whose axis 1 was flattened from axes in another order than the graph's.
    """

    value: Any
    order: Order
    parameter: bool = False
    columns: Columns | None = None

    @property
    def rank(self) -> int:
        """Number of axes."""
        return len(self.order)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape as the graph has it."""
        sizes = self.value.shape
        return tuple(int(sizes[self.order.index(axis)]) for axis in range(self.rank))


def graph_order(rank: int) -> Order:
    """Return the order of a tensor that stands as in the graph."""
    return tuple(range(rank))


def channels_last(rank: int) -> Order:
    """Return the order of ``N spatial... C``."""
    return (0, *range(2, rank), 1) if rank > 2 else graph_order(rank)


def filter_order(rank: int) -> Order:
    """Return the order of a filter that stands ``spatial... in out``.

    The filter of a transposed convolution stands so too: its axes are those of the convolution whose
    gradient it is.
    """
    return (*range(2, rank), 1, 0)
