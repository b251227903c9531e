"""Training in micro-batches: each mini-batch in parts that are small enough, and one update with their mean gradient.

Where the loss is a mean over samples and no operator looks at several samples at once this is the very step of
the whole mini-batch. Batch normalization does look: its statistics are then those of each micro-batch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from benchmarker.errors import UnsupportedError
from benchmarker.framework import Optimizer, Program
from benchmarker.graph.graph import Graph

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]
    Arrays = dict[str, Array]

ROUNDING = 1e-9
"""How far, of their size, two ways to sum the same float64 losses may be apart."""


def has_statistics(graph: Graph) -> bool:
    """Whether an operator takes statistics of all samples, so that micro-batches make another function."""
    return "batch_normalization" in graph.operators


def split(batch: Mapping[str, Array], samples: int) -> list[Arrays]:
    """Return the micro-batches of ``samples`` samples each, in order."""
    count = len(next(iter(batch.values())))
    if count == samples:
        return [dict(batch)]
    return [
        {name: array[start : start + samples] for name, array in batch.items()}
        for start in range(0, count, samples)
    ]


class MicroBatched(Program):
    """A program built for micro-batches that takes whole mini-batches.

    Parameters
    ----------
    program : Program
        Built for training with the graph of one micro-batch.
    samples : int
        Samples of a micro-batch.
    framework : str
        Its name.

    Raises
    ------
    UnsupportedError
        If the framework cannot train so.
    """

    def __init__(self, program: Program, samples: int, framework: str) -> None:
        if type(program).train_micro is Program.train_micro:
            raise UnsupportedError(
                f"framework '{framework}' has no training in micro-batches; leave out --micro-batch"
            )
        self._program = program
        self._samples = samples

    def load(self, batch: Mapping[str, Array]) -> list[Any]:
        """Load each micro-batch."""
        return [self._program.load(part) for part in split(batch, self._samples)]

    def infer(self, batch: Sequence[Any]) -> Any:
        """Raise: what is built here is trained."""
        raise UnsupportedError("micro-batches are for training")

    def train_step(self, batch: Sequence[Any]) -> Any:
        """Run all micro-batches and one update."""
        return self._program.train_micro(batch)

    def train_parts(self, batch: Sequence[Any]) -> Any:
        """Raise: forward and backward passes follow each other by turns."""
        raise UnsupportedError("a step of micro-batches goes forward and backward several times")

    def profile(self, batch: Sequence[Any], steps: int) -> Any:
        """Raise: a profiler sees the step of one micro-batch."""
        raise UnsupportedError(
            "operators are profiled in a step of the whole mini-batch, without --micro-batch"
        )

    def gradients(self, batch: Sequence[Any]) -> tuple[float, Arrays]:
        """Return the means over the micro-batches."""
        found = [self._program.gradients(part) for part in batch]
        losses, gradients = zip(*found)
        return sum(losses) / len(losses), {
            name: sum(each[name] for each in gradients) / len(gradients) for name in gradients[0]
        }

    def parameters(self) -> Arrays:
        return self._program.parameters()

    def fetch(self, output: Any) -> tuple[Array, ...]:
        return self._program.fetch(output)

    def synchronize(self, output: Any) -> None:
        self._program.synchronize(output)

    def memory(self) -> dict[str, int]:
        return self._program.memory()

    def reset_memory(self) -> None:
        self._program.reset_memory()

    def device_event(self) -> Any:
        return self._program.device_event()

    def device_seconds(self, first: Any, last: Any) -> float:
        return self._program.device_seconds(first, last)

    def compilations(self) -> int | None:
        return self._program.compilations()


def check_mean(whole: Graph, part: Graph, parameters: Arrays, batch: Mapping[str, Array]) -> None:
    """Check that a loss is a mean over samples, with batch normalization as in inference.

    Parameters
    ----------
    whole, part : Graph
        Of all samples of the mini-batch, and of a micro-batch.
    parameters, batch : mapping
        Their values.

    Raises
    ------
    UnsupportedError
        If the mean over micro-batches is another number.
    """
    parts = split(batch, part.batch_size)
    together = _loss(whole, parameters, [batch])
    apart = _loss(part, parameters, parts)
    if abs(together - apart) > ROUNDING * max(abs(together), abs(apart)):
        raise UnsupportedError(
            f"the loss of '{whole.name}' is no mean over samples ({together:.6g} of {whole.batch_size}, "
            f"{apart:.6g} in the mean of {len(parts)} parts), so micro-batches would train another function; "
            "leave out --micro-batch"
        )


def _loss(graph: Graph, parameters: Arrays, batches: Sequence[Mapping[str, Array]]) -> float:
    from benchmarker.worker.reference import build

    assert graph.loss is not None
    alone = replace(graph, outputs=(graph.loss,), loss=None)
    program = build("fp64")(alone, parameters, "inference", Optimizer())
    return sum(float(program.infer(program.load(batch))[0]) for batch in batches) / len(batches)
