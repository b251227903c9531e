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
        Traces a function of a mini-batch and of a scalar after it.
    forward_backward : callable
        ``(share, *batch)`` to the loss and the gradients of ``share`` times the loss.
    update : callable
        Moves the parameters by gradients and what its rule is given after them.
    trainable : sequence of tf.Variable
        The parameters.
    given : sequence of tf.TensorSpec
        What the rule is given.
    """

    def __init__(
        self,
        tensorflow: Any,
        trace: Callable[..., Callable[..., Any]],
        forward_backward: Differentiate,
        update: Callable[..., None],
        trainable: Sequence[Any],
        given: Sequence[Any] = (),
    ) -> None:
        self._tf = tensorflow
        self._forward_backward = forward_backward
        self._update = update
        self._sums = [tensorflow.Variable(tensorflow.zeros_like(v), trainable=False) for v in trainable]
        self._first = trace(self._begin)
        self._next = trace(self._continue)
        update_once = tensorflow.function(self._finish, input_signature=given, autograph=False)
        self._apply = update_once.get_concrete_function()

    def __call__(self, batches: Sequence[Any], given: Sequence[Any] = ()) -> Any:
        """Run all micro-batches and the update, whose rule is given something; return the mean loss."""
        share = self._tf.constant(1.0 / len(batches), self._sums[0].dtype)
        loss = self._first(*batches[0], share)
        for batch in batches[1:]:
            loss = loss + self._next(*batch, share)
        self._apply(*given)
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

    def _finish(self, *given: Any) -> None:
        self._update([self._tf.convert_to_tensor(total) for total in self._sums], *given)
