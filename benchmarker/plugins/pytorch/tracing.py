"""What all operators of PyTorch share: they call PyTorch's own functions on values that ``torch.fx`` traces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarker.errors import UnsupportedError
from benchmarker.graph.operators import Operators, Tensor
from benchmarker.graph.types import TensorType
from benchmarker.graph.windows import Pairs

_SHAPE = "shape"
"""Where a node of ``torch.fx`` remembers its shape."""


def with_shape(x: Tensor, type_: TensorType) -> Tensor:
    """Note the shape of a traced value (for lowering alone; nothing of it is in the program).

    A value of several native tensors has none.
    """
    if not isinstance(x, tuple):
        x.node.meta[_SHAPE] = type_.shape
    return x


def shape_of(node: Any) -> tuple[int, ...] | None:
    """Return the shape of a node as far as it is known; inside a composite it is not."""
    shape: tuple[int, ...] | None = node.meta.get(_SHAPE)
    return shape


def pad_argument(pairs: Pairs) -> list[int]:
    """Return the pads in the order of ``torch.nn.functional.pad``: last axis first, begin before end."""
    return [size for pair in reversed(pairs) for size in pair]


class TracedOperators(Operators):
    """Every tensor is a ``torch.fx.Proxy``: each call becomes a line of the generated program.

    Parameters
    ----------
    training : bool
        Whether batch normalization uses the mini-batch and dropout drops.
    dropout : bool
        Whether dropout drops at all; off to compare gradients with other frameworks.
    dtype : torch.dtype, optional
        The program's floating type; float32 by default.
    """

    def __init__(self, *, training: bool = False, dropout: bool = True, dtype: Any = None) -> None:
        super().__init__(training=training)
        import torch

        self._torch: Any = torch
        self._functional: Any = torch.nn.functional
        self._dtype = dtype or torch.float32
        self._drops = training and dropout

    def _by_rank(self, module: Any, name: str, rank: int) -> Callable[..., Tensor]:
        if not 1 <= rank <= 3:
            raise UnsupportedError(f"PyTorch's {name} takes 1, 2 or 3 spatial axes, not {rank}")
        function: Callable[..., Tensor] = getattr(module, f"{name}{rank}d")
        return function

    @staticmethod
    def _call(function: Callable[..., Tensor], x: Tensor, *arguments: Any) -> Tensor:
        """Make one line of the program of a function of ours that needs the sizes of ``x``."""
        return x.tracer.create_proxy("call_function", function, (x, *arguments), {})
