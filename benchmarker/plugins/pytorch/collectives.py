"""Collectives of PyTorch as benchmarks of their own: ``torch.distributed`` over gloo."""

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
    REDUCE_SCATTER,
    Collective,
    CollectiveProgram,
)
from benchmarker.api.world import World

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]
    Exchange = Callable[[Any, Any], None]


class TorchCollective(CollectiveProgram):
    """A collective of the default process group.

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
        import torch
        from torch import distributed

        self._torch, self._distributed = torch, distributed
        self._rank, self._window = world.rank, collective.window
        elements = collective.returned(world.rank, world.size)
        self._received = torch.zeros(elements, dtype=torch.from_numpy(np.empty(0, dtype)).dtype)
        # These exchange in the very tensor that they are given.
        self._in_place = collective.kind in (ALL_REDUCE, BROADCAST)
        self._exchange: Exchange = {
            ALL_REDUCE: lambda given, received: distributed.all_reduce(received),
            BROADCAST: lambda given, received: distributed.broadcast(received, 0),
            ALL_GATHER: lambda given, received: distributed.all_gather_into_tensor(received, given),
            REDUCE_SCATTER: lambda given, received: distributed.reduce_scatter_tensor(received, given),
            ALL_TO_ALL: lambda given, received: distributed.all_to_all_single(received, given),
            POINT_TO_POINT: self._ping_pong if collective.is_ping_pong else self._send_window,
        }[collective.kind]

    def load(self, vector: Array) -> Any:
        given = self._torch.from_numpy(np.array(vector))
        self.restore(given)
        return given

    def restore(self, given: Any) -> None:
        if self._in_place:
            self._received.copy_(given)

    def run(self, given: Any) -> Any:
        self._exchange(given, self._received)
        return self._received

    def fetch(self, output: Any) -> Array:
        found: Array = output.numpy()
        return found

    def _ping_pong(self, given: Any, received: Any) -> None:
        if self._rank == 0:
            self._distributed.send(given, 1)
            self._distributed.recv(received, 1)
        else:
            self._distributed.recv(received, 0)
            self._distributed.send(given, 0)

    def _send_window(self, given: Any, received: Any) -> None:
        """Have so many messages on their way from rank 0 at once, and rank 1 say that all have come."""
        if self._rank == 0:
            for sent in [self._distributed.isend(given, 1) for _ in range(self._window)]:
                sent.wait()
            self._distributed.recv(received, 1)
        else:
            for came in [self._distributed.irecv(received, 0) for _ in range(self._window)]:
                came.wait()
            self._distributed.send(given[:1], 0)
