"""Traced tensors that know how their axes stand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

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


def _same(array: Any) -> Any:
    return array


def _channels_last(array: Any) -> Any:
    return array.transpose(0, *range(2, array.ndim), 1)


def _channels_second(array: Any) -> Any:
    return array.transpose(0, array.ndim - 1, *range(1, array.ndim - 1))


def _filter_last(array: Any) -> Any:
    return array.transpose(*range(2, array.ndim), 1, 0)


def _filter_first(array: Any) -> Any:
    rank = array.ndim
    return array.transpose(rank - 1, rank - 2, *range(rank - 2))


PLAIN = Form("plain", _same, _same)
"""As in the graph."""
LAST = Form("last", _channels_last, _channels_second)
"""``N spatial... C``."""
KERNEL = Form("kernel", _filter_last, _filter_first)
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
        sizes = tuple(int(size) for size in self.value.shape)
        return (sizes[0], sizes[-1], *sizes[1:-1]) if self.form == LAST else sizes

    def place(self, axis: int) -> int:
        """Return where the graph's ``axis`` stands."""
        axis %= self.rank
        if self.form != LAST or axis == 0:
            return axis
        return self.rank - 1 if axis == 1 else axis - 1
