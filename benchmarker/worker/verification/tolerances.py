"""How far a tensor may be from the reference's: margins over what rounding does to the reference itself."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from benchmarker.quick_dataclass import dataclass
from benchmarker.statistics import median
from benchmarker.worker.verification.low_precision import FRACTION_BITS, MODELLED
from benchmarker.worker.verification.samples import Errors, TensorSample, largest_element, size_of

SWITCHING_MARGIN = 2.0
"""Room over the gradient with all rectifiers switched that rounding might switch."""
LOW_PRECISION_SWITCHING_MARGIN = 1.5
"""The same in a low precision, where some of many that might switch do, never all."""
FLOOR = 1e-5
"""Two correct float32 programs of one operator differ by up to about 3e-6 of the largest element."""
GPU_RECURRENT_FLOOR = 1e-4
"""On a GPU with recurrent layers: cuDNN's were off by up to 5.5e-5 in float32, in TF32 by more than 2e-4."""
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
"""Times what all rectifiers do that rounding might switch: few do, so that trials may have met none of them."""
MET_SHARE = 1 / 8
"""Share of what all of them do that trials in bfloat16 move an update by if they have met some: that says more then.

So it is where many may switch, of which bfloat16 switches one in about thirty, which together move a tensor by a sixth
of what all do. In a layer of few the framework may be alone to meet the one that switches. Gradients are compared on
the mini-batch, of several, at which rounding does least."""
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
INT8_MARGIN = 4.0
"""Room over what float32 does to the quantized reference: both put elements into the next step by rounding alone."""
INT8_STEP = 1 / 255
"""A quantization step, as a share of a tensor that fills its range."""
INT8_NORM_STEPS = 0.5
"""Steps that a quantized network's output may be off in the norm at least: rounding puts few elements into the next
step, while a scale that is wrong by a hundredth puts most there."""
INT8_ELEMENT_STEPS = 4.0
"""Steps of a single element: its own, and those of operands before it that rounding put into the next one."""
EPSILON: Mapping[str, float] = {
    "fp64": 2.0**-53,
    "fp32": 2.0**-24,
    "tf32": 2.0**-11,
    "fp16": 2.0**-11,
    "bf16": 2.0**-8,
    "int8": 2.0**-24,
}
"""Unit roundoff of each precision (IEEE 754; TF32 and bfloat16 have 10 and 7 bits of fraction).

What is not quantized of an int8 graph is float32."""


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
    element: float = 0.0
    met_share: float = math.inf


def _precision_margins(
    precision: str, tried: bool, floor: float = FLOOR, kind: str = "gradient"
) -> _PrecisionMargins:
    """Return the margins for tensors of a kind; ``tried`` where rounding every operator was tried."""
    if precision not in FRACTION_BITS:
        if precision == "fp64":
            return _PrecisionMargins(MARGIN, FP64_FLOOR, SWITCHING_MARGIN, 0.0, negligible=FP64_FLOOR)
        if precision == "int8":
            norm, element = INT8_NORM_STEPS * INT8_STEP, INT8_ELEMENT_STEPS * INT8_STEP
            return _PrecisionMargins(INT8_MARGIN, norm, SWITCHING_MARGIN, 0.0, element=element)
        return _PrecisionMargins(MARGIN, floor, SWITCHING_MARGIN, 0.0)
    if tried:
        least = MODELLED_FLOOR[precision]
        # Of the thousands of rectifiers that switch, a few move single elements by more than the largest.
        met = math.inf if precision == "fp16" else 0.0 if kind == "gradient" else MET_SHARE
        return _PrecisionMargins(
            MODELLED_MARGIN, least, MODELLED_SWITCHING, 1.0, least, pointwise=REVERSED_UPDATE, met_share=met
        )
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
        self._margins = _precision_margins(precision, _tried(tensors), floor, tensors[0].kind)
        self._relative = median(e.rounding.relative for e in tensors)
        self._norm = median(self._smooth(e) for e in tensors)
        self._projection = median(e.rounding.projection for e in tensors)
        self._typical = median(largest_element(e.tensor_sample) for e in tensors)

    def tolerance(self, e: Expected) -> Tolerance:
        if self._vanishes(e):
            relative, norm = (
                max(self._margins.negligible, self._limit(usual)) for usual in (self._relative, self._norm)
            )
            return self._with_stored(e, Tolerance(relative, norm, self._typical))
        norm = self._limit(max(self._smooth(e), self._usual(e, self._norm)))
        switched = max(self._switching(e), e.rounding.norm - self._smooth(e))
        pointwise = self._margins.pointwise if e.kind == "gradient" else REVERSED_UPDATE
        if e.kind in ("output", "loss"):
            pointwise = self._limit(max(e.rounding.relative, self._usual(e, self._relative)))
            pointwise = max(pointwise, self._margins.element)
        norm = max(norm, min(MAX_TOLERANCE, self._margins.switching * switched))
        limit = Tolerance(pointwise, norm, self._margins.scale * self._typical, self._projected(e))
        return self._with_stored(e, limit)

    def _projected(self, e: Expected) -> float:
        """Return how far the scale of a tensor may be off, which is better known than its single elements."""
        known = max(PROJECTION_MARGIN * e.rounding.projection, self._projection)
        known = max(known, self._margins.switching * self._switching(e))
        return max(self._margins.projection, known)

    def _switching(self, e: Expected) -> float:
        """Return how far rectifiers move the norm that might switch; nothing where trials have met some of them."""
        return e.switching if e.rounding.norm < self._margins.met_share * e.switching else 0.0

    def _usual(self, e: Expected, median: float) -> float:
        """Return what rounding does to a tensor of this kind at least; after several trials its own is known better."""
        return median / self._margins.margin if e.trials else median

    def _smooth(self, e: Expected) -> float:
        """Return what rounding did to the norm, but for what a switched rectifier explains."""
        explained = (
            not e.trials and SWITCH_THRESHOLD < e.rounding.norm <= self._margins.switching * e.switching
        )
        return 0.0 if explained else e.rounding.norm

    def _vanishes(self, e: Expected) -> bool:
        """Whether a tensor is zero but for rounding: tiny, or small and nothing that rounding leaves alone."""
        share = NEGLIGIBLE_ERROR if self._margins.margin * e.rounding.norm > MAX_TOLERANCE else VANISHING
        return largest_element(e.tensor_sample) < share * self._typical

    def _limit(self, rounding: float) -> float:
        return min(MAX_TOLERANCE, max(self._margins.floor, self._margins.margin * rounding))

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
        typical = median(e.rounding.norm for e in expected if e.kind == kind)
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
            f"reference, at least {least:.2g}, or what rectifiers do that this has not switched and rounding might; "
            f"of the scale of a tensor {PROJECTION_MARGIN:g} times what that changes, of all gradients "
            f"{SCALE_MARGIN:g} times"
        )
    if precision == "fp64":
        return (
            f"{MARGIN:g} times the rounding error of the reference in float32 against float64, scaled to float64's "
            f"roundoff, at least {FP64_FLOOR:g}, for the norm of the differences and, for outputs and loss, the "
            f"largest one; or {SWITCHING_MARGIN:g} times what switching every rectifier that rounding might switch does"
        )
    if precision == "int8":
        return (
            f"of the quantized graph in float64 {INT8_NORM_STEPS:g} steps of 1/255 in the norm and "
            f"{INT8_ELEMENT_STEPS:g} for the largest difference, since rounding puts single elements into the next "
            f"step; or {INT8_MARGIN:g} times what it does so to the reference in float32"
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


def _share(part: float, whole: float) -> float:
    return part / whole if whole > 0 else MAX_TOLERANCE
