"""Operators on CuPy's arrays: NumPy's, whose functions these arrays answer, but for what CuPy has of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from benchmarker.errors import UnsupportedError
from benchmarker.graph.custom import registered
from benchmarker.plugins.numpy.base import Call, Gradients, InputGradients
from benchmarker.plugins.numpy.gradients import GRADIENTS
from benchmarker.plugins.numpy.operators import NumpyOperators

if TYPE_CHECKING:
    import cupy


def gather_gradient(call: Call) -> InputGradients:
    """To each slice the sum over the indices that named it."""
    import cupyx

    (x, indices), (dy,) = call.inputs, call.gradients
    dx: Any = _zeros_like(x)
    cupyx.scatter_add(dx, (slice(None),) * (call.attributes["axis"] % x.ndim) + (indices,), dy)
    return dx, None


def gather_elements_gradient(call: Call) -> InputGradients:
    """To each element the sum over the indices that named it."""
    import cupy
    import cupyx

    (x, indices), (dy,) = call.inputs, call.gradients
    places = list(cupy.ix_(*(cupy.arange(size) for size in indices.shape)))
    places[call.attributes["axis"] % x.ndim] = indices
    dx: Any = _zeros_like(x)
    cupyx.scatter_add(dx, tuple(cupy.broadcast_arrays(*places)), dy)
    return dx, None


def _zeros_like(x: Any) -> cupy.ndarray:
    import cupy

    return cupy.zeros(x.shape, x.dtype)


class CupyOperators(NumpyOperators):
    """Every primitive; what is random is drawn on the device, from seeds that the host draws."""

    framework = "cupy"
    gradients: ClassVar[Gradients] = {
        **GRADIENTS,
        "gather": gather_gradient,
        "gather_elements": gather_elements_gradient,
    }

    def erf(self, x: Any) -> Any:
        from cupyx.scipy import special

        return special.erf(x)

    def dropout_mask(self, x: Any, ratio: float) -> Any:
        if not self.training or self.generator is None or ratio == 0.0:
            return None
        from cupy import random

        seed = int(self.generator.integers(1 << 63))
        kept = random.Generator(random.Philox4x3210(seed)).random(x.shape) >= ratio
        return kept.astype(x.dtype) / (1.0 - ratio)

    def kernel(self, name: str) -> None:
        """Leave a user's operator to its body: its functions are of arrays on the host.

        Raises
        ------
        UnsupportedError
            If it is written for CuPy all the same.
        """
        if registered(name).implementation(self.framework) is not None:
            raise UnsupportedError(
                f"custom operator '{name}' has an implementation for arrays on the host, which CuPy's are not; "
                "give it a body"
            )
