"""The parts of a graph: tensors, inputs, parameters, nodes. Plain data, no behaviour beyond checking."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import field
from functools import cached_property
from typing import Any

from benchmarker.graph.attributes import keywords
from benchmarker.quick_dataclass import dataclass

DTYPE_BYTES: Mapping[str, int] = {
    "float64": 8,
    "float32": 4,
    "float16": 2,
    "bfloat16": 2,
    "int64": 8,
    "int32": 4,
    "bool": 1,
}


@dataclass(frozen=True)
class TensorType:
    """Shape and element type of a tensor; the first axis of an input is the mini-batch."""

    shape: tuple[int, ...]
    dtype: str = "float32"

    @property
    def elements(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def bytes(self) -> int:
        """Size in bytes."""
        return self.elements * DTYPE_BYTES[self.dtype]


@dataclass(frozen=True)
class Distribution:
    """How values are drawn from the seed.

    Parameters
    ----------
    kind : str
        ``normal``: mean 0, standard deviation ``scale`` (sum of four 16-bit uniforms, so the same
        bytes on every platform); ``uniform``: in ``[low, scale)``, ``[-scale, scale)`` without ``low``;
        ``integers``: in ``[low, scale)``, from 0 without ``low``; ``constant``: ``scale``; ``values``:
        ``values``, over and over; ``one_hot``: a single 1 in each row of the last axis.
        Tables of ``(positions, features)`` with wavelengths that grow to ``2 pi scale``: ``sinusoidal``,
        sine and cosine by turns (Vaswani et al. 2017, section 3.5); ``rotary_cosine`` and
        ``rotary_sine``, one column a pair of features (Su et al. 2021, equation 15).
    scale : float
        See ``kind``.
    low : float or None
        See ``kind``.
    values : tuple of float
        See ``kind``.
    probability : float
        Of an element being drawn as above; otherwise it is ``otherwise``.
    otherwise : float
        See ``probability``.
    source : str
        ``stored`` values are those of this ``.npy`` file.
    """

    kind: str
    scale: float = 1.0
    low: float | None = None
    values: tuple[float, ...] = ()
    probability: float = 1.0
    otherwise: float = 0.0
    source: str = ""

    @property
    def interval(self) -> tuple[float, float] | None:
        """Ends of the interval that values are drawn from evenly, which data in their place must keep to."""
        if self.kind != "uniform":
            return None
        return (-self.scale if self.low is None else self.low), self.scale


@dataclass(frozen=True)
class Input:
    """A tensor of the mini-batch. ``type.shape[0]`` is the batch size.

    Parameters
    ----------
    name : str
        Unique in the graph.
    type : TensorType
        Of the whole mini-batch.
    distribution : Distribution
        How its values are drawn.
    rows : int
        Its values number rows, of which each sample has so many, through the whole mini-batch: samples that stand
        elsewhere have other numbers. 0 of any other input.
    """

    name: str
    type: TensorType
    distribution: Distribution = Distribution("normal")
    rows: int = 0


@dataclass(frozen=True)
class Parameter:
    """A tensor that belongs to the model; one that is not trainable is state (running statistics)."""

    name: str
    type: TensorType
    initializer: Distribution
    trainable: bool = True


@dataclass(frozen=True)
class Node:
    """One application of an operator.

    Parameters
    ----------
    name : str
        Unique in the graph.
    operator : str
        Name of a method of :class:`~benchmarker.graph.operators.Operators`.
    inputs : tuple of str
        Names of values, in the order of the method's positional arguments; ``""`` is an absent
        optional one.
    outputs : tuple of str
        Names given to the results.
    attributes : mapping
        Every attribute, defaults included, each field of a record by itself; JSON values with tuples for lists.
    """

    name: str
    operator: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def statistics(self) -> tuple[str, ...]:
        """Values that a training step moves without a gradient: running statistics."""
        return self.inputs[3:5] if self.operator == "batch_normalization" else ()

    @cached_property
    def keywords(self) -> Mapping[str, Any]:
        """Keyword arguments of the operator's method: the attributes, or the record that they are fields of."""
        return keywords(self.operator, self.attributes)
