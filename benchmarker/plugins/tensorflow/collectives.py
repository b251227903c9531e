"""Collectives of TensorFlow as benchmarks of their own: its operators over gRPC, on a ring."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.api.collective import (
    ALL_GATHER,
    ALL_REDUCE,
    ALL_TO_ALL,
    BROADCAST,
    Collective,
    CollectiveProgram,
)
from benchmarker.api.world import World

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

_GROUP, _INSTANCE = 7001, 7001
"""Keys that the strategy, by which ranks have met, counts up to in no run."""


class TensorFlowCollective(CollectiveProgram):
    """A collective over the CPU of each worker, in a ``tf.function``.

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
        import tensorflow as tf

        self._tf = tf
        self._device = f"/job:worker/replica:0/task:{world.rank}/device:CPU:0"
        self._shape = (world.size, -1) if collective.kind == ALL_TO_ALL else (-1,)
        exchange = self._exchange(collective, world, dtype)

        def exchanged(given: Any) -> Any:
            with tf.device(self._device):
                return exchange(given)

        self._run: Callable[[Any], Any] = tf.function(exchanged)

    def _exchange(self, collective: Collective, world: World, dtype: Any) -> Callable[[Any], Any]:
        ops = self._tf.raw_ops
        keys = {"group_size": world.size, "group_key": _GROUP, "instance_key": _INSTANCE}
        on_ring: dict[str, Any] = {**keys, "communication_hint": "ring"}
        ordered: dict[str, Any] = {**on_ring, "ordering_token": []}
        if collective.kind == BROADCAST and world.rank == 0:
            return lambda given: ops.CollectiveBcastSendV2(input=given, **on_ring)
        found: dict[str, Callable[[Any], Any]] = {
            ALL_REDUCE: lambda given: ops.CollectiveReduceV2(
                input=given, merge_op="Add", final_op="Id", **ordered
            ),
            BROADCAST: lambda given: ops.CollectiveBcastRecvV2(
                T=np.dtype(dtype), shape=[collective.elements], **on_ring
            ),
            ALL_GATHER: lambda given: ops.CollectiveGatherV2(input=given, **ordered),
            ALL_TO_ALL: lambda given: ops.CollectiveAllToAllV2(input=given, **ordered),
        }
        return found[collective.kind]

    def load(self, vector: Array) -> Any:
        with self._tf.device(self._device):
            return self._tf.constant(vector.reshape(self._shape))

    def run(self, given: Any) -> Any:
        return self._run(given)

    def synchronize(self, output: Any) -> None:
        # On a CPU it shares the tensor's memory.
        output.numpy()

    def fetch(self, output: Any) -> Array:
        found: Array = output.numpy()
        return found
