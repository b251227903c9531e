"""One update from several micro-batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

Differentiate = Callable[..., "tuple[Any, list[Any]]"]


class MicroSteps:
    """Accumulators of the gradients, and what is traced to fill and to use them.

    Parameters
    ----------
    tensorflow : module
        TensorFlow itself.
    trace : callable
        Traces a function of a mini-batch, and of a scalar after it if that is asked for.
    forward_backward : callable
        ``(share, *batch)`` to the loss and the gradients of ``share`` times the loss.
    update : callable
        Moves the parameters by gradients.
    trainable : sequence of tf.Variable
        The parameters.
    """

    def __init__(
        self,
        tensorflow: Any,
        trace: Callable[..., Callable[..., Any]],
        forward_backward: Differentiate,
        update: Callable[[Sequence[Any]], None],
        trainable: Sequence[Any],
    ) -> None:
        self._tf = tensorflow
        self._forward_backward = forward_backward
        self._update = update
        self._sums = [tensorflow.Variable(tensorflow.zeros_like(v), trainable=False) for v in trainable]
        self._first = trace(self._begin, share=True)
        self._next = trace(self._continue, share=True)
        self._apply = tensorflow.function(self._finish, autograph=False).get_concrete_function()

    def __call__(self, batches: Sequence[Any]) -> Any:
        """Run all micro-batches and the update; return the mean loss."""
        share = self._tf.constant(1.0 / len(batches), self._sums[0].dtype)
        loss = self._first(*batches[0], share)
        for batch in batches[1:]:
            loss = loss + self._next(*batch, share)
        self._apply()
        return loss

    def _begin(self, *batch: Any) -> Any:
        *batch_, share = batch
        loss, gradients = self._forward_backward(share, *batch_)
        for total, gradient in zip(self._sums, gradients):
            total.assign(self._tf.convert_to_tensor(gradient), read_value=False)
        return loss * self._tf.cast(share, loss.dtype)

    def _continue(self, *batch: Any) -> Any:
        *batch_, share = batch
        loss, gradients = self._forward_backward(share, *batch_)
        for total, gradient in zip(self._sums, gradients):
            if isinstance(gradient, self._tf.IndexedSlices):
                total.scatter_add(gradient)
            else:
                total.assign_add(gradient, read_value=False)
        return loss * self._tf.cast(share, loss.dtype)

    def _finish(self) -> None:
        self._update([self._tf.convert_to_tensor(total) for total in self._sums])
