"""Whether parameters and the optimizer's state moved as its equations say, in float64 and element by element.

Most equations treat each element alone, so a sample of the elements proves the rule; what those say that do not is
proven of whole tensors. How far a result may be off
follows from the gradient's own tolerance: the rule is applied to gradients that are off by as much.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.api.modifiers import COUPLED, OWN
from benchmarker.api.optimizer import Optimizer
from benchmarker.api.program import Program
from benchmarker.api.update_rule import ParameterPlace
from benchmarker.errors import UnsupportedError
from benchmarker.plugins.numpy.equations import Equations, places_of, start_state
from benchmarker.quick_dataclass import dataclass
from benchmarker.worker.verification.samples import NO_ERRORS, TensorSample, sample_places
from benchmarker.worker.verification.tolerances import EPSILON, REVERSED_UPDATE, Expected, Tolerance
from benchmarker.worker.verification.verdicts import TensorVerdict, judge_sample

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]
    Arrays = Mapping[str, Array]
    State = Mapping[str, Arrays]

MAX_ELEMENTS = 4096
"""Of a tensor that are followed: a rule that is wrong is wrong in each of them."""
STORED_ROUNDINGS = 4.0
"""Units of roundoff that a stored number may be off by, before and after a step together."""
OWN_GRADIENT = 1e-3
"""How far, at most, a step's gradient may be from the same program's: one may be compiled unlike the other."""
IMPLIED_GRADIENT = 5e-3
"""The least: a mean of squares that keeps 99 parts of 100 leaves the root of 100 roundings to the new one."""
PERTURBATION_MARGIN = 2.0
"""Room over what one perturbed gradient does: errors are not all of one sign pattern."""
ARITHMETIC_ROUNDINGS = 64.0
"""Of the update itself: a handful of operations, each by kernels that may take a root or a quotient as nearly right."""
MIN_NORMAL = 2.0**-126
"""The smallest normal float32: below it nothing is told apart."""
ELEMENTWISE_LIMIT = REVERSED_UPDATE + 0.5
"""An element whose gradient is near to zero may go the other way; the norm tells whether many do."""


@dataclass(frozen=True)
class Moment:
    """Samples of all trainable parameters and of the optimizer's state, in float64, between two steps.

    Parameters
    ----------
    steps : int
        How many updates led here.
    weights : mapping
        Name to values.
    state : mapping
        Letter of the equations to name to values.
    where : sequence of ParameterPlace or None
        What a rule knows of the parameters; by default their shapes.
    is_whole : bool
        Whether parameters and state are whole; samples are proof of a rule that treats each element alone.
    numbers : mapping or None
        What the rule has kept from update to update; None for that of updates with its constants as they are, which
        takes longer the more of them there were.
    """

    steps: int
    weights: Arrays
    state: State
    where: Sequence[ParameterPlace] | None = None
    is_whole: bool = False
    numbers: Mapping[str, float] | None = None


def own_gradient_limits(limits: Mapping[str, Tolerance], precision: str) -> dict[str, Tolerance]:
    """Return what a step's gradient may be off by from the same program's: less than from the reference's."""
    if precision not in ("fp32", "fp64"):
        return dict(limits)
    return {
        name: Tolerance(limit.relative, min(limit.norm, OWN_GRADIENT), limit.scale)
        for name, limit in limits.items()
    }


def implied_gradient_limits(limits: Mapping[str, Tolerance]) -> dict[str, Tolerance]:
    """Return what gradients that a state implies may be off by: small ones are the difference of large numbers."""
    return {
        name: Tolerance(limit.relative, max(limit.norm, IMPLIED_GRADIENT), limit.scale)
        for name, limit in limits.items()
    }


def sampled(arrays: Arrays, names: Iterable[str], *, whole: bool = False) -> dict[str, Array]:
    """Return float64 samples of some tensors, of elements that :func:`tensor_sample` takes too, or all of each."""
    found = {}
    for name in names:
        if name not in arrays:
            continue  # a state that not every parameter has
        if whole:
            found[name] = np.array(arrays[name], np.float64)
            continue
        flat = np.asarray(arrays[name]).reshape(-1)
        found[name] = flat[_places(name, flat.size)].astype(np.float64)
    return found


@lru_cache(maxsize=1024)
def _places(name: str, size: int) -> Any:
    """Return which elements of a flat tensor a rule is proven with, as an index of an array.

    They are asked for several times a step, and drawing those of a large tensor takes longer than all else.
    """
    places = sample_places(name, size)
    if isinstance(places, slice):
        return slice(None, None, _stride(size))
    return thinned(places).copy()


def _stride(size: int) -> int:
    return max(1, -(-size // MAX_ELEMENTS))


def thinned(sample: Array) -> Array:
    """Return the elements of a tensor's sample that a rule is proven with."""
    found: Array = sample[:: _stride(sample.size)]
    return found


def tells_state(program: Program, optimizer: Optimizer) -> bool:
    """Tell whether the state of a program's optimizer is known: it tells it, or there is none."""
    if not optimizer.rule.state:
        return True
    try:
        program.optimizer_state()
    except UnsupportedError:
        return False
    return True


def sampled_state(
    program: Program, optimizer: Optimizer, names: Iterable[str], *, whole: bool = False
) -> dict[str, dict[str, Array]]:
    """Return samples of the state that a program tells; nothing of an optimizer that has none."""
    state = program.optimizer_state() if optimizer.rule.state else {}
    return {letter: sampled(arrays, names, whole=whole) for letter, arrays in state.items()}


def start(
    optimizer: Optimizer,
    weights: Arrays,
    where: Sequence[ParameterPlace] | None = None,
    *,
    is_whole: bool = False,
) -> Moment:
    """Return the moment before the first update."""
    known = places_of(weights) if where is None else of_samples(where, weights)
    return Moment(0, weights, start_state(optimizer.rule, known, weights), known, is_whole)


def of_samples(where: Iterable[ParameterPlace], weights: Arrays) -> tuple[ParameterPlace, ...]:
    """Return what a rule knows of those parameters that there are weights of, in the shapes of these."""
    return tuple(replace(p, shape=weights[p.name].shape) for p in where if p.name in weights)


def predicted(optimizer: Optimizer, before: Moment, gradients: Arrays) -> Moment:
    """Return what one update must make of a moment."""
    weights = {name: array.copy() for name, array in before.weights.items()}
    state = {
        letter: {name: arrays[name].copy() for name in weights if name in arrays}
        for letter, arrays in before.state.items()
    }
    equations = Equations(
        optimizer, weights, state, where=before.where, steps=before.steps, numbers=before.numbers
    )
    equations(gradients)
    return Moment(before.steps + 1, weights, state, before.where, before.is_whole)


def update_verdicts(
    optimizer: Optimizer,
    before: Moment,
    after: Moment,
    gradients: Arrays,
    limits: Mapping[str, Tolerance],
    precision: str,
    *,
    has_state: bool = True,
    expected: Moment | None = None,
) -> Iterator[TensorVerdict]:
    """Judge one update: the change of each parameter and, where it is told, the state after it.

    Parameters
    ----------
    optimizer : Optimizer
        The equations.
    before, after : Moment
        Of the framework, on either side of the update.
    gradients : mapping
        float64 samples of the gradients that it should have followed.
    limits : mapping
        Tolerance of each gradient.
    precision : str
        Of the run: weights are float64 in ``fp64``, else float32.
    has_state : bool
        Whether ``after`` holds a state that the framework told.
    expected : Moment, optional
        What :func:`predicted` returns for these, where it is known.
    """
    expected = predicted(optimizer, before, gradients) if expected is None else expected
    bent = [predicted(optimizer, before, perturbed) for perturbed in _perturbed(gradients, limits)]
    arithmetic = _arithmetic(optimizer)
    unit = EPSILON["fp64" if precision == "fp64" else "fp32"]
    for name, weight in before.weights.items():
        change = expected.weights[name] - weight
        moved = after.weights[name] - weight
        bend = max(_bend(each.weights[name], expected.weights[name]) for each in bent)
        rounded = STORED_ROUNDINGS * _norm(weight) + arithmetic * _norm(change)
        yield _judged(name, "update", change, moved, bend + unit * rounded)
    if not has_state:
        return
    for letter, arrays in expected.state.items():
        for name, array in arrays.items():
            bend = max(_bend(each.state[letter][name], array) for each in bent)
            found = after.state[letter][name]
            rounded = (STORED_ROUNDINGS + ARITHMETIC_ROUNDINGS) * _norm(array)
            yield _judged(f"{letter} of {name}", "state", array, found, bend + unit * rounded)


def _arithmetic(optimizer: Optimizer) -> float:
    """Return how many roundings the equations make of a change."""
    if "square_scale" not in optimizer.rule.numbers(1, {}):
        return ARITHMETIC_ROUNDINGS
    # 1 - beta^t is small at first, and is off by a rounding of 1.
    return ARITHMETIC_ROUNDINGS + 2.0 / (1.0 - max(optimizer.beta1, optimizer.beta2))


def _judged(name: str, kind: str, expected: Array, found: Array, allowed: float) -> TensorVerdict:
    size = max(_norm(expected), MIN_NORMAL * math.sqrt(expected.size))
    share = max(allowed / size, MIN_NORMAL)  # where a gradient is all zeros, so is what is allowed
    limit = Tolerance(max(ELEMENTWISE_LIMIT, share), share, MIN_NORMAL)
    return judge_sample(Expected(name, kind, _by_itself(expected), NO_ERRORS), _by_itself(found), limit)


def _by_itself(array: Array) -> TensorSample:
    """Return a sample that stands for itself: nothing is known of the elements that it leaves out."""
    flat = np.asarray(array, np.float64).reshape(-1)
    return TensorSample(flat.size, flat, _norm(flat))


def _perturbed(gradients: Arrays, limits: Mapping[str, Tolerance]) -> tuple[dict[str, Array], ...]:
    """Return gradients that are off as far as they may be, one way and the other."""
    noise = {name: _signs(g.size).reshape(g.shape) * _noise(g, limits[name]) for name, g in gradients.items()}
    return (
        {name: g + noise[name] for name, g in gradients.items()},
        {name: g - noise[name] for name, g in gradients.items()},
    )


def _noise(gradient: Array, limit: Tolerance) -> Array:
    """Return how far each element may be off: a share of itself, and as much as a typical one at least."""
    typical = float(np.sqrt(np.mean(np.square(gradient)))) if gradient.size else 0.0
    noise: Array = PERTURBATION_MARGIN * limit.norm * np.maximum(np.abs(gradient), max(typical, limit.scale))
    return noise


def _signs(size: int) -> Array:
    """Return as many signs without a pattern that weights could have too, always the same ones."""
    return _few_signs(size) if size <= MAX_ELEMENTS else _drawn_signs(size)


def _drawn_signs(size: int) -> Array:
    signs: Array = np.random.default_rng(size).choice((-1.0, 1.0), size)
    return signs


_few_signs = lru_cache(maxsize=256)(_drawn_signs)
"""Kept, as each step asks for them again."""


def _bend(found: Array, expected: Array) -> float:
    return _norm(found - expected)


def distance(found: Arrays, expected: Arrays) -> float:
    """Return the Euclidean norm of the differences of all arrays together."""
    squares = (float(np.sum(np.square(found[name] - array))) for name, array in expected.items())
    return math.sqrt(sum(squares))


def _norm(array: Array) -> float:
    flat = np.asarray(array).reshape(-1)
    return math.sqrt(float(flat.dot(flat)))  # as numpy.linalg.norm does, which takes longer to come to it


_IMPLYING = ("momentum", "nesterov", "adam", "adamw", "rmsprop", "adagrad")


def implied_gradients(optimizer: Optimizer, before: Moment, after: Moment) -> dict[str, Array] | None:
    """Return the gradients that the state's own change implies; None for an optimizer whose state tells none.

    Of a step with dropout no other gradient is known: its masks are the framework's.
    """
    if not before.state or optimizer.kind not in _IMPLYING:
        return None
    return {name: _implied(optimizer, before, after, name) for name in before.weights}


def _is_coupled(optimizer: Optimizer, before: Moment, name: str) -> bool:
    """Tell whether a parameter's decay is part of the gradient that the state is made of."""
    decay_kind = optimizer.modifiers.decay_kind
    kind = optimizer.rule.decay_kind if decay_kind == OWN else decay_kind
    return kind == COUPLED and all(place.decays for place in before.where or () if place.name == name)


def _implied(optimizer: Optimizer, before: Moment, after: Moment, name: str) -> Array:
    kind, weight = optimizer.kind, before.weights[name]
    decay = optimizer.weight_decay * weight if _is_coupled(optimizer, before, name) else 0.0
    if kind in ("momentum", "nesterov"):
        gradient = after.state["v"][name] - optimizer.momentum * before.state["v"][name]
    elif kind in ("adam", "adamw"):
        mean = after.state["m"][name] - optimizer.beta1 * before.state["m"][name]
        gradient = mean / (1.0 - optimizer.beta1)
    else:
        old, new = (optimizer.decay, 1.0 - optimizer.decay) if kind == "rmsprop" else (1.0, 1.0)
        squares = np.maximum(after.state["s"][name] - old * before.state["s"][name], 0.0) / new
        gradient = np.sign(weight - after.weights[name]) * np.sqrt(squares)
    found: Array = gradient - decay
    return found
