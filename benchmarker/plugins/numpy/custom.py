"""Users' own operators on NumPy arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarker.graph.custom import registered
from benchmarker.plugins.common.custom.arrays import ArrayKernel, array_kernel
from benchmarker.plugins.numpy.base import ArrayOperators, Call, Gradients, InputGradients

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


class CustomOperators(ArrayOperators):
    """One operator for all that users bring."""

    def custom(self, *xs: Array, name: str) -> Any:
        kernel = self.kernel(name)
        if kernel is None:
            return super().custom(*xs, name=name)
        outputs = kernel.forward(xs)
        return outputs if len(outputs) > 1 else outputs[0]

    def kernel(self, name: str) -> ArrayKernel | None:
        """Return what runs the operator of that name on arrays; None if its body does."""
        return array_kernel(registered(name), self.framework)


def custom_gradient(call: Call) -> InputGradients:
    """The implementation's own."""
    kernel: ArrayKernel = call.attributes["kernel"]
    return kernel.backward(call.inputs, call.outputs, call.gradients, call.needed)


GRADIENTS: Gradients = {"custom": custom_gradient}
