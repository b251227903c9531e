"""What a name of the ONNX model stands for while its graph is built."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union

from benchmarker.graph.recorder import Value
from benchmarker.quick_dataclass import dataclass

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

FEW = 8
"""So many numbers of an initializer at most are taken for sizes or scales where they only meet such."""


@dataclass(frozen=True)
class Known:
    """An array that is known before anything runs: an initializer, a constant, or made of such.

    Parameters
    ----------
    name : str
        The value's name in the model.
    array : ndarray
        As the model has it.
    source : Path or None
        The ``.npy`` file that holds exactly this array.
    trained : bool
        Whether it is a weight: an initializer of several real numbers, or of a single one where only a weight can be
        (:mod:`~benchmarker.graph.onnx.reader.weights`); other single ones are constants beside the weights.
    """

    name: str
    array: Array
    source: Path | None = None
    trained: bool = False

    @property
    def is_weight(self) -> bool:
        """Whether operators over it belong to the graph, and are not computed here."""
        return self.trained and (self.array.ndim > 1 or self.array.size > FEW)


@dataclass(frozen=True)
class Missing:
    """What an operator without a meaning here would return; what follows from it is not looked at."""


MISSING = Missing()


@dataclass(frozen=True)
class Listed:
    """A sequence of what is known or a value of the graph.

    Parameters
    ----------
    items : tuple of Operand
        In their order.
    """

    items: tuple[Operand, ...]


Operand = Union[Known, Value, Missing, Listed]


class Unsupported(Exception):  # noqa: N818 - a finding, told together with all others
    """An operator, or a way to use it, that has no meaning here; the text says what."""


class NotKnown(Unsupported):
    """A value decides the graph's shape, but is only known when the model runs.

    Attributes
    ----------
    name : str
        The value.
    """

    def __init__(self, name: str, what: str) -> None:
        super().__init__(f"with {what} that only a run decides")
        self.name = name


_DYNAMIC = "shapes must follow from those of the inputs: export with fixed sizes and eager attention"
_TEXTS = "export from the numbers on, because texts cannot be values of a graph"
_HINTS: Mapping[str, str] = {
    "If": "export with the condition as a constant, or both branches and a torch.where",
    "Loop": "export with a fixed number of steps, or with torch.onnx.export(..., dynamo=True)",
    "NonZero": _DYNAMIC,
    "Compress": _DYNAMIC,
    "Unique": _DYNAMIC,
    "Range": _DYNAMIC,
    "ConstantOfShape": _DYNAMIC,
    "Scan": "export with the steps unrolled",
    **dict.fromkeys(
        (
            "RandomUniformLike",
            "RandomNormalLike",
            "RandomUniform",
            "RandomNormal",
            "Bernoulli",
            "Multinomial",
        ),
        "export the model so that the noise is an input, or in the mode of inference, without it",
    ),
    "NonMaxSuppression": "export without the selection of boxes, whose number only a run decides",
    "ai.onnx.ml.SVMClassifier": "train with probability=False, or calibrate with CalibratedClassifierCV",
    "ai.onnx.ml.TfIdfVectorizer": _TEXTS,
    "TfIdfVectorizer": _TEXTS,
    "StringNormalizer": _TEXTS,
}


def hint_for(operator: str, why: str) -> str:
    """Return what would help where an operator is refused, empty if nothing is known to."""
    if operator in _HINTS:
        return _HINTS[operator]
    if operator.startswith(("com.microsoft.Q", "com.microsoft.DynamicQuantize")):
        return "quantize with quant_format=QuantFormat.QDQ, which uses ONNX's own operators"
    if operator.startswith("com.microsoft"):
        return "export without the optimizations of ONNX Runtime"
    if "that only a run decides" in why:
        return _DYNAMIC
    return ""
