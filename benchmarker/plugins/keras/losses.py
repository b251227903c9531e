"""Losses, by the functions that Keras' own losses call."""

from __future__ import annotations

from typing import Any

from benchmarker.errors import UnsupportedError
from benchmarker.plugins.common.axis_orders import graph_order, image_order
from benchmarker.plugins.keras.binding_site import Site
from benchmarker.plugins.keras.layouts import Native


def softmax_cross_entropy_loss(
    site: Site, *, reduction: str = "mean", ignore_index: int | None = None
) -> Native:
    """``ops.sparse_categorical_crossentropy``, as ``SparseCategoricalCrossentropy`` calls it."""
    from keras import ops

    # The classes stand last in every backend: Keras' function takes no other axis over TensorFlow.
    site.take(0, image_order(site.rank(0), channels_last=True))
    site.give(graph_order(len(site.result.shape)))

    def run(scores: Any, labels: Any, weights: Any = None) -> Any:
        kept = None
        if ignore_index is not None:
            valid = ops.not_equal(labels, ignore_index)
            labels = ops.where(valid, labels, ops.zeros_like(labels))
            kept = ops.cast(valid, site.setting.dtype)
        each = ops.sparse_categorical_crossentropy(labels, scores, from_logits=True)
        weight = _product(kept, None if weights is None else ops.take(weights, labels, axis=0))
        each = each if weight is None else ops.multiply(each, weight)
        if reduction == "none":
            return each
        if reduction == "sum":
            return ops.sum(each)
        return ops.mean(each) if weight is None else ops.divide(ops.sum(each), ops.sum(weight))

    return run


def _product(a: Any, b: Any) -> Any:
    """Return the product of those that are there."""
    if a is None or b is None:
        return b if a is None else a
    return a * b


def binary_cross_entropy_loss(site: Site) -> Native:
    """``ops.binary_crossentropy``, as ``BinaryCrossentropy`` calls it."""
    from keras import ops

    return lambda logits, targets: ops.mean(ops.binary_crossentropy(targets, logits, from_logits=True))


def mean_squared_error_loss(site: Site) -> Native:
    """``ops.mean`` of ``ops.square``, as ``MeanSquaredError`` calls them."""
    from keras import ops

    return lambda x, targets: ops.mean(ops.square(ops.subtract(x, targets)))


def ctc_loss(site: Site) -> Native:
    """``ops.ctc_loss``, as ``CTC`` calls it."""
    from keras import ops

    if site.setting.lacks_kernels:
        raise UnsupportedError(
            "TensorFlow computes ctc_loss in float32 only, and so does Keras over it; use another precision "
            "than fp64"
        )
    steps, batch, _ = site.shape(0)
    length = site.shape(1)[1]
    site.take(0, (1, 0, 2))

    def run(scores: Any, labels: Any) -> Any:
        lengths = ops.full((batch,), length, dtype="int32"), ops.full((batch,), steps, dtype="int32")
        return ops.mean(ops.ctc_loss(labels, scores, *lengths, mask_index=0))

    return run
