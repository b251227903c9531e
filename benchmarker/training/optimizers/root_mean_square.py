"""Rules that divide the gradient by the root of what its squares have come to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, Tuple

from benchmarker.api.update_rule import RATIO, Given, UpdateRule, constant
from benchmarker.quick_dataclass import dataclass
from benchmarker.training.optimizers.arithmetic import average, square, subtracted, with_decay

if TYPE_CHECKING:
    from benchmarker.graph.operators import Operators, Tensor


@dataclass(frozen=True)
class _BySquares(UpdateRule):
    epsilon: float = constant(1e-8)

    state = ("s",)
    decay_kind = "coupled"

    def update(self, operators: Operators, given: Given) -> Tuple[Tensor, Dict[str, Tensor]]:
        gradient = with_decay(self, operators, given)
        squares = self.squares(operators, given.state["s"], square(operators, gradient))
        root = operators.affine(operators.sqrt(squares), beta=self.epsilon)
        direction = operators.div(gradient, root)
        return subtracted(operators, given.parameter, given.numbers["learning_rate"], direction), {
            "s": squares
        }

    def squares(self, operators: Operators, old: Tensor, new: Tensor) -> Tensor:
        """Return what the squares have come to."""
        raise NotImplementedError


@dataclass(frozen=True)
class RMSProp(_BySquares):
    """``g += weight_decay * p; s = decay * s + (1 - decay) * g^2; p -= lr * g / (sqrt(s) + epsilon)``."""

    decay: float = constant(0.99, RATIO)

    name = "rmsprop"
    source = "Hinton 2012, lecture 6e"

    def squares(self, operators: Operators, old: Tensor, new: Tensor) -> Tensor:
        return average(operators, old, new, self.decay)


@dataclass(frozen=True)
class AdaGrad(_BySquares):
    """``g += weight_decay * p; s += g^2; p -= lr * g / (sqrt(s) + epsilon)``."""

    epsilon: float = constant(1e-10)

    name = "adagrad"
    source = "Duchi et al. 2011"

    def squares(self, operators: Operators, old: Tensor, new: Tensor) -> Tensor:
        return operators.add(old, new)
