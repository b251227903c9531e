"""The operator vocabulary: one class, one method per operator, ONNX names and semantics.

A subclass gives every operator a meaning: shapes, cost, the NumPy reference, or a framework's native
program. A *primitive* must be written by each subclass; a *composite* has a body in terms of other
operators and so works everywhere at once, though a subclass may still write it natively.
"""

from __future__ import annotations

import inspect
import math
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

    @primitive
    def conv_transpose(
        self,
        x: Tensor,
        w: Tensor,
        b: Tensor | None = None,
        *,
        strides: tuple[int, ...],
        pads: tuple[int, ...],
        output_padding: tuple[int, ...],
        dilations: tuple[int, ...],
        group: int = 1,
    ) -> Tensor:
        """Transposed convolution (ONNX ``ConvTranspose``).

        ``x`` is ``(N, C, *spatial)``, ``w`` is ``(C, M/group, *kernel)``, ``b`` is ``(M,)``. An axis of
        size ``i`` becomes ``stride * (i - 1) + output_padding + (kernel - 1) * dilation + 1 - pads``.
        """
        return self._unsupported("conv_transpose")

    @primitive
    def resize(self, x: Tensor, *, sizes: tuple[int, ...], mode: str = "nearest") -> Tensor:
        """Resize the spatial axes of ``(N, C, H, W)`` to ``sizes`` (ONNX ``Resize``).

        ``nearest`` repeats each element (``asymmetric``, ``floor``; each size a multiple of the old one);
        ``linear`` interpolates between the centres of pixels (``half_pixel``, no antialiasing, the
        border repeated outside).
        """
        return self._unsupported("resize")

    # --- linear algebra ----------------------------------------------------------------------

    @primitive
    def matmul(self, a: Tensor, b: Tensor) -> Tensor:
        """Matrix products of the last two axes (ONNX ``MatMul``), the axes before them broadcast.

        Both have two axes at least.
        """
        return self._unsupported("matmul")

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
    def sub(self, a: Tensor, b: Tensor) -> Tensor:
        """``a - b`` with broadcasting."""
        return self._unsupported("sub")

    @primitive
    def div(self, a: Tensor, b: Tensor) -> Tensor:
        """``a / b`` with broadcasting."""
        return self._unsupported("div")

    @primitive
    def affine(self, x: Tensor, *, alpha: float = 1.0, beta: float = 0.0) -> Tensor:
        """``alpha * x + beta`` with constants (ONNX ``Mul`` and ``Add``)."""
        return self._unsupported("affine")

    @primitive
    def exp(self, x: Tensor) -> Tensor:
        """Exponential."""
        return self._unsupported("exp")

    @primitive
    def log(self, x: Tensor) -> Tensor:
        """Natural logarithm."""
        return self._unsupported("log")

    @primitive
    def sqrt(self, x: Tensor) -> Tensor:
        """Square root."""
        return self._unsupported("sqrt")

    @primitive
    def abs(self, x: Tensor) -> Tensor:
        """Absolute value; the gradient at 0 is 0."""
        return self._unsupported("abs")

    @primitive
    def erf(self, x: Tensor) -> Tensor:
        """Error function."""
        return self._unsupported("erf")

    @primitive
    def clip(self, x: Tensor, *, min: float, max: float) -> Tensor:
        """``x`` held between ``min`` and ``max``; the gradient is 0 outside. ReLU6 is ``min=0, max=6``."""
        return self._unsupported("clip")

    @primitive
    def leaky_relu(self, x: Tensor, *, alpha: float = 0.01) -> Tensor:
        """``x`` where it is positive, else ``alpha * x``."""
        return self._unsupported("leaky_relu")

    @primitive
    def softplus(self, x: Tensor) -> Tensor:
        """``log(1 + exp(x))``, which does not overflow."""
        return self._unsupported("softplus")

    @primitive
    def cast(self, x: Tensor) -> Tensor:
        """Integers as values of the program's floating type (ONNX ``Cast``); nothing flows back."""
        return self._unsupported("cast")

    @primitive
    def stop_gradient(self, x: Tensor) -> Tensor:
        """``x``, through which nothing flows back (ONNX ``Identity``)."""
        return self._unsupported("stop_gradient")

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

    @primitive
    def log_softmax(self, x: Tensor, *, axis: int = -1) -> Tensor:
        """Logarithm of the softmax along ``axis``."""
        return self._unsupported("log_softmax")

    @composite
    def gelu(self, x: Tensor, *, approximate: str = "none") -> Tensor:
        """``x * Phi(x)`` (ONNX ``Gelu``; Hendrycks & Gimpel 2016, arXiv 1606.08415, section 2).

        ``approximate="tanh"`` takes the paper's approximation
        ``0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))``.
        """
        if approximate == "tanh":
            cube = self.mul(x, self.mul(x, x))
            inner = self.add(x, self.affine(cube, alpha=0.044715))
            gate = self.tanh(self.affine(inner, alpha=math.sqrt(2.0 / math.pi)))
        else:
            gate = self.erf(self.affine(x, alpha=math.sqrt(0.5)))
        return self.mul(x, self.affine(gate, alpha=0.5, beta=0.5))

    @composite
    def silu(self, x: Tensor) -> Tensor:
        """``x * sigmoid(x)`` (ONNX ``Swish`` with alpha 1)."""
        return self.mul(x, self.sigmoid(x))

    # --- normalization over features ---------------------------------------------------------

    @primitive
    def layer_normalization(
        self, x: Tensor, scale: Tensor, b: Tensor, *, axis: int = -1, epsilon: float = 1e-5
    ) -> Tensor:
        """Normalize over ``axis`` and those after it (ONNX ``LayerNormalization``), biased variance.

        ``scale`` and ``b`` have the shape of those axes.
        """
        return self._unsupported("layer_normalization")

    @primitive
    def group_normalization(
        self, x: Tensor, scale: Tensor, b: Tensor, *, num_groups: int, epsilon: float = 1e-5
    ) -> Tensor:
        """Normalize each of ``num_groups`` groups of channels (ONNX ``GroupNormalization``, opset 21).

        ``x`` is ``(N, C, *spatial)``, ``scale`` and ``b`` are ``(C,)``.
        """
        return self._unsupported("group_normalization")

    @composite
    def rms_normalization(self, x: Tensor, scale: Tensor, *, epsilon: float = 1e-5) -> Tensor:
        """``scale * x / sqrt(mean(x^2) + epsilon)`` over the last axis (ONNX ``RMSNormalization``).

        Zhang & Sennrich 2019, arXiv 1910.07467, equation 4.
        """
        mean = self.reduce_mean(self.mul(x, x), axes=(-1,), keepdims=True)
        return self.mul(self.div(x, self.sqrt(self.affine(mean, beta=epsilon))), scale)

    # --- reductions --------------------------------------------------------------------------

    @primitive
    def reduce_mean(self, x: Tensor, *, axes: tuple[int, ...] = (), keepdims: bool = False) -> Tensor:
        """Mean over ``axes`` (ONNX ``ReduceMean``); over all of them, to a scalar, if there are none."""
        return self._unsupported("reduce_mean")

    @primitive
    def reduce_sum(self, x: Tensor, *, axes: tuple[int, ...] = (), keepdims: bool = False) -> Tensor:
        """Sum over ``axes`` (ONNX ``ReduceSum``); over all of them, to a scalar, if there are none."""
        return self._unsupported("reduce_sum")

    @primitive
    def reduce_max(self, x: Tensor, *, axes: tuple[int, ...] = (), keepdims: bool = False) -> Tensor:
        """Maximum over ``axes`` (ONNX ``ReduceMax``); over all of them, to a scalar, if there are none."""
        return self._unsupported("reduce_max")

    @primitive
    def top_k(self, x: Tensor, *, k: int) -> Tensor:
        """The ``k`` largest values along the last axis, largest first (the first result of ONNX ``TopK``)."""
        return self._unsupported("top_k")

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
    def slice(
        self,
        x: Tensor,
        *,
        axes: tuple[int, ...],
        starts: tuple[int, ...],
        ends: tuple[int, ...],
        steps: tuple[int, ...] = (),
    ) -> Tensor:
        """Take ``start:end:step`` of each of ``axes`` (ONNX ``Slice``).

        Axes, starts and ends count from the front; an end is at most the axis's size. No steps are steps
        of 1.
        """
        return self._unsupported("slice")

    @primitive
    def pad(self, x: Tensor, *, pads: tuple[int, ...], value: float = 0.0) -> Tensor:
        """Surround with ``value`` (ONNX ``Pad``); ``pads`` are the begins of all axes, then the ends."""
        return self._unsupported("pad")

    @primitive
    def expand(self, x: Tensor, *, shape: tuple[int, ...]) -> Tensor:
        """Broadcast to ``shape`` (ONNX ``Expand``)."""
        return self._unsupported("expand")

    @primitive
    def gather(self, x: Tensor, indices: Tensor, *, axis: int = 0) -> Tensor:
        """Take whole slices of ``x`` along ``axis`` (ONNX ``Gather``); with axis 0 a table's rows.

        ``indices`` is int64 of any shape, each at least 0 and below the axis's size; its shape takes the
        axis's place.
        """
        return self._unsupported("gather")

    @primitive
    def gather_elements(self, x: Tensor, indices: Tensor, *, axis: int = -1) -> Tensor:
        """Take the element at each index along ``axis`` (ONNX ``GatherElements``).

        ``indices`` is int64 with the shape of ``x`` but for that axis.
        """
        return self._unsupported("gather_elements")

    # --- attention ---------------------------------------------------------------------------

    @primitive
    def causal_mask(self, x: Tensor) -> Tensor:
        """Scores ``(..., L, L)`` with minus infinity where the key (last axis) comes after the query."""
        return self._unsupported("causal_mask")

    @composite
    def attention(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        mask: Tensor | None = None,
        *,
        scale: float,
        is_causal: bool = False,
    ) -> Tensor:
        """``softmax(scale * q k^T + mask) v`` for each head (ONNX ``Attention``).

        Vaswani et al. 2017, arXiv 1706.03762, equation 1. ``q`` is ``(N, heads, L, d)``, ``k`` is
        ``(N, heads, S, d)``, ``v`` is ``(N, heads, S, e)``; ``mask`` is added and broadcasts to
        ``(N, heads, L, S)``. Returns ``(N, heads, L, e)``.
        """
        scores = self.matmul(self.affine(q, alpha=scale), self.transpose(k, perm=(0, 1, 3, 2)))
        if mask is not None:
            scores = self.add(scores, mask)
        if is_causal:
            scores = self.causal_mask(scores)
        return self.matmul(self.softmax(scores, axis=-1), v)

    @composite
    def rotary_embedding(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        """Rotate pairs of features by their position (ONNX ``RotaryEmbedding``, not interleaved).

        Su et al. 2021, arXiv 2104.09864, equation 34, with the first and second half of the features as
        pairs. ``x`` is ``(N, heads, L, d)``, ``cos`` and ``sin`` are ``(L, d / 2)``.
        """
        first, second = self.split(x, axis=-1, num_outputs=2)
        real = self.sub(self.mul(first, cos), self.mul(second, sin))
        imaginary = self.add(self.mul(first, sin), self.mul(second, cos))
        return self.concat(real, imaginary, axis=-1)

    # --- recurrent ---------------------------------------------------------------------------

    @primitive
    def lstm(
        self,
        x: Tensor,
        w: Tensor,
        r: Tensor,
        b: Tensor,
        *,
        hidden_size: int,
        direction: str = "forward",
    ) -> tuple[Tensor, Tensor, Tensor]:
        """One LSTM layer (ONNX ``LSTM``, zero initial state), ``forward`` or ``bidirectional``.

        ``x`` is ``(T, N, I)``, ``w`` ``(D, 4H, I)``, ``r`` ``(D, 4H, H)``, ``b`` ``(D, 8H)`` (input
        then recurrent bias), gate order i, o, f, c; ``D`` is the number of directions, of which the
        second goes back in time. Returns ``y (T, D, N, H)``, ``y_h (D, N, H)`` and ``y_c (D, N, H)``.
        """
        unsupported: tuple[Tensor, Tensor, Tensor] = self._unsupported("lstm")
        return unsupported

    @primitive
    def gru(
        self,
        x: Tensor,
        w: Tensor,
        r: Tensor,
        b: Tensor,
        *,
        hidden_size: int,
        direction: str = "forward",
    ) -> tuple[Tensor, Tensor]:
        """One GRU layer (ONNX ``GRU`` with ``linear_before_reset=1``, zero initial state).

        ``x`` is ``(T, N, I)``, ``w`` ``(D, 3H, I)``, ``r`` ``(D, 3H, H)``, ``b`` ``(D, 6H)`` (input
        then recurrent bias), gate order z, r, h. Returns ``y (T, D, N, H)`` and ``y_h (D, N, H)``.
        """
        unsupported: tuple[Tensor, Tensor] = self._unsupported("gru")
        return unsupported

    # --- losses ------------------------------------------------------------------------------

    @primitive
    def softmax_cross_entropy_loss(
        self,
        scores: Tensor,
        labels: Tensor,
        weights: Tensor | None = None,
        *,
        reduction: str = "mean",
        ignore_index: int | None = None,
    ) -> Tensor:
        """``-log softmax(scores)[label]`` (ONNX ``SoftmaxCrossEntropyLoss``).

        ``scores`` is ``(N, C, ...)``, ``labels`` is ``(N, ...)`` int64, ``weights`` is ``(C,)``. ``none``
        returns a loss for each label, 0 where it is ``ignore_index``; ``sum`` their sum; ``mean`` that
        divided by the weights of the labels that are not ignored, or by their number.
        """
        return self._unsupported("softmax_cross_entropy_loss")

    @composite
    def binary_cross_entropy_loss(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Mean of ``-t log sigmoid(x) - (1 - t) log(1 - sigmoid(x))``, from the logits ``x``."""
        return self.reduce_mean(self.sub(self.softplus(logits), self.mul(logits, targets)))

    @composite
    def mean_squared_error_loss(self, x: Tensor, targets: Tensor) -> Tensor:
        """Mean of ``(x - t)^2``."""
        difference = self.sub(x, targets)
        return self.reduce_mean(self.mul(difference, difference))

    @composite
    def huber(self, x: Tensor, *, delta: float = 1.0) -> Tensor:
        """``x^2 / 2`` up to ``delta``, ``delta (|x| - delta / 2)`` beyond, for each element."""
        size = self.abs(x)
        held = self.clip(size, min=0.0, max=delta)
        return self.mul(held, self.sub(size, self.affine(held, alpha=0.5)))

    @primitive
    def ctc_loss(self, scores: Tensor, labels: Tensor) -> Tensor:
        """Mean over the mini-batch of ``-log p(labels)`` under connectionist temporal classification.

        Graves et al. 2006, equation 15. ``scores`` is ``(T, N, C)`` before the softmax over ``C``, class 0
        is the blank; ``labels`` is ``(N, S)`` int64 without blanks. Every sequence has its full length,
        so each must fit: ``S`` plus its repeated neighbours is at most ``T``.
        """
        return self._unsupported("ctc_loss")


@dataclass(frozen=True)
class OperatorInfo:
    """What is known of an operator without any meaning: its kind, tensor arguments and attributes."""

    name: str
    kind: str
    tensors: tuple[str, ...]
    attributes: Mapping[str, Any]
    """Attribute name to default; :data:`REQUIRED` where there is none."""
    variadic: bool = False
    """Whether it takes any number of tensors."""

    def argument_names(self, count: int) -> tuple[str, ...]:
        """Return a name for each of ``count`` tensor arguments."""
        if self.variadic:
            return tuple(f"{self.tensors[0]}{i}" for i in range(count))
        return self.tensors[:count]


REQUIRED = inspect.Parameter.empty


def _describe(name: str, method: Callable[..., Any]) -> OperatorInfo:
    parameters = list(inspect.signature(method).parameters.values())[1:]
    tensors = tuple(p.name for p in parameters if p.kind is not p.KEYWORD_ONLY)
    attributes = {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}
    kind: str = method.operator_kind  # type: ignore[attr-defined]
    variadic = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    return OperatorInfo(name, kind, tensors, attributes, variadic)


OPERATORS: Mapping[str, OperatorInfo] = {
    name: _describe(name, method)
    for name, method in vars(Operators).items()
    if hasattr(method, "operator_kind")
}
"""Every operator of the vocabulary, by name."""


def native_operators(meaning: type[Operators]) -> frozenset[str]:
    """Return the operators that ``meaning`` writes itself. Imports and runs nothing."""
    return frozenset(name for name in OPERATORS if getattr(meaning, name) is not getattr(Operators, name))
