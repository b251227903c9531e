"""Traced tensors that know how their axes stand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Any

from benchmarker.plugins.common.axis_orders import Order, filter_order, graph_order, image_order, inverse
from benchmarker.quick_dataclass import dataclass

Move = Callable[[Any], Any]


@dataclass(frozen=True)
class Form:
    """How the axes of an array stand.

    Parameters
    ----------
    name : str
        Two forms are the same if they have the same name.
    encode, decode : callable
        From the graph's axes and back, by methods that arrays of NumPy and of JAX both have; linear.
    """

    name: str
    encode: Move = field(compare=False)
    decode: Move = field(compare=False)


def _permuted(name: str, order: Callable[[int], Order]) -> Form:
    return Form(
        name,
        lambda array: array.transpose(order(array.ndim)),
        lambda array: array.transpose(inverse(order(array.ndim))),
    )


PLAIN = Form("plain", lambda array: array, lambda array: array)
"""As in the graph."""
LAST = _permuted("last", image_order)
"""``N spatial... C``."""
KERNEL = _permuted("kernel", filter_order)
"""A filter as ``spatial... in out``."""


def transposed_filter_layout(group: int, inner: Form) -> Form:
    """Return the form of a transposed convolution's filter: that of the convolution which does the same.

    Parameters
    ----------
    group : int
        Number of groups.
    inner : Form
        Of the filter of that convolution.
    """

    def turned(array: Any) -> Any:
        flip = (slice(None), slice(None), *(slice(None, None, -1),) * (array.ndim - 2))
        first, second, *kernel = array.shape
        apart = array[flip].reshape(group, first // group, second, *kernel)
        return apart.swapaxes(1, 2).reshape(group * second, first // group, *kernel)

    # Turned a second time, a filter is what it was.
    return Form(
        f"spread {group} {inner.name}",
        lambda array: inner.encode(turned(array)),
        lambda array: turned(inner.decode(array)),
    )


@dataclass(frozen=True)
class Tensor:
    """A traced array of the program.

    Parameters
    ----------
    value : jax.Array
        The array.
    form : Form
        How its axes stand.
    parameter : str or None
        Name of the parameter that it is, as it is stored: whatever the program computes in, it is exact.
    """

    value: Any
    form: Form = PLAIN
    parameter: str | None = None

    @property
    def rank(self) -> int:
        """Number of axes."""
        return int(self.value.ndim)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape as the graph has it."""
        return tuple(int(self.value.shape[place]) for place in inverse(self.order))

    @property
    def order(self) -> Order:
        """How the axes stand: as those of an image, or as in the graph."""
        return image_order(self.rank) if self.form == LAST else graph_order(self.rank)

    def place(self, axis: int) -> int:
        """Return where the graph's ``axis`` stands."""
        return self.order.index(axis % self.rank)
