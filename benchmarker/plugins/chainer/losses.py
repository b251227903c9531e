"""Losses in Chainer."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from benchmarker.plugins.chainer.binding_site import Native, Site, array_of


def softmax_cross_entropy_loss(
    site: Site, *, reduction: str = "mean", ignore_index: int | None = None
) -> Native:
    """Chainer knows ``mean`` and ``no``; its ``mean`` divides by the number of labels, weighted or not."""
    from chainer import functions

    # Labels are at least 0, so -1 ignores none.
    ignored = -1 if ignore_index is None else ignore_index
    entropy = functools.partial(functions.softmax_cross_entropy, ignore_label=ignored)
    weighted = site.has(2)
    if reduction == "mean" and not weighted:
        return entropy

    def losses(scores: Any, labels: Any, weights: Any = None) -> Any:
        return entropy(scores, labels, class_weight=array_of(weights), reduce="no")

    if reduction == "none":
        return losses
    if reduction == "sum":
        return lambda *tensors: functions.sum(losses(*tensors))

    def weighted_mean(scores: Any, labels: Any, weights: Any) -> Any:
        t, w = array_of(labels), array_of(weights)
        counted = t != ignored
        total = (w[t * counted] * counted).sum()
        return functions.sum(losses(scores, labels, weights)) / total

    return weighted_mean


def binary_cross_entropy_loss(site: Site) -> Native:
    """Chainer's name is that of the negative log-likelihood; the targets come first."""
    from chainer import functions

    return lambda logits, targets: functions.bernoulli_nll(targets, logits, reduce="mean")


def ctc_loss(site: Site) -> Native:
    """The function takes a list over time and stacks it; its class takes the stack."""
    from chainer.functions.loss.ctc import ConnectionistTemporalClassification

    steps, batch, _ = site.shape(0)
    times = site.constant(np.full(batch, steps, np.int32))
    lengths = site.constant(np.full(batch, site.shape(1)[1], np.int32))

    def loss(scores: Any, labels: Any) -> Any:
        return ConnectionistTemporalClassification(0, "mean")(times, lengths, labels, scores)

    return loss
