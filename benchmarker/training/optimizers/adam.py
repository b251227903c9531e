"""Adam and its kin: the mean of gradients over the root of the mean of their squares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Dict, Tuple

from benchmarker.api.update_rule import RATIO, Given, UpdateRule, constant
from benchmarker.quick_dataclass import dataclass
from benchmarker.training.optimizers.arithmetic import (
    added,
    average,
    corrected_root,
    norm,
    ratio_of_norms,
    shrunk,
    square,
    subtracted,
    with_decay,
)

if TYPE_CHECKING:
    from benchmarker.graph.operators import Operators, Tensor


@dataclass(frozen=True)
class Adam(UpdateRule):
    """``m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g^2; p -= lr (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + epsilon)``.

    Before it ``g += weight_decay * p``; epsilon is added to the bias-corrected root.
    """

    learning_rate: float = constant(1e-3)
    beta1: float = constant(0.9, RATIO)
    beta2: float = constant(0.999, RATIO)
    epsilon: float = constant(1e-8)

    name = "adam"
    decay_kind = "coupled"
    source = "Kingma & Ba 2014, arXiv 1412.6980, algorithm 1"
    state = ("m", "v")

    def numbers(self, step: int, memory: Dict[str, float]) -> Dict[str, float]:
        return {
            **super().numbers(step, memory),
            "mean_scale": 1.0 / (1.0 - self.beta1**step),
            "square_scale": 1.0 / (1.0 - self.beta2**step),
            "shrinking": self.learning_rate * self.weight_decay,
        }

    def update(self, operators: Operators, given: Given) -> Tuple[Tensor, Dict[str, Tensor]]:
        given = self.decayed(operators, given)
        moments = self.moments(operators, given)
        direction = self.direction(operators, given, moments)
        return subtracted(operators, given.parameter, given.numbers["learning_rate"], direction), moments

    def decayed(self, operators: Operators, given: Given) -> Given:
        """Return the same after the decay of weights."""
        return replace(given, gradient=with_decay(self, operators, given))

    def moments(self, operators: Operators, given: Given) -> Dict[str, Tensor]:
        """Return the means of gradients and of their squares, not corrected."""
        squares = square(operators, given.gradient)
        return {
            "m": average(operators, given.state["m"], given.gradient, self.beta1),
            "v": average(operators, given.state["v"], squares, self.beta2),
        }

    def direction(self, operators: Operators, given: Given, moments: Mapping[str, Tensor]) -> Tensor:
        """Return what the parameter goes along."""
        mean = operators.mul(given.numbers["mean_scale"], moments["m"])
        return operators.div(mean, corrected_root(operators, given, moments["v"], self.epsilon))


@dataclass(frozen=True)
class AdamW(Adam):
    """``p -= lr * weight_decay * p``, then Adam."""

    weight_decay: float = constant(0.01)

    name = "adamw"
    decay_kind = "decoupled"
    source = "Loshchilov & Hutter 2017, arXiv 1711.05101, algorithm 2, the decay scaled by the learning rate"

    def decayed(self, operators: Operators, given: Given) -> Given:
        return replace(given, parameter=shrunk(self, operators, given))


@dataclass(frozen=True)
class NAdam(Adam):
    """Adam with Nesterov's look ahead: ``b1 m / (1 - b1^(t+1)) + (1 - b1) g / (1 - b1^t)`` in place of the mean.

    ``b1`` is constant; the schedule of Dozat's report, which several frameworks have, is another method.
    """

    name = "nadam"
    source = "Dozat 2016, Incorporating Nesterov Momentum into Adam, with a constant b1"

    def numbers(self, step: int, memory: Dict[str, float]) -> Dict[str, float]:
        return {
            **super().numbers(step, memory),
            "mean_share": self.beta1 / (1.0 - self.beta1 ** (step + 1)),
            "gradient_share": (1.0 - self.beta1) / (1.0 - self.beta1**step),
        }

    def direction(self, operators: Operators, given: Given, moments: Mapping[str, Tensor]) -> Tensor:
        mean = operators.mul(given.numbers["mean_share"], moments["m"])
        ahead = added(operators, mean, given.numbers["gradient_share"], given.gradient)
        return operators.div(ahead, corrected_root(operators, given, moments["v"], self.epsilon))


@dataclass(frozen=True)
class Lamb(Adam):
    """``r = Adam's direction + weight_decay * p; p -= lr * |p| / |r| * r``, by tensor; 1 where a norm is 0."""

    epsilon: float = constant(1e-6)

    name = "lamb"
    decay_kind = "own"
    source = "You et al. 2019, arXiv 1904.00962, algorithm 2"
    is_elementwise = False
    is_separable = False

    def update(self, operators: Operators, given: Given) -> Tuple[Tensor, Dict[str, Tensor]]:
        moments = self.moments(operators, given)
        direction = with_decay(self, operators, given, self.direction(operators, given, moments))
        trust = ratio_of_norms(operators, norm(operators, given.parameter), norm(operators, direction))
        rate = operators.mul(given.numbers["learning_rate"], trust)
        return subtracted(operators, given.parameter, rate, direction), moments
