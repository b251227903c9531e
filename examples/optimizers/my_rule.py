"""An optimizer of one's own: gradient descent along the gradient's sign, which shrinks from step to step.

Run it with ``benchmarker run --problem=mnist_mlp --framework=pytorch --optimizer=examples/optimizers/my_rule.py``.
"""

from __future__ import annotations

from dataclasses import dataclass

from benchmarker.api import Given, Operators, Real, Tensor, UpdateRule, constant


@dataclass(frozen=True)
class SignDescent(UpdateRule):
    """``p -= lr / t^power * g / (|g| + epsilon)``, element by element."""

    learning_rate: float = constant(0.001)
    power: float = constant(0.5, Real(least=0.0, most=1.0))
    epsilon: float = constant(1e-3)

    name = "sign_descent"
    source = "an example"

    def numbers(self, step: int, memory: dict[str, float]) -> dict[str, float]:
        return {**super().numbers(step, memory), "rate": self.learning_rate / step**self.power}

    def update(self, operators: Operators, given: Given) -> tuple[Tensor, dict[str, Tensor]]:
        size = operators.affine(operators.abs(given.gradient), beta=self.epsilon)
        direction = operators.div(given.gradient, size)
        return operators.sub(given.parameter, operators.mul(given.numbers["rate"], direction)), {}


def benchmarker_optimizer() -> UpdateRule:
    """Return the rule with its usual constants."""
    return SignDescent()
