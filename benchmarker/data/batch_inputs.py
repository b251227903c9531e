"""A data set's samples and labels as the inputs of a problem."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Optional

import numpy as np

from benchmarker.data.stored import StoredData, one_hot
from benchmarker.errors import UsageError
from benchmarker.graph.graph import Graph
from benchmarker.graph.types import Distribution, Input
from benchmarker.quick_dataclass import dataclass

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]
    Arrays = dict[str, Array]


@dataclass(frozen=True)
class BatchInputs:
    """What a problem's mini-batch is made of.

    Parameters
    ----------
    problem : str
        For messages.
    sample : str
        Name of the input that takes the samples.
    shape : tuple of int
        Of one sample there; a data set's samples are reshaped to it.
    distribution : Distribution
        Of that input.
    label : str or None
        Name of the input that takes the labels.
    takes_weights : bool
        Whether that is float32 ``(classes,)``, weights of the classes, and not a class index.
    """

    problem: str
    sample: str
    shape: tuple[int, ...]
    distribution: Distribution = Distribution("normal")
    label: Optional[str] = None
    takes_weights: bool = False

    @classmethod
    def of(cls, graph: Graph) -> BatchInputs:
        """Return those of a graph: samples first, then at most one input for labels.

        Raises
        ------
        UsageError
            If the graph has other inputs.
        """
        sample, *labels = graph.inputs
        if len(labels) > 1 or not all(map(takes_labels, labels)):
            raise UsageError(
                "a data set has samples and a class label each; problem "
                f"'{graph.name}' takes {', '.join(i.name for i in graph.inputs)}"
            )
        label = labels[0] if labels else None
        name = None if label is None else label.name
        weights = label is not None and takes_weights(label)
        return cls(graph.name, sample.name, sample.type.shape[1:], sample.distribution, name, weights)

    def arrays(self, samples: Array, labels: Array, weights: Array | None, classes: int) -> Arrays:
        """Return a mini-batch by the names of the inputs.

        Parameters
        ----------
        samples : array ``(count, ...)``
            As the problem takes them, but for their shape.
        labels : array ``(count,)``
            Class indices.
        weights : array ``(count, classes)`` or None
            Of the classes, in their place.
        classes : int
            Number of classes.
        """
        found = {self.sample: np.ascontiguousarray(samples).reshape(len(samples), *self.shape)}
        if self.label is not None and self.takes_weights:
            found[self.label] = one_hot(labels, classes) if weights is None else weights
        elif self.label is not None:
            found[self.label] = labels.astype(np.int64)
        return found

    def check_shape(self, shape: tuple[int, ...], data: StoredData) -> None:
        """Refuse samples of another size than the problem takes.

        Raises
        ------
        UsageError
            With both shapes.
        """
        if data.symbols is not None and self.distribution.kind == "one_hot":
            shape = (*shape, data.symbols)
        if math.prod(shape) != math.prod(self.shape):
            raise UsageError(
                f"data set '{data.name}' gives samples of shape {shape}, but problem '{self.problem}' takes "
                f"'{self.sample}' of {self.shape}; change the problem's parameters with --set"
            )


def takes_weights(label: Input) -> bool:
    """Tell whether an input is for weights of classes: float32 ``(classes,)``, drawn as one-hot rows."""
    declared = (label.type.dtype, len(label.type.shape), label.distribution.kind)
    return declared == ("float32", 2, "one_hot")


def takes_labels(label: Input) -> bool:
    """Tell whether an input is for labels: class indices, or weights of classes."""
    return takes_weights(label) or label.type.dtype == "int64"
