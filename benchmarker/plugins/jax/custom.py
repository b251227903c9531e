"""Users' own operators in JAX: called as they are, or bridged to with ``jax.pure_callback``."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarker.graph.custom import NativeFunction, registered
from benchmarker.plugins.common.custom.arrays import ArrayKernel, array_kernel, output_shapes
from benchmarker.plugins.jax.layout_operators import Arranging
from benchmarker.plugins.jax.tensors import Tensor


class Customs(Arranging):
    """One operator for all that users bring."""

    framework = "jax"

    def custom(self, *xs: Tensor, name: str) -> Any:
        operator = registered(name)
        implementation = operator.implementation(self.framework)
        if implementation is None:
            return super().custom(*xs, name=name)
        values = [self.plain(x) for x in xs]
        if isinstance(implementation, NativeFunction):
            found = implementation.make()(*values)
        else:
            kernel = array_kernel(operator, self.framework)
            assert kernel is not None
            found = self._bridged(kernel, values)
        outputs = tuple(found) if isinstance(found, (tuple, list)) else (found,)
        tensors = tuple(Tensor(y) for y in outputs)
        return tensors if len(tensors) > 1 else tensors[0]

    def _bridged(self, kernel: ArrayKernel, values: list[Any]) -> Any:
        """Call the kernel from the compiled program, with a gradient of its own."""
        jax = self.jax
        needed = tuple(bool(np.issubdtype(value.dtype, np.floating)) for value in values)
        floating = next(value.dtype for value in values if np.issubdtype(value.dtype, np.floating))
        if floating == np.float64:
            # A callback runs in a thread of JAX's own, where no setting of this one holds.
            jax.config.update("jax_enable_x64", True)
        shapes = output_shapes(kernel.operator, values)
        forward_types = tuple(jax.ShapeDtypeStruct(shape, floating) for shape in shapes)
        kept = [value for value, wanted in zip(values, needed) if wanted]
        backward_types = tuple(jax.ShapeDtypeStruct(value.shape, value.dtype) for value in kept)

        def on_arrays(*inputs: Any) -> Any:
            return kernel.forward([np.asarray(x) for x in inputs])

        def gradient_on_arrays(inputs: Any, outputs: Any, upstream: Any) -> Any:
            xs, ys, dys = ([np.asarray(x) for x in group] for group in (inputs, outputs, upstream))
            pairs = zip(kernel.backward(xs, ys, dys, needed), xs, needed)
            return tuple(g if g is not None else np.zeros_like(x) for g, x, wanted in pairs if wanted)

        @jax.custom_vjp  # type: ignore[untyped-decorator]
        def bridge(*inputs: Any) -> Any:
            return jax.pure_callback(on_arrays, forward_types, *inputs)

        def forward(*inputs: Any) -> Any:
            outputs = bridge(*inputs)
            return outputs, (inputs, outputs)

        def backward(saved: Any, upstream: Any) -> Any:
            left = iter(jax.pure_callback(gradient_on_arrays, backward_types, *saved, upstream))
            return tuple(
                next(left) if wanted else np.zeros(x.shape, jax.dtypes.float0)
                for x, wanted in zip(saved[0], needed)
            )

        bridge.defvjp(forward, backward)
        return bridge(*values)
