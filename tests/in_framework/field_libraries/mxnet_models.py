"""Models of Gluon's model zoo, given our weights."""

from __future__ import annotations

from typing import Any

import mxnet as mx
from mxnet.gluon.model_zoo import vision

from tests.in_framework.field_libraries.exchange import Weights, serve


def run(network: Any, names: list[str], weights: Weights, batch: dict[str, Any]) -> Any:
    """Set the network's parameters, in their order, from ours by name, and run it."""
    network.initialize()
    image = mx.nd.array(batch["image"])
    network(image)  # shapes are known from here on
    theirs = list(network.collect_params().values())
    if len(theirs) != len(names):
        raise SystemExit(
            f"theirs has {len(theirs)} parameters, ours {len(names)}: {[p.name for p in theirs]}"
        )
    for parameter, name in zip(theirs, names):
        value = weights(name)
        if tuple(parameter.shape) != value.shape:
            raise SystemExit(f"{parameter.name} is {parameter.shape}, {name} is {value.shape}")
        parameter.set_data(mx.nd.array(value))
    return network(image).asnumpy()


def in_order(make: Any) -> Any:
    """Return what runs a network whose parameters stand in the order that the test gives."""

    def model(values: dict[str, Any], weights: Weights, batch: dict[str, Any]) -> Any:
        return run(make(values), values["names"], weights, batch)

    return model


serve(
    {
        "alexnet": in_order(lambda values: vision.AlexNet(classes=values["classes"])),
        "vgg16": in_order(lambda values: vision.get_vgg(16, classes=values["classes"])),
        "resnet": in_order(
            lambda values: vision.ResNetV1(
                vision.BasicBlockV1, values["depths"], values["channels"], classes=values["classes"]
            )
        ),
    }
)
