"""Users' own operators in PyTorch: called as they are, or bridged to with a function of autograd's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarker.errors import UnsupportedError
from benchmarker.graph.custom import CppSource, CustomOperator, NativeFunction, registered
from benchmarker.graph.operators import Tensor
from benchmarker.plugins.common.custom.arrays import ArrayKernel, array_kernel, output_shapes
from benchmarker.plugins.common.custom.library import Memory, library_of
from benchmarker.plugins.pytorch.tracing import TracedOperators

Tensors = Sequence[Any]


class CustomOperators(TracedOperators):
    """One operator for all that users bring."""

    framework = "pytorch"

    def custom(self, *xs: Tensor, name: str) -> Any:
        operator = registered(name)
        function = native_function(operator)
        if function is None:
            return super().custom(*xs, name=name)
        y = xs[0].tracer.create_proxy("call_function", function, xs, {})
        return tuple(y[i] for i in range(operator.outputs)) if operator.outputs > 1 else y


def native_function(operator: CustomOperator) -> Callable[..., Any] | None:
    """Return the operator as a function of tensors, compiled by now; None if its body runs."""
    implementation = operator.implementation("pytorch")
    if implementation is None:
        return None
    if isinstance(implementation, NativeFunction):
        native = implementation.make()

        def call_native(*tensors: Any) -> Any:
            return native(*tensors)

        return call_native
    if isinstance(implementation, CppSource):
        return _bridge(_Compiled(operator, implementation))
    kernel = array_kernel(operator, "pytorch")
    assert kernel is not None
    return _bridge(_OnArrays(kernel))


class _OnArrays:
    """Forward and backward by way of NumPy, which shares the memory of tensors on a processor."""

    def __init__(self, kernel: ArrayKernel) -> None:
        self._kernel = kernel

    def forward(self, inputs: Tensors) -> list[Any]:
        return [_tensor(y, inputs[0]) for y in self._kernel.forward(_arrays(inputs))]

    def backward(
        self, inputs: Tensors, outputs: Tensors, gradients: Tensors, needed: Sequence[bool]
    ) -> list[Any]:
        found = self._kernel.backward(_arrays(inputs), _arrays(outputs), _arrays(gradients), needed)
        return [None if g is None else _tensor(g, inputs[0]) for g in found]


def _arrays(tensors: Tensors) -> list[Any]:
    return [tensor.detach().cpu().numpy() for tensor in tensors]


def _tensor(array: Any, like: Any) -> Any:
    import torch

    return torch.from_numpy(np.asarray(array, order="C")).to(like.device)


class _Compiled:
    """Forward and backward in compiled functions, on the tensors' own memory."""

    def __init__(self, operator: CustomOperator, source: CppSource) -> None:
        self._operator = operator
        self._source = source
        self._library = library_of(source)

    def forward(self, inputs: Tensors) -> list[Any]:
        import torch

        held = self._contiguous(inputs)
        dtype = next((x.dtype for x in held if x.is_floating_point()), torch.float32)
        shapes = output_shapes(self._operator, _Described.of(held))
        outputs = [torch.empty(shape, dtype=dtype, device=held[0].device) for shape in shapes]
        self._library.forward(_memories(held), _memories(outputs))
        return outputs

    def backward(
        self, inputs: Tensors, outputs: Tensors, gradients: Tensors, needed: Sequence[bool]
    ) -> list[Any]:
        import torch

        held = self._contiguous(inputs)
        found = [torch.empty_like(x) if wanted else None for x, wanted in zip(held, needed)]
        wanted = [
            Memory(None if g is None else g.data_ptr(), tuple(x.shape), _dtype(x))
            for x, g in zip(held, found)
        ]
        rest = [self._contiguous(group) for group in (outputs, gradients)]
        self._library.backward(_memories(held), *map(_memories, rest), wanted)
        return found

    def _contiguous(self, tensors: Tensors) -> list[Any]:
        where = "cuda" if self._source.is_cuda else "cpu"
        if any(tensor.device.type != where for tensor in tensors):
            raise UnsupportedError(
                f"custom operator '{self._operator.name}' is compiled for device {where}, got a tensor on "
                f"{tensors[0].device.type}"
            )
        return [tensor.detach().contiguous() for tensor in tensors]


class _Described:
    """Shape and element type of a tensor, by NumPy's names."""

    def __init__(self, tensor: Any) -> None:
        self.shape, self.dtype = tuple(tensor.shape), _dtype(tensor)

    @staticmethod
    def of(tensors: Tensors) -> list[_Described]:
        return [_Described(tensor) for tensor in tensors]


def _dtype(tensor: Any) -> str:
    return str(tensor.dtype).rpartition(".")[2]


def _memories(tensors: Tensors) -> list[Memory]:
    return [Memory(t.data_ptr(), tuple(t.shape), _dtype(t)) for t in tensors]


def _bridge(kernel: _OnArrays | _Compiled) -> Callable[..., Any]:
    """Return the kernel as a function that autograd goes back through."""
    import torch

    class Bridge(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(context: Any, *inputs: Any) -> Any:
            outputs = kernel.forward(inputs)
            context.save_for_backward(*inputs, *outputs)
            return tuple(outputs) if len(outputs) > 1 else outputs[0]

        @staticmethod
        def backward(context: Any, *gradients: Any) -> Any:
            saved, count = context.saved_tensors, len(context.needs_input_grad)
            return tuple(kernel.backward(saved[:count], saved[count:], gradients, context.needs_input_grad))

    def call_bridge(*tensors: Any) -> Any:
        return Bridge.apply(*tensors)

    return call_bridge
