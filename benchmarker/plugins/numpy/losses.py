"""Losses: cross-entropy, and connectionist temporal classification."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.errors import UsageError
from benchmarker.plugins.numpy.base import ArrayOperators, Call, Gradients, InputGradients
from benchmarker.plugins.numpy.elementwise import log_softmax, softmax

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

# --- cross-entropy ---------------------------------------------------------------------------


def _label_weights(
    labels: Array, weights: Array | None, ignored: int | None, dtype: Any
) -> tuple[Array, Array]:
    """Return a class to look up for each label, and how much the label counts: 0 where it is ignored."""
    if ignored is None and weights is None:
        return labels, np.ones_like(labels, dtype)
    kept = np.full_like(labels, True, bool) if ignored is None else labels != ignored
    classes = np.where(kept, labels, 0)
    shares = kept.astype(dtype) if weights is None else np.where(kept, weights[classes], dtype.type(0))
    return classes, shares


def _places(classes: Array) -> tuple[Array, ...]:
    """Return the index of the score ``(N, C, ...)`` of each class ``(N, ...)``."""
    sample, *position = (
        np.arange(size, like=classes).reshape(size, *(1,) * (classes.ndim - axis - 1))
        for axis, size in enumerate(classes.shape)
    )
    return sample, classes, *position


class LossOperators(ArrayOperators):
    """Losses of arrays."""

    def softmax_cross_entropy_loss(
        self,
        scores: Array,
        labels: Array,
        weights: Array | None = None,
        *,
        reduction: str = "mean",
        ignore_index: int | None = None,
    ) -> Array:
        classes, shares = _label_weights(labels, weights, ignore_index, scores.dtype)
        shifted = scores - scores.max(axis=1, keepdims=True)
        log_sum = np.log(np.exp(shifted).sum(axis=1))
        losses: Array = (log_sum - shifted[_places(classes)]) * shares
        if reduction == "none":
            return losses
        total = losses.sum() if reduction == "sum" else losses.sum() / shares.sum()
        return np.asarray(total, scores.dtype, like=scores)

    def ctc_loss(self, scores: Array, labels: Array) -> Array:
        log_scores = log_softmax(scores, 2)
        _, _, log_likelihood = _alignments(log_scores, labels)
        return np.asarray(-log_likelihood.mean(), scores.dtype, like=scores)


def softmax_cross_entropy_loss_gradient(call: Call) -> InputGradients:
    """``softmax(scores) - one_hot(labels)``, times what each label counts."""
    scores, labels = call.inputs[:2]
    (dy,), attributes = call.gradients, call.attributes
    weights = call.inputs[2] if call.has(2) else None
    classes, shares = _label_weights(labels, weights, attributes["ignore_index"], scores.dtype)
    if attributes["reduction"] == "mean":
        shares = shares / shares.sum()
    ds = softmax(scores, 1)
    ds[_places(classes)] -= 1.0
    ds *= (dy * shares)[:, None]
    return ds, None, None


# --- connectionist temporal classification -----------------------------------------------------


def _states(labels: Array) -> Array:
    """Return the labels ``(N, S)`` with blanks between and around them, ``(N, 2 S + 1)``."""
    states = np.zeros((labels.shape[0], 2 * labels.shape[1] + 1), labels.dtype, like=labels)
    states[:, 1::2] = labels
    return states


def _log_forward(log_states: Array, states: Array) -> Array:
    """Return ``log alpha`` (Graves et al. 2006, equation 6) for log-probabilities ``(T, N, states)``."""
    steps = len(log_states)
    minus_infinity = log_states.dtype.type(-np.inf)
    # Only from one label to another that differs may the blank between them be left out.
    leaps = (states[:, 2:] != 0) & (states[:, 2:] != states[:, :-2])
    alpha = np.full_like(log_states, minus_infinity, order="C")
    alpha[0, :, :2] = log_states[0, :, :2]
    for t in range(1, steps):
        before = alpha[t - 1]
        total = before.copy()
        total[:, 1:] = np.logaddexp(total[:, 1:], before[:, :-1])
        total[:, 2:] = np.logaddexp(total[:, 2:], np.where(leaps, before[:, :-2], minus_infinity))
        alpha[t] = total + log_states[t]
    return alpha


def _alignments(log_scores: Array, labels: Array) -> tuple[Array, Array, Array]:
    """Return the log-probabilities of the states, ``log alpha``, and the log-likelihood of each sequence.

    Raises
    ------
    UsageError
        If a sequence of labels is too long for the number of steps.
    """
    repeats = (labels[:, 1:] == labels[:, :-1]).sum(axis=1)
    needed = labels.shape[1] + int(repeats.max())
    if needed > len(log_scores):
        raise UsageError(
            f"ctc_loss: {labels.shape[1]} labels, {needed - labels.shape[1]} of them after the same one, "
            f"need at least {needed} steps, got {len(log_scores)}"
        )
    states = _states(labels)
    log_states = np.take_along_axis(log_scores, states[None], axis=2)
    alpha = _log_forward(log_states, states)
    return log_states, alpha, np.logaddexp(alpha[-1, :, -1], alpha[-1, :, -2])


def ctc_loss_gradient(call: Call) -> InputGradients:
    """``softmax(scores)`` minus how probable each class is at each step, given the labels (equation 16)."""
    (scores, labels), (dy,) = call.inputs, call.gradients
    log_scores = log_softmax(scores, 2)
    log_states, alpha, log_likelihood = _alignments(log_scores, labels)
    states = _states(labels)
    beta = _log_forward(log_states[::-1, :, ::-1], states[:, ::-1])[::-1, :, ::-1]
    posterior = np.exp(alpha + beta - log_states - log_likelihood[:, None])
    steps, batch, classes = scores.shape
    rows = np.arange(steps * batch, like=states).reshape(steps, batch, 1) * classes
    occupied = np.bincount((rows + states).reshape(-1), posterior.reshape(-1), scores.size)
    ds = np.exp(log_scores)
    ds -= occupied.reshape(scores.shape).astype(scores.dtype)
    ds *= dy / batch
    return ds, None


GRADIENTS: Gradients = {
    "softmax_cross_entropy_loss": softmax_cross_entropy_loss_gradient,
    "ctc_loss": ctc_loss_gradient,
}
