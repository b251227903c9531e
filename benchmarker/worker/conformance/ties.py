"""Gradients where they are not unique: maxima that elements share, and the bends of rectifiers.

There every subgradient is right: weights of at least 0 that sum to 1 over the elements which share a maximum, and at a
bend any slope between those of both sides (Clarke 1975, Generalized gradients and applications). Frameworks differ: the
first element takes all, or all share evenly. The whole gradient for each of several elements is none, nor is nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.api.optimizer import Optimizer
from benchmarker.graph.graph import Graph
from benchmarker.graph.types import Node
from benchmarker.graph.windows import MaxPooling
from benchmarker.plugins.numpy.windows import windows_over
from benchmarker.quick_dataclass import dataclass
from benchmarker.worker.conformance.cases import Operand, OperatorCase
from benchmarker.worker.conformance.result import CheckFailed, Measurement
from benchmarker.worker.conformance.subject import Check, Subject, draw_parameters, reference_program
from benchmarker.worker.verification.equivalence import TieFinding
from benchmarker.worker.verification.probes import Build
from benchmarker.worker.verification.tolerances import EPSILON

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

MIN_TOLERANCE = 1e-5
"""Of a weight; the upstream gradients are whole numbers, so that only a share such as a third is rounded."""
ROUNDINGS = 8
"""How many roundings a weight may be off in a precision that is coarser."""
MAX_CASES = 12
"""Of one problem: each has to be built, which some frameworks compile."""

Weights = tuple["Array", int]
"""The weights of elements of one value, in their order, and how many of the results have that value."""


# --- cases -----------------------------------------------------------------------------------


def _window_shape(window: MaxPooling) -> tuple[int, ...]:
    """Return the shape of images with two windows along each axis that do not overlap, and those between them."""
    step = zip(window.kernel_shape, window.strides, window.dilations)
    return (1, 2, *((k - 1) * d + 1 + _disjoint_step(k, s, d) * s for k, s, d in step))


def _disjoint_step(kernel: int, stride: int, dilation: int) -> int:
    return math.ceil(((kernel - 1) * dilation + 1) / stride)


def _reduced_shape(shape: Sequence[int], axes: Sequence[int]) -> tuple[int, ...]:
    over = {axis % len(shape) for axis in axes} or set(range(len(shape)))
    return tuple(min(size, 8 if axis in over else 3) for axis, size in enumerate(shape))


def _shape(node: Node, shape: Sequence[int]) -> tuple[int, ...]:
    if node.operator == "max_pool":
        return _window_shape(node.keywords["window"])
    if node.operator == "reduce_max":
        return _reduced_shape(shape, node.attributes["axes"])
    if node.operator == "top_k":
        return (*(min(size, 3) for size in shape[:-1]), min(shape[-1], node.attributes["k"] + 8))
    return (4, 6)


def tie_cases(graph: Graph) -> list[OperatorCase]:
    """Return a small case of each operator of a graph that has ties, with the attributes that it has there."""
    found: dict[str, OperatorCase] = {}
    for node in graph.nodes:
        if node.operator in _MEASURES:
            shape = _shape(node, graph.types[node.inputs[0]].shape)
            attributes = ", ".join(f"{name}={value}" for name, value in node.attributes.items())
            name = f"{node.operator}({attributes})"
            if "nan" not in attributes and name not in found:
                found[name] = OperatorCase(node.operator, name, (Operand(shape),), dict(node.attributes))
    return list(found.values())[:MAX_CASES]


def _values(case: OperatorCase, node: Node, graph: Graph) -> tuple[dict[str, Array], Array, Array]:
    """Return the mini-batch, and of it the operand and what flows back to the results."""
    shapes = {i.name: i.type.shape for i in graph.inputs}
    ((name, operand),) = case.named_operands().items()
    chance = np.random.default_rng(0)
    x = np.asarray(chance.choice(_levels(case), size=operand.shape), np.float32)
    result = graph.types[node.outputs[0]].shape
    dy = np.asarray(chance.choice([-2.0, 1.0, 2.0], size=result), np.float32)
    if case.operator == "top_k":
        dy[...] = dy[..., :1]  # only equal gradients tell which of equal elements have them
    if case.operator == "max_pool":
        dy *= _without_overlap(node.keywords["window"], result)
    batch = {name: x, **({"dy0": dy} if "dy0" in shapes else {})}
    mean = float(max(1, math.prod(result)))
    return batch, x.astype(np.float64), dy / mean if "dy0" in shapes else np.ones(result)


def _levels(case: OperatorCase) -> list[float]:
    """Return values that the operand has: few, so that many are equal, and those at which the operator bends."""
    if case.operator != "clip":
        return [-1.0, 0.0, 1.0] if case.operator in _GROUPED else [-2.0, 0.0, 1.0]
    low, high = case.attributes["min"], case.attributes["max"]
    levels = [low - 1.0, low, 0.5 * low + 0.5 * high, high, high + 1.0]
    return [level for level in levels if math.isfinite(level)] or [0.0]


def _without_overlap(window: MaxPooling, result: Sequence[int]) -> Array:
    """Return 1 for windows of which no two share an element, 0 for others."""
    mask = np.zeros(result, np.float32)
    steps = zip(window.kernel_shape, window.strides, window.dilations)
    places: tuple[slice, ...] = tuple(slice(None, None, _disjoint_step(k, s, d)) for k, s, d in steps)
    mask[(slice(None), slice(None), *places)] = 1.0
    return mask


# --- what is made of them --------------------------------------------------------------------


@dataclass(frozen=True)
class _Measured:
    """How far weights are from a subgradient's, and the convention that they follow."""

    violation: float
    convention: str


def _of_groups(groups: Iterator[Weights], outside: float) -> _Measured:
    """Judge the weights of elements that share maxima.

    Parameters
    ----------
    groups : iterator of (ndarray of float64, int)
        As in :data:`Weights`.
    outside : float
        The largest weight of an element that is none of them.
    """
    worst, conventions = outside, set(_CONVENTIONS)
    for weights, results in groups:
        worst = max(
            worst, abs(float(weights.sum()) - results), -float(weights.min()), float(weights.max()) - 1.0
        )
        if results < weights.size:
            conventions &= {
                name for name, of in _CONVENTIONS.items() if _near(weights, of(weights.size, results))
            }
    names = [name for name in _CONVENTIONS if name in conventions]
    return _Measured(worst, names[0] if names else "equal elements share by a rule of the framework's own")


def _near(weights: Array, wanted: Array) -> bool:
    return bool(np.abs(weights - wanted).max() < 0.02)


_CONVENTIONS: Mapping[str, Callable[[int, int], Array]] = {
    "the first of equal elements takes all": lambda size, results: (np.arange(size) < results) * 1.0,
    "the last of equal elements takes all": lambda size, results: (np.arange(size) >= size - results) * 1.0,
    "equal elements share evenly": lambda size, results: np.full(size, results / size),
}


def _of_rows(rows: Array, gradients: Array, results: int) -> _Measured:
    """Judge rows of elements of which each row's ``results`` largest have the same gradient.

    Parameters
    ----------
    rows : ndarray, shape (n, m)
        The elements.
    gradients : ndarray, shape (n, m)
        Theirs, as shares of the row's upstream gradient.
    results : int
        How many elements a row keeps.
    """
    outside = 0.0
    groups: list[Weights] = []
    for row, shares in zip(rows, gradients):
        kept = np.sort(row)[::-1][:results]
        outside = max(outside, float(np.abs(shares[~np.isin(row, kept)]).max(initial=0.0)))
        groups += [(shares[row == value], int((kept == value).sum())) for value in np.unique(kept)]
    return _of_groups(iter(groups), outside)


def _reduce_max(case: OperatorCase, node: Node, x: Array, dy: Array, dx: Array) -> _Measured:
    axes = [axis % x.ndim for axis in case.attributes.get("axes", ())] or list(range(x.ndim))
    left = [axis for axis in range(x.ndim) if axis not in axes]
    order, size = (*left, *axes), math.prod(x.shape[axis] for axis in axes)
    rows, gradients = (array.transpose(order).reshape(-1, size) for array in (x, dx))
    return _of_rows(rows, gradients / dy.reshape(-1, 1), 1)


def _top_k(case: OperatorCase, node: Node, x: Array, dy: Array, dx: Array) -> _Measured:
    rows, gradients = (array.reshape(-1, x.shape[-1]) for array in (x, dx))
    return _of_rows(rows, gradients / dy[..., :1].reshape(-1, 1), case.attributes["k"])


def _max_pool(case: OperatorCase, node: Node, x: Array, dy: Array, dx: Array) -> _Measured:
    window: MaxPooling = node.keywords["window"]
    pairs = window.covering_pairs(x.shape)
    windows = windows_over(x.shape[2:], window.kernel_shape, window.strides, window.dilations, pairs)
    padded, gradients = windows.pad(x, -np.inf), windows.pad(dx)
    seen = [(padded[view], gradients[view]) for _, view in windows.offsets]
    values, found = (np.stack([each[part] for each in seen], axis=-1) for part in (0, 1))
    chosen = dy != 0
    rows, weights = values[chosen], found[chosen] / dy[chosen][:, None]
    groups = [(w[row == row.max()], 1) for row, w in zip(rows, weights)]
    lesser = max(
        (float(np.abs(w[row < row.max()]).max(initial=0.0)) for row, w in zip(rows, weights)), default=0.0
    )
    # What lies in none of the chosen windows has no gradient at all.
    reached = np.zeros(padded.shape, bool)
    for _, view in windows.offsets:
        reached[view] |= chosen
    beyond = float(np.abs(gradients[~reached]).max(initial=0.0)) / float(np.abs(dy).max(initial=1e-30))
    return _of_groups(iter(groups), max(lesser, beyond))


def _bends(case: OperatorCase) -> list[tuple[float, float, float]]:
    """Return where an operator bends, with its slopes on the left and on the right."""
    if case.operator == "clip":
        return [(case.attributes["min"], 0.0, 1.0), (case.attributes["max"], 1.0, 0.0)]
    left = {"relu": 0.0, "abs": -1.0, "leaky_relu": case.attributes.get("alpha", 0.01)}[case.operator]
    return [(0.0, left, 1.0)]


def _rectifier(case: OperatorCase, node: Node, x: Array, dy: Array, dx: Array) -> _Measured:
    slopes, bends = dx / dy, _bends(case)
    regular = np.full(x.shape, bends[0][1])
    for place, _, right in bends:
        regular[x > np.float32(place)] = right
    least, most, parts = regular.copy(), regular.copy(), []
    for place, left, right in bends:
        at = x == np.float32(place)
        least[at], most[at] = min(left, right), max(left, right)
        if at.any():
            there = slopes[at]
            same = float(there.max() - there.min()) < 0.02
            parts.append(
                f"{round(float(there[0]), 2) + 0.0:g} at {place:g}" if same else f"several at {place:g}"
            )
    violation = float(np.maximum(slopes - most, least - slopes).max(initial=0.0))
    return _Measured(violation, f"the slope is {' and '.join(parts)}")


_GROUPED = {"max_pool": _max_pool, "reduce_max": _reduce_max, "top_k": _top_k}
_MEASURES = {**_GROUPED, **dict.fromkeys(("relu", "leaky_relu", "clip", "abs"), _rectifier)}


def _measured(case: OperatorCase, build: Build) -> _Measured:
    graph = case.graph(training=True)
    node = next(node for node in graph.nodes if node.operator == case.operator)
    batch, x, dy = _values(case, node, graph)
    program = build(graph, draw_parameters(graph, 0), "training", Optimizer())
    _, gradients = program.gradients(program.load(batch))
    (shift,) = gradients.values()
    dx = np.asarray(shift, np.float64)
    if not np.isfinite(dx).all():
        return _Measured(math.inf, "the gradient is not finite")
    return _MEASURES[case.operator](case, node, x, dy, dx)


def _tolerance(precision: str) -> float:
    return max(MIN_TOLERANCE, ROUNDINGS * EPSILON[precision])


def find(case: OperatorCase, build: Build, precision: str) -> TieFinding:
    """Return what a framework does with the ties of a case.

    Parameters
    ----------
    case : OperatorCase
        Of :func:`tie_cases`.
    build : callable
        Makes a program of the framework in a precision.
    precision : str
        That one.
    """
    found, reference = _measured(case, build), _measured(case, partial(reference_program, precision="fp64"))
    fault = None
    if not found.violation <= _tolerance(precision):
        fault = _fault(case, found)
    return TieFinding(case.name, found.convention, reference.convention, fault)


def _fault(case: OperatorCase, found: _Measured) -> str:
    what = (
        "weights of at least 0 that sum to 1 over the elements that share a maximum"
        if case.operator in _GROUPED
        else "slopes between those of both sides"
    )
    return (
        f"the gradient of {case.operator} where elements are tied must have {what}; in {case.name} it is off by "
        f"{found.violation:.2g}"
    )


# --- the conformance suite -------------------------------------------------------------------


def _case(operator: str, name: str, shape: tuple[int, ...], attributes: Mapping[str, Any]) -> OperatorCase:
    return OperatorCase(operator, name, (Operand(shape),), attributes)


def _pool(
    name: str, kernel: tuple[int, ...], strides: tuple[int, ...], pads: tuple[int, ...]
) -> OperatorCase:
    window = MaxPooling(kernel_shape=kernel, strides=strides, pads=pads)
    attributes = {"kernel_shape": kernel, "strides": strides, "pads": pads}
    return _case("max_pool", name, _window_shape(window), attributes)


CASES = (
    _case("relu", "zero", (4, 6), {}),
    _case("leaky_relu", "zero", (4, 6), {"alpha": 0.2}),
    _case("abs", "zero", (4, 6), {}),
    _case("clip", "bounds", (6, 8), {"min": 0.0, "max": 6.0}),
    _pool("1d", (3,), (3,), (0, 0)),
    _pool("2d", (2, 2), (2, 2), (0, 0, 0, 0)),
    _pool("2d-overlap-pad", (3, 3), (2, 2), (1, 1, 1, 1)),
    _pool("3d", (2, 2, 2), (2, 2, 2), (0,) * 6),
    _case("reduce_max", "last", (5, 7), {"axes": (1,)}),
    _case("reduce_max", "middle-kept", (3, 6, 4), {"axes": (1,), "keepdims": True}),
    _case("reduce_max", "all", (4, 5), {}),
    _case("top_k", "rows", (5, 8), {"k": 3}),
    _case("top_k", "one", (5, 8), {"k": 1}),
)
"""One of each kind of tie."""


def _check(case: OperatorCase, subject: Subject) -> Measurement:
    found = find(case, subject.program, "fp32")
    if found.fault is not None:
        raise CheckFailed(found.fault)
    if found.convention == found.reference:
        return Measurement(detail=found.convention)
    return Measurement(detail=f"{found.convention}; in the reference {found.reference}")


def tie_checks() -> tuple[Check, ...]:
    """Return checks of gradients that are not unique."""
    return tuple(Check(f"ties/{case.path}", partial(_check, case)) for case in CASES)
