"""The proof that a framework computes the problem's function: its tensors against the reference's."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.worker.values import draw_indices

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

MAX_COMPARED = 65536
"""Larger tensors are compared at this many elements drawn from the seed, and by their norm."""
SWITCHING_MARGIN = 2.0
"""Room over the gradient with all rectifiers switched that rounding might switch."""
FLOOR = 1e-5
"""Two correct float32 programs of one operator differ by up to about 3e-6 of the largest element."""
VANISHING = 1e-6
"""A tensor this much smaller than others of its kind is zero but for rounding (a bias before a normalization)."""
VANISHED = 1e-4
"""What such a tensor may be, as a share of the others: it is a sum that cancels, of terms as large as theirs."""
WIDEST = 0.5
"""No tolerance is wider: such tensors would not be the same function."""
TURNED = 2.0
"""An element that goes as far the other way is off by twice its size."""
_NINE_IN_TEN = 0.9
MARGIN = 16.0
"""Room over the reference's own rounding error: other orders of summation, other kernels."""
EPSILON: Mapping[str, float] = {
    "fp64": 2.0**-53,
    "fp32": 2.0**-24,
    "tf32": 2.0**-11,
    "fp16": 2.0**-11,
    "bf16": 2.0**-8,
}
"""Unit roundoff of each precision (IEEE 754; TF32 and bfloat16 have 10 and 7 bits of fraction)."""


@dataclass(frozen=True)
class Excerpt:
    """What is kept of a tensor for comparison.

    Parameters
    ----------
    elements : int
        Size of the whole tensor.
    values : ndarray of float64
        The whole tensor, flat, or :data:`MAX_COMPARED` of its elements.
    norm : float
        Euclidean norm of the whole tensor.
    """

    elements: int
    values: Array
    norm: float


def excerpt(name: str, tensor: Array) -> Excerpt:
    """Take the excerpt of a tensor; which elements depends on its name and size alone."""
    flat = np.asarray(tensor).reshape(-1)
    norm = float(np.linalg.norm(flat.astype(np.float64)))
    if flat.size > MAX_COMPARED:
        return Excerpt(flat.size, flat[draw_indices(name, flat.size, MAX_COMPARED)].astype(np.float64), norm)
    return Excerpt(flat.size, flat.astype(np.float64), norm)


@dataclass(frozen=True)
class Errors:
    """How far a tensor is from what was expected.

    Parameters
    ----------
    absolute : float
        Largest difference of an element.
    relative : float
        The same, relative to the largest expected element.
    norm : float
        Euclidean norm of the differences, relative to that of the expected values. A rectifier that
        rounding switches moves single elements far, and the norm hardly; a wrong function moves both.
    """

    absolute: float
    relative: float
    norm: float


NO_ERRORS = Errors(0.0, 0.0, 0.0)
_FAR_OFF = Errors(math.inf, math.inf, math.inf)


def _ratio(difference: float, scale: float) -> float:
    if scale > 0:
        return difference / scale
    return 0.0 if difference == 0 else math.inf


def errors(found: Excerpt, expected: Excerpt) -> Errors:
    """Compare two excerpts; values that are not finite, or sizes that differ, are infinitely far off."""
    # The norm is not finite either where only an element outside of the excerpt is not.
    finite = math.isfinite(found.norm) and np.isfinite(found.values).all()
    if found.elements != expected.elements or not finite:
        return _FAR_OFF
    difference = found.values - expected.values
    absolute = float(np.max(np.abs(difference), initial=0.0))
    relative = _ratio(absolute, _largest(expected))
    norm = _ratio(float(np.linalg.norm(difference)), float(np.linalg.norm(expected.values)))
    if expected.elements > expected.values.size:
        # What the excerpt leaves out still shows in the norm of the whole.
        norm = max(norm, _ratio(abs(found.norm - expected.norm), expected.norm))
    return Errors(absolute, relative, norm)


@dataclass(frozen=True)
class Expected:
    """A tensor of the reference.

    Parameters
    ----------
    name, kind : str
        As in a verdict.
    excerpt : Excerpt
        In float64.
    rounding : Errors
        How far float32 moved it.
    switching : float
        How far, in the norm, it moves when every rectifier and maximum switches that rounding might
        switch.
    """

    name: str
    kind: str
    excerpt: Excerpt
    rounding: Errors
    switching: float = 0.0


@dataclass(frozen=True)
class Tolerance:
    """The most that :class:`Errors` may be: ``relative`` and ``norm``."""

    relative: float
    norm: float


@dataclass(frozen=True)
class TensorVerdict:
    """One compared tensor."""

    name: str
    kind: str
    elements: int
    compared: int
    max_absolute_error: float
    max_relative_error: float
    tolerance: float
    norm_error: float
    norm_tolerance: float
    passed: bool

    @property
    def used(self) -> float:
        """The share of its tolerance that it used."""
        return max(self.max_relative_error / self.tolerance, self.norm_error / self.norm_tolerance)


@dataclass(frozen=True)
class Verification:
    """The verdict on a run."""

    status: str
    reason: str
    reference: str
    samples: int
    tolerance_reason: str
    tensors: tuple[TensorVerdict, ...]

    @property
    def worst(self) -> TensorVerdict | None:
        """The tensor that used most of its tolerance."""
        ranked = sorted(self.tensors, key=lambda t: t.used)
        return ranked[-1] if ranked else None

    def to_json(self) -> dict[str, Any]:
        """Return the verdict as it stands in a record."""
        worst = self.worst
        return {
            **asdict(self),
            "tensors": [asdict(t) for t in self.tensors],
            "worst": asdict(worst) if worst else None,
        }


def tolerances(expected: Sequence[Expected], precision: str) -> dict[str, Tolerance]:
    """Return the tolerance of each tensor.

    It is :data:`MARGIN` times the error that float32 rounding made in the reference itself (for this
    tensor, or the median over tensors of its kind if that is larger), at least :data:`FLOOR`, scaled
    by the precision's unit roundoff over float32's and never above :data:`WIDEST`. The largest
    difference of a gradient need only stay below :data:`WIDEST`: where rounding switches a rectifier,
    single elements of it jump, and its norm hardly moves. A tensor that is zero but for rounding
    (:data:`VANISHING`) is judged on the scale of the others of its kind.

    What several steps of an optimizer made of the parameters may be off by what rounding did to nine in
    ten of them: one rectifier that switches in one step moves all of them in the next. A single element
    may go the other way (:data:`TURNED`), since optimizers that divide by the gradient's size nearly take
    its sign.
    """
    scale = max(1.0, EPSILON[precision] / EPSILON["fp32"])

    def limit(own: float, same_kind: Sequence[float]) -> float:
        return min(WIDEST, scale * max(FLOOR, MARGIN * max(own, float(np.median(same_kind)))))

    limits = {}
    for e in expected:
        same_kind = [other for other in expected if other.kind == e.kind]
        relative = [other.rounding.relative for other in same_kind]
        norm = [other.rounding.norm for other in same_kind]
        largest = _largest(e.excerpt)
        typical = float(np.median([_largest(other.excerpt) for other in same_kind]))
        if 0 < largest < VANISHING * typical:
            root = math.sqrt(e.excerpt.values.size)
            kept = float(np.linalg.norm(e.excerpt.values))
            limits[e.name] = Tolerance(
                max(VANISHED, limit(0.0, relative)) * typical / largest,
                max(VANISHED, limit(0.0, norm)) * typical * root / kept,
            )
        else:
            pointwise = limit(e.rounding.relative, relative)
            rounding, switching = e.rounding.norm, e.switching
            if e.kind not in ("output", "loss"):
                pointwise = WIDEST
            if e.kind not in ("output", "loss", "gradient"):
                pointwise = TURNED
                rounding = max(rounding, float(np.quantile(norm, _NINE_IN_TEN)))
                switching = max(switching, float(np.quantile([o.switching for o in same_kind], _NINE_IN_TEN)))
            switched = min(WIDEST, scale * SWITCHING_MARGIN * switching)
            limits[e.name] = Tolerance(pointwise, max(switched, limit(rounding, norm)))
    return limits


def _largest(part: Excerpt) -> float:
    return float(np.max(np.abs(part.values), initial=0.0))


def too_ill_conditioned(expected: Sequence[Expected]) -> str | None:
    """Return why no verdict is possible: rounding alone moves the reference itself too far; else None."""
    for kind in sorted({e.kind for e in expected}):
        typical = float(np.median([e.rounding.norm for e in expected if e.kind == kind]))
        if not MARGIN * typical <= WIDEST:
            return (
                f"float32 rounding alone moves each {kind} of the reference by {typical:.2g} of its norm: the "
                f"problem is too ill-conditioned at this size; take a larger mini-batch or input"
            )
    return None


def tolerance_reason(precision: str) -> str:
    """Say in one sentence where the tolerances come from."""
    base = (
        f"{MARGIN:g} times the rounding error of the reference in float32 against float64, at least "
        f"{FLOOR:g}, for the norm of the differences and, but for gradients, for the largest one; or "
        f"{SWITCHING_MARGIN:g} times what switching every rectifier that rounding might switch does"
    )
    factor = EPSILON[precision] / EPSILON["fp32"]
    return base if factor <= 1 else f"{base}, times {factor:g} for the unit roundoff of {precision}"


def judge(expected: Expected, found: Array, tolerance: Tolerance) -> TensorVerdict:
    """Compare one tensor."""
    return judge_excerpt(expected, excerpt(expected.name, found), tolerance)


def judge_excerpt(expected: Expected, part: Excerpt, tolerance: Tolerance) -> TensorVerdict:
    """Compare one tensor of which only the excerpt was kept."""
    error = errors(part, expected.excerpt)
    return TensorVerdict(
        expected.name,
        expected.kind,
        part.elements,
        part.values.size,
        error.absolute,
        error.relative,
        tolerance.relative,
        error.norm,
        tolerance.norm,
        error.relative <= tolerance.relative and error.norm <= tolerance.norm,
    )


def update_tolerance(base: Tolerance, before: Excerpt, change: Excerpt) -> Tolerance:
    """Return the tolerance of a parameter's first update, which is read off the rounded parameter.

    Parameters
    ----------
    base : Tolerance
        That of its gradient.
    before : Excerpt
        The parameter before the update, float32.
    change : Excerpt
        The expected change.
    """
    rounding = 4 * EPSILON["fp32"]
    return Tolerance(
        _doubled(base.relative) + _share(rounding * _largest(before), _largest(change)),
        _doubled(base.norm) + _share(rounding * before.norm, change.norm),
    )


def _share(part: float, whole: float) -> float:
    return part / whole if whole > 0 else WIDEST


def _doubled(limit: float) -> float:
    return max(limit, min(WIDEST, 2 * limit))
