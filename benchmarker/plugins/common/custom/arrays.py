"""A user's operator on NumPy arrays, which every framework on a processor can be bridged to."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.errors import UnsupportedError
from benchmarker.graph.custom import CppSource, CustomOperator, NativeFunction, NumpyFunction
from benchmarker.graph.types import TensorType
from benchmarker.plugins.common.custom.library import Library, Memory, library_of
from benchmarker.quick_dataclass import dataclass

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

_GRAPH_TYPES = {"int64": "int64", "int32": "int64"}
"""Element types that shapes are told of; floating-point ones are all float32 there."""


def output_shapes(operator: CustomOperator, inputs: Sequence[Any]) -> tuple[tuple[int, ...], ...]:
    """Return the shapes of the outputs for native inputs, which have a shape and an element type each.

    Raises
    ------
    UnsupportedError
        If the operator has no shape function.
    """
    if operator.shape is None:
        raise UnsupportedError(
            f"custom operator '{operator.name}' needs a shape function, so that its results can be allocated"
        )
    types = [TensorType(tuple(x.shape), _GRAPH_TYPES.get(str(x.dtype), "float32")) for x in inputs]
    return tuple(type_.shape for type_ in operator.types(types))


def floating_type(inputs: Sequence[Any]) -> Any:
    """Return the type of the outputs: that of the first floating-point input."""
    return next((x.dtype for x in inputs if np.issubdtype(x.dtype, np.floating)), np.dtype(np.float32))


@dataclass(frozen=True)
class ArrayKernel:
    """Forward and backward on arrays.

    Parameters
    ----------
    operator : CustomOperator
        What is computed.
    implementation : NumpyFunction or CppSource
        What computes it; compiled by now.
    """

    operator: CustomOperator
    implementation: NumpyFunction | CppSource

    def __post_init__(self) -> None:
        if isinstance(self.implementation, CppSource):
            if self.implementation.is_cuda:
                raise UnsupportedError(
                    f"custom operator '{self.operator.name}' is written in CUDA here, and runs in pytorch on a "
                    "CUDA device only"
                )
            library_of(self.implementation)

    def forward(self, inputs: Sequence[Array]) -> tuple[Array, ...]:
        """Return the outputs, of the type of the first floating-point input."""
        dtype = floating_type(inputs)
        if isinstance(self.implementation, CppSource):
            held = [np.asarray(x, order="C") for x in inputs]
            outputs = tuple(np.empty(shape, dtype) for shape in output_shapes(self.operator, inputs))
            self._library.forward(_memories(held), _memories(outputs))
            return outputs
        found = self.implementation.forward(*inputs)
        return tuple(np.asarray(y, dtype) for y in (found if isinstance(found, tuple) else (found,)))

    def backward(
        self,
        inputs: Sequence[Array],
        outputs: Sequence[Array],
        gradients: Sequence[Array],
        needed: Sequence[bool],
    ) -> tuple[Array | None, ...]:
        """Return the gradient of each input that needs one.

        Raises
        ------
        UnsupportedError
            If the implementation has no backward function.
        """
        if isinstance(self.implementation, CppSource):
            groups = [[np.asarray(x, order="C") for x in group] for group in (inputs, outputs, gradients)]
            found = [np.empty_like(x) if wanted else None for x, wanted in zip(groups[0], needed)]
            blank = [
                Memory(None, x.shape, str(x.dtype)) if g is None else _memory(g)
                for x, g in zip(groups[0], found)
            ]
            self._library.backward(*map(_memories, groups), blank)
            return tuple(found)
        if self.implementation.backward is None:
            raise UnsupportedError(
                f"custom operator '{self.operator.name}' has no backward function; use inference"
            )
        each = self.implementation.backward(tuple(inputs), tuple(outputs), tuple(gradients))
        return tuple(
            np.asarray(g, x.dtype) if wanted and g is not None else None
            for g, x, wanted in zip(each, inputs, needed)
        )

    @property
    def _library(self) -> Library:
        assert isinstance(self.implementation, CppSource)
        return library_of(self.implementation)


@functools.cache
def array_kernel(operator: CustomOperator, framework: str) -> ArrayKernel | None:
    """Return what runs ``operator`` in ``framework`` on arrays, compiled by now; None if that is its body.

    Raises
    ------
    UnsupportedError
        If it is a function of the framework's own tensors, and so none of arrays.
    """
    implementation = operator.implementation(framework)
    if implementation is None:
        return None
    if isinstance(implementation, NativeFunction):
        raise UnsupportedError(
            f"custom operator '{operator.name}' is a NativeFunction for {framework or 'the reference'}, which has "
            "no tensors of its own; give a NumpyFunction or a CppSource"
        )
    return ArrayKernel(operator, implementation)


def _memory(array: Array) -> Memory:
    return Memory(array.ctypes.data, array.shape, str(array.dtype))


def _memories(arrays: Sequence[Array]) -> list[Memory]:
    return [_memory(array) for array in arrays]
