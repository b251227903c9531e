"""The way forward and backward of a rank's rows without any exchange, in a program beside the one that trains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.worker.measurement.micro_batching import split
from benchmarker.worker.program import Prepared
from benchmarker.worker.ranks.flat import Layout

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


class Alone:
    """Takes a rank's own rows, in micro-batches where the rank does.

    Parameters
    ----------
    prepared : Prepared
        The rank's program.
    micro_batch : int or None
        Rows of a micro-batch.
    """

    def __init__(self, prepared: Prepared, micro_batch: int | None) -> None:
        self._program = prepared.build(prepared.built, prepared.parameters, "gradient")
        self._layout = Layout(prepared.built)
        self._micro_batch = micro_batch
        self._counted = prepared.built.counted

    def load(self, rows: Mapping[str, Array]) -> list[Any]:
        """Return the rows as the framework takes them."""
        parts = [rows] if self._micro_batch is None else split(rows, self._micro_batch, self._counted)
        return [self._program.load(part) for part in parts]

    def run(self, batch: Sequence[Any]) -> None:
        """Go forward and backward, and wait for the end."""
        for part in batch:
            self._program.synchronize(self._program.gradient_step(part)[0])

    def gradient(self, batch: Sequence[Any], weights: Array) -> Array:
        """Return the gradient at weights, in their type, as one vector."""
        self._program.assign(self._layout.views(np.array(weights)))
        total = np.zeros(self._layout.length, weights.dtype)
        for part in batch:
            _, gradients = self._program.gradient_step(part)
            total += self._layout.vector(self._program.fetch_gradients(gradients), weights.dtype)
        return total if len(batch) == 1 else total / len(batch)
