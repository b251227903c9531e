"""A training step of several processes as Gluon's trainer makes it: gradients through a kvstore, then an update."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import mxnet as mx
from mxnet.gluon import loss, nn

LAYERS = ("fc1", "fc2", "fc3")


def step_of(
    store: Any, parameters: Mapping[str, Any], batch: Mapping[str, Any], learning_rate: float
) -> Callable[[], Any]:
    """Return what makes a step by plain gradient descent on this process' rows and waits for it."""
    net = nn.HybridSequential()
    for name in LAYERS:
        shape = parameters[f"{name}.weight"].shape
        net.add(nn.Dense(shape[0], activation=None if name == LAYERS[-1] else "relu", in_units=shape[1]))
    net.initialize()
    for layer, name in zip(net, LAYERS):
        layer.weight.set_data(mx.nd.array(parameters[f"{name}.weight"]))
        layer.bias.set_data(mx.nd.array(parameters[f"{name}.bias"]))
    net.hybridize(static_alloc=True, static_shape=True)
    loss_of = loss.SoftmaxCrossEntropyLoss()
    features, labels = mx.nd.array(batch["features"]), mx.nd.array(batch["label"])
    held = list(net.collect_params().values())
    keys = [f"by_hand_{number}" for number in range(len(held))]
    store.init(keys, [parameter.data() for parameter in held])
    # Gradients are added up over ranks, each of which has the mean over its rows.
    share = 1.0 / store.num_workers

    def step() -> Any:
        with mx.autograd.record():
            value = loss_of(net(features), labels).mean()
        value.backward()
        for place in reversed(range(len(held))):
            gradient = held[place].grad()
            store.push(keys[place], gradient, priority=-place)
            store.pull(keys[place], out=gradient, priority=-place)
        for parameter in held:
            mx.nd.sgd_update(
                parameter.data(), parameter.grad(), out=parameter.data(), lr=learning_rate, rescale_grad=share
            )
        mx.nd.waitall()
        return value.asscalar()

    return step
