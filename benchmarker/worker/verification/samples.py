"""What is kept of a tensor for comparison, and how far one sample is from another."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import astuple
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.data.values import draw_indices
from benchmarker.quick_dataclass import dataclass

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

MAX_COMPARED = 65536
"""Larger tensors are compared at this many elements drawn from the seed, and by their norm."""


@dataclass(frozen=True)
class TensorSample:
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


def tensor_sample(name: str, tensor: Array) -> TensorSample:
    """Take the sample of a tensor; which elements depends on its name and size alone."""
    flat = np.asarray(tensor).reshape(-1)
    norm = float(np.linalg.norm(flat.astype(np.float64)))
    return TensorSample(flat.size, flat[sample_places(name, flat.size)].astype(np.float64), norm)


def sample_places(name: str, size: int) -> Any:
    """Return which elements of a flat tensor its sample has, as an index of an array."""
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
    projection: float = 0.0
    """Share of the expected values that the differences add to or take from all of them alike: a fault of scale, which
    many roundings leave alone where they move single elements far."""

    def times(self, share: float) -> Errors:
        """Return that share of the errors."""
        return Errors(*(share * error for error in astuple(self)))


def largest(several: Sequence[Errors]) -> Errors:
    """Return the largest of each."""
    return Errors(*map(max, zip(*map(astuple, several))))


NO_ERRORS = Errors(0.0, 0.0, 0.0)
_FAR_OFF = Errors(math.inf, math.inf, math.inf, math.inf)


def ratio(difference: float, scale: float) -> float:
    if scale > 0:
        return difference / scale
    return 0.0 if difference == 0 else math.inf


def errors(found: TensorSample, expected: TensorSample, scale: float = 0.0) -> Errors:
    """Compare two excerpts; values that are not finite, or sizes that differ, are infinitely far off.

    Parameters
    ----------
    found, expected : TensorSample
        Of the same tensor.
    scale : float
        What an element counts as at least: differences of smaller tensors are relative to this.
    """
    # The norm is not finite either where only an element outside of the sample is not.
    finite = math.isfinite(found.norm) and np.isfinite(found.values).all()
    if found.elements != expected.elements or not finite:
        return _FAR_OFF
    difference = found.values - expected.values
    absolute = float(np.max(np.abs(difference), initial=0.0))
    relative = ratio(absolute, max(scale, largest_element(expected)))
    norm = ratio(float(np.linalg.norm(difference)), size_of(expected, scale))
    if expected.elements > expected.values.size:
        # What the sample leaves out still shows in the norm of the whole.
        whole = max(expected.norm, scale * math.sqrt(expected.elements))
        norm = max(norm, ratio(abs(found.norm - expected.norm), whole))
    along = abs(float(np.dot(difference, expected.values)))
    return Errors(absolute, relative, norm, ratio(along, float(np.dot(expected.values, expected.values))))


def size_of(expected: TensorSample, scale: float) -> float:
    """Return the norm of the compared elements, that of as many elements of size ``scale`` at least."""
    return max(float(np.linalg.norm(expected.values)), scale * math.sqrt(expected.values.size))


def scale_error(found: TensorSample, expected: TensorSample) -> float:
    """Return by what share the expected values are larger in what was found, by least squares."""
    size = float(np.dot(expected.values, expected.values))
    if size == 0.0 or found.values.shape != expected.values.shape:
        return 0.0
    return float(np.dot(found.values - expected.values, expected.values)) / size


def largest_element(part: TensorSample) -> float:
    return float(np.max(np.abs(part.values), initial=0.0))
