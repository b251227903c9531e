"""Lion: steps of one size, along the sign of an average."""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, Tuple

from benchmarker.api.update_rule import RATIO, Given, UpdateRule, constant
from benchmarker.quick_dataclass import dataclass
from benchmarker.training.optimizers.arithmetic import average, sign, subtracted, with_decay

if TYPE_CHECKING:
    from benchmarker.graph.operators import Operators, Tensor


@dataclass(frozen=True)
class Lion(UpdateRule):
    """``u = sign(b1 m + (1 - b1) g); p -= lr (u + weight_decay p); m = b2 m + (1 - b2) g``."""

    learning_rate: float = constant(1e-4)
    beta1: float = constant(0.9, RATIO)
    beta2: float = constant(0.99, RATIO)

    name = "lion"
    decay_kind = "decoupled"
    source = "Chen et al. 2023, arXiv 2302.06675, algorithm 2"
    state = ("m",)

    def update(self, operators: Operators, given: Given) -> Tuple[Tensor, Dict[str, Tensor]]:
        ahead, mean = (
            average(operators, given.state["m"], given.gradient, beta) for beta in (self.beta1, self.beta2)
        )
        direction = with_decay(self, operators, given, sign(operators, ahead))
        return subtracted(operators, given.parameter, given.numbers["learning_rate"], direction), {"m": mean}
