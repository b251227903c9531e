"""Users' own operators in TensorFlow: called as they are, or bridged to with ``tf.numpy_function``."""

from __future__ import annotations

from typing import Any

from benchmarker.graph.custom import NativeFunction, registered
from benchmarker.plugins.common.axis_orders import graph_order
from benchmarker.plugins.common.custom.arrays import ArrayKernel, array_kernel, output_shapes
from benchmarker.plugins.tensorflow.layout_operators import Arranging
from benchmarker.plugins.tensorflow.tensors import Tensor


class Customs(Arranging):
    """One operator for all that users bring."""

    framework = "tensorflow"

    def custom(self, *xs: Tensor, name: str) -> Any:
        operator = registered(name)
        implementation = operator.implementation(self.framework)
        if implementation is None:
            return super().custom(*xs, name=name)
        values = [self.tf.convert_to_tensor(self.plain(x)) for x in xs]
        if isinstance(implementation, NativeFunction):
            found = implementation.make()(*values)
        else:
            kernel = array_kernel(operator, self.framework)
            assert kernel is not None
            found = self._bridged(kernel, values)
        outputs = tuple(found) if isinstance(found, (tuple, list)) else (found,)
        tensors = tuple(Tensor(y, graph_order(len(y.shape))) for y in outputs)
        return tensors if len(tensors) > 1 else tensors[0]

    def _bridged(self, kernel: ArrayKernel, values: list[Any]) -> Any:
        """Call the kernel in the graph, with a gradient of its own."""
        tf = self.tf
        shapes = output_shapes(kernel.operator, [_Described(value) for value in values])
        floating = next(value.dtype for value in values if value.dtype.is_floating)
        needed = tuple(value.dtype.is_floating for value in values)

        def backward(*arrays: Any) -> list[Any]:
            inputs, rest = arrays[: len(values)], arrays[len(values) :]
            found = kernel.backward(inputs, rest[: len(shapes)], rest[len(shapes) :], needed)
            return [g if g is not None else x * 0 for g, x, wanted in zip(found, inputs, needed) if wanted]

        @tf.custom_gradient  # type: ignore[untyped-decorator]
        def bridge(*inputs: Any) -> Any:
            outputs = tf.numpy_function(
                lambda *arrays: kernel.forward(arrays), inputs, [floating] * len(shapes)
            )
            for y, shape in zip(outputs, shapes):
                y.set_shape(shape)

            def gradient(*upstream: Any) -> Any:
                kept = [x for x, wanted in zip(inputs, needed) if wanted]
                found = tf.numpy_function(backward, (*inputs, *outputs, *upstream), [x.dtype for x in kept])
                for g, x in zip(found, kept):
                    g.set_shape(x.shape)
                left = iter(found)
                return tuple(next(left) if wanted else None for wanted in needed)

            return tuple(outputs), gradient

        return bridge(*values)


class _Described:
    """Shape and element type of a tensor, by NumPy's names."""

    def __init__(self, value: Any) -> None:
        self.shape, self.dtype = tuple(value.shape), value.dtype.name
