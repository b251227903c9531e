"""Ranks of Keras over TensorFlow: the model in the scope of a ``MultiWorkerMirroredStrategy``.

Model and optimizer are made in its scope, and a step runs as its replica: Keras' optimizers add up the gradients of
all replicas before they update, so that a replica's loss is divided by their number.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from benchmarker.api.framework import Device
from benchmarker.plugins.keras.program import KerasProgram
from benchmarker.plugins.keras.steps import Batch
from benchmarker.plugins.keras.steps_tensorflow import TensorFlowSteps
from benchmarker.plugins.tensorflow.distributed import Exchange

_SEEDS = 10**9


class RankSteps(TensorFlowSteps):
    """Steps of a rank, in a loop as Keras' guides write it; running statistics are its own."""

    def __init__(self, model: Any, upstream: int, device: Device) -> None:
        super().__init__(model, upstream, device)
        # The strategy has given all ranks the first one's seed, by which all would draw the same masks. Keras draws
        # seeds from Python's generator, and each rank has seeded its own.
        model.seed_generator.state.assign([random.randrange(_SEEDS), 0])

    @cached_property
    def exchange(self) -> Exchange:
        """Through the strategy in whose scope the model was made."""
        import tensorflow as tf

        return Exchange(tf, self.model.distribute_strategy)

    def train(self, batch: Batch) -> Any:
        return self._train(*batch)

    @cached_property
    def _train(self) -> Callable[..., Any]:
        import tensorflow as tf

        def step(*batch: Any) -> Any:
            with tf.GradientTape() as tape:
                loss = self.model(batch, training=True)
                share = loss / self.exchange.ranks
            self._update(self._gradients(tape, share))
            return loss

        return self._function(self._placed(step))

    def _update(self, gradients: Sequence[Any]) -> None:
        super()._update(self.exchange.taken(gradients))

    def _shared(self, loss: Any, share: Any) -> Any:
        return loss * share / self.exchange.ranks

    def _placed(self, body: Callable[..., Any]) -> Callable[..., Any]:
        return self.exchange.on_replica(body)


class RankProgram(KerasProgram):
    """A program that tells what its steps exchange."""

    _steps: RankSteps

    def exchanged(self) -> dict[str, int]:
        return self._steps.exchange.exchanged
