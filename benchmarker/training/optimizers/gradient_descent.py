"""Gradient descent, plain and with momentum."""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, Tuple

from benchmarker.api.update_rule import RATIO, Given, UpdateRule, constant
from benchmarker.quick_dataclass import dataclass
from benchmarker.training.optimizers.arithmetic import added, subtracted, with_decay

if TYPE_CHECKING:
    from benchmarker.graph.operators import Operators, Tensor


@dataclass(frozen=True)
class GradientDescent(UpdateRule):
    """``g += weight_decay * p; p -= lr * g``."""

    name = "sgd"
    decay_kind = "coupled"
    source = "Robbins & Monro 1951"

    def update(self, operators: Operators, given: Given) -> Tuple[Tensor, Dict[str, Tensor]]:
        gradient = with_decay(self, operators, given)
        return subtracted(operators, given.parameter, given.numbers["learning_rate"], gradient), {}


@dataclass(frozen=True)
class Momentum(UpdateRule):
    """``g += weight_decay * p; v = mu * v + g; p -= lr * v``."""

    momentum: float = constant(0.9, RATIO)

    name = "momentum"
    decay_kind = "coupled"
    source = "Polyak 1964"
    state = ("v",)

    def numbers(self, step: int, memory: Dict[str, float]) -> Dict[str, float]:
        return {**super().numbers(step, memory), "momentum": self.momentum}

    def update(self, operators: Operators, given: Given) -> Tuple[Tensor, Dict[str, Tensor]]:
        gradient, momentum = with_decay(self, operators, given), given.numbers["momentum"]
        velocity = added(operators, gradient, momentum, given.state["v"])
        step = self.direction(operators, gradient, velocity, momentum)
        return subtracted(operators, given.parameter, given.numbers["learning_rate"], step), {"v": velocity}

    def direction(self, operators: Operators, gradient: Tensor, velocity: Tensor, momentum: Tensor) -> Tensor:
        """Return what the parameter goes along."""
        return velocity


@dataclass(frozen=True)
class Nesterov(Momentum):
    """``g += weight_decay * p; v = mu * v + g; p -= lr * (g + mu * v)``."""

    name = "nesterov"
    source = "Sutskever et al. 2013"

    def direction(self, operators: Operators, gradient: Tensor, velocity: Tensor, momentum: Tensor) -> Tensor:
        return added(operators, gradient, momentum, velocity)
