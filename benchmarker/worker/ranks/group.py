"""The other ranks of a run, as this one reaches them without the means that are measured.

Small values go through the orchestrator's pipes, arrays through a folder: so what is proven of an exchange does not
rest on that exchange.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from benchmarker.api.world import World
from benchmarker.worker.channel import Channel

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]
    Arrays = dict[str, Array]

Value = TypeVar("Value")


class Group:
    """All ranks that train.

    Parameters
    ----------
    world : World
        This rank's place.
    channel : Channel
        To the orchestrator.
    folder : Path
        That all ranks see.

    Attributes
    ----------
    others : tuple of int
        Processes of the other ranks and of what serves them, known once they have met.
    """

    def __init__(self, world: World, channel: Channel, folder: Path) -> None:
        self.rank, self.size = world.rank, world.size
        self.folder = folder
        self.others: tuple[int, ...] = ()
        self._channel = channel
        self._shared = 0

    def meet(self) -> None:
        """Return once every rank, and a server or what else there is beside them, is there."""
        found = all_processes(self._channel)
        self.others = (*found[: self.rank], *found[self.rank + 1 :])

    def gather(self, name: str, value: Value) -> list[Value]:
        """Return what each rank says, in their order; none goes on before all have said it."""
        return self._channel.gather(name, value)

    def gather_with_server(self, name: str, value: Value) -> list[Value]:
        """Return what each rank says and, last, the server."""
        return self._channel.gather(name, value, everyone=True)

    def agree(self, name: str, value: Value) -> Value:
        """Return what rank 0 says."""
        return self.gather(name, value)[0]

    def leave_unfinished(self) -> None:
        """Return once all ranks have said why they end without a result: the first that leaves ends the others."""
        self.gather("unfinished", None)

    def working(self) -> AbstractContextManager[None]:
        """Return what lets this rank do by itself what takes long, and all others wait for."""
        return self._channel.alive()

    def share(self, arrays: Mapping[str, Array]) -> list[Arrays]:
        """Return the arrays of each rank, in their order."""
        self._shared += 1
        name = f"shared_{self._shared}"
        own = self.folder / f"{name}_{self.rank}.npz"
        with open(own, "wb") as stream:
            np.savez(stream, **arrays)  # type: ignore[arg-type]
        self.gather(name, None)
        found = [self._load(name, rank) for rank in range(self.size)]
        self.gather(f"{name}_read", None)
        own.unlink()
        return found

    def _load(self, name: str, rank: int) -> Arrays:
        with np.load(self.folder / f"{name}_{rank}.npz", allow_pickle=False) as stored:
            return {member: stored[member] for member in stored.files}


def all_processes(channel: Channel) -> list[int]:
    """Return the processes of all ranks, then of those beside them; each calls this, and waits for the others."""
    return channel.gather("met", os.getpid(), everyone=True)
