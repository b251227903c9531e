"""Losses, in full precision whatever the program computes in."""

from __future__ import annotations

from typing import Any

from benchmarker.plugins.jax.layout_operators import Arranging
from benchmarker.plugins.jax.shapes import IN_BOUNDS
from benchmarker.plugins.jax.tensors import LAST, PLAIN, Tensor

_IMPOSSIBLE = -1e30
"""Logarithm of a probability that is 0: its exponential is, and differences of two are numbers."""


class Losses(Arranging):
    """Losses of traced arrays."""

    def softmax_cross_entropy_loss(
        self,
        scores: Tensor,
        labels: Tensor,
        weights: Tensor | None = None,
        *,
        reduction: str = "mean",
        ignore_index: int | None = None,
    ) -> Tensor:
        jnp = self.jnp
        classes, weight = self.plain(labels), None
        if ignore_index is not None:
            kept = classes != ignore_index
            classes, weight = jnp.where(kept, classes, 0), self.full(kept)
        if weights is not None:
            each = self.full(weights.value).at[classes].get(mode=IN_BOUNDS)
            weight = each if weight is None else weight * each
        losses = self._negative_log_likelihood(scores, classes)
        losses = losses if weight is None else losses * weight
        if reduction == "none":
            return Tensor(losses)
        if reduction == "sum":
            return Tensor(losses.sum())
        return Tensor(losses.mean() if weight is None else losses.sum() / weight.sum())

    def _negative_log_likelihood(self, scores: Tensor, classes: Any) -> Any:
        """Return the loss of each label, from scores whose classes stand last."""
        logits = self.full(self.arrange(scores, LAST if scores.rank > 2 else PLAIN))
        chosen = self.jnp.take_along_axis(logits, classes[..., None], axis=-1, mode=IN_BOUNDS)[..., 0]
        return self.jax.nn.logsumexp(logits, axis=-1) - chosen

    def binary_cross_entropy_loss(self, logits: Tensor, targets: Tensor) -> Tensor:
        (given, wanted), _ = self.together(logits, targets)
        given = self.full(given)
        return Tensor((self.jax.nn.softplus(given) - given * self.full(wanted)).mean())

    def mean_squared_error_loss(self, x: Tensor, targets: Tensor) -> Tensor:
        (given, wanted), _ = self.together(x, targets)
        return Tensor(self.jnp.square(self.full(given) - self.full(wanted)).mean())

    def ctc_loss(self, scores: Tensor, labels: Tensor) -> Tensor:
        """Sum over all alignments by the forward recursion (Graves et al. 2006, equation 6), in logarithms."""
        jnp = self.jnp
        classes = self.plain(labels)
        log_scores = self.jax.nn.log_softmax(self.full(self.plain(scores)), axis=2)
        states = jnp.zeros((classes.shape[0], 2 * classes.shape[1] + 1), classes.dtype)
        states = states.at[:, 1::2].set(classes)
        log_states = jnp.take_along_axis(log_scores, states[None], axis=2, mode=IN_BOUNDS)
        # Only from one label to another that differs may the blank between them be left out.
        leaps = (states[:, 2:] != 0) & (states[:, 2:] != states[:, :-2])

        def later(values: Any, steps: int) -> Any:
            return jnp.pad(values[:, :-steps], ((0, 0), (steps, 0)), constant_values=_IMPOSSIBLE)

        barred = jnp.pad(jnp.where(leaps, 0.0, _IMPOSSIBLE), ((0, 0), (2, 0)))

        def step(alpha: Any, log_state: Any) -> tuple[Any, None]:
            total = jnp.logaddexp(alpha, later(alpha, 1))
            return jnp.logaddexp(total, later(alpha, 2) + barred) + log_state, None

        begun = jnp.arange(states.shape[1]) < 2
        alpha, _ = self.lax.scan(step, jnp.where(begun, log_states[0], _IMPOSSIBLE), log_states[1:])
        return Tensor(-jnp.logaddexp(alpha[:, -1], alpha[:, -2]).mean())
