"""The proof that a framework computes the problem's function: its tensors against the reference's."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.worker.verification.low_precision import FRACTION_BITS, MODELLED
from benchmarker.worker.verification.samples import MAX_COMPARED as MAX_COMPARED
from benchmarker.worker.verification.samples import NO_ERRORS as NO_ERRORS
from benchmarker.worker.verification.samples import Errors as Errors
from benchmarker.worker.verification.samples import TensorSample as TensorSample
from benchmarker.worker.verification.samples import errors as errors
from benchmarker.worker.verification.samples import largest as largest
from benchmarker.worker.verification.samples import largest_element, size_of
from benchmarker.worker.verification.samples import sample_places as sample_places
from benchmarker.worker.verification.samples import scale_error as scale_error
from benchmarker.worker.verification.samples import tensor_sample as tensor_sample

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

LOW_PRECISION_SWITCHING_MARGIN = 1.5
"""The same in a low precision, where some of many that might switch do, never all."""
SWITCHING_MARGIN = 2.0
"""Room over the gradient with all rectifiers switched that rounding might switch."""
FLOOR = 1e-5
"""Two correct float32 programs of one operator differ by up to about 3e-6 of the largest element."""
GPU_RECURRENT_FLOOR = 5e-5
"""On a GPU with recurrent layers: cuDNN's were off by up to 3.2e-5 in float32, in TF32 by more than 2e-4."""
RECURRENT = frozenset({"rnn", "lstm", "gru"})
VANISHING = 1e-6
"""A tensor this much smaller than others of its kind is zero but for rounding (a bias before a normalization)."""
NEGLIGIBLE_ERROR = 1e-3
"""How far such a tensor may be off, as a share of the others: a sum that cancels, of terms as large as theirs."""
MAX_TOLERANCE = 0.5
"""No tolerance is wider: such tensors would not be the same function."""
MARGIN = 32.0
"""Room over the reference's own rounding error: other orders of summation, other kernels (Winograd's: up to 22)."""
LOW_PRECISION_MARGIN = 8.0
"""Room over what rounding weights and mini-batch to a low precision does: it rounds what is between, too."""
MODELLED_MARGIN = 4.0
"""Room over the most that rounding every operator's results did in a few trials."""
MODELLED_SWITCHING = 1.0
"""Times what all rectifiers do that float16 might switch: few do, so that trials may have met none of them."""
MAX_MODELLED = 0.4
"""Where trials move half of the tensors further, their differences prove nothing."""
MODELLED_FLOOR: Mapping[str, float] = {"bf16": 2.0**-6, "fp16": 2.0**-6}
"""What a tensor may then be off at least: 4 and 32 units of roundoff, of a fault of 5 % less than a third."""
PROJECTION_MARGIN = 8.0
"""Room over the most that those trials changed of a tensor's scale."""
SCALE_MARGIN = 6.0
"""The same of the scale of all tensors together, to which each adds little."""
FP64_FLOOR = 1e-11
"""Two correct float64 programs of one operator differ by up to about 1e-12 of the largest element."""
LOW_PRECISION_FLOOR = 16.0
"""Units of roundoff of a low precision that a tensor may be off at least: some sums are made in it, too."""
SWITCH_THRESHOLD = 1e-4
"""Rounding that moves a norm further, yet no further than switched rectifiers do, has switched some."""
REVERSED_UPDATE = 2.0
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
class Expected:
    """A tensor of the reference.

    Parameters
    ----------
    name, kind : str
        As in a verdict.
    tensor_sample : TensorSample
        In float64.
    rounding : Errors
        How far float32 moved it.
    switching : float
        How far, in the norm, it moves when every rectifier and maximum switches that rounding might
        switch.
    stored : float
        Norm of what rounding stored parameters to float32 may do to it, for what is read off them.
    trials : sequence of float
        What each trial of rounding in a low precision made of its scale: 0.05 where it became larger by 5 %.
    """

    name: str
    kind: str
    tensor_sample: TensorSample
    rounding: Errors
    switching: float = 0.0
    stored: float = 0.0
    trials: Sequence[float] = ()


@dataclass(frozen=True)
class Tolerance:
    """The most that :class:`Errors` may be: ``relative``, ``norm`` and ``projection``, on what ``scale``."""

    relative: float
    norm: float
    scale: float = 0.0
    projection: float = math.inf


@dataclass(frozen=True)
class TensorVerdict:
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


def floor_of(operators: Collection[str], device: str) -> float:
    """Return what correct float32 programs of a graph with such operators may differ by on a type of device."""
    return GPU_RECURRENT_FLOOR if device == "cuda" and not RECURRENT.isdisjoint(operators) else FLOOR


def tolerances(expected: Sequence[Expected], precision: str, floor: float = FLOOR) -> dict[str, Tolerance]:
    """Return the tolerance of each tensor.

    It is a margin times what rounding did to the reference itself (to this tensor, or the median over
    tensors of its kind if that is larger), with a floor, and never above :data:`MAX_TOLERANCE`. But for
    outputs and loss the largest difference need only stay below :data:`MAX_TOLERANCE`, or
    :data:`REVERSED_UPDATE` for an update: where rounding switches a rectifier, single elements jump, and
    the norm hardly moves; it may move :data:`SWITCHING_MARGIN` times as far as all rectifiers move it that
    might switch. A tensor that is zero but for rounding (:data:`VANISHING`) is judged on the scale of the
    others of its kind. In float32 nothing is less than ``floor``, see :func:`floor_of`.
    """
    kinds = {
        kind: _Kind([e for e in expected if e.kind == kind], precision, floor) for kind in _kinds(expected)
    }
    return {e.name: kinds[e.kind].tolerance(e) for e in expected}


@dataclass(frozen=True)
class _PrecisionMargins:
    """What a precision is allowed: factors of errors, a least error, and on what share of the usual scale."""

    margin: float
    floor: float
    switching: float
    scale: float
    projection: float = math.inf
    negligible: float = NEGLIGIBLE_ERROR
    pointwise: float = MAX_TOLERANCE


def _precision_margins(precision: str, tried: bool, floor: float = FLOOR) -> _PrecisionMargins:
    """Return the margins; ``tried`` where rounding every operator was tried."""
    if precision not in FRACTION_BITS:
        if precision == "fp64":
            return _PrecisionMargins(MARGIN, FP64_FLOOR, SWITCHING_MARGIN, 0.0, negligible=FP64_FLOOR)
        return _PrecisionMargins(MARGIN, floor, SWITCHING_MARGIN, 0.0)
    if tried:
        least = MODELLED_FLOOR[precision]
        # Of the thousands of rectifiers that switch, a few move single elements by more than the largest.
        switching = MODELLED_SWITCHING if precision == "fp16" else 0.0
        return _PrecisionMargins(MODELLED_MARGIN, least, switching, 1.0, least, pointwise=REVERSED_UPDATE)
    # What a sum in a low precision is off by is a share of its terms, however small the sum.
    return _PrecisionMargins(
        LOW_PRECISION_MARGIN, LOW_PRECISION_FLOOR * EPSILON[precision], LOW_PRECISION_SWITCHING_MARGIN, 1.0
    )


def _kinds(expected: Sequence[Expected]) -> list[str]:
    return list(dict.fromkeys(e.kind for e in expected))


def _tried(tensors: Sequence[Expected]) -> bool:
    return any(e.trials for e in tensors)


class _Kind:
    """The tensors of one kind, and what is typical of them."""

    def __init__(self, tensors: Sequence[Expected], precision: str, floor: float) -> None:
        self._precision_margins = _precision_margins(precision, _tried(tensors), floor)
        self._relative = float(np.median([e.rounding.relative for e in tensors]))
        self._norm = float(np.median([self._smooth(e) for e in tensors]))
        self._projection = float(np.median([e.rounding.projection for e in tensors]))
        self._typical = float(np.median([largest_element(e.tensor_sample) for e in tensors]))

    def tolerance(self, e: Expected) -> Tolerance:
        if self._vanishes(e):
            relative, norm = (
                max(self._precision_margins.negligible, self._limit(usual))
                for usual in (self._relative, self._norm)
            )
            return self._with_stored(e, Tolerance(relative, norm, self._typical))
        norm = self._limit(max(self._smooth(e), self._usual(e, self._norm)))
        switched = max(e.switching, e.rounding.norm - self._smooth(e))
        pointwise = self._precision_margins.pointwise if e.kind == "gradient" else REVERSED_UPDATE
        if e.kind in ("output", "loss"):
            pointwise = self._limit(max(e.rounding.relative, self._usual(e, self._relative)))
        norm = max(norm, min(MAX_TOLERANCE, self._precision_margins.switching * switched))
        limit = Tolerance(pointwise, norm, self._precision_margins.scale * self._typical, self._projected(e))
        return self._with_stored(e, limit)

    def _projected(self, e: Expected) -> float:
        """Return how far the scale of a tensor may be off, which is better known than its single elements."""
        known = max(PROJECTION_MARGIN * e.rounding.projection, self._projection)
        known = max(known, self._precision_margins.switching * e.switching)
        return max(self._precision_margins.projection, known)

    def _usual(self, e: Expected, median: float) -> float:
        """Return what rounding does to a tensor of this kind at least; after several trials its own is known better."""
        return median / self._precision_margins.margin if e.trials else median

    def _smooth(self, e: Expected) -> float:
        """Return what rounding did to the norm, but for what a switched rectifier explains."""
        explained = (
            not e.trials
            and SWITCH_THRESHOLD < e.rounding.norm <= self._precision_margins.switching * e.switching
        )
        return 0.0 if explained else e.rounding.norm

    def _vanishes(self, e: Expected) -> bool:
        """Whether a tensor is zero but for rounding: tiny, or small and nothing that rounding leaves alone."""
        share = (
            NEGLIGIBLE_ERROR
            if self._precision_margins.margin * e.rounding.norm > MAX_TOLERANCE
            else VANISHING
        )
        return largest_element(e.tensor_sample) < share * self._typical

    def _limit(self, rounding: float) -> float:
        return min(
            MAX_TOLERANCE, max(self._precision_margins.floor, self._precision_margins.margin * rounding)
        )

    def _with_stored(self, e: Expected, limit: Tolerance) -> Tolerance:
        if not e.stored:
            return limit
        relative = limit.relative + _share(e.stored, max(limit.scale, largest_element(e.tensor_sample)))
        return replace(
            limit,
            relative=relative,
            norm=limit.norm + _share(e.stored, size_of(e.tensor_sample, limit.scale)),
            projection=limit.projection + _share(e.stored, size_of(e.tensor_sample, 0.0)),
        )


def too_ill_conditioned(expected: Sequence[Expected], precision: str = "fp32") -> str | None:
    """Return why no verdict is possible: rounding alone moves the reference itself too far; else None."""
    for kind in sorted({e.kind for e in expected}):
        typical = float(np.median([e.rounding.norm for e in expected if e.kind == kind]))
        most = MAX_MODELLED
        if not _tried(expected):
            most = MAX_TOLERANCE / _precision_margins(precision, False).margin
        if not typical <= most:
            rounding = precision if precision in FRACTION_BITS or precision == "fp64" else "float32"
            return (
                f"{rounding} rounding alone moves each {kind} of the reference by {typical:.2g} of its norm: the "
                f"problem is too ill-conditioned at this size; take a larger mini-batch or input"
            )
    return None


def tolerance_reason(precision: str, floor: float = FLOOR) -> str:
    """Say in one sentence where the tolerances come from."""
    if precision in MODELLED:
        least = MODELLED_FLOOR[precision]
        return (
            f"{MODELLED_MARGIN:g} times what rounding the results of every operator to {precision} does to the "
            f"reference, at least {least:.2g}; of the scale of a tensor {PROJECTION_MARGIN:g} times what that changes, "
            f"of all gradients {SCALE_MARGIN:g} times"
        )
    if precision == "fp64":
        return (
            f"{MARGIN:g} times the rounding error of the reference in float32 against float64, scaled to float64's "
            f"roundoff, at least {FP64_FLOOR:g}, for the norm of the differences and, for outputs and loss, the "
            f"largest one; or {SWITCHING_MARGIN:g} times what switching every rectifier that rounding might switch does"
        )
    if precision in FRACTION_BITS:
        return (
            f"{LOW_PRECISION_MARGIN:g} times what rounding weights and mini-batch to {precision} does to the "
            f"reference in float64, at least {LOW_PRECISION_FLOOR * EPSILON[precision]:.2g}; or "
            f"what switching every rectifier that rounding might switch does"
        )
    return (
        f"{MARGIN:g} times the rounding error of the reference in float32 against float64, at least "
        f"{floor:g}, for the norm of the differences and, for outputs and loss, the largest one; or "
        f"{SWITCHING_MARGIN:g} times what switching every rectifier that rounding might switch does"
    )


def with_first_loss(limits: Mapping[str, Tolerance], first: Sequence[Expected]) -> Mapping[str, Tolerance]:
    """Return limits of later steps: a loss that became small counts as the first one, since scores stay as large.

    A cross-entropy is the difference of two numbers as large as the scores, whose rounding does not shrink with it.
    """
    loss = next((e for e in first if e.kind == "loss"), None)
    if loss is None or loss.name not in limits:
        return limits
    limit = limits[loss.name]
    return {**limits, loss.name: replace(limit, scale=max(limit.scale, largest_element(loss.tensor_sample)))}


def judge(expected: Expected, found: Array, tolerance: Tolerance) -> TensorVerdict:
    return judge_sample(expected, tensor_sample(expected.name, found), tolerance)


def judge_sample(expected: Expected, part: TensorSample, tolerance: Tolerance) -> TensorVerdict:
    """Compare one tensor of which only the sample was kept."""
    error = errors(part, expected.tensor_sample, tolerance.scale)
    norm, norm_tolerance = error.norm, tolerance.norm
    if error.projection / tolerance.projection > norm / norm_tolerance:
        norm, norm_tolerance = error.projection, tolerance.projection
    return TensorVerdict(
        expected.name,
        expected.kind,
        part.elements,
        part.values.size,
        error.absolute,
        error.relative,
        tolerance.relative,
        norm,
        norm_tolerance,
        error.relative <= tolerance.relative and norm <= norm_tolerance,
    )


def judge_scale(
    expected: Sequence[Expected], found: Mapping[str, TensorSample], precision: str
) -> list[TensorVerdict]:
    """Judge the scale of all tensors of a kind together, which is known better than that of each.

    Parameters
    ----------
    expected : sequence of Expected
        Of one kind, with trials.
    found : mapping
        The same tensors by name.
    precision : str
        A low one.

    Returns
    -------
    list of TensorVerdict
        One; none of fewer than two tensors, or without trials.
    """
    typical = float(np.median([largest_element(e.tensor_sample) for e in expected])) if expected else 0.0
    told = [e for e in expected if e.trials and largest_element(e.tensor_sample) > VANISHING * typical]
    if len(told) < 2:
        return []
    trials = np.array([e.trials for e in told])
    least = MODELLED_FLOOR[precision]
    weights = 1.0 / (np.square(trials).max(axis=1) + least**2)
    weights /= weights.sum()
    tolerance = max(least, SCALE_MARGIN * float(np.abs(weights @ trials).max()))
    error = abs(float(weights @ [scale_error(found[e.name], e.tensor_sample) for e in told]))
    error = error if math.isfinite(error) else math.inf
    elements = sum(e.tensor_sample.elements for e in told)
    compared = sum(e.tensor_sample.values.size for e in told)
    name, kind = f"scale of all {told[0].kind}s", told[0].kind
    numbers = (error, error, tolerance, error, tolerance)
    return [TensorVerdict(name, kind, elements, compared, *numbers, error <= tolerance)]


def update_tolerance(
    base: Tolerance, before: TensorSample, change: TensorSample, rate: float = 1.0, precision: str = "fp32"
) -> Tolerance:
    """Return the tolerance of a parameter's first update, which is read off the rounded parameter.

    Parameters
    ----------
    base : Tolerance
        That of its gradient.
    before : TensorSample
        The parameter before the update, float32.
    change : TensorSample
        The expected change.
    rate : float
        What the gradient was multiplied by.
    precision : str
        In ``fp64`` parameters are float64, else float32.
    """
    rounding, scale = 4 * EPSILON["fp64" if precision == "fp64" else "fp32"], abs(rate) * base.scale
    return Tolerance(
        _doubled(base.relative)
        + _share(rounding * largest_element(before), max(scale, largest_element(change))),
        _doubled(base.norm)
        + _share(rounding * before.norm, max(change.norm, scale * math.sqrt(change.elements))),
        scale,
    )


def _share(part: float, whole: float) -> float:
    return part / whole if whole > 0 else MAX_TOLERANCE


def _doubled(limit: float) -> float:
    return max(limit, min(MAX_TOLERANCE, 2 * limit))
