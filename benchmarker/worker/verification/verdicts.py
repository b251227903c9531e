"""The proof that a framework computes the problem's function: its tensors against the reference's."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.quick_dataclass import dataclass
from benchmarker.statistics import median
from benchmarker.worker.verification.samples import (
    TensorSample,
    errors,
    largest_element,
    scale_error,
    tensor_sample,
)
from benchmarker.worker.verification.tolerances import (
    MODELLED_FLOOR,
    SCALE_MARGIN,
    VANISHING,
    Expected,
    Tolerance,
)

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


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
    quantization: Mapping[str, Any] | None = None

    @property
    def worst(self) -> TensorVerdict | None:
        """The tensor that used most of its tolerance."""
        ranked = sorted(self.tensors, key=lambda t: t.used)
        return ranked[-1] if ranked else None

    def to_json(self) -> dict[str, Any]:
        """Return the verdict as it stands in a record."""
        worst = self.worst
        own = asdict(self)
        if self.quantization is None:
            del own["quantization"]
        return {
            **own,
            "tensors": [asdict(t) for t in self.tensors],
            "worst": asdict(worst) if worst else None,
        }


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
    typical = median(largest_element(e.tensor_sample) for e in expected) if expected else 0.0
    significant = [e for e in expected if e.trials and largest_element(e.tensor_sample) > VANISHING * typical]
    if len(significant) < 2:
        return []
    trials = np.array([e.trials for e in significant])
    least = MODELLED_FLOOR[precision]
    weights = 1.0 / (np.square(trials).max(axis=1) + least**2)
    weights /= weights.sum()
    tolerance = max(least, SCALE_MARGIN * float(np.abs(weights @ trials).max()))
    error = abs(float(weights @ [scale_error(found[e.name], e.tensor_sample) for e in significant]))
    error = error if math.isfinite(error) else math.inf
    elements = sum(e.tensor_sample.elements for e in significant)
    compared = sum(e.tensor_sample.values.size for e in significant)
    name, kind = f"scale of all {significant[0].kind}s", significant[0].kind
    numbers = (error, error, tolerance, error, tolerance)
    return [TensorVerdict(name, kind, elements, compared, *numbers, error <= tolerance)]
