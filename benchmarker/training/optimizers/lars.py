"""LARS: momentum whose rate is scaled by tensor."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Dict, Tuple

from benchmarker.api.update_rule import POSITIVE, RATIO, Given, UpdateRule, constant
from benchmarker.quick_dataclass import dataclass
from benchmarker.training.optimizers.arithmetic import (
    added,
    norm,
    ratio_of_norms,
    with_decay,
)

if TYPE_CHECKING:
    from benchmarker.graph.operators import Operators, Tensor


@dataclass(frozen=True)
class Lars(UpdateRule):
    """``q = trust |p| / (|g| + weight_decay |p|); v = mu v + lr q (g + weight_decay p); p -= v``.

    ``q`` is ``trust`` where a norm is 0, so that a bias that starts at 0 moves.
    """

    learning_rate: float = constant(0.1)
    momentum: float = constant(0.9, RATIO)
    trust: float = constant(0.001, POSITIVE)

    name = "lars"
    source = "You, Gitman, Ginsburg 2017, arXiv 1708.03888, algorithm 1"
    state = ("v",)
    is_elementwise = False
    is_separable = False

    def numbers(self, step: int, memory: Dict[str, float]) -> Dict[str, float]:
        return {**super().numbers(step, memory), "momentum": self.momentum}

    def update(self, operators: Operators, given: Given) -> Tuple[Tensor, Dict[str, Tensor]]:
        numbers, size = given.numbers, norm(operators, given.parameter)
        sizes = replace(given, gradient=norm(operators, given.gradient), parameter=size)
        ratio = ratio_of_norms(operators, size, with_decay(self, operators, sizes))
        rate = operators.mul(numbers["learning_rate"], operators.affine(ratio, alpha=self.trust))
        step = operators.mul(rate, with_decay(self, operators, given))
        velocity = added(operators, step, numbers["momentum"], given.state["v"])
        return operators.sub(given.parameter, velocity), {"v": velocity}
