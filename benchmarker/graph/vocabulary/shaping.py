"""Operators that move elements."""

from __future__ import annotations

from benchmarker.graph.attributes import Slice
from benchmarker.graph.vocabulary.base import Tensor, Vocabulary, primitive


class ShapingOperators(Vocabulary):
    """Operators that move elements."""

    @primitive
    def reshape(self, x: Tensor, *, shape: tuple[int, ...]) -> Tensor:
        """Reshape; ``0`` keeps the input's size of that axis, one ``-1`` is inferred (ONNX ``Reshape``)."""
        return self._unsupported("reshape")

    @primitive
    def transpose(self, x: Tensor, *, perm: tuple[int, ...]) -> Tensor:
        """Permute the axes (ONNX ``Transpose``)."""
        return self._unsupported("transpose")

    @primitive
    def concat(self, *xs: Tensor, axis: int) -> Tensor:
        """Join two tensors or more along ``axis`` (ONNX ``Concat``)."""
        return self._unsupported("concat")

    @primitive
    def split(self, x: Tensor, *, axis: int, num_outputs: int) -> tuple[Tensor, ...]:
        """Cut ``axis`` into ``num_outputs`` equal parts, two or more (ONNX ``Split``)."""
        unsupported: tuple[Tensor, ...] = self._unsupported("split")
        return unsupported

    @primitive
    def slice(self, x: Tensor, *, taken: Slice) -> Tensor:
        """Take a part of each of some axes (ONNX ``Slice``)."""
        return self._unsupported("slice")

    @primitive
    def pad(self, x: Tensor, *, pads: tuple[int, ...], value: float = 0.0) -> Tensor:
        """Surround with ``value`` (ONNX ``Pad``); ``pads`` are the begins of all axes, then the ends."""
        return self._unsupported("pad")

    @primitive
    def expand(self, x: Tensor, *, shape: tuple[int, ...]) -> Tensor:
        """Broadcast to ``shape`` (ONNX ``Expand``)."""
        return self._unsupported("expand")
