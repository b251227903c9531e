"""Losses in tinygrad."""

from __future__ import annotations

from benchmarker.graph.operators import Tensor
from benchmarker.plugins.tinygrad.elementwise import TinygradTensors

_IMPOSSIBLE = -1e30
"""Logarithm of a probability that is 0: its exponential is, and differences of two are numbers."""


class LossOperators(TinygradTensors):
    """Losses, from scores before the softmax or the sigmoid."""

    def softmax_cross_entropy_loss(
        self,
        scores: Tensor,
        labels: Tensor,
        weights: Tensor | None = None,
        *,
        reduction: str = "mean",
        ignore_index: int | None = None,
    ) -> Tensor:
        return scores.log_softmax(1).nll_loss(labels, weights, ignore_index, reduction)

    def binary_cross_entropy_loss(self, logits: Tensor, targets: Tensor) -> Tensor:
        return logits.binary_crossentropy_logits(targets)

    def ctc_loss(self, scores: Tensor, labels: Tensor) -> Tensor:
        """Sum over all alignments by the forward recursion (Graves et al. 2006, equation 6), in logarithms."""
        steps, batch, _ = scores.shape
        # A blank before each label, and one after the last.
        states = labels.unsqueeze(2).pad((None, None, (1, 0))).reshape(batch, -1).pad((None, (0, 1)))
        count = states.shape[1]
        places = states.unsqueeze(0).expand(steps, batch, count)
        log_states = scores.log_softmax(2).gather(2, places).contiguous()
        # Only from one label to another that differs may the blank between them be left out.
        leaps = (states[:, 2:] != 0) & (states[:, 2:] != states[:, :-2])
        barred = leaps.where(0.0, _IMPOSSIBLE).pad((None, (2, 0))).contiguous()

        def later(values: Tensor, by: int) -> Tensor:
            return values[:, :-by].pad((None, (by, 0)), value=_IMPOSSIBLE)

        alpha = (self._tensor.arange(count) < 2).where(log_states[0], _IMPOSSIBLE)
        for step in range(1, steps):
            total = alpha.logaddexp(later(alpha, 1)).logaddexp(later(alpha, 2) + barred)
            alpha = (total + log_states[step]).contiguous()
        return -alpha[:, -1].logaddexp(alpha[:, -2]).mean()
