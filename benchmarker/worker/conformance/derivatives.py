"""Are a framework's gradients the derivatives of what it computes? Differences in float64 tell, without a reference.

A program of mode ``gradient`` is asked for ``f``, its loss or the products of its outputs and upstream
gradients summed, at two points on either side of the operands along a random direction ``d``. Their central
difference must be the inner product of the framework's own gradients and ``d``.

The step is ``h = cbrt(eps) s``: truncation, about ``h^2``, and rounding, about ``eps / h``, are then equally
small, 4e-11 (Press et al. 2007, Numerical Recipes, third edition, equation 5.7.8; Dennis & Schnabel 1983,
section 5.6). ``s`` is the scale on which ``f`` bends: 1 for the exponentials that operators are made of, and
that of the operand's values where it is smaller, for quotients and normalizations.

A rectifier or a maximum has no derivative where it switches. Where it switches between the two points, the
difference depends on the step; so a second one, half as long, must agree with the first, otherwise both are
made shorter until it does. Operands that lie on such a point are no case for a derivative.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.api.program import Program
from benchmarker.errors import UnsupportedError
from benchmarker.graph.graph import Graph
from benchmarker.graph.operators import STOPS
from benchmarker.graph.types import Distribution, TensorType
from benchmarker.quick_dataclass import dataclass
from benchmarker.worker.conformance.cases import OPERATOR_CASES, OperatorCase
from benchmarker.worker.conformance.result import CheckFailed, Measurement, Skipped
from benchmarker.worker.conformance.subject import (
    Check,
    Subject,
    draw,
    draw_batch,
    draw_parameters,
    reference_program,
)

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

DERIVATIVE_TOLERANCE = 1e-6
"""Largest error of one operator's directional derivative, relative to the sum of its absolute terms.

All cases of every framework stay below 3e-7, and a wrong gradient is off by 1e-3 or more."""
NETWORK_TOLERANCE = 1e-5
"""Of a whole network: of its thousands of rectifiers some switch however short the step is."""
DIRECTIONS = 3
_STEP = float(np.cbrt(np.finfo(np.float64).eps))
_SHORTER = 8.0
_MAX_SHORTENED = 3
_MAX_GROUPS = 8
"""A graph with more operands than this is moved in all of them together, as it is built anew for each point."""


@dataclass(frozen=True)
class Derivative:
    """One directional derivative, as a difference and from the gradients.

    Parameters
    ----------
    operand : str
        What was moved; several operands are joined by commas.
    direction : int
        Number of the random direction.
    step : float
        Of the difference: the points are that many directions apart from the operands.
    difference, analytic : float
        The central difference, and the inner product of gradients and direction.
    scale : float
        Sum of the absolute terms of that product, which the error is relative to.
    """

    operand: str
    direction: int
    step: float
    difference: float
    analytic: float
    scale: float

    @property
    def error(self) -> float:
        """``|difference - analytic| / scale``."""
        found = abs(self.difference - self.analytic) / (self.scale or 1.0)
        return found if math.isfinite(found) else math.inf


@dataclass(frozen=True)
class GradientCheck:
    """The verdict on a graph.

    Parameters
    ----------
    derivatives : tuple of Derivative
        Each operand along each direction.
    tolerance : float
        Largest error that passes.
    """

    derivatives: tuple[Derivative, ...]
    tolerance: float

    @property
    def worst(self) -> Derivative:
        """The derivative with the largest error."""
        return max(self.derivatives, key=lambda derivative: derivative.error)

    @property
    def passed(self) -> bool:
        """Whether every error is within the tolerance."""
        return self.worst.error <= self.tolerance

    def sentence(self) -> str:
        """Return the worst derivative, for people."""
        worst = self.worst
        return (
            f"'{worst.operand}' along direction {worst.direction + 1}: difference {worst.difference:.9g} with "
            f"step {worst.step:.1e}, gradient {worst.analytic:.9g}"
        )


Build = Callable[[Mapping[str, Any]], Program]


def gradient_check(
    build: Build,
    graph: Graph,
    parameters: Mapping[str, Array],
    batch: Mapping[str, Array],
    *,
    directions: int = DIRECTIONS,
    tolerance: float = DERIVATIVE_TOLERANCE,
    seed: int = 0,
    program: Program | None = None,
) -> GradientCheck:
    """Compare a program's gradients with the differences of its own values.

    Parameters
    ----------
    build : callable
        Makes the program of mode ``gradient`` in precision ``fp64`` from parameters.
    graph : Graph
        Made by :meth:`~benchmarker.graph.graph.Graph.for_gradient`.
    parameters, batch : mapping
        Where to differentiate; parameters are the operands that move.
    directions : int
        How many random directions for each operand.
    tolerance : float
        Largest error that passes.
    seed : int
        Of the directions.
    program : Program, optional
        What ``build`` has made of these parameters, as making it may take long.

    Raises
    ------
    CheckFailed
        If a gradient is missing or has another shape than its operand, or the differences along a direction
        never agree with each other.
    Skipped
        If the graph has nothing to differentiate with respect to.
    """
    exact = {name: _exact(value) for name, value in parameters.items()}
    names = [p.name for p in graph.trainable]
    if not names:
        raise Skipped("there is no floating-point operand to differentiate with respect to")
    program = build(exact) if program is None else program
    _, gradients = program.gradients(program.load(batch))
    _require_shapes({name: exact[name] for name in names}, gradients)
    groups = [[name] for name in names] if len(names) <= _MAX_GROUPS else [names]
    value_at = _Movable(build, exact, batch, program).value
    found = [
        _derivative(value_at, {name: exact[name] for name in group}, gradients, number, seed, tolerance)
        for group in groups
        for number in range(directions)
    ]
    return GradientCheck(tuple(found), tolerance)


def _exact(values: Array) -> Array:
    """Return floating-point values in float64; row numbers and truth values stay what they are."""
    return np.asarray(values, np.float64) if np.issubdtype(values.dtype, np.floating) else values


class _Movable:
    """A program whose operands can be moved: the same one, or where it does not let them be assigned a new one."""

    def __init__(
        self, build: Build, start: Mapping[str, Array], batch: Mapping[str, Array], program: Program
    ) -> None:
        self._build = build
        self._start = start
        self._batch = batch
        self._program = program

    def value(self, moved: Mapping[str, Array]) -> float:
        """Return the value where some operands are elsewhere, which are put back."""
        try:
            self._program.assign(moved)
        except UnsupportedError:
            return _value(self._build({**self._start, **moved}), self._batch)
        found = _value(self._program, self._batch)
        self._program.assign({name: self._start[name] for name in moved})
        return found


def _value(program: Program, batch: Mapping[str, Array]) -> float:
    return program.gradients(program.load(batch))[0]


def _require_shapes(operands: Mapping[str, Array], gradients: Mapping[str, Array]) -> None:
    for name, operand in operands.items():
        if name not in gradients or gradients[name].shape != operand.shape:
            shape = gradients[name].shape if name in gradients else "none"
            raise CheckFailed(f"the gradient of '{name}' must have the shape {operand.shape}, got {shape}")


def _derivative(
    value_at: Callable[[Mapping[str, Array]], float],
    operands: Mapping[str, Array],
    gradients: Mapping[str, Array],
    number: int,
    seed: int,
    tolerance: float,
) -> Derivative:
    direction = {name: _direction(name, operand, number, seed) for name, operand in operands.items()}
    terms = [gradients[name] * along for name, along in direction.items()]
    analytic = float(sum(np.sum(term) for term in terms))
    scale = float(sum(np.sum(np.abs(term)) for term in terms))

    def difference(step: float) -> float:
        ahead, behind = (
            value_at({name: operand + side * step * direction[name] for name, operand in operands.items()})
            for side in (1.0, -1.0)
        )
        return (ahead - behind) / (2.0 * step)

    named = ", ".join(operands) if len(operands) <= _MAX_GROUPS else f"all {len(operands)} parameters"
    step, found = _agreeing(difference, scale, tolerance, named)
    return Derivative(named, number, step, found, analytic, scale)


def _direction(name: str, operand: Array, number: int, seed: int) -> Array:
    """Return a random direction, as long as the scale on which a function of the operand bends."""
    drawn = draw(f"direction {number}/{name}", TensorType(operand.shape), Distribution("normal"), seed)
    size = float(np.sqrt(np.mean(np.square(operand)))) or 1.0
    return np.asarray(drawn.astype(np.float64) * min(1.0, size))


def _agreeing(
    difference: Callable[[float], float], scale: float, tolerance: float, named: str
) -> tuple[float, float]:
    """Return the first step at which its difference agrees with that of half of it, and the latter."""
    step, apart = _STEP, math.inf
    for _ in range(1 + _MAX_SHORTENED):
        whole, half = difference(step), difference(step / 2.0)
        apart = abs(whole - half) / (max(scale, abs(half)) or 1.0)
        if apart <= tolerance:
            return step / 2.0, half
        step /= _SHORTER
    raise CheckFailed(
        f"along '{named}' the differences at step {step * _SHORTER:.1e} and at half of it are {apart:.1e} apart: "
        "the program's function is not smooth there, or changes from call to call"
    )


# --- the checks of a framework ---------------------------------------------------------------------

_VALUE_TOLERANCE = 1e-9
"""Largest error of the value itself in float64, relative to the sum of its absolute terms."""


def _build(subject: Subject, graph: Graph) -> Build:
    def build(parameters: Mapping[str, Any]) -> Program:
        try:
            return subject.program(graph, parameters, "gradient", precision="fp64")
        except UnsupportedError as reason:
            raise Skipped(str(reason)) from reason

    return build


def _derivatives(
    subject: Subject, graph: Graph, start: Mapping[str, Array], batch: Mapping[str, Array], tolerance: float
) -> Measurement:
    """Check the value against the reference's, then the gradients against differences of the value."""
    build = _build(subject, graph)
    subject.require(graph, "gradient")
    exact = {name: _exact(value) for name, value in start.items()}
    program, reference = build(exact), reference_program(graph, start, "gradient")
    found, _ = program.gradients(program.load(batch))
    expected, _ = reference.gradients(reference.load(batch))
    off = abs(found - expected) / max(abs(expected), 1.0)
    if not off <= max(_VALUE_TOLERANCE, tolerance * 1e-3):
        return Measurement(off, _VALUE_TOLERANCE, f"the value is {found:.12g}, expected {expected:.12g}")
    checked = gradient_check(
        build, graph, start, batch, tolerance=tolerance, seed=subject.seed, program=program
    )
    return Measurement(checked.worst.error, tolerance, checked.sentence())


def _of_case(case: OperatorCase, subject: Subject) -> Measurement:
    graph = case.graph(training=False).for_gradient()
    start, batch = case.values(graph, subject.seed)
    return _derivatives(subject, graph, start, batch, DERIVATIVE_TOLERANCE)


def _of_graph(graph: Graph, subject: Subject) -> Measurement:
    start, batch = draw_parameters(graph, subject.seed), draw_batch(graph, subject.seed)
    tolerance = DERIVATIVE_TOLERANCE if len(graph.nodes) == 1 else NETWORK_TOLERANCE
    return _derivatives(subject, graph, start, batch, tolerance)


def is_differentiable(case: OperatorCase) -> bool:
    """Tell whether a derivative exists: something flows back, and no operand lies where a rectifier switches."""
    operands = case.named_operands().values()
    return (
        case.operator not in STOPS
        and any(operand.role in ("data", "weight") for operand in operands)
        and not any(operand.values == "zeros" for operand in operands)
    )


def derivative_checks() -> tuple[Check, ...]:
    """Return a check of each differentiable operator case."""
    return tuple(
        Check(f"derivative/{case.path}", partial(_of_case, case))
        for case in OPERATOR_CASES
        if is_differentiable(case)
    )


def graph_derivative_check(graph: Graph) -> Check:
    """Return the check of a problem's graph, made by ``for_gradient()``."""
    return Check(f"derivative/problem/{graph.name}", partial(_of_graph, graph))
