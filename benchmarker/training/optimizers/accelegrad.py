"""AcceleGrad: acceleration whose rate adapts to the gradients of all parameters together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Dict, Tuple

from benchmarker.api.update_rule import POSITIVE, Given, ParameterPlace, Shape, UpdateRule, constant
from benchmarker.quick_dataclass import dataclass
from benchmarker.training.optimizers.arithmetic import (
    added,
    mixed,
    subtracted,
    sum_of_products,
    with_decay,
)

if TYPE_CHECKING:
    from benchmarker.graph.operators import Operators, Tensor

_MIN_SQUARE = 1e-30


def _weight(index: int) -> float:
    """Return ``alpha`` of a step that is counted from 0."""
    return 1.0 if index <= 2 else (index + 1) / 4.0


@dataclass(frozen=True)
class AcceleGrad(UpdateRule):
    """``x = tau z + (1 - tau) y``, where the gradient is taken; ``z = Proj_K(z - alpha eta g); y = x - eta g``.

    ``alpha`` of step t, from 0, is 1 up to 2, then ``(t + 1) / 4``; ``tau = 1 / alpha``. ``eta = lr 2 D / sqrt(G^2 +
    sum alpha^2 |g|^2)`` with the norm of the gradient of all parameters together. K is the ball of ``diameter`` D
    around the start, of all parameters too. Evaluated is the mean of all y weighted by alpha. A program holds x. The
    paper's rate has no factor: ``learning_rate`` is 1.
    """

    learning_rate: float = constant(1.0)
    diameter: float = constant(10.0, POSITIVE)
    bound: float = constant(1.0)

    name = "accelegrad"
    decay_kind = "coupled"
    source = "Levy, Yurtsever, Cevher 2018, arXiv 1809.02864, algorithm 2"
    state = ("z", "y", "mean", "start", "squares")
    is_elementwise = False

    def state_shapes(self, place: ParameterPlace) -> Mapping[str, Shape]:
        return {**dict.fromkeys(("z", "y", "mean", "start"), place.shape), "squares": ()}

    def start(self, place: ParameterPlace, parameter: Any) -> Dict[str, Any]:
        found = super().start(place, parameter)
        return {**found, **{name: parameter.copy() for name in ("z", "y", "mean", "start")}}

    def numbers(self, step: int, memory: Dict[str, float]) -> Dict[str, float]:
        alpha, following = _weight(step - 1), _weight(step)
        total = memory["weights"] = memory.get("weights", 0.0) + alpha
        return {
            **super().numbers(step, memory),
            "alpha": alpha,
            "squared_alpha": alpha * alpha,
            "reach": 2.0 * self.diameter * self.learning_rate,
            "radius": self.diameter / 2.0,
            "share": alpha / total,
            "rest": 1.0 - alpha / total,
            "tau": 1.0 / following,
            "beyond": 1.0 - 1.0 / following,
        }

    def totals(self, operators: Operators, given: Given) -> Dict[str, Tensor]:
        gradient = with_decay(self, operators, given)
        away = operators.sub(given.state["z"], given.state["start"])
        return {
            "squares": sum_of_products(operators, gradient, gradient),
            "along": sum_of_products(operators, away, gradient),
            "away": sum_of_products(operators, away, away),
        }

    def update(self, operators: Operators, given: Given) -> Tuple[Tensor, Dict[str, Tensor]]:
        gradient = with_decay(self, operators, given)
        state, numbers, start = given.state, given.numbers, given.state["start"]
        squares = added(operators, state["squares"], numbers["squared_alpha"], given.totals["squares"])
        below = operators.sqrt(operators.affine(squares, beta=self.bound * self.bound))
        eta = operators.div(numbers["reach"], below)
        step = operators.mul(numbers["alpha"], eta)
        inside = self._projection(operators, step, given)
        away = operators.sub(subtracted(operators, state["z"], step, gradient), start)
        y = subtracted(operators, given.parameter, eta, gradient)
        return given.parameter, {
            "z": added(operators, start, inside, away),
            "y": y,
            "mean": mixed(operators, numbers["rest"], state["mean"], numbers["share"], y),
            "start": start,
            "squares": squares,
        }

    def _projection(self, operators: Operators, step: Tensor, given: Given) -> Tensor:
        """Return what brings ``z - start`` into the ball after a step: its norm follows from the totals."""
        totals = given.totals
        twice = operators.affine(operators.mul(step, totals["along"]), alpha=-2.0)
        squared = operators.mul(operators.mul(step, step), totals["squares"])
        distance = operators.add(operators.add(totals["away"], twice), squared)
        size = operators.sqrt(operators.affine(operators.relu(distance), beta=_MIN_SQUARE))
        return operators.clip(operators.div(given.numbers["radius"], size), min=0.0, max=1.0)

    def prepare(self, operators: Operators, after: Given) -> Tensor:
        numbers, state = after.numbers, after.state
        return mixed(operators, numbers["tau"], state["z"], numbers["beyond"], state["y"])

    def evaluation(self, operators: Operators, parameter: Tensor, state: Mapping[str, Tensor]) -> Tensor:
        return state["mean"]
