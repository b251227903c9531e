"""What a check finds, and how numbers are compared."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.quick_dataclass import dataclass

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

OPERATOR_TOLERANCE = 1e-5
"""Largest error of one operator in float32, relative to the largest value of the tensor.

float32 keeps 24 bits (6e-8); every framework measured stays below 4e-6 with its right call, and every
wrong meaning found is above 2e-5. Above this bound it is another function, not rounding."""


NETWORK_TOLERANCE = 10 * OPERATOR_TOLERANCE
"""Of a few operators in a row."""


NO_MEANING = "no native meaning of "
"""How it is told that operators are missing, whose names follow."""


class Skipped(Exception):  # noqa: N818 - not an error
    """The check does not apply to this framework; the text says why."""


class CheckFailed(Exception):  # noqa: N818 - it says what it is
    """The framework did something else than the contract says; the text says what."""


@dataclass(frozen=True)
class Measurement:
    """What a check measured.

    Parameters
    ----------
    error : float or None
        The largest error met, None where the check is not about numbers.
    tolerance : float or None
        The largest error that passes.
    detail : str
        What the number belongs to, for people.
    """

    error: float | None = None
    tolerance: float | None = None
    detail: str = ""


@dataclass(frozen=True)
class CheckResult:
    """The verdict of one check.

    Parameters
    ----------
    name : str
        Path of the check, e.g. ``"gradient/conv/2d-stride"``.
    status : {"passed", "failed", "skipped"}
        The verdict.
    detail : str
        Why it failed or was skipped; for a comparison, the worst tensor.
    error, tolerance : float or None
        As in :class:`Measurement`.
    """

    name: str
    status: str
    detail: str = ""
    error: float | None = None
    tolerance: float | None = None

    @classmethod
    def of(cls, name: str, found: Measurement) -> CheckResult:
        """Return the verdict on a measurement; one without an error has passed."""
        if found.error is None or found.tolerance is None:
            return cls(name, "passed", found.detail)
        status = "passed" if found.error <= found.tolerance else "failed"
        return cls(name, status, found.detail, found.error, found.tolerance)


def relative_error(value: Array, reference: Array) -> float:
    """Return ``max|value - reference| / max|reference|``, infinite where ``value`` is not finite.

    Raises
    ------
    CheckFailed
        If the shapes differ.
    """
    value = np.asarray(value)
    if value.shape != reference.shape:
        raise CheckFailed(f"the shape must be {reference.shape}, got {value.shape}")
    difference = value.astype(np.float64) - reference
    if not np.isfinite(difference).all():
        return float("inf")
    return float(np.abs(difference).max() / (np.abs(reference).max() or 1.0))


def compare(values: Mapping[str, Array], reference: Mapping[str, Array], tolerance: float) -> Measurement:
    """Return the worst error over all tensors and the name of the tensor that has it.

    Raises
    ------
    CheckFailed
        If the names or a shape differ.
    """
    if set(values) != set(reference):
        raise CheckFailed(f"there must be values for {sorted(reference)}, got {sorted(values)}")
    worst, where = 0.0, ""
    for name, expected in reference.items():
        try:
            error = relative_error(values[name], expected)
        except CheckFailed as failure:
            raise CheckFailed(f"'{name}': {failure}") from None
        if not where or error > worst:
            worst, where = error, name
    return Measurement(worst, tolerance, f"worst tensor '{where}'")


def worst(found: Iterable[Measurement]) -> Measurement:
    """Return the measurement with the largest error; one that is no number is larger than any."""
    return max(found, key=lambda m: math.inf if m.error is None or math.isnan(m.error) else m.error)
