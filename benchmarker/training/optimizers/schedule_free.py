"""Schedule-Free: an average that needs no schedule; gradients are taken between it and what is averaged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Dict, Tuple

from benchmarker.api.update_rule import RATIO, Given, ParameterPlace, UpdateRule, constant
from benchmarker.quick_dataclass import dataclass
from benchmarker.training.optimizers.arithmetic import (
    average,
    corrected_root,
    mixed,
    square,
    subtracted,
    with_decay,
)

if TYPE_CHECKING:
    from benchmarker.graph.operators import Operators, Tensor


@dataclass(frozen=True)
class _ScheduleFree(UpdateRule):
    """``z -= lr d; x = (1 - c) x + c z; y = between x + (1 - between) z``; the gradient is taken at y, x is evaluated.

    ``c = lr_max^2 / sum lr_max^2`` with the largest rate so far. A program holds y.
    """

    def start(self, place: ParameterPlace, parameter: Any) -> Dict[str, Any]:
        zeros = super().start(place, parameter)
        return {**zeros, "z": parameter.copy(), "x": parameter.copy()}

    @property
    def between(self) -> float:
        """The share of the average in where the gradient is taken."""
        raise NotImplementedError

    def numbers(self, step: int, memory: Dict[str, float]) -> Dict[str, float]:
        largest = memory["largest_rate"] = max(memory.get("largest_rate", 0.0), self.learning_rate)
        total = memory["weights"] = memory.get("weights", 0.0) + largest**2
        share = largest**2 / total if total else 0.0
        between = {"between": self.between, "beyond": 1.0 - self.between}
        return {**super().numbers(step, memory), "share": share, "rest": 1.0 - share, **between}

    def averaged(self, operators: Operators, direction: Tensor, given: Given) -> Dict[str, Tensor]:
        """Return z after a step along a direction, and the average x."""
        state, numbers = given.state, given.numbers
        z = subtracted(operators, state["z"], numbers["learning_rate"], direction)
        return {"z": z, "x": mixed(operators, numbers["rest"], state["x"], numbers["share"], z)}

    def prepare(self, operators: Operators, after: Given) -> Tensor:
        numbers, state = after.numbers, after.state
        return mixed(operators, numbers["between"], state["x"], numbers["beyond"], state["z"])

    def evaluation(self, operators: Operators, parameter: Tensor, state: Mapping[str, Tensor]) -> Tensor:
        return state["x"]


@dataclass(frozen=True)
class ScheduleFreeSgd(_ScheduleFree):
    """Gradient descent, ``d = g + weight_decay y``, between is the momentum."""

    learning_rate: float = constant(1.0)
    momentum: float = constant(0.9, RATIO)

    name = "schedule_free_sgd"
    source = "Defazio et al. 2024, arXiv 2405.15682"
    state = ("z", "x")

    @property
    def between(self) -> float:
        return self.momentum

    def update(self, operators: Operators, given: Given) -> Tuple[Tensor, Dict[str, Tensor]]:
        direction = with_decay(self, operators, given)
        return given.parameter, self.averaged(operators, direction, given)


@dataclass(frozen=True)
class ScheduleFreeAdamW(_ScheduleFree):
    """AdamW, ``v = b2 v + (1 - b2) g^2; d = g / (sqrt(v / (1 - b2^t)) + epsilon) + weight_decay y``, between is b1."""

    learning_rate: float = constant(0.0025)
    beta1: float = constant(0.9, RATIO)
    beta2: float = constant(0.999, RATIO)
    epsilon: float = constant(1e-8)

    name = "schedule_free_adamw"
    source = "Defazio et al. 2024, arXiv 2405.15682, algorithm 1"
    state = ("z", "x", "v")

    @property
    def between(self) -> float:
        return self.beta1

    def numbers(self, step: int, memory: Dict[str, float]) -> Dict[str, float]:
        return {**super().numbers(step, memory), "square_scale": 1.0 / (1.0 - self.beta2**step)}

    def update(self, operators: Operators, given: Given) -> Tuple[Tensor, Dict[str, Tensor]]:
        squares = average(operators, given.state["v"], square(operators, given.gradient), self.beta2)
        root = corrected_root(operators, given, squares, self.epsilon)
        direction = with_decay(self, operators, given, operators.div(given.gradient, root))
        return given.parameter, {**self.averaged(operators, direction, given), "v": squares}
