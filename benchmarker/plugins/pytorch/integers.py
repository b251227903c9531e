"""Products of 8-bit integers: oneDNN's kernels as PyTorch's own compiler calls them for quantized graphs.

A value that is dequantized remembers the integers that it was made of. A product of two of them takes these instead,
and what nobody reads then is left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarker.errors import UnsupportedError
from benchmarker.graph.attributes import Gemm
from benchmarker.graph.operators import Tensor
from benchmarker.graph.windows import Window
from benchmarker.plugins.pytorch.operators import PytorchOperators
from benchmarker.plugins.pytorch.quantizing import (
    channels_in_steps,
    dequantized,
    dequantized_channels,
    in_steps,
)
from benchmarker.plugins.pytorch.tracing import pad_argument, shape_of
from benchmarker.quick_dataclass import dataclass

if TYPE_CHECKING:
    from benchmarker.plugins.pytorch import Options

FLOAT = (1.0, 0, False)
"""Step, zero and roundness of a result that is not quantized."""


def require_integers(options: Options) -> None:
    """Refuse where PyTorch was built without these kernels, as for other processors, and to compile them."""
    import torch

    if options.compile:
        raise UnsupportedError(
            "weights that are packed for kernels of integers are not compiled; use compile=false"
        )
    if not hasattr(torch.ops.onednn, "qlinear_pointwise") or not torch.backends.mkldnn.is_available():
        raise UnsupportedError("PyTorch has no products of 8-bit integers on this processor; use fp32")


@dataclass(frozen=True)
class _Held:
    """A traced value as integers: ``step`` (one number, or one for each channel along ``axis``) and which is zero."""

    q: Tensor
    step: Any
    zero: int
    axis: int | None


def _held(x: Tensor) -> _Held | None:
    """Return the integers that a value was made of; None if it was not."""
    node = x.node
    if node.target not in (dequantized, dequantized_channels):
        return None
    import torch

    q, *rest = node.args
    proxy = torch.fx.Proxy(q, x.tracer)
    return (
        _Held(proxy, rest[0], rest[1], None)
        if node.target is dequantized
        else _Held(proxy, rest[0], 0, rest[1])
    )


def _factors(x: Tensor, w: Tensor, *, axis: int) -> tuple[_Held, _Held] | tuple[None, None]:
    """Return a tensor of one step and a weight with channels along ``axis``; None for both unless they are that."""
    held, weight = _held(x), _held(w)
    if held is None or weight is None or held.axis is not None or weight.axis != axis:
        return None, None
    return held, weight


class IntegerOperators(PytorchOperators):
    """The vocabulary with products in integers where both factors are: one a tensor, the other a weight's channels."""

    def quantize_dequantize(
        self,
        x: Tensor,
        *,
        scale: tuple[float, ...],
        zero_point: int = 0,
        axis: int | None = None,
        signed: bool = True,
        bits: int = 8,
    ) -> Tensor:
        if axis is None and bits == 8 and not signed:
            (step,) = scale
            return self._call(dequantized, self._call(in_steps, x, step, zero_point), step, zero_point)
        if axis is not None and bits == 8 and signed and zero_point == 0:
            return self._call(
                dequantized_channels, self._call(channels_in_steps, x, scale, axis), scale, axis
            )
        return super().quantize_dequantize(
            x, scale=scale, zero_point=zero_point, axis=axis, signed=signed, bits=bits
        )

    def conv(self, x: Tensor, w: Tensor, b: Tensor | None = None, *, window: Window) -> Tensor:
        held, weight = _factors(x, w, axis=0)
        if held is None or weight is None or window.rank > 3:
            return super().conv(x, w, b, window=window)
        padding, q = window.begins, held.q
        if not window.is_symmetric:
            q = self._functional.pad(q, pad_argument(window.pairs), value=held.zero)
            padding = (0,) * window.rank
        where = (window.strides, padding, window.dilations, window.group)
        packed = self._call(packed_convolution, weight.q, weight.step, held.step, held.zero, where)
        return self._call(convolution, q, held.step, held.zero, packed, b, where, FLOAT, "none")

    def gemm(self, a: Tensor, b: Tensor, c: Tensor | None = None, *, product: Gemm) -> Tensor:
        held, weight = _factors(a, b, axis=0 if product.trans_b else 1)
        plain = not product.trans_a and product.alpha == 1.0 and (c is None or product.beta == 1.0)
        if not plain or held is None or weight is None:
            return super().gemm(a, b, c, product=product)
        if c is None or shape_of(c.node) == (len(weight.step),):
            return self._product(held, weight, c)
        return self._torch.add(self._product(held, weight, None), c)

    def matmul(self, a: Tensor, b: Tensor) -> Tensor:
        held, weight = _factors(a, b, axis=1)
        if held is None or weight is None:
            return super().matmul(a, b)
        return self._product(held, weight, None)

    def _product(self, held: _Held, weight: _Held, bias: Tensor | None) -> Tensor:
        rows = weight.q if weight.axis == 0 else weight.q.t()
        packed = self._call(packed_matrix, rows, weight.step)
        return self._call(linear, held.q, held.step, held.zero, packed, bias, FLOAT, "none")


def packed_convolution(weight: Any, steps: Any, step: float, zero: int, where: Any) -> Any:
    """Return a weight as its kernel takes it, the steps of its channels, and that their zero is 0."""
    import torch

    scales = torch.tensor(steps)
    packed = torch.ops.onednn.qconv_prepack(weight.contiguous(), scales, step, zero, *where, None)
    return packed, scales, torch.zeros(len(steps), dtype=torch.int64)


def packed_matrix(rows: Any, steps: Any) -> Any:
    """Return a weight of shape (results, operands) so."""
    import torch

    packed = torch.ops.onednn.qlinear_prepack(rows.contiguous(), None)
    return packed, torch.tensor(steps), torch.zeros(len(steps), dtype=torch.int64)


def convolution(
    q: Any, step: float, zero: int, packed: Any, bias: Any, where: Any, result: Any, after: str
) -> Any:
    """Convolve integers; the result is quantized as ``result`` tells, after the rectifier if there is one."""
    import torch

    scale, zero_point, rounded = result
    type_ = torch.uint8 if rounded else torch.float32
    y: Any = torch.ops.onednn.qconv_pointwise(
        q, step, zero, *packed, bias, *where, scale, zero_point, type_, after, [], ""
    )
    return y


def linear(q: Any, step: float, zero: int, packed: Any, bias: Any, result: Any, after: str) -> Any:
    """Multiply integers by the rows of a weight, likewise."""
    import torch

    scale, zero_point, rounded = result
    type_ = torch.uint8 if rounded else torch.float32
    y: Any = torch.ops.onednn.qlinear_pointwise(
        q, step, zero, *packed, bias, scale, zero_point, type_, after, [], ""
    )
    return y


def integer_products(traced: Any) -> int:
    """Return how many products of a traced graph are of integers."""
    return sum(node.target in (convolution, linear) for node in traced.nodes)


def round_in_kernels(traced: Any) -> None:
    """Have kernels give the integers themselves where theirs is rounded at once, or after a rectifier.

    Parameters
    ----------
    traced : torch.fx.Graph
        Without dead code; changed in place.
    """
    import torch

    for node in traced.nodes:
        if node.target is not in_steps:
            continue
        rounded, step, zero = node.args
        rectified = rounded.target is torch.relu
        made = rounded.args[0] if rectified else rounded
        if made.target not in (convolution, linear) or {len(rounded.users), len(made.users)} != {1}:
            continue
        made.args = (*made.args[:-2], (step, zero, True), "relu" if rectified else "none")
        made.meta["shape"] = None
        node.replace_all_uses_with(made)
    traced.eliminate_dead_code()
