"""Losses, in float32 at least, whatever the program computes in."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarker.errors import UnsupportedError
from benchmarker.plugins.common.axis_orders import graph_order, image_order
from benchmarker.plugins.tensorflow.layout_operators import Arranging
from benchmarker.plugins.tensorflow.tensors import Tensor


class Losses(Arranging):
    """Losses by TensorFlow's own operators."""

    def softmax_cross_entropy_loss(
        self,
        scores: Tensor,
        labels: Tensor,
        weights: Tensor | None = None,
        *,
        reduction: str = "mean",
        ignore_index: int | None = None,
    ) -> Tensor:
        tf = self.tf
        classes, ignored = self.plain(labels), None
        if ignore_index is not None:
            ignored = tf.equal(classes, ignore_index)
            classes = tf.where(ignored, tf.zeros_like(classes), classes)
        logits = self.arrange(scores, image_order(scores.rank))
        each = tf.nn.sparse_softmax_cross_entropy_with_logits(classes, self.full(logits))
        weight = self._weight_of_each(classes, weights, ignored)
        if weight is not None:
            each = each * weight
        if reduction == "none":
            return Tensor(each, graph_order(labels.rank))
        if reduction == "sum":
            return Tensor(tf.reduce_sum(each), ())
        if weight is None:
            return Tensor(tf.reduce_mean(each), ())
        return Tensor(tf.reduce_sum(each) / tf.reduce_sum(weight), ())

    def _weight_of_each(self, classes: Any, weights: Tensor | None, ignored: Any) -> Any:
        """Return the weight of each label, None where all weigh the same."""
        tf = self.tf
        weight = None if weights is None else tf.gather(self.full(weights.value), classes)
        if ignored is None:
            return weight
        kept = tf.cast(tf.logical_not(ignored), self.exact)
        return kept if weight is None else weight * kept

    def binary_cross_entropy_loss(self, logits: Tensor, targets: Tensor) -> Tensor:
        tf = self.tf
        given, wanted, _ = self.aligned(logits, targets)
        each = tf.nn.sigmoid_cross_entropy_with_logits(self.full(wanted), self.full(given))
        return Tensor(tf.reduce_mean(each), ())

    def mean_squared_error_loss(self, x: Tensor, targets: Tensor) -> Tensor:
        tf = self.tf
        given, wanted, _ = self.aligned(x, targets)
        each = tf.math.squared_difference(self.full(given), self.full(wanted))
        return Tensor(tf.reduce_mean(each), ())

    def ctc_loss(self, scores: Tensor, labels: Tensor) -> Tensor:
        """Take labels as sparse: for 350 steps its kernel was 20 times as fast as the graph for dense ones.

        XLA has only the latter.
        """
        tf = self.tf
        if self.exact == tf.float64:
            raise UnsupportedError(
                "TensorFlow computes ctc_loss in float32 only; use another precision than fp64"
            )
        steps, batch, _ = scores.shape
        logits, classes = self.full(self.plain(scores)), tf.cast(self.plain(labels), tf.int32)
        length, lengths = labels.shape[1], tf.fill([batch], steps)
        label_lengths = None
        if self._xla:
            label_lengths = tf.fill([batch], length)
        else:
            places = np.indices(labels.shape, np.int64).reshape(2, -1).T
            classes = tf.SparseTensor(places, tf.reshape(classes, [-1]), labels.shape)
        each = tf.nn.ctc_loss(classes, logits, label_lengths, lengths, logits_time_major=True, blank_index=0)
        return Tensor(tf.reduce_mean(each), ())
