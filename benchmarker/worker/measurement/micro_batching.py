"""Training in micro-batches: each mini-batch in parts that are small enough, and one update with their mean gradient.

Where the loss is a mean over samples and no operator looks at several samples at once this is the very step of
the whole mini-batch. Batch normalization does look: its statistics are then those of each micro-batch. A loss that is a
mean over something else, such as masked words, is then the mean of the means of each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from benchmarker.api.program import Program
from benchmarker.data.values import part_of
from benchmarker.errors import UnsupportedError
from benchmarker.worker.around import Around

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]
    Arrays = dict[str, Array]


def split(batch: Mapping[str, Array], samples: int, counted: Mapping[str, int]) -> list[Arrays]:
    """Return the micro-batches of ``samples`` samples each, in order; for ``counted`` see ``values.part_of``."""
    parts = len(next(iter(batch.values()))) // samples
    return [part_of(batch, part, parts, counted) for part in range(parts)] if parts > 1 else [dict(batch)]


class MicroBatched(Around):
    """A program built for micro-batches that takes whole mini-batches.

    Parameters
    ----------
    program : Program
        Built for training with the graph of one micro-batch.
    samples : int
        Samples of a micro-batch.
    framework : str
        Its name.
    counted : mapping
        Inputs that number rows, as for ``values.part_of``.

    Raises
    ------
    UnsupportedError
        If the framework cannot train so.
    """

    def __init__(self, program: Program, samples: int, framework: str, counted: Mapping[str, int]) -> None:
        if type(program).train_micro is Program.train_micro:
            raise UnsupportedError(
                f"framework '{framework}' cannot train in micro-batches; leave out --micro-batch"
            )
        super().__init__(program)
        self._samples = samples
        self._counted = counted

    def load(self, batch: Mapping[str, Array]) -> list[Any]:
        return [self._program.load(part) for part in split(batch, self._samples, self._counted)]

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
