"""Attributes that an operator takes as one record: of windows, recurrent layers, matrix products and slices.

A node of a graph, JSON and whoever builds a network hold the fields as attributes under their own names (those of
ONNX); the operator's method gets the record, which also knows what follows from them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from functools import cached_property
from typing import Any

from benchmarker.errors import require
from benchmarker.graph.windows import AveragePooling, MaxPooling, Shape, TransposedWindow, Window
from benchmarker.quick_dataclass import dataclass


@dataclass(frozen=True)
class Recurrent:
    """One recurrent layer (ONNX ``LSTM``, ``GRU``).

    Parameters
    ----------
    hidden_size : int
        Values of a cell's state (ONNX ``hidden_size``).
    direction : {"forward", "bidirectional"}
        Whether a second layer goes back in time (ONNX ``direction``).
    """

    hidden_size: int
    direction: str = "forward"

    @property
    def is_bidirectional(self) -> bool:
        """Whether there are two directions."""
        return self.direction == "bidirectional"

    @property
    def directions(self) -> int:
        """Number of directions."""
        return 2 if self.is_bidirectional else 1

    def weight_shapes(self, gates: int, features: int) -> tuple[Shape, Shape, Shape]:
        """Return the shapes of the input weight, the recurrent weight and the biases.

        Parameters
        ----------
        gates : int
            Of a cell: 1 of a plain one, 4 of an LSTM's, 3 of a GRU's.
        features : int
            Of the input at a step of time.
        """
        rows = gates * self.hidden_size
        return (
            (self.directions, rows, features),
            (self.directions, rows, self.hidden_size),
            (self.directions, 2 * rows),
        )


@dataclass(frozen=True)
class PlainRecurrent(Recurrent):
    """One layer of plain recurrent cells (ONNX ``RNN``).

    Parameters
    ----------
    hidden_size, direction
        As in :class:`Recurrent`.
    activation : {"tanh", "relu"}
        What a cell's sum goes through (ONNX ``activations``).
    """

    activation: str = "tanh"


@dataclass(frozen=True)
class Gemm:
    """A product of two matrices, ``alpha * a' @ b' + beta * c`` (ONNX ``Gemm``).

    Parameters
    ----------
    alpha : float
        Factor of the product (ONNX ``alpha``).
    beta : float
        Factor of what is added to it (ONNX ``beta``).
    trans_a, trans_b : bool
        Whether an operand is transposed (ONNX ``transA``, ``transB``).
    """

    alpha: float = 1.0
    beta: float = 1.0
    trans_a: bool = False
    trans_b: bool = False

    @property
    def is_dense(self) -> bool:
        """Whether the product is that of a fully connected layer: ``x`` and ``w (out, in)``, unscaled."""
        return self.trans_b and not self.trans_a and self.alpha == 1.0


@dataclass(frozen=True)
class Slice:
    """What is taken of a tensor (ONNX ``Slice``); axes, starts and ends count from the front.

    Parameters
    ----------
    axes : tuple of int
        The axes that are cut, each once (ONNX ``axes``).
    starts, ends : tuple of int
        First index that is taken of each, and the one after the last (ONNX ``starts``, ``ends``).
    steps : tuple of int
        From one index that is taken to the next; none are steps of 1 (ONNX ``steps``).
    """

    axes: Shape
    starts: Shape
    ends: Shape
    steps: Shape = ()

    @cached_property
    def all_steps(self) -> Shape:
        """The step of each of the axes."""
        return self.steps or (1,) * len(self.axes)

    @property
    def is_contiguous(self) -> bool:
        """Whether neighbours are taken."""
        return set(self.steps) <= {1}

    @cached_property
    def parts(self) -> list[tuple[int, slice]]:
        """Each of the axes, and what is taken of it."""
        return list(zip(self.axes, map(slice, self.starts, self.ends, self.all_steps)))

    def index(self, rank: int) -> tuple[slice, ...]:
        """Return what is taken of each axis of a tensor of ``rank`` axes."""
        found = [slice(None)] * rank
        for axis, part in self.parts:
            found[axis] = part
        return tuple(found)

    def output_shape(self, x: Shape) -> Shape:
        """Return the shape of what is taken of a tensor of shape ``x``.

        Raises
        ------
        UsageError
            If an axis is cut twice or not there, or nothing is left of it.
        """
        axes, starts, ends, steps = self.axes, self.starts, self.ends, self.all_steps
        require(
            len(axes) == len(starts) == len(ends) == len(steps) == len(set(axes)),
            f"slice: axes {axes}, starts {starts}, ends {ends} and steps {steps} must be equally many, each axis once",
        )
        sizes = list(x)
        for axis, start, end, step in zip(axes, starts, ends, steps):
            require(
                0 <= axis < len(x) and step >= 1 and 0 <= start < end <= x[axis],
                f"slice {start}:{end}:{step} of axis {axis} of {x} is empty or outside",
            )
            sizes[axis] = len(range(start, end, step))
        return tuple(sizes)


RECORDS: Mapping[str, tuple[str, type[Any]]] = {
    "conv": ("window", Window),
    "conv_transpose": ("window", TransposedWindow),
    "max_pool": ("window", MaxPooling),
    "average_pool": ("window", AveragePooling),
    "rnn": ("layer", PlainRecurrent),
    "lstm": ("layer", Recurrent),
    "gru": ("layer", Recurrent),
    "gemm": ("product", Gemm),
    "slice": ("taken", Slice),
}
"""Each operator that takes its attributes as a record: the name of that argument, and the record."""


def keywords(operator: str, attributes: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the keyword arguments of an operator's method for a node's attributes.

    Parameters
    ----------
    operator : str
        Its name.
    attributes : mapping
        The fields of its record under their own names, or the record as it is.
    """
    name, record = RECORDS.get(operator, ("", None))
    if record is None or name in attributes:
        return attributes
    return {name: record(**attributes)}


def flat(operator: str, given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a node's attributes for the keyword arguments of an operator, the inverse of :func:`keywords`."""
    name, _ = RECORDS.get(operator, ("", None))
    if name not in given:
        return given
    record = given[name]
    return {field.name: getattr(record, field.name) for field in fields(record)}
