"""What all operators on MXNet symbols share: known shapes, constants, and what a symbol was made from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.graph.operators import Operators, Tensor
from benchmarker.graph.types import TensorType
from benchmarker.graph.windows import Pairs

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


def native_shape(type_: TensorType) -> tuple[int, ...]:
    """Return the shape of an array of ``type_`` in MXNet, which knows no scalars."""
    return type_.shape or (1,)


class SymbolOperators(Operators):
    """Every tensor is a symbol; a scalar has shape ``(1,)``, as these symbols know no other.

    Parameters
    ----------
    training : bool
        As in :class:`~benchmarker.graph.operators.Operators`. The executor's own flag decides how batch
        normalization and dropout behave.
    dropout : bool
        Whether dropout does anything at all.
    half : bool
        Whether tensors are float16; losses are then computed in float32.
    """

    def __init__(self, *, training: bool = False, dropout: bool = True, half: bool = False) -> None:
        super().__init__(training=training)
        import mxnet

        self._mx: Any = mxnet.sym
        self._dropout = dropout
        self._half = half
        self.constants: dict[str, Array] = {}
        """Arrays to bind besides inputs and parameters, by the name of their variable."""
        self._variables: dict[str, Tensor] = {}
        # By identity, as symbols take no attributes; each entry keeps its symbol, so identities stay.
        self._shapes: dict[int, tuple[Tensor, tuple[int, ...]]] = {}
        self._integers: dict[int, Tensor] = {}
        self._transposed: dict[int, tuple[Tensor, Tensor, tuple[int, ...]]] = {}

    def know(self, symbol: Tensor, type_: TensorType) -> Tensor:
        """Remember the shape of ``symbol``: to infer it walks all of the symbol's graph."""
        self._shapes[id(symbol)] = (symbol, native_shape(type_))
        if type_.dtype == "int64":
            self._integers[id(symbol)] = symbol
        return symbol

    def _is_integer(self, symbol: Tensor) -> bool:
        """Whether ``symbol`` holds integers; truth values are 0 and 1 in the program's floating type."""
        return id(symbol) in self._integers

    def _shape(self, symbol: Tensor) -> tuple[int, ...]:
        known = self._shapes.get(id(symbol))
        if known is None:
            shape: tuple[int, ...] = symbol.infer_shape()[1][0]
            known = self._shapes[id(symbol)] = (symbol, shape)
        return known[1]

    def _constant(self, name: str, value: Array) -> Tensor:
        """Return a variable for ``value``; the same name always stands for the same value."""
        name = f"constant/{name}"
        if name not in self._variables:
            if value.dtype.kind == "f":
                value = value.astype(self._dtype)
            self.constants[name] = value
            variable = self._mx.var(name, shape=value.shape, dtype=value.dtype)
            self._variables[name] = self.know(variable, TensorType(value.shape))
        return self._variables[name]

    def _full(self, shape: tuple[int, ...], value: float) -> Tensor:
        return self._constant(f"full{shape}/{value}", np.full(shape, value, np.float32))

    @property
    def _dtype(self) -> str:
        return "float16" if self._half else "float32"

    def _exact(self, x: Tensor) -> Tensor:
        """Return ``x`` in float32, which losses are computed in."""
        return self._mx.cast(x, dtype="float32") if self._half else x

    def _broadcast(self, x: Tensor, shape: tuple[int, ...]) -> Tensor:
        own = self._shape(x)
        if own == shape:
            return x
        if len(own) < len(shape):
            x = self._mx.reshape(x, shape=((1,) * (len(shape) - len(own)) + own))
        return self._mx.broadcast_to(x, shape=shape)

    def _transpose(self, x: Tensor, perm: tuple[int, ...]) -> Tensor:
        """Permute the axes, of what ``x`` was transposed from if it was: one copy at most."""
        _, origin, before = self._transposed.get(id(x), (x, x, tuple(range(len(perm)))))
        perm = tuple(before[axis] for axis in perm)
        if perm == tuple(range(len(perm))):
            return origin
        result = self._mx.transpose(origin, axes=perm)
        self._transposed[id(result)] = (result, origin, perm)
        return result

    def _swapped_from(self, x: Tensor) -> Tensor | None:
        """Return the symbol whose last two axes were swapped to make ``x``, if it was made so.

        Matrix products swap axes on their way for nothing; what nobody uses is not computed.
        """
        if id(x) not in self._transposed:
            return None
        _, origin, perm = self._transposed[id(x)]
        rank = len(perm)
        return origin if perm == (*range(rank - 2), rank - 1, rank - 2) else None

    def _pad_spatial(self, x: Tensor, pairs: Pairs, value: float) -> Tensor:
        """Pad the spatial axes; the native operator knows 4 and 5 axes only."""
        width = [size for pair in pairs for size in pair]
        line = len(pairs) == 1
        x = self._mx.expand_dims(x, axis=2) if line else x
        leading = (0,) * (6 if line else 4)
        x = self._mx.pad(x, mode="constant", constant_value=value, pad_width=(*leading, *width))
        return self._mx.squeeze(x, axis=2) if line else x
