"""What the modules of the reference share: the operators' state, a call to go back through, sums over axes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.graph.operators import Operators

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


class ArrayOperators(Operators):
    """Every tensor is a NumPy array, and every result has the floating type of the first argument.

    New arrays are made ``like`` an operand, so that arrays of another library that answers NumPy's functions
    (NEP 18 and NEP 35) may stand in their place.

    Parameters
    ----------
    training : bool
        Whether batch normalization uses the mini-batch's statistics.
    generator : numpy.random.Generator, optional
        Source of dropout's masks in training; without one dropout is off.
    update_statistics : bool
        Whether batch normalization in training moves its running statistics, in place.
    dtype : type
        Floating type that integers are cast to.
    """

    def __init__(
        self,
        *,
        training: bool = False,
        generator: np.random.Generator | None = None,
        update_statistics: bool = False,
        dtype: type[Any] = np.float64,
    ) -> None:
        super().__init__(training=training)
        self.generator = generator
        self.update_statistics = update_statistics
        self.dtype = dtype


@dataclass(eq=False)  # not frozen: one is made for each operator of each step
class Call:
    """One application of an operator, with the gradients of its outputs.

    Parameters
    ----------
    inputs, outputs : tuple of array
        As the operator took and gave them; an absent optional input is None.
    gradients : tuple of array
        Gradient of the loss for each output.
    attributes : mapping
        All keyword arguments of the operator, defaults included.
    needed : tuple of bool
        Which inputs' gradients are asked for; the others may be left out (None).
    switched : float
        Where a rectifier or a maximum is within this share of its largest input of switching, the
        gradient takes the other side. 0 for the gradient proper.
    """

    inputs: tuple[Any, ...]
    outputs: tuple[Array, ...]
    gradients: tuple[Array, ...]
    attributes: Mapping[str, Any]
    needed: tuple[bool, ...]
    switched: float = 0.0

    @property
    def band(self) -> float:
        """How near to switching an input switches, absolute; masked scores (infinite) do not count."""
        if not self.switched:
            return 0.0
        size = np.abs(self.inputs[0])
        return self.switched * float(np.max(size, initial=0.0, where=np.isfinite(size)))

    def has(self, position: int) -> bool:
        """Whether the optional input at ``position`` is there."""
        return position < len(self.inputs) and self.inputs[position] is not None


InputGradients = Sequence[Any]
"""One array or None for each input."""

Gradients = Mapping[str, Callable[[Call], InputGradients]]
"""Operator to its reverse mode: from the gradients of its outputs to those of its inputs."""


def unbroadcast(gradient: Array, shape: tuple[int, ...]) -> Array:
    """Sum over the axes along which an operand of ``shape`` was broadcast."""
    if gradient.ndim > len(shape):
        gradient = gradient.sum(axis=tuple(range(gradient.ndim - len(shape))))
    if gradient.shape == shape:
        return gradient
    repeated = tuple(axis for axis, size in enumerate(shape) if size == 1 != gradient.shape[axis])
    return gradient.sum(axis=repeated, keepdims=True) if repeated else gradient


def array_of(x: Any) -> Any:
    """Return an array whose kind new ones shall have, None (NumPy's) for what arithmetic made a scalar of NumPy."""
    return None if isinstance(x, np.generic) else x


def inverse(permutation: Sequence[int]) -> tuple[int, ...]:
    """Return the permutation that takes axes back."""
    return tuple(sorted(range(len(permutation)), key=permutation.__getitem__))


def per_channel(values: Array, rank: int) -> Array:
    """Shape ``values (C,)`` so that they broadcast along the channels of a tensor of that rank."""
    return values.reshape(-1, *(1,) * (rank - 2))


def channel_mean(x: Array) -> Array:
    """Return the mean of each channel of ``x (N, C, ...)``.

    Along the contiguous axis first, where NumPy sums pairwise and so rounds least.
    """
    mean: Array = x.reshape(*x.shape[:2], -1).mean(axis=2).mean(axis=0)
    return mean


def channel_sum(x: Array) -> Array:
    """Return the sum of each channel of ``x (N, C, ...)``."""
    total: Array = x.reshape(*x.shape[:2], -1).sum(axis=2).sum(axis=0)
    return total
