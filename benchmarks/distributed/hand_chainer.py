"""A training step of several processes as ChainerMN's guides write it: a multi-node optimizer around the usual one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import chainer
import chainermn
import numpy as np

LAYERS = ("fc1", "fc2", "fc3")


class Perceptron(chainer.Chain):
    """Three layers."""

    def __init__(self, parameters: Mapping[str, Any]) -> None:
        super().__init__()
        with self.init_scope():
            for name in LAYERS:
                weight, bias = (np.array(parameters[f"{name}.{part}"]) for part in ("weight", "bias"))
                layer = chainer.links.Linear(
                    weight.shape[1], weight.shape[0], initialW=weight, initial_bias=bias
                )
                setattr(self, name, layer)

    def forward(self, features: Any, labels: Any) -> Any:
        x = chainer.functions.relu(self.fc1(features))
        x = self.fc3(chainer.functions.relu(self.fc2(x)))
        return chainer.functions.softmax_cross_entropy(x, labels)


def step_of(
    parameters: Mapping[str, Any], batch: Mapping[str, Any], learning_rate: float
) -> Callable[[], Any]:
    """Return what makes a step by plain gradient descent on this process' rows."""
    model = Perceptron(parameters)
    communicator = chainermn.create_communicator("naive")
    optimizer = chainermn.create_multi_node_optimizer(chainer.optimizers.SGD(lr=learning_rate), communicator)
    optimizer.setup(model)
    features, labels = batch["features"], batch["label"].astype(np.int32)
    loss: Any = None

    def loss_of() -> Any:
        nonlocal loss
        loss = model(features, labels)
        return loss

    def step() -> Any:
        optimizer.update(loss_of)
        return loss.array

    step()  # the first one gives all processes the parameters of one, and updates nothing
    return step
