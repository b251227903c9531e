"""Collectives of Chainer as benchmarks of their own: ChainerMN's communicator, of NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.api.collective import (
    ALL_GATHER,
    ALL_REDUCE,
    ALL_TO_ALL,
    BROADCAST,
    POINT_TO_POINT,
    Collective,
    CollectiveProgram,
)
from benchmarker.api.world import World
from benchmarker.plugins.chainer.ranks import COMMUNICATOR

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

_TAG = 0


class ChainerCollective(CollectiveProgram):
    """A collective of the communicator, which returns new arrays.

    Parameters
    ----------
    collective : Collective
        Which one.
    world : World
        This rank's place.
    dtype : type
        Of the elements.
    """

    def __init__(self, collective: Collective, world: World, dtype: Any) -> None:
        from chainermn import create_communicator

        self._communicator: Any = create_communicator(COMMUNICATOR)
        self._rank, self._size, self._window = world.rank, world.size, collective.window
        self._kind = collective.kind
        self._exchange: Callable[[Any], Any] = {
            ALL_REDUCE: self._communicator.allreduce,
            BROADCAST: self._communicator.bcast,
            ALL_GATHER: self._communicator.allgather,
            ALL_TO_ALL: self._communicator.alltoall,
            POINT_TO_POINT: self._ping_pong if collective.is_ping_pong else self._send_window,
        }[collective.kind]

    def load(self, vector: Array) -> Any:
        given = np.array(vector)
        return tuple(np.split(given, self._size)) if self._kind == ALL_TO_ALL else given

    def run(self, given: Any) -> Any:
        return self._exchange(given)

    def fetch(self, output: Any) -> Array:
        return np.concatenate(output) if isinstance(output, (tuple, list)) else output

    def _ping_pong(self, given: Array) -> Any:
        if self._rank == 0:
            self._communicator.send(given, 1, _TAG)
            return self._communicator.recv(1, _TAG)
        received = self._communicator.recv(0, _TAG)
        self._communicator.send(given, 0, _TAG)
        return received

    def _send_window(self, given: Array) -> Any:
        """Send one message after the other, since the communicator has no other way, and have one answer."""
        if self._rank == 0:
            for _ in range(self._window):
                self._communicator.send(given, 1, _TAG)
            return self._communicator.recv(1, _TAG)
        for _ in range(self._window):
            received = self._communicator.recv(0, _TAG)
        self._communicator.send(given[:1], 0, _TAG)
        return received
