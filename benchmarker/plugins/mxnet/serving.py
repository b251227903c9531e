"""What ps-lite needs beside the ranks: a scheduler, and a server that adds up or updates."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from benchmarker.api.native_scheme import Helper, Served, ServerAgain
from benchmarker.api.optimizer import Optimizer
from benchmarker.api.scheme import Update
from benchmarker.api.world import World
from benchmarker.errors import UnsupportedError
from benchmarker.plugins.common.hyperparameters import Hyperparameters
from benchmarker.plugins.mxnet.distributed import (
    HEADER,
    SET_OPTIMIZER,
    STORES,
    VERSIONS,
    first_line,
    variables,
)
from benchmarker.plugins.mxnet.optimizers import Updates, make_updates
from benchmarker.plugins.mxnet.parameters import Slot

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


class PsLite(Helper):
    """The scheduler, or the server.

    Parameters
    ----------
    world : World
        The ranks, and the addresses of scheduler and server.
    scheme : str
        What the ranks train by.
    role : {"scheduler", "server"}
        Of this process.
    """

    def __init__(self, world: World, scheme: str, role: str) -> None:
        # As a rank: in another role the import does not return before the ranks have left.
        os.environ["DMLC_ROLE"] = "worker"
        import mxnet

        self._mx: Any = mxnet
        self._store = STORES[scheme]
        self._size = world.size
        number = ("scheduler", "server").index(role)
        os.environ.update(variables(world, role, world.helpers[number]))

    def run(self, kept: int) -> Served | None:
        ledgers: list[Ledger] = []
        mx = self._mx

        class Server(mx.kvstore.kvstore_server.KVStoreServer):  # type: ignore[misc, name-defined]
            """MXNet's own, which updates as its ledger does."""

            def _controller(self) -> Callable[[int, bytes, Any], None]:
                def control(command: int, body: bytes, _: Any) -> None:
                    if command == SET_OPTIMIZER:
                        ledgers.append(Ledger(Optimizer.from_json(json.loads(body)), kept))
                        self.kvstore._set_updater(ledgers[-1].take)

                return control

        try:
            Server(mx.kvstore.create(self._store)).run()
        except mx.MXNetError as error:
            raise UnsupportedError(f"ps-lite did not start: {first_line(error)}") from error
        return ledgers[-1].served() if ledgers else None


class PsLiteAgain(ServerAgain):
    """Updates as the server makes them.

    Parameters
    ----------
    optimizer : Optimizer
        How it updates.
    slots : sequence of Slot
        What it updates.
    """

    def __init__(self, optimizer: Optimizer, slots: Sequence[Slot]) -> None:
        self._known = Hyperparameters(optimizer)
        self._slots = slots
        self._weights: Any = None
        self._gradient: Any = None
        self._updates: Updates | None = None

    def parameters(self, vector: Array) -> dict[str, Array]:
        result: dict[str, Array] = {}
        start = 0
        for slot in self._slots:
            size = math.prod(slot.shape)
            result.update(slot.decode(vector[start : start + size].reshape(slot.shape)))
            start += size
        return result

    def update(self, weights: Array, gradient: Array) -> Array:
        if self._updates is None:
            from mxnet import nd

            self._weights, self._gradient = nd.array(weights), nd.array(gradient)
            self._updates = make_updates(self._known, [self._weights], [self._gradient])
        self._weights[:], self._gradient[:] = weights, gradient
        self._updates.update()
        found: Array = self._weights.asnumpy()
        return found


class Ledger:
    """Updates a server's weights with each push, and notes which it was.

    Parameters
    ----------
    optimizer : Optimizer
        How it updates.
    kept : int
        After how many updates the weights are kept.
    """

    def __init__(self, optimizer: Optimizer, kept: int) -> None:
        self._known = Hyperparameters(optimizer)
        self._kept = kept
        self._log: list[Update] = []
        self._made: dict[int, int] = {}
        self._weights: Array | None = None
        self._gradient: Any = None
        self._updates: Updates | None = None
        self._error: Exception | None = None

    def take(self, key: int, pushed: Any, stored: Any) -> None:
        """Update what is stored; MXNet's callback, which must not raise: that would be lost."""
        try:
            if self._error is None:
                self._take(pushed, stored)
        except Exception as error:
            self._error = error

    def _take(self, pushed: Any, stored: Any) -> None:
        if self._updates is None:
            self._gradient = pushed[HEADER:].copy()
            self._updates = make_updates(self._known, [stored[HEADER:]], [self._gradient])
        pushed[HEADER:].copyto(self._gradient)
        worker, read = map(int, pushed[:HEADER].asnumpy())
        version = len(self._log)
        made = self._made.get(worker, 0)
        self._log.append(Update(worker, made, version - (version - read) % VERSIONS))
        self._made[worker] = made + 1
        self._updates.update()
        stored[:1] = (version + 1) % VERSIONS
        if version < self._kept:
            self._weights = stored[HEADER:].asnumpy()

    def served(self) -> Served | None:
        """Return what was done.

        Raises
        ------
        Exception
            What went wrong in an update.
        """
        if self._error is not None:
            raise self._error
        return None if self._weights is None else Served(self._log, self._weights)
