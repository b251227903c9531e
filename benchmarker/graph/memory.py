"""Memory of activations: what is alive at once in inference, and what training keeps for its backward pass.

The model is a simple one: every operator writes new memory except those that only look at their operand
differently (a reshape, dropout in inference); an operator's own working memory is not counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from benchmarker.graph.types import TensorType
from benchmarker.quick_dataclass import dataclass

_BACKWARD_NEEDS_INPUTS = {
    "abs",
    "batch_normalization",
    "clip",
    "conv",
    "conv_transpose",
    "cos",
    "custom",
    "div",
    "erf",
    "gemm",
    "group_normalization",
    "gru",
    "layer_normalization",
    "leaky_relu",
    "log",
    "log1p",
    "lstm",
    "matmul",
    "max_pool",
    "maximum",
    "minimum",
    "mul",
    "pow",
    "rnn",
    "sin",
    "softplus",
    "tan",
}
_BACKWARD_NEEDS_OUTPUTS = {
    "custom",
    "exp",
    "expm1",
    "gru",
    "log_softmax",
    "lstm",
    "max_pool",
    "pow",
    "reciprocal",
    "relu",
    "rnn",
    "sigmoid",
    "softmax",
    "sqrt",
    "tanh",
}
_RECURRENT_EXTRA = {"lstm": 5, "gru": 4}
"""Values that the backward pass needs for each output besides it: gates, and the LSTM's cells."""
_KEEPS_SCORES = {"softmax_cross_entropy_loss", "ctc_loss"}
"""Losses whose backward pass needs the softmax of their scores."""
_KEEPS_FIRST = {"where"}
"""Operators whose backward pass needs their first operand alone."""
_KEEPS_CHOICE = {"reduce_max", "top_k"}
"""Operators that keep the index (8 bytes) of each element that they chose."""


@dataclass(frozen=True)
class Costed:
    """A tensor as cost and memory see it.

    Parameters
    ----------
    type : TensorType
        Shape and element type.
    storage : int
        Where its values are; a reshape shares its operand's.
    needs_gradient : bool
        Whether a trainable parameter lies behind it.
    is_parameter : bool
        Whether it belongs to the model and not to the mini-batch.
    """

    type: TensorType
    storage: int
    needs_gradient: bool = False
    is_parameter: bool = False


@dataclass(frozen=True)
class ActivationUse:
    """One operator: which storages it reads and writes, and which of them its backward pass needs.

    Parameters
    ----------
    inputs, outputs : mapping
        Storage to its size in bytes; parameters are left out.
    kept : mapping
        Those that the backward pass needs.
    extra : int
        Bytes that the backward pass needs besides (masks, gates).
    """

    inputs: Mapping[int, int]
    outputs: Mapping[int, int]
    kept: Mapping[int, int]
    extra: int

    @staticmethod
    def of(
        operator: str, inputs: Sequence[Costed | None], outputs: Sequence[Costed], training: bool
    ) -> ActivationUse:
        """Describe one application of ``operator``."""
        read, written = _sizes(inputs), _sizes(outputs)
        kept: dict[int, int] = {}
        extra = 0
        if training and any(output.needs_gradient for output in outputs):
            kept.update(read if operator in _BACKWARD_NEEDS_INPUTS else {})
            kept.update(_sizes(inputs[:1]) if operator in _KEEPS_FIRST else {})
            kept.update(written if operator in _BACKWARD_NEEDS_OUTPUTS else {})
            extra = _extra(operator, inputs, outputs)
        return ActivationUse(read, written, kept, extra)


def _extra(operator: str, inputs: Sequence[Costed | None], outputs: Sequence[Costed]) -> int:
    if operator in _RECURRENT_EXTRA:
        return _RECURRENT_EXTRA[operator] * outputs[0].type.bytes
    if operator == "dropout":
        return outputs[0].type.elements  # one byte of mask per element
    if operator in _KEEPS_SCORES and inputs[0] is not None:
        return inputs[0].type.bytes
    if operator in _KEEPS_CHOICE:
        return 8 * outputs[0].type.elements
    return 0


def _sizes(tensors: Iterable[Costed | None]) -> dict[int, int]:
    return {t.storage: t.type.bytes for t in tensors if t is not None and not t.is_parameter}


def activation_peak(uses: Sequence[ActivationUse], batch: Sequence[Costed], results: Sequence[Costed]) -> int:
    """Return the largest number of bytes alive at once when each value goes after its last use.

    The mini-batch and the results stay: they belong to the caller.
    """
    held = _sizes((*batch, *results))
    last_use = {storage: i for i, use in enumerate(uses) for storage in (*use.inputs, *use.outputs)}
    alive = dict(_sizes(batch))
    peak = sum(alive.values())
    for i, use in enumerate(uses):
        alive.update(use.outputs)
        peak = max(peak, sum(alive.values()))
        for storage in (*use.inputs, *use.outputs):
            if last_use[storage] == i and storage not in held:
                alive.pop(storage, None)
    return peak


def activations_kept(uses: Sequence[ActivationUse], batch: Sequence[Costed]) -> int:
    """Return the bytes of the mini-batch and of everything that the backward pass needs."""
    kept = dict(_sizes(batch))
    for use in uses:
        kept.update(use.kept)
    return sum(kept.values()) + sum(use.extra for use in uses)
