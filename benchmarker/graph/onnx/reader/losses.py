"""Losses."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from benchmarker.graph.onnx.reader.call import Call, Handler, Result
from benchmarker.graph.onnx.reader.values import Unsupported
from benchmarker.graph.recorder import Value


def _labels(call: Call) -> Value:
    labels = call.any_tensor(1)
    if labels.type.dtype != "int64":
        raise Unsupported("with labels that are not integers")
    return labels


def _softmax_cross_entropy(call: Call) -> Result:
    scores = call.tensor(0)
    loss = call.net.softmax_cross_entropy_loss(
        scores,
        _labels(call),
        call.optional(2),
        reduction=call.attribute("reduction", "mean"),
        ignore_index=call.attribute("ignore_index"),
    )
    return (loss, call.net.log_softmax(scores, axis=1)) if call.uses(1) else loss


def _negative_log_likelihood(call: Call) -> Result:
    """Return the loss of scores that are logarithms of probabilities already."""
    net, scores, labels = call.net, call.tensor(0), _labels(call)
    ignored, reduction = call.attribute("ignore_index"), call.attribute("reduction", "mean")
    weights = call.tensor(2) if call.has(2) else None
    if ignored is not None:
        skipped = net.equal(labels, call.table(np.int64(ignored), "ignored"))
        labels = net.where(skipped, call.table(np.int64(0), "first"), labels)
    shape = labels.shape
    chosen = net.gather_elements(scores, net.reshape(labels, shape=(shape[0], 1, *shape[1:])), axis=1)
    losses = net.affine(net.reshape(chosen, shape=shape), alpha=-1.0)
    if weights is None and ignored is None:
        return losses if reduction == "none" else getattr(net, f"reduce_{reduction}")(losses)
    each = net.gather(weights, labels) if weights is not None else None
    if ignored is not None:
        nothing = call.table(np.float32(0), "nothing")
        each = net.where(skipped, nothing, call.table(np.float32(1), "whole") if each is None else each)
    weighted = net.mul(losses, each)
    if reduction == "none":
        return weighted
    total = net.reduce_sum(weighted)
    return total if reduction == "sum" else net.div(total, net.reduce_sum(each))


HANDLERS: Mapping[str, Handler] = {
    "NegativeLogLikelihoodLoss": _negative_log_likelihood,
    "SoftmaxCrossEntropyLoss": _softmax_cross_entropy,
}
"""How each ONNX operator is written in ours."""
