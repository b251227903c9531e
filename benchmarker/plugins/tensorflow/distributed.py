"""Ranks of TensorFlow: how they meet, and the exchange inside a traced step."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from typing import Any

from benchmarker.api.world import World
from benchmarker.errors import UnsupportedError

THREADS = "TF_NUM_INTRAOP_THREADS"


def rank_variables(world: World, scheme: str) -> dict[str, str]:
    """Return who the ranks are, in TensorFlow's words."""
    task = {"type": "worker", "index": world.rank}
    return {"TF_CONFIG": json.dumps({"cluster": {"worker": list(world.addresses)}, "task": task})}


def join(tensorflow: Any, world: World) -> Exchange:
    """Meet the other ranks, however long they take to come.

    Raises
    ------
    UnsupportedError
        If they cannot meet.
    """
    tf = tensorflow
    threads = int(os.environ.get(THREADS, "0"))
    # Meeting starts TensorFlow's threads, so their number cannot wait for the device to be configured.
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(threads)
    options = tf.distribute.experimental.CommunicationOptions(
        implementation=tf.distribute.experimental.CommunicationImplementation.RING
    )
    try:
        strategy = tf.distribute.MultiWorkerMirroredStrategy(communication_options=options)
    except (tf.errors.OpError, RuntimeError) as error:
        raise UnsupportedError(f"TensorFlow's ranks did not meet: {error}") from error
    return Exchange(tf, strategy)


class Exchange:
    """What a step of all ranks does through their strategy.

    Parameters
    ----------
    tensorflow : module
        TensorFlow itself.
    strategy : tf.distribute.Strategy
        With a replica in each rank.

    Attributes
    ----------
    strategy : tf.distribute.Strategy
        The same.
    exchanged : dict
        Bytes that the step that was traced last gives to each kind of collective.
    """

    def __init__(self, tensorflow: Any, strategy: Any) -> None:
        self._tf = tensorflow
        self.strategy = strategy
        self.exchanged: dict[str, int] = {}

    @property
    def ranks(self) -> int:
        """How many replicas there are in all."""
        return int(self.strategy.num_replicas_in_sync)

    def on_replica(self, body: Callable[..., Any]) -> Callable[..., Any]:
        """Return what runs a function as this rank's replica; for a ``tf.function``."""
        return lambda *given: self.strategy.run(body, args=given)

    def mean(self, gradients: Sequence[Any]) -> list[Any]:
        """Return the means of all ranks' gradients; within :meth:`on_replica`."""
        tf = self._tf
        # All in one call, which packs them.
        found: list[Any] = tf.distribute.get_replica_context().all_reduce(
            tf.distribute.ReduceOp.MEAN, self.taken(gradients)
        )
        return found

    def taken(self, gradients: Sequence[Any]) -> list[Any]:
        """Count the bytes of gradients, and return them as an exchange takes them."""
        self.exchanged = {}
        for gradient in gradients:
            if isinstance(gradient, self._tf.IndexedSlices):
                self._note("all-gather", gradient.values)
                self._note("all-gather", gradient.indices)
            else:
                self._note("all-reduce", gradient)
        # What was not computed in the replica is on no device, which the strategy refuses.
        return [gradient if gradient.device else self._tf.identity(gradient) for gradient in gradients]

    def _note(self, kind: str, tensor: Any) -> None:
        size = int(tensor.shape.num_elements()) * int(tensor.dtype.size)
        self.exchanged[kind] = self.exchanged.get(kind, 0) + size
