"""What a scheme has of the other ranks, over MPI."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.api.scheme import Communicator, part_of
from benchmarker.distributed.exchanges import all_reduce_sent, scattered

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER = "all-reduce", "all-gather", "reduce-scatter"
SEND, SWAP = "send", "swap"
_TAG = 7


class MpiCommunicator(Communicator):
    """All ranks of ``MPI_COMM_WORLD``; of a scheme with a server the last one is that.

    Parameters
    ----------
    has_server : bool
        Whether the last process of the world trains nothing.

    Attributes
    ----------
    given_bytes : dict
        What was given to each kind of exchange so far: the vector that an all-reduce or a reduce-scatter takes in, this
        rank's own of an all-gather, each message of a send or a swap.
    sent_bytes : dict
        What this rank has sent for it, by the formulas of exchanges on a ring, the mean over ranks.
    seconds : float
        Spent in exchanges so far, waiting included.
    """

    def __init__(self, *, has_server: bool = False) -> None:
        from mpi4py import MPI

        self._mpi = MPI
        self._world = MPI.COMM_WORLD
        self.rank, self.size = self._world.Get_rank(), self._world.Get_size() - has_server
        # Collective over the whole world, the server too.
        self._workers = self._world.Split(int(self.rank == self.size), self.rank)
        self.given_bytes: dict[str, float] = {}
        self.sent_bytes: dict[str, float] = {}
        self.seconds = 0.0

    def sum(self, vector: Array) -> None:
        with self._counted(ALL_REDUCE, vector.nbytes, all_reduce_sent(vector.nbytes, self.size)):
            self._workers.Allreduce(self._mpi.IN_PLACE, vector, self._mpi.SUM)

    def gather(self, vector: Array) -> Array:
        own = np.ascontiguousarray(vector)
        rows = np.empty((self.size, *own.shape), own.dtype)
        with self._counted(ALL_GATHER, own.nbytes, (self.size - 1) * own.nbytes):
            self._workers.Allgather(own, rows)
        return rows

    def scatter_sum(self, vector: Array) -> Array:
        counts = self._counts(len(vector))
        part = np.empty(counts[self.rank], vector.dtype)
        with self._counted(REDUCE_SCATTER, vector.nbytes, scattered(vector.nbytes, self.size)):
            self._workers.Reduce_scatter(vector, part, counts, self._mpi.SUM)
        return part

    def gather_parts(self, vector: Array) -> None:
        own = vector[part_of(len(vector), self.rank, self.size)]
        with self._counted(ALL_GATHER, own.nbytes, scattered(vector.nbytes, self.size)):
            self._workers.Allgatherv(self._mpi.IN_PLACE, [vector, self._counts(len(vector))])

    def swap(self, vector: Array, to: int, source: int) -> Array:
        own = np.ascontiguousarray(vector)
        received = np.empty_like(own)
        with self._counted(SWAP, own.nbytes, own.nbytes):
            self._workers.Sendrecv(own, to, _TAG, received, source, _TAG)
        return received

    def send(self, values: Array, to: int) -> None:
        with self._counted(SEND, values.nbytes, values.nbytes):
            self._world.Send(values, to, _TAG)

    def receive(self, values: Array, source: int | None = None) -> int:
        status = self._mpi.Status()
        with self._timed():
            self._world.Recv(values, self._mpi.ANY_SOURCE if source is None else source, _TAG, status)
        return int(status.Get_source())

    def bytes_each_step(self, steps: int) -> Mapping[str, float]:
        """Return what was given to each kind of exchange in a step, as the mean over so many."""
        return {kind: given / max(steps, 1) for kind, given in self.given_bytes.items()}

    def _counts(self, length: int) -> list[int]:
        parts = (part_of(length, rank, self.size) for rank in range(self.size))
        return [part.stop - part.start for part in parts]

    @contextmanager
    def _counted(self, kind: str, given: int, sent: float) -> Iterator[None]:
        with self._timed():
            yield
        self.given_bytes[kind] = self.given_bytes.get(kind, 0) + given
        self.sent_bytes[kind] = self.sent_bytes.get(kind, 0) + sent

    @contextmanager
    def _timed(self) -> Iterator[None]:
        begun = perf_counter()
        yield
        self.seconds += perf_counter() - begun
