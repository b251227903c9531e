"""Adafactor: the mean of squares kept as its row and column means."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Dict, Tuple

from benchmarker.api.update_rule import POSITIVE, Given, ParameterPlace, Shape, UpdateRule, constant
from benchmarker.quick_dataclass import dataclass
from benchmarker.training.optimizers.arithmetic import shrunk, square, subtracted

if TYPE_CHECKING:
    from benchmarker.graph.operators import Operators, Tensor

MIN_SCALE = 1e-3
"""``epsilon2`` of the paper: how small the parameters may be that the rate is relative to."""
MIN_SQUARE = 1e-30
"""``epsilon1`` of the paper."""
_DECAY = -0.8
"""Exponent of the step in what of the mean of squares is replaced."""


@dataclass(frozen=True)
class Adafactor(UpdateRule):
    """``rho = min(lr, 1 / sqrt(t)); a = max(1e-3, RMS p) rho; b2 = 1 - t^-0.8; q = g^2 + 1e-30``, then by shape.

    Matrices (the last two axes of what has more): ``r = b2 r + (1 - b2) rowmean q``, ``c`` likewise of columns,
    ``v = r c / mean r``; vectors: ``v = b2 v + (1 - b2) q``. Then ``u = g / sqrt(v); u /= max(1, RMS u / clip)``,
    ``p -= lr weight_decay p; p -= a u``.
    """

    clip: float = constant(1.0, POSITIVE)

    name = "adafactor"
    decay_kind = "decoupled"
    source = "Shazeer & Stern 2018, arXiv 1804.04235, algorithms 4 and 5"
    state = ("r", "c", "v")
    is_elementwise = False
    is_separable = False
    uses_axes = True

    def state_shapes(self, place: ParameterPlace) -> Mapping[str, Shape]:
        shape = place.shape
        if len(shape) < 2:
            return {"v": shape}
        return {"r": (*shape[:-1], 1), "c": (*shape[:-2], 1, shape[-1])}

    def numbers(self, step: int, memory: Dict[str, float]) -> Dict[str, float]:
        replaced = step**_DECAY
        return {
            **super().numbers(step, memory),
            "rate": min(self.learning_rate, step**-0.5),
            "kept": 1.0 - replaced,
            "replaced": replaced,
            "shrinking": self.learning_rate * self.weight_decay,
        }

    def update(self, operators: Operators, given: Given) -> Tuple[Tensor, Dict[str, Tensor]]:
        squares = operators.affine(square(operators, given.gradient), beta=MIN_SQUARE)
        remembered = self._moved(operators, squares, given.state, given.numbers)
        direction = operators.div(given.gradient, operators.sqrt(self._mean_squares(operators, remembered)))
        size = operators.affine(_root_mean_square(operators, direction), alpha=1.0 / self.clip)
        direction = operators.div(direction, _at_least(operators, size, 1.0))
        scale = _at_least(operators, _root_mean_square(operators, given.parameter), MIN_SCALE)
        rate = operators.mul(given.numbers["rate"], scale)
        return subtracted(operators, shrunk(self, operators, given), rate, direction), remembered

    def _moved(
        self,
        operators: Operators,
        squares: Tensor,
        state: Mapping[str, Tensor],
        numbers: Mapping[str, Tensor],
    ) -> Dict[str, Tensor]:
        means = {"v": squares}
        if "r" in state:
            rows = operators.reduce_mean(squares, axes=(-1,), keepdims=True)
            means = {"r": rows, "c": operators.reduce_mean(squares, axes=(-2,), keepdims=True)}
        return {
            name: operators.add(
                operators.mul(numbers["kept"], state[name]), operators.mul(numbers["replaced"], mean)
            )
            for name, mean in means.items()
        }

    def _mean_squares(self, operators: Operators, state: Mapping[str, Tensor]) -> Tensor:
        if "v" in state:
            return state["v"]
        rows = state["r"]
        share = operators.div(rows, operators.reduce_mean(rows, axes=(-2,), keepdims=True))
        return operators.mul(share, state["c"])


def _root_mean_square(operators: Operators, x: Tensor) -> Tensor:
    return operators.sqrt(operators.reduce_mean(square(operators, x)))


def _at_least(operators: Operators, x: Tensor, least: float) -> Tensor:
    """Return the larger of ``x`` and a constant."""
    return operators.affine(operators.relu(operators.affine(x, beta=-least)), beta=least)
