"""Whether training in micro-batches is training with the whole mini-batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from benchmarker.api.optimizer import Optimizer
from benchmarker.errors import UnsupportedError
from benchmarker.graph.graph import Graph

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]
    Arrays = dict[str, Array]
from benchmarker.worker.measurement.micro_batching import split
from benchmarker.worker.verification.reference import build

WHOLE = "train it whole, without --micro-batch and by one rank"
ROUNDING = 1e-9
"""How far, of their size, two ways to sum the same float64 losses may be apart."""


def check_parts(whole: Graph, part: Graph, parameters: Arrays, batch: Mapping[str, Array]) -> None:
    """Check that parts of a mini-batch can be trained: the loss is a mean over samples, or says what it is one over.

    Parameters
    ----------
    whole, part : Graph
        Of all samples of the mini-batch, and of a micro-batch.
    parameters, batch : mapping
        Their values.

    Raises
    ------
    UnsupportedError
        If it is neither, or if samples refer to others of their mini-batch.
    """
    if whole.loss_over is None:
        check_mean(whole, part, parameters, batch)
    else:
        _mean_of_parts(part, parameters, batch)


def check_mean(whole: Graph, part: Graph, parameters: Arrays, batch: Mapping[str, Array]) -> None:
    """Check that a loss is a mean over samples, with batch normalization as in inference.

    Parameters and errors are those of :func:`check_parts`; what the loss says of itself does not matter.
    """
    together = _loss(whole, parameters, batch)
    apart = _mean_of_parts(part, parameters, batch)
    if abs(together - apart) > ROUNDING * max(abs(together), abs(apart)):
        raise UnsupportedError(
            f"the loss of '{whole.name}' is not a mean over samples ({together:.6g} of {whole.batch_size}, "
            f"{apart:.6g} in the mean of its parts), so parts of a mini-batch would train another function; {WHOLE}"
        )


def _mean_of_parts(part: Graph, parameters: Arrays, batch: Mapping[str, Array]) -> float:
    try:
        losses = [_loss(part, parameters, each) for each in split(batch, part.batch_size, part.counted)]
    except IndexError as error:
        raise UnsupportedError(
            f"samples of '{part.name}' refer to others of their mini-batch ({error}), so its parts cannot be "
            f"trained; {WHOLE}"
        ) from error
    return sum(losses) / len(losses)


def _loss(graph: Graph, parameters: Arrays, batch: Mapping[str, Array]) -> float:
    assert graph.loss is not None
    alone = replace(graph, outputs=(graph.loss,), loss=None)
    program = build("fp64")(alone, parameters, "inference", Optimizer())
    return float(program.infer(program.load(batch))[0])
