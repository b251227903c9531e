"""Collectives over MPI, of NumPy's buffers: what is timed is MPI alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.api.collective import (
    ALL_GATHER,
    ALL_REDUCE,
    ALL_TO_ALL,
    BROADCAST,
    POINT_TO_POINT,
    REDUCE_SCATTER,
    Collective,
    CollectiveProgram,
)

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

MEANS: Mapping[str, str] = {
    ALL_REDUCE: "MPI_Allreduce",
    BROADCAST: "MPI_Bcast",
    ALL_GATHER: "MPI_Allgather",
    REDUCE_SCATTER: "MPI_Reduce_scatter_block",
    ALL_TO_ALL: "MPI_Alltoall",
    POINT_TO_POINT: "MPI_Send and MPI_Recv, or MPI_Isend and MPI_Irecv in a window",
}
_TAG = 11


class MpiCollective(CollectiveProgram):
    """A collective over all ranks of ``MPI_COMM_WORLD``, into a buffer that is there beforehand.

    Parameters
    ----------
    collective : Collective
        Which one.
    dtype : type
        Of its elements.
    """

    def __init__(self, collective: Collective, dtype: Any) -> None:
        from mpi4py import MPI

        self._mpi = MPI
        self._world = MPI.COMM_WORLD
        self._rank, ranks = self._world.Get_rank(), self._world.Get_size()
        self._window = collective.window
        self._received = np.zeros(collective.returned(self._rank, ranks), dtype)
        self._exchange: Callable[[Array], None] = {
            ALL_REDUCE: self._all_reduce,
            BROADCAST: self._broadcast,
            ALL_GATHER: self._all_gather,
            REDUCE_SCATTER: self._reduce_scatter,
            ALL_TO_ALL: self._all_to_all,
            POINT_TO_POINT: self._ping_pong if collective.is_ping_pong else self._send_window,
        }[collective.kind]

    def load(self, vector: Array) -> Array:
        return np.array(vector)

    def run(self, given: Array) -> Array:
        self._exchange(given)
        return self._received

    def fetch(self, output: Array) -> Array:
        return output

    def _all_reduce(self, given: Array) -> None:
        self._world.Allreduce(given, self._received, self._mpi.SUM)

    def _broadcast(self, given: Array) -> None:
        self._world.Bcast(given if self._rank == 0 else self._received, 0)
        if self._rank == 0:
            self._received = given

    def _all_gather(self, given: Array) -> None:
        self._world.Allgather(given, self._received)

    def _reduce_scatter(self, given: Array) -> None:
        self._world.Reduce_scatter_block(given, self._received, self._mpi.SUM)

    def _all_to_all(self, given: Array) -> None:
        self._world.Alltoall(given, self._received)

    def _ping_pong(self, given: Array) -> None:
        if self._rank == 0:
            self._world.Send(given, 1, _TAG)
            self._world.Recv(self._received, 1, _TAG)
        else:
            self._world.Recv(self._received, 0, _TAG)
            self._world.Send(given, 0, _TAG)

    def _send_window(self, given: Array) -> None:
        """Have so many messages on their way from rank 0 at once, and rank 1 say that all have come."""
        if self._rank == 0:
            self._mpi.Request.Waitall([self._world.Isend(given, 1, _TAG) for _ in range(self._window)])
            self._world.Recv(self._received, 1, _TAG)
        else:
            # Into one buffer, as osu_bw does.
            received = [self._world.Irecv(self._received, 0, _TAG) for _ in range(self._window)]
            self._mpi.Request.Waitall(received)
            self._world.Send(given[:1], 0, _TAG)
