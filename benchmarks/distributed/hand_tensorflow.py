"""A training step of several processes as TensorFlow's guides write it: a custom loop under the strategy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import tensorflow as tf

LAYERS = ("fc1", "fc2", "fc3")


def step_of(
    strategy: Any, parameters: Mapping[str, Any], batch: Mapping[str, Any], learning_rate: float
) -> Callable[[], Any]:
    """Return what makes a step by plain gradient descent on this process' rows and waits for it."""
    with strategy.scope():
        held = {
            name: tf.Variable(value.T if value.ndim == 2 else value) for name, value in parameters.items()
        }
    variables = list(held.values())
    features, labels = tf.constant(batch["features"]), tf.constant(batch["label"])

    def replica(features: Any, labels: Any) -> Any:
        with tf.GradientTape() as tape:
            x = features
            for name in LAYERS:
                x = x @ held[f"{name}.weight"] + held[f"{name}.bias"]
                x = x if name == LAYERS[-1] else tf.nn.relu(x)
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, x)
            loss = tf.reduce_mean(losses)
        gradients = tape.gradient(loss, variables)
        gradients = tf.distribute.get_replica_context().all_reduce("MEAN", gradients)
        for variable, gradient in zip(variables, gradients):
            variable.assign_sub(learning_rate * gradient)
        return loss

    @tf.function
    def step(features: Any, labels: Any) -> Any:
        return strategy.run(replica, args=(features, labels))

    return lambda: step(features, labels)
