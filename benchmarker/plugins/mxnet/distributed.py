"""Ranks of MXNet: a distributed key-value store over ps-lite, and what a step exchanges through it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarker.api.optimizer import Optimizer
from benchmarker.api.world import World
from benchmarker.errors import UnsupportedError

STORES = {"parameter-server": "dist_sync", "asynchronous-server": "dist_async"}
"""MXNet's own names of the schemes."""
SET_OPTIMIZER = 0
"""The command by which ranks tell the server how to update."""
HEADER = 2
"""What stands before the parameters: pushed are the rank and the version that its gradients are of, pulled is the
version of the weights."""
VERSIONS = 2**24
"""Versions are counted up to it, and from 0 again: a float32 has no more whole numbers."""


def rank_variables(world: World, scheme: str) -> dict[str, str]:
    """Return who a rank is, in ps-lite's words, and where the scheduler is."""
    return variables(world, "worker", world.addresses[world.rank])


def variables(world: World, role: str, own: str) -> dict[str, str]:
    """Return the same of any process, with its own address."""
    host, _, port = own.rpartition(":")
    # The first of the helpers, at which all meet.
    scheduler_host, _, scheduler_port = world.helpers[0].rpartition(":")
    return {
        "DMLC_ROLE": role,
        "DMLC_PS_ROOT_URI": scheduler_host,
        "DMLC_PS_ROOT_PORT": scheduler_port,
        "DMLC_NUM_WORKER": str(world.size),
        "DMLC_NUM_SERVER": str(len(world.helpers) - 1),
        "DMLC_INTERFACE": world.interface,
        "DMLC_NODE_HOST": host,
        "PORT": port,
        # By TCP at these addresses, whatever the user's jobs do.
        "DMLC_LOCAL": "0",
        "DMLC_USE_KUBERNETES": "0",
    }


def first_line(error: Exception) -> str:
    """Return what MXNet's check says, without the stack."""
    lines = [line.strip() for line in str(error).splitlines() if "Check failed" in line]
    return lines[0] if lines else str(error).strip().splitlines()[-1]


class Store:
    """The key-value store of all ranks, once they have met.

    Parameters
    ----------
    world : World
        The ranks.
    scheme : str
        What they train by.

    Raises
    ------
    UnsupportedError
        If they cannot meet.
    """

    def __init__(self, world: World, scheme: str) -> None:
        import mxnet

        self.rank, self.size = world.rank, world.size
        self._is_served = STORES[scheme] == "dist_async"
        self._names = 0
        try:
            self._native: Any = mxnet.kvstore.create(STORES[scheme])
        except mxnet.MXNetError as error:
            raise UnsupportedError(f"MXNet's ranks did not meet: {first_line(error)}") from error

    def exchange_of(
        self, optimizer: Optimizer, weights: Mapping[str, Any], gradients: Mapping[str, Any]
    ) -> MeanGradients | ServedWeights:
        """Return what steps do between gradients and new weights; collective."""
        if not self._is_served:
            return MeanGradients(self, list(gradients.values()))
        return ServedWeights(self, optimizer, list(weights.values()), list(gradients.values()))

    def add(self, arrays: Sequence[Any]) -> list[str]:
        """Give arrays to the server and return their keys; collective."""
        keys = [str(self._names + number) for number in range(len(arrays))]
        self._names += len(arrays)
        self._native.init(keys, list(arrays))
        return keys

    def set_optimizer(self, optimizer: Optimizer) -> None:
        """Have the server update with each push from now on; collective."""
        if self.rank == 0:
            self._native._send_command_to_servers(SET_OPTIMIZER, json.dumps(optimizer.to_json()))
        self._native._barrier()

    def exchange(self, key: str, array: Any, priority: int = 0) -> None:
        """Queue that an array is pushed, and becomes what the server has made of it."""
        self._native.push(key, array, priority=priority)
        self._native.pull(key, out=array, priority=priority)

    def leave(self) -> None:
        """Part from the others, once all ranks do; scheduler and server end with that."""
        # The last reference: giving it up waits for all, and ends the server.
        del self._native


class MeanGradients:
    """Gradients that become the means over ranks, a key each.

    Parameters
    ----------
    store : Store
        By which ranks exchange.
    gradients : sequence of mx.nd.NDArray
        This rank's own, which are written over.
    """

    def __init__(self, store: Store, gradients: Sequence[Any]) -> None:
        self._store = store
        # Backward reaches the last layer's gradients first.
        self._pairs = list(zip(store.add(gradients), gradients))[::-1]
        size = sum(gradient.size * gradient.dtype().itemsize for gradient in gradients)
        self.exchanged = {"push": size, "pull": size}

    def take(self) -> None:
        """Queue the exchange of all of them."""
        for place, (key, gradient) in enumerate(self._pairs):
            self._store.exchange(key, gradient, -place)
        for _, gradient in self._pairs:
            gradient *= 1.0 / self._store.size


class ServedWeights:
    """Weights that the server updates with each rank's gradients as they come, all of them under one key.

    So the server makes one update after the other, each with the gradients of one step, and can tell which version
    of all weights they were taken at.

    Parameters
    ----------
    store : Store
        By which ranks exchange.
    optimizer : Optimizer
        The server's.
    weights, gradients : sequence of mx.nd.NDArray
        This rank's own; the former are written over.
    """

    def __init__(
        self, store: Store, optimizer: Optimizer, weights: Sequence[Any], gradients: Sequence[Any]
    ) -> None:
        from mxnet import nd

        self._store = store
        # One vector for both ways: gradients go out, weights come back.
        self._vector = vector = nd.zeros((HEADER + sum(weight.size for weight in weights),))
        parts = _parts(vector, weights)
        self._given, self._taken = list(zip(gradients, parts)), list(zip(parts, weights))
        for part, weight in self._taken:
            weight.copyto(part)
        self._version, self._read = vector[:1], vector[1:HEADER]
        self._rank = nd.full((1,), store.rank)
        (self._key,) = store.add([vector])
        store.set_optimizer(optimizer)
        size = vector.size * vector.dtype().itemsize
        self.exchanged = {"push": size, "pull": size}

    def take(self) -> None:
        """Queue the exchange of gradients for weights."""
        self._version.copyto(self._read)
        self._rank.copyto(self._version)
        for gradient, part in self._given:
            gradient.copyto(part)
        self._store.exchange(self._key, self._vector)
        for part, weight in self._taken:
            part.copyto(weight)


def _parts(vector: Any, arrays: Sequence[Any]) -> list[Any]:
    """Return views of a vector behind its header, of the arrays' shapes."""
    found, start = [], HEADER
    for array in arrays:
        found.append(vector[start : start + array.size].reshape(array.shape))
        start += array.size
    return found
