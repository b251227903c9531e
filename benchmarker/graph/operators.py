"""The operator vocabulary: one class, one method per operator, ONNX names and semantics.

A subclass gives every operator a meaning: shapes, cost, the NumPy reference, or a framework's native
program. A *primitive* must be written by each subclass; a *composite* has a body in terms of other
operators and so works everywhere at once, though a subclass may still write it natively.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Callable, TypeVar

from benchmarker.errors import UnsupportedError

Tensor = Any
"""A subclass's own idea of a tensor: a shape, an array, a symbol, a traced value."""

_Method = TypeVar("_Method", bound=Callable[..., Any])


def primitive(method: _Method) -> _Method:
    """Mark an operator that every subclass must write."""
    method.operator_kind = "primitive"  # type: ignore[attr-defined]
    return method


def composite(method: _Method) -> _Method:
    """Mark an operator whose body in terms of other operators works in every subclass."""
    method.operator_kind = "composite"  # type: ignore[attr-defined]
    return method


class Operators:
    """The vocabulary. Tensors are ``N C spatial...``; attributes are keyword-only.

    Parameters
    ----------
    training : bool
        Whether operators that differ between training and inference (batch normalization, dropout)
        behave as in training.
    """

    def __init__(self, *, training: bool = False) -> None:
        self.training = training

    def _unsupported(self, operator: str) -> Tensor:
        raise UnsupportedError(f"{type(self).__name__} has no meaning for operator '{operator}'")

    # --- convolution and pooling -------------------------------------------------------------

    @primitive
    def conv(
        self,
        x: Tensor,
        w: Tensor,
        b: Tensor | None = None,
        *,
        strides: tuple[int, ...],
        pads: tuple[int, ...],
        dilations: tuple[int, ...],
        group: int = 1,
    ) -> Tensor:
        """Convolution (ONNX ``Conv``).

        ``x`` is ``(N, C, *spatial)``, ``w`` is ``(M, C/group, *kernel)``, ``b`` is ``(M,)``; ``pads``
        holds the begins of all spatial axes, then the ends. Returns ``(N, M, *out)``.
        """
        return self._unsupported("conv")

    @primitive
    def max_pool(
        self,
        x: Tensor,
        *,
        kernel_shape: tuple[int, ...],
        strides: tuple[int, ...],
        pads: tuple[int, ...],
        ceil_mode: bool = False,
    ) -> Tensor:
        """Maximum over windows (ONNX ``MaxPool``); padding counts as minus infinity."""
        return self._unsupported("max_pool")

    @primitive
    def average_pool(
        self,
        x: Tensor,
        *,
        kernel_shape: tuple[int, ...],
        strides: tuple[int, ...],
        pads: tuple[int, ...],
        count_include_pad: bool = False,
    ) -> Tensor:
        """Mean over windows (ONNX ``AveragePool``); padding is counted only if asked for."""
        return self._unsupported("average_pool")

    @primitive
    def global_average_pool(self, x: Tensor) -> Tensor:
        """Mean over all spatial axes, which stay with size 1 (ONNX ``GlobalAveragePool``)."""
        return self._unsupported("global_average_pool")

    # --- linear algebra ----------------------------------------------------------------------

    @primitive
    def gemm(
        self,
        a: Tensor,
        b: Tensor,
        c: Tensor | None = None,
        *,
        alpha: float = 1.0,
        beta: float = 1.0,
        trans_a: bool = False,
        trans_b: bool = False,
    ) -> Tensor:
        """``alpha * a' @ b' + beta * c`` for matrices (ONNX ``Gemm``); ``c`` broadcasts to the result.

        A fully connected layer is ``gemm(x, weight, bias, trans_b=True)`` with ``weight`` of shape
        ``(out, in)``.
        """
        return self._unsupported("gemm")

    # --- normalization and elementwise -------------------------------------------------------

    @primitive
    def batch_normalization(
        self,
        x: Tensor,
        scale: Tensor,
        b: Tensor,
        mean: Tensor,
        var: Tensor,
        *,
        epsilon: float = 1e-5,
        momentum: float = 0.9,
    ) -> Tensor:
        """``scale * (x - mean) / sqrt(var + epsilon) + b`` per channel (ONNX ``BatchNormalization``).

        In training the mean and the biased variance are those of the mini-batch, and the running
        ``mean`` and ``var`` move by ``momentum * old + (1 - momentum) * batch`` as the framework does
        it natively (the running variance may be the unbiased one).
        """
        return self._unsupported("batch_normalization")

    @primitive
    def relu(self, x: Tensor) -> Tensor:
        """``max(x, 0)``; the gradient at 0 is 0."""
        return self._unsupported("relu")

    @primitive
    def sigmoid(self, x: Tensor) -> Tensor:
        """``1 / (1 + exp(-x))``."""
        return self._unsupported("sigmoid")

    @primitive
    def tanh(self, x: Tensor) -> Tensor:
        """Hyperbolic tangent."""
        return self._unsupported("tanh")

    @primitive
    def add(self, a: Tensor, b: Tensor) -> Tensor:
        """``a + b`` with broadcasting."""
        return self._unsupported("add")

    @primitive
    def mul(self, a: Tensor, b: Tensor) -> Tensor:
        """``a * b`` with broadcasting."""
        return self._unsupported("mul")

    @primitive
    def dropout(self, x: Tensor, *, ratio: float = 0.5) -> Tensor:
        """In training, zero each element with probability ``ratio`` and divide the rest by ``1 - ratio``.

        The mask comes from the framework's own generator. In inference: ``x``.
        """
        return self._unsupported("dropout")

    @primitive
    def softmax(self, x: Tensor, *, axis: int = -1) -> Tensor:
        """Softmax along ``axis``."""
        return self._unsupported("softmax")

    @composite
    def silu(self, x: Tensor) -> Tensor:
        """``x * sigmoid(x)`` (ONNX ``Swish`` with alpha 1)."""
        return self.mul(x, self.sigmoid(x))

    @primitive
    def reduce_mean(self, x: Tensor) -> Tensor:
        """Mean of all elements, a scalar (ONNX ``ReduceMean`` without axes and ``keepdims=0``)."""
        return self._unsupported("reduce_mean")

    # --- shapes ------------------------------------------------------------------------------

    @primitive
    def reshape(self, x: Tensor, *, shape: tuple[int, ...]) -> Tensor:
        """Reshape; ``0`` keeps the input's size of that axis, one ``-1`` is inferred (ONNX ``Reshape``)."""
        return self._unsupported("reshape")

    @primitive
    def transpose(self, x: Tensor, *, perm: tuple[int, ...]) -> Tensor:
        """Permute the axes (ONNX ``Transpose``)."""
        return self._unsupported("transpose")

    @composite
    def flatten(self, x: Tensor) -> Tensor:
        """``(N, ...)`` to ``(N, product of the rest)`` (ONNX ``Flatten`` with axis 1)."""
        return self.reshape(x, shape=(0, -1))

    # --- recurrent ---------------------------------------------------------------------------

    @primitive
    def lstm(
        self, x: Tensor, w: Tensor, r: Tensor, b: Tensor, *, hidden_size: int
    ) -> tuple[Tensor, Tensor, Tensor]:
        """One forward LSTM layer (ONNX ``LSTM``, zero initial state).

        ``x`` is ``(T, N, I)``, ``w`` ``(1, 4H, I)``, ``r`` ``(1, 4H, H)``, ``b`` ``(1, 8H)`` (input
        then recurrent bias), gate order i, o, f, c. Returns ``y (T, 1, N, H)``, ``y_h (1, N, H)``
        and ``y_c (1, N, H)``.
        """
        unsupported: tuple[Tensor, Tensor, Tensor] = self._unsupported("lstm")
        return unsupported

    # --- losses ------------------------------------------------------------------------------

    @primitive
    def softmax_cross_entropy_loss(self, scores: Tensor, labels: Tensor) -> Tensor:
        """Mean over the mini-batch of ``-log softmax(scores)[label]`` (ONNX ``SoftmaxCrossEntropyLoss``).

        ``scores`` is ``(N, C)``, ``labels`` is ``(N,)`` int64; returns a scalar.
        """
        return self._unsupported("softmax_cross_entropy_loss")


@dataclass(frozen=True)
class OperatorInfo:
    """What is known of an operator without any meaning: its kind, tensor arguments and attributes."""

    name: str
    kind: str
    tensors: tuple[str, ...]
    attributes: Mapping[str, Any]
    """Attribute name to default; :data:`REQUIRED` where there is none."""


REQUIRED = inspect.Parameter.empty


def _describe(name: str, method: Callable[..., Any]) -> OperatorInfo:
    parameters = list(inspect.signature(method).parameters.values())[1:]
    tensors = tuple(p.name for p in parameters if p.kind is not p.KEYWORD_ONLY)
    attributes = {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}
    kind: str = method.operator_kind  # type: ignore[attr-defined]
    return OperatorInfo(name, kind, tensors, attributes)


OPERATORS: Mapping[str, OperatorInfo] = {
    name: _describe(name, method)
    for name, method in vars(Operators).items()
    if hasattr(method, "operator_kind")
}
"""Every operator of the vocabulary, by name."""


def native_operators(meaning: type[Operators]) -> frozenset[str]:
    """Return the operators that ``meaning`` writes itself. Imports and runs nothing."""
    return frozenset(name for name in OPERATORS if getattr(meaning, name) is not getattr(Operators, name))
