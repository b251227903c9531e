"""A rank's program as one of the whole mini-batch, so that what verifies it need not know of ranks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.api.program import Program
from benchmarker.data.values import part_of
from benchmarker.worker.around import Around
from benchmarker.worker.ranks.group import Group

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]
    Arrays = dict[str, Array]


class RankView(Around):
    """Takes whole mini-batches, of which the rank's program has its rows; gradients are those of all rows.

    Parameters
    ----------
    program : Program
        The rank's.
    group : Group
        All ranks; each of them must make the same calls.
    counted : mapping
        Inputs that number rows, as for ``values.part_of``.
    """

    def __init__(self, program: Program, group: Group, counted: Mapping[str, int]) -> None:
        super().__init__(program)
        self._group = group
        self._counted = counted

    def rows(self, batch: Mapping[str, Array]) -> Arrays:
        """Return the rank's rows of a mini-batch: of ``B`` those from ``rank * B / size`` on, equally many each."""
        return part_of(batch, self._group.rank, self._group.size, self._counted)

    def load(self, batch: Mapping[str, Array]) -> Any:
        return self._program.load(self.rows(batch))

    def gradients(self, batch: Any) -> tuple[float, Arrays]:
        """Return the means over ranks."""
        loss, gradients = self._program.gradients(batch)
        # A name that no parameter has.
        found = self._group.share({**gradients, "": np.asarray(loss)})
        means = {name: np.mean([each[name] for each in found], axis=0) for name in found[0]}
        return float(means.pop("")), means

    def own_gradients(self, batch: Any) -> Arrays:
        """Return those of the rank's own rows."""
        return self._program.gradients(batch)[1]


class AmongAll(Around):
    """A program whose arrays have the rows of all ranks, of which each rank loads its own.

    Parameters
    ----------
    program : Program
        Built for the rows of all ranks.
    group : Group
        All ranks.
    counted : mapping
        Inputs that number rows, as for ``values.part_of``: here they do so through the rows of all.
    """

    def __init__(self, program: Program, group: Group, counted: Mapping[str, int]) -> None:
        super().__init__(program)
        self._rank = group.rank
        self._counted = counted

    def load(self, batch: Mapping[str, Array]) -> Any:
        arrays = dict(batch)
        for name, rows in self._counted.items():
            arrays[name] = arrays[name] + self._rank * len(arrays[name]) * rows
        return self._program.load(arrays)
