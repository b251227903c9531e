"""A rank's program as one of the whole mini-batch, so that what verifies it need not know of ranks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.api.program import Program
from benchmarker.worker.around import Around
from benchmarker.worker.ranks.group import Group, rows_of

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
    """

    def __init__(self, program: Program, group: Group) -> None:
        super().__init__(program)
        self._group = group

    def rows(self, batch: Mapping[str, Array]) -> Arrays:
        """Return the rank's rows of a mini-batch."""
        return rows_of(batch, self._group.rank, self._group.size)

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
