"""The proof that a framework computes the problem's function: its tensors against the reference's."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.worker.coarse import FRACTION_BITS
from benchmarker.worker.values import draw_indices

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

MAX_COMPARED = 65536
"""Larger tensors are compared at this many elements drawn from the seed, and by their norm."""
COARSE_SWITCHING_MARGIN = 1.5
"""The same in a coarse precision, where some of many that might switch do, never all."""
SWITCHING_MARGIN = 2.0
"""Room over the gradient with all rectifiers switched that rounding might switch."""
FLOOR = 1e-5
"""Two correct float32 programs of one operator differ by up to about 3e-6 of the largest element."""
VANISHING = 1e-6
"""A tensor this much smaller than others of its kind is zero but for rounding (a bias before a normalization)."""
VANISHED = 1e-3
"""How far such a tensor may be off, as a share of the others: a sum that cancels, of terms as large as theirs."""
WIDEST = 0.5
"""No tolerance is wider: such tensors would not be the same function."""
MARGIN = 32.0
"""Room over the reference's own rounding error: other orders of summation, other kernels (Winograd's: up to 22)."""
COARSE_MARGIN = 8.0
"""Room over what rounding weights and mini-batch to a coarse precision does: it rounds what is between, too."""
COARSE_FLOOR = 16.0
"""Units of roundoff of a coarse precision that a tensor may be off at least: some sums are made in it, too."""
FLIPPED = 1e-4
"""Rounding that moves a norm further, yet no further than switched rectifiers do, has switched some."""
TURNED = 2.0
"""An element of an update that goes as far the other way is off by twice its size."""
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
    return Excerpt(flat.size, flat[excerpt_places(name, flat.size)].astype(np.float64), norm)


def excerpt_places(name: str, size: int) -> Any:
    """Return which elements of a flat tensor its excerpt has, as an index of an array."""
    return draw_indices(name, size, MAX_COMPARED) if size > MAX_COMPARED else slice(None)


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


def errors(found: Excerpt, expected: Excerpt, scale: float = 0.0) -> Errors:
    """Compare two excerpts; values that are not finite, or sizes that differ, are infinitely far off.

    Parameters
    ----------
    found, expected : Excerpt
        Of the same tensor.
    scale : float
        What an element counts as at least: differences of smaller tensors are relative to this.
    """
    # The norm is not finite either where only an element outside of the excerpt is not.
    finite = math.isfinite(found.norm) and np.isfinite(found.values).all()
    if found.elements != expected.elements or not finite:
        return _FAR_OFF
    difference = found.values - expected.values
    absolute = float(np.max(np.abs(difference), initial=0.0))
    relative = _ratio(absolute, max(scale, _largest(expected)))
    norm = _ratio(float(np.linalg.norm(difference)), _size(expected, scale))
    if expected.elements > expected.values.size:
        # What the excerpt leaves out still shows in the norm of the whole.
        whole = max(expected.norm, scale * math.sqrt(expected.elements))
        norm = max(norm, _ratio(abs(found.norm - expected.norm), whole))
    return Errors(absolute, relative, norm)


def _size(expected: Excerpt, scale: float) -> float:
    """Return the norm of the compared elements, that of as many elements of size ``scale`` at least."""
    return max(float(np.linalg.norm(expected.values)), scale * math.sqrt(expected.values.size))


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
    stored : float
        Norm of what rounding stored parameters to float32 may do to it, for what is read off them.
    """

    name: str
    kind: str
    excerpt: Excerpt
    rounding: Errors
    switching: float = 0.0
    stored: float = 0.0


@dataclass(frozen=True)
class Tolerance:
    """The most that :class:`Errors` may be: ``relative`` and ``norm``, on what ``scale``."""

    relative: float
    norm: float
    scale: float = 0.0


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

    It is a margin times what rounding did to the reference itself (to this tensor, or the median over
    tensors of its kind if that is larger), with a floor, and never above :data:`WIDEST`. But for outputs
    and loss the largest difference need only stay below :data:`WIDEST`, or :data:`TURNED` for an update:
    where rounding switches a rectifier, single elements jump, and the norm hardly moves; it may move
    :data:`SWITCHING_MARGIN` times as far as all rectifiers move it that might switch. A tensor that is zero
    but for rounding (:data:`VANISHING`) is judged on the scale of the others of its kind.
    """
    kinds = {kind: _Kind([e for e in expected if e.kind == kind], precision) for kind in _kinds(expected)}
    return {e.name: kinds[e.kind].tolerance(e) for e in expected}


@dataclass(frozen=True)
class _Leeway:
    """What a precision is allowed: factors of errors, a least error, and on what share of the usual scale."""

    margin: float
    floor: float
    switching: float
    scale: float


def _leeway(precision: str) -> _Leeway:
    if precision not in FRACTION_BITS:
        return _Leeway(MARGIN, FLOOR, SWITCHING_MARGIN, 0.0)
    # What a sum in a coarse precision is off by is a share of its terms, however small the sum.
    return _Leeway(COARSE_MARGIN, COARSE_FLOOR * EPSILON[precision], COARSE_SWITCHING_MARGIN, 1.0)


def _kinds(expected: Sequence[Expected]) -> list[str]:
    return list(dict.fromkeys(e.kind for e in expected))


class _Kind:
    """The tensors of one kind, and what is typical of them."""

    def __init__(self, tensors: Sequence[Expected], precision: str) -> None:
        self._leeway = _leeway(precision)
        self._relative = float(np.median([e.rounding.relative for e in tensors]))
        self._norm = float(np.median([self._smooth(e) for e in tensors]))
        self._typical = float(np.median([_largest(e.excerpt) for e in tensors]))

    def tolerance(self, e: Expected) -> Tolerance:
        if self._vanishes(e):
            relative, norm = (max(VANISHED, self._limit(usual)) for usual in (self._relative, self._norm))
            return self._with_stored(e, Tolerance(relative, norm, self._typical))
        norm = self._limit(max(self._smooth(e), self._norm))
        switched = max(e.switching, e.rounding.norm - self._smooth(e))
        pointwise = WIDEST if e.kind == "gradient" else TURNED
        if e.kind in ("output", "loss"):
            pointwise = self._limit(max(e.rounding.relative, self._relative))
        norm = max(norm, min(WIDEST, self._leeway.switching * switched))
        return self._with_stored(e, Tolerance(pointwise, norm, self._leeway.scale * self._typical))

    def _smooth(self, e: Expected) -> float:
        """Return what rounding did to the norm, but for what a switched rectifier explains."""
        explained = FLIPPED < e.rounding.norm <= self._leeway.switching * e.switching
        return 0.0 if explained else e.rounding.norm

    def _vanishes(self, e: Expected) -> bool:
        """Whether a tensor is zero but for rounding: tiny, or small and nothing that rounding leaves alone."""
        share = VANISHED if self._leeway.margin * e.rounding.norm > WIDEST else VANISHING
        return _largest(e.excerpt) < share * self._typical

    def _limit(self, rounding: float) -> float:
        return min(WIDEST, max(self._leeway.floor, self._leeway.margin * rounding))

    def _with_stored(self, e: Expected, limit: Tolerance) -> Tolerance:
        if not e.stored:
            return limit
        relative = limit.relative + _share(e.stored, max(limit.scale, _largest(e.excerpt)))
        return replace(
            limit, relative=relative, norm=limit.norm + _share(e.stored, _size(e.excerpt, limit.scale))
        )


def _largest(part: Excerpt) -> float:
    return float(np.max(np.abs(part.values), initial=0.0))


def too_ill_conditioned(expected: Sequence[Expected], precision: str = "fp32") -> str | None:
    """Return why no verdict is possible: rounding alone moves the reference itself too far; else None."""
    for kind in sorted({e.kind for e in expected}):
        typical = float(np.median([e.rounding.norm for e in expected if e.kind == kind]))
        if not _leeway(precision).margin * typical <= WIDEST:
            rounding = precision if precision in FRACTION_BITS else "float32"
            return (
                f"{rounding} rounding alone moves each {kind} of the reference by {typical:.2g} of its norm: the "
                f"problem is too ill-conditioned at this size; take a larger mini-batch or input"
            )
    return None


def tolerance_reason(precision: str) -> str:
    """Say in one sentence where the tolerances come from."""
    if precision in FRACTION_BITS:
        return (
            f"{COARSE_MARGIN:g} times what rounding weights and mini-batch to {precision} does to the "
            f"reference in float64, at least {COARSE_FLOOR * EPSILON[precision]:.2g}; or "
            f"what switching every rectifier that rounding might switch does"
        )
    return (
        f"{MARGIN:g} times the rounding error of the reference in float32 against float64, at least "
        f"{FLOOR:g}, for the norm of the differences and, for outputs and loss, the largest one; or "
        f"{SWITCHING_MARGIN:g} times what switching every rectifier that rounding might switch does"
    )


def judge(expected: Expected, found: Array, tolerance: Tolerance) -> TensorVerdict:
    """Compare one tensor."""
    return judge_excerpt(expected, excerpt(expected.name, found), tolerance)


def judge_excerpt(expected: Expected, part: Excerpt, tolerance: Tolerance) -> TensorVerdict:
    """Compare one tensor of which only the excerpt was kept."""
    error = errors(part, expected.excerpt, tolerance.scale)
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


def update_tolerance(base: Tolerance, before: Excerpt, change: Excerpt, rate: float = 1.0) -> Tolerance:
    """Return the tolerance of a parameter's first update, which is read off the rounded parameter.

    Parameters
    ----------
    base : Tolerance
        That of its gradient.
    before : Excerpt
        The parameter before the update, float32.
    change : Excerpt
        The expected change.
    rate : float
        What the gradient was multiplied by.
    """
    rounding, scale = 4 * EPSILON["fp32"], abs(rate) * base.scale
    return Tolerance(
        _doubled(base.relative) + _share(rounding * _largest(before), max(scale, _largest(change))),
        _doubled(base.norm)
        + _share(rounding * before.norm, max(change.norm, scale * math.sqrt(change.elements))),
        scale,
    )


def _share(part: float, whole: float) -> float:
    return part / whole if whole > 0 else WIDEST


def _doubled(limit: float) -> float:
    return max(limit, min(WIDEST, 2 * limit))
