"""A training step of several processes as PyTorch's guides write it: ``DistributedDataParallel`` around a module."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch.nn.parallel import DistributedDataParallel

LAYERS = ("fc1", "fc2", "fc3")


def step_of(
    parameters: Mapping[str, Any], batch: Mapping[str, Any], learning_rate: float
) -> Callable[[], Any]:
    """Return what makes a step by plain gradient descent on this process' rows."""
    layers: list[torch.nn.Module] = []
    for name in LAYERS:
        weight, bias = (torch.tensor(parameters[f"{name}.{part}"]) for part in ("weight", "bias"))
        linear = torch.nn.Linear(weight.shape[1], weight.shape[0])
        with torch.no_grad():
            linear.weight.copy_(weight)
            linear.bias.copy_(bias)
        layers += [linear] if name == LAYERS[-1] else [linear, torch.nn.ReLU()]
    model = DistributedDataParallel(torch.nn.Sequential(*layers))
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    loss_of = torch.nn.CrossEntropyLoss()
    features, labels = torch.tensor(batch["features"]), torch.tensor(batch["label"]).long()

    def step() -> Any:
        optimizer.zero_grad()
        loss = loss_of(model(features), labels)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step
