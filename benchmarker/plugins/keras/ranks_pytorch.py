"""Ranks of Keras over PyTorch: the model in ``DistributedDataParallel``, in a loop as Keras' guides write it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarker.api.framework import Device
from benchmarker.plugins.keras.program import KerasProgram
from benchmarker.plugins.keras.steps import Batch
from benchmarker.plugins.keras.steps_pytorch import TorchSteps


class RankSteps(TorchSteps):
    """Steps of a rank, with the mean of all ranks' gradients; running statistics are its own."""

    def __init__(self, model: Any, upstream: int, device: Device) -> None:
        from torch import no_grad
        from torch.nn.parallel import DistributedDataParallel

        super().__init__(model, upstream, device)
        seed = model.seed_generator.state.value
        own_seed = seed.clone()
        self._exchanging: Any = DistributedDataParallel(model)
        # It has given all ranks what the first one had, by which all would draw the same masks.
        with no_grad():
            seed.copy_(own_seed)

    def train(self, batch: Batch) -> Any:
        return self.train_micro((batch,))

    def train_micro(self, batches: Sequence[Batch]) -> Any:
        import torch

        model, total = self.model, None
        model.zero_grad()
        with self._exchanging.no_sync():
            for batch in batches[:-1]:
                total = self._backward_of(batch, len(batches), total)
        total = self._backward_of(batches[-1], len(batches), total)
        trainable = model.trainable_variables
        with torch.no_grad():
            model.optimizer.apply([variable.value.grad for variable in trainable], trainable)
        return total

    def _backward_of(self, batch: Batch, count: int, total: Any) -> Any:
        """Add a mini-batch's gradients, and return the total loss with its share."""
        loss = self._exchanging(batch, training=True) / count
        loss.backward()
        return loss.detach() if total is None else total + loss.detach()

    def exchanged(self) -> dict[str, int]:
        """Return the bytes that a step gives to each kind of collective."""
        values = [variable.value for variable in self.model.trainable_variables]
        return {"all-reduce": sum(value.numel() * value.element_size() for value in values)}


class RankProgram(KerasProgram):
    """A program that tells what its steps exchange."""

    _steps: RankSteps

    def exchanged(self) -> dict[str, int]:
        return self._steps.exchanged()
