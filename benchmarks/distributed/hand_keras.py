"""A training step of several processes as Keras' guides write it, over each of its backends.

Over JAX the step is compiled from the model's and the optimizer's stateless calls, with variables and rows placed by
``DataParallel``; over PyTorch and TensorFlow it is a loop around a model in ``DistributedDataParallel`` or in the
strategy's scope.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import keras
import numpy as np

LAYERS = ("fc1", "fc2", "fc3")


def model_of(parameters: Mapping[str, Any]) -> Any:
    """Return the model, with weights."""
    model = keras.Sequential(
        [keras.Input((parameters["fc1.weight"].shape[1],))]
        + [
            keras.layers.Dense(
                len(parameters[f"{name}.bias"]), activation=None if name == LAYERS[-1] else "relu"
            )
            for name in LAYERS
        ]
    )
    for layer, name in zip(model.layers, LAYERS):
        layer.set_weights([np.array(parameters[f"{name}.weight"].T), np.array(parameters[f"{name}.bias"])])
    return model


def loss_of(labels: Any, scores: Any) -> Any:
    """Return the mean loss of the rows."""
    losses = keras.ops.sparse_categorical_crossentropy(labels, scores, from_logits=True)
    return keras.ops.mean(losses)


def over_tensorflow(
    strategy: Any, parameters: Mapping[str, Any], batch: Mapping[str, Any], learning_rate: float
) -> Callable[[], Any]:
    """Return what makes a step by plain gradient descent on this process' rows."""
    import tensorflow as tf

    with strategy.scope():
        model = model_of(parameters)
        optimizer = keras.optimizers.SGD(learning_rate)
        optimizer.build(model.trainable_variables)
    features, labels = tf.constant(batch["features"]), tf.constant(batch["label"])

    def replica(features: Any, labels: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = loss_of(labels, model(features, training=True))
            share = loss / strategy.num_replicas_in_sync
        optimizer.apply(tape.gradient(share, model.trainable_variables), model.trainable_variables)
        return loss

    @tf.function
    def step(features: Any, labels: Any) -> Any:
        return strategy.run(replica, args=(features, labels))

    return lambda: step(features, labels)


def over_torch(
    parameters: Mapping[str, Any], batch: Mapping[str, Any], learning_rate: float
) -> Callable[[], Any]:
    """Return the same in ``DistributedDataParallel``."""
    import torch
    from torch.nn.parallel import DistributedDataParallel

    model = model_of(parameters)
    exchanging = DistributedDataParallel(model)
    optimizer = keras.optimizers.SGD(learning_rate)
    optimizer.build(model.trainable_variables)
    features, labels = torch.tensor(batch["features"]), torch.tensor(batch["label"])

    def step() -> Any:
        model.zero_grad()
        loss = loss_of(labels, exchanging(features, training=True))
        loss.backward()
        variables = model.trainable_variables
        with torch.no_grad():
            optimizer.apply([variable.value.grad for variable in variables], variables)
        return loss.detach()

    return step


def over_jax(
    parameters: Mapping[str, Any], batch: Mapping[str, Any], learning_rate: float
) -> Callable[[], Any]:
    """Return the same over all devices."""
    import jax

    distribution = keras.distribution.DataParallel(devices=keras.distribution.list_devices())
    with distribution.scope():
        model = model_of(parameters)
        optimizer = keras.optimizers.SGD(learning_rate)
        optimizer.build(model.trainable_variables)
    features, labels = (
        jax.make_array_from_process_local_data(
            distribution.get_data_layout(batch[name].shape).backend_layout, np.asarray(batch[name])
        )
        for name in ("features", "label")
    )

    def loss_and_state(trainable: Any, others: Any, features: Any, labels: Any) -> Any:
        scores, others = model.stateless_call(trainable, others, features, training=True)
        return loss_of(labels, scores), others

    @jax.jit
    def compiled(state: Any, features: Any, labels: Any) -> Any:
        trainable, others, kept = state
        (loss, others), gradients = jax.value_and_grad(loss_and_state, has_aux=True)(
            trainable, others, features, labels
        )
        trainable, kept = optimizer.stateless_apply(kept, gradients, trainable)
        return loss, (trainable, others, kept)

    state = tuple(
        [variable.value for variable in variables]
        for variables in (model.trainable_variables, model.non_trainable_variables, optimizer.variables)
    )

    def step() -> Any:
        nonlocal state
        loss, state = compiled(state, features, labels)
        jax.block_until_ready((loss, state))
        return loss

    return step


def step_of(*given: Any) -> Callable[[], Any]:
    """Return the step over the backend of this process."""
    return {"tensorflow": over_tensorflow, "torch": over_torch, "jax": over_jax}[keras.backend.backend()](
        *given
    )
