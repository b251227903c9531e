"""Muon: momentum made orthogonal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Dict, Tuple

from benchmarker.api.update_rule import RATIO, Given, ParameterPlace, Shape, constant
from benchmarker.quick_dataclass import dataclass
from benchmarker.training.optimizers.adam import AdamW
from benchmarker.training.optimizers.arithmetic import added, norm, shrunk, subtracted

if TYPE_CHECKING:
    from benchmarker.graph.operators import Operators, Tensor

_COEFFICIENTS = (3.4445, -4.7750, 2.0315)
_ITERATIONS = 5
_MIN_NORM = 1e-7


@dataclass(frozen=True)
class Muon(AdamW):
    """Matrices of hidden layers: ``m = mu m + g; u = g + mu m; p -= lr weight_decay p; p -= lr s NS5(u)``.

    ``s = sqrt(max(1, rows / columns))``, the original scaling. ``NS5`` is five Newton-Schulz iterations
    ``A = X X^T; X = a X + (b A + c A^2) X`` from ``X = u / (|u| + 1e-7)``, the shorter axis first, in the precision
    of the parameters (its first author computes them in bfloat16, another function by 5e-3 of the way). All else,
    the last layer and embeddings too, follows AdamW at ``lr * adam_ratio``.
    """

    learning_rate: float = constant(0.02)
    momentum: float = constant(0.95, RATIO)
    adam_ratio: float = constant(0.015)

    name = "muon"
    source = "Jordan et al. 2024, https://kellerjordan.github.io/posts/muon/"
    state = ("m", "v")
    is_elementwise = False

    def state_shapes(self, place: ParameterPlace) -> Mapping[str, Shape]:
        return dict.fromkeys(("m",) if place.is_hidden_matrix else ("m", "v"), place.shape)

    def numbers(self, step: int, memory: Dict[str, float]) -> Dict[str, float]:
        found = super().numbers(step, memory)
        return {
            **found,
            "momentum": self.momentum,
            "adam_rate": self.learning_rate * self.adam_ratio,
            "adam_shrinking": found["shrinking"] * self.adam_ratio,
        }

    def update(self, operators: Operators, given: Given) -> Tuple[Tensor, Dict[str, Tensor]]:
        place, numbers = given.place, given.numbers
        if not place.is_hidden_matrix:
            rates = {"learning_rate": numbers["adam_rate"], "shrinking": numbers["adam_shrinking"]}
            return super().update(operators, replace(given, numbers={**numbers, **rates}))
        rows, columns = place.shape
        mean = added(operators, given.gradient, numbers["momentum"], given.state["m"])
        ahead = added(operators, given.gradient, numbers["momentum"], mean)
        direction = orthogonal(operators, ahead, rows > columns)
        ratio = columns / rows if place.is_transposed else rows / columns
        direction = operators.affine(direction, alpha=max(1.0, ratio) ** 0.5)
        return subtracted(operators, shrunk(self, operators, given), numbers["learning_rate"], direction), {
            "m": mean
        }


def orthogonal(operators: Operators, x: Tensor, is_tall: bool) -> Tensor:
    """Return about the nearest matrix with orthogonal rows, or columns of one with more rows than columns."""
    a, b, c = _COEFFICIENTS
    x = operators.div(x, operators.affine(norm(operators, x), beta=_MIN_NORM))
    x = operators.transpose(x, perm=(1, 0)) if is_tall else x
    for _ in range(_ITERATIONS):
        square = operators.matmul(x, operators.transpose(x, perm=(1, 0)))
        quartic = operators.affine(operators.matmul(square, square), alpha=c)
        factor = operators.add(operators.affine(square, alpha=b), quartic)
        x = operators.add(operators.affine(x, alpha=a), operators.matmul(factor, x))
    return operators.transpose(x, perm=(1, 0)) if is_tall else x
