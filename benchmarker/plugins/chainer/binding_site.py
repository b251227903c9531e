"""Where an operator is applied, and what every binder needs of that place."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.quick_dataclass import dataclass

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

Shape = tuple[int, ...]
Native = Callable[..., Any]
"""A callable of Chainer variables, or of plain arrays where nothing flows back."""


@dataclass(frozen=True)
class Site:
    """Where an operator is applied.

    Parameters
    ----------
    shapes : tuple of shape or None
        Of the tensor inputs; None for an absent one.
    training : bool
        Whether batch normalization takes the mini-batch's statistics.
    updating : bool
        Whether running statistics move and dropout drops; off when only gradients are asked for.
    needed : tuple of bool
        Which outputs something uses; empty means all.
    dtype : type
        The program's floating type.
    device : chainer.backend.Device or None
        Where constants belong; None is NumPy.
    """

    shapes: tuple[Shape | None, ...]
    training: bool = False
    updating: bool = True
    needed: tuple[bool, ...] = ()
    dtype: type[Any] = np.float32
    device: Any = None

    def shape(self, position: int) -> Shape:
        """Return the shape of an input that must be there."""
        shape = self.shapes[position]
        assert shape is not None
        return shape

    def has(self, position: int) -> bool:
        """Return whether an optional input is there."""
        return len(self.shapes) > position and self.shapes[position] is not None

    def needs(self, position: int) -> bool:
        """Return whether something uses an output."""
        return not self.needed or self.needed[position]

    def constant(self, values: Array) -> Any:
        """Return ``values`` on the device, in the program's type if they are floating."""
        floating = np.issubdtype(values.dtype, np.floating)
        array = np.array(values, self.dtype if floating else values.dtype, order="C")
        return array if self.device is None else self.device.send(array)


def axis_of(site: Site, axis: int) -> int:
    """Return an axis of the first input counted from the front."""
    return axis % len(site.shape(0))


def array_of(value: Any) -> Any:
    """Return the array of a variable, which ends what flows back, or the array that is one already."""
    return getattr(value, "array", value)


def function(name: str) -> Callable[[Site], Native]:
    """Return the binder of an operator that is a Chainer function as it stands."""

    def bind(site: Site) -> Native:
        from chainer import functions

        found: Native = getattr(functions, name)
        return found

    return bind


def python_operator(native: Native) -> Callable[[Site], Native]:
    """Return the binder of an operator that Chainer's variables have as Python's own."""
    return lambda site: native
