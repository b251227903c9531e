"""What the equations of several rules have in common, in operators of the vocabulary."""

from __future__ import annotations

from typing import TYPE_CHECKING, Optional

if TYPE_CHECKING:
    from benchmarker.api.update_rule import Given, UpdateRule
    from benchmarker.graph.operators import Operators, Tensor

LARGE = 1e30
"""What a number is multiplied by to show its sign alone; one below its inverse counts as 0."""


def average(operators: Operators, old: Tensor, new: Tensor, kept: float) -> Tensor:
    """Return ``kept * old + (1 - kept) * new``."""
    return operators.add(operators.affine(old, alpha=kept), operators.affine(new, alpha=1.0 - kept))


def added(operators: Operators, x: Tensor, share: Tensor, y: Tensor) -> Tensor:
    """Return ``x + share * y`` for a scalar."""
    return operators.add(x, operators.mul(share, y))


def mixed(operators: Operators, kept: Tensor, old: Tensor, share: Tensor, new: Tensor) -> Tensor:
    """Return ``kept * old + share * new`` for scalars."""
    return added(operators, operators.mul(kept, old), share, new)


def subtracted(operators: Operators, x: Tensor, share: Tensor, y: Tensor) -> Tensor:
    """Return ``x - share * y`` for a scalar."""
    return operators.sub(x, operators.mul(share, y))


def corrected_root(operators: Operators, given: Given, squares: Tensor, epsilon: float) -> Tensor:
    """Return ``sqrt(v / (1 - b2^t)) + epsilon``, the mean of squares corrected by the number ``square_scale``."""
    corrected = operators.mul(given.numbers["square_scale"], squares)
    return operators.affine(operators.sqrt(corrected), beta=epsilon)


def square(operators: Operators, x: Tensor) -> Tensor:
    """Return ``x * x``."""
    return operators.mul(x, x)


def sum_of_products(operators: Operators, x: Tensor, y: Tensor) -> Tensor:
    """Return the sum of ``x * y`` over all elements, a scalar."""
    return operators.reduce_sum(operators.mul(x, y))


def norm(operators: Operators, x: Tensor) -> Tensor:
    """Return the Euclidean norm of all elements."""
    return operators.sqrt(sum_of_products(operators, x, x))


def sign(operators: Operators, x: Tensor) -> Tensor:
    """Return -1, 0 or 1."""
    return operators.clip(operators.affine(x, alpha=LARGE), min=-1.0, max=1.0)


def ratio_of_norms(operators: Operators, upper: Tensor, lower: Tensor) -> Tensor:
    """Return ``upper / lower`` of two norms, 1 where one of them is 0."""
    both = operators.mul(sign(operators, upper), sign(operators, lower))
    without = operators.affine(sign(operators, lower), alpha=-1.0, beta=1.0)
    quotient = operators.div(upper, operators.add(lower, without))
    return operators.add(operators.mul(both, quotient), operators.affine(both, alpha=-1.0, beta=1.0))


def with_decay(rule: UpdateRule, operators: Operators, given: Given, x: Optional[Tensor] = None) -> Tensor:
    """Return ``x + weight_decay * parameter``, ``x`` by default the gradient; a rule built without decay has none."""
    x = given.gradient if x is None else x
    return added(operators, x, given.numbers["weight_decay"], given.parameter) if rule.weight_decay else x


def shrunk(rule: UpdateRule, operators: Operators, given: Given) -> Tensor:
    """Return the parameter less its share ``shrinking``; a rule built without decay has none."""
    if not rule.weight_decay:
        return given.parameter
    return subtracted(operators, given.parameter, given.numbers["shrinking"], given.parameter)
