"""Tensors that know how their axes stand."""

from __future__ import annotations

from typing import Any

from benchmarker.plugins.common.axis_orders import Order, inverse
from benchmarker.quick_dataclass import dataclass


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
        return tuple(int(self.value.shape[place]) for place in inverse(self.order))
