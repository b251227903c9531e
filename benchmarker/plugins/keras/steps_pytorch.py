"""Steps of a Keras model over PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.api.framework import Device
from benchmarker.api.profile import Profile
from benchmarker.errors import UnsupportedError
from benchmarker.graph.graph import Graph
from benchmarker.plugins.keras.profiler_scopes import Marks, marked
from benchmarker.plugins.keras.steps import Batch, Steps
from benchmarker.plugins.pytorch.devices import NativeDevice, seconds_between
from benchmarker.plugins.pytorch.profiler import enter_range, leave_range, profiled

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

_GENERATOR = "generator"
_UPDATE = "Optimizer.step#Keras"
"""Named as PyTorch's own optimizers name the range of their update."""


class TorchSteps(Steps):
    """Eager PyTorch; where Keras compiles with ``torch.compile``, so does what is called here."""

    def __init__(self, model: Any, upstream: int, device: Device) -> None:
        super().__init__(model, upstream, device)
        self._native = NativeDevice(device)

    def predict(self, batch: Batch) -> Batch:
        outputs: Batch = self.model.predict_function([(batch,)])
        return outputs

    def train(self, batch: Batch) -> Any:
        return self.model.train_function([(batch,)])["loss"]

    def train_micro(self, batches: Sequence[Batch]) -> Any:
        import torch

        model = self.model
        trainable = model.trainable_variables
        model.zero_grad()
        total = None
        for batch in batches:
            loss = self._called(batch, training=True) / len(batches)
            loss.backward()
            total = loss.detach() if total is None else total + loss.detach()
        with torch.no_grad():
            model.optimizer.apply([variable.value.grad for variable in trainable], trainable)
        return total

    def differentiate(self, batch: Batch) -> tuple[Any, list[Any]]:
        return self._backward(self.model.lines.frozen(*batch), batch)

    def gradient_step(self, batch: Batch) -> tuple[Any, list[Any]]:
        return self._backward(self._moving(*batch), batch)

    def profile(self, graph: Graph, mode: str, batch: Batch, steps: int) -> Profile:
        from torch.profiler import record_function

        if self.model.jit_compile:
            raise UnsupportedError(
                "torch.compile joins the graph's operators into kernels of its own; profile with jit=off"
            )
        marks = Marks(lambda _, name: _range(name), lambda: record_function(_UPDATE))
        with marked(self.model, marks):
            step = TorchSteps(self.model, self.upstream, self.device)._step(mode)
            return profiled(lambda: self.synchronize(step(batch)), steps, self.device.type)

    def synchronize(self, output: Any) -> None:
        self._native.wait()

    def memory(self) -> dict[str, int]:
        return self._native.memory()

    def reset_memory(self) -> None:
        self._native.reset_memory()

    def event(self) -> Any:
        return self._native.event()

    def seconds_between(self, first: Any, last: Any) -> float:
        return seconds_between(first, last)

    def assign(self, values: Sequence[tuple[Any, Array]]) -> None:
        import torch

        with torch.no_grad():
            for variable, array in values:
                variable.value.copy_(torch.from_numpy(array))

    def as_array(self, tensor: Any) -> Array:
        found: Array = tensor.detach().cpu().numpy()
        return found

    def generator(self) -> dict[str, Array]:
        # Keras draws from it where a layer is given no seed of its own.
        import torch

        return {_GENERATOR: torch.get_rng_state().numpy().copy()}

    def set_generator(self, state: Mapping[str, Array]) -> None:
        import torch

        if _GENERATOR in state:
            torch.set_rng_state(torch.from_numpy(np.array(state[_GENERATOR], np.uint8)))

    @cached_property
    def _called(self) -> Callable[..., Any]:
        return self._compiled(self.model)

    @cached_property
    def _moving(self) -> Callable[..., Batch]:
        return self._compiled(self.model.lines.training)

    def _compiled(self, function: Callable[..., Any]) -> Callable[..., Any]:
        import torch

        return torch.compile(function) if self.model.jit_compile else function

    def _backward(self, results: Batch, batch: Batch) -> tuple[Any, list[Any]]:
        import torch

        gradients = torch.autograd.grad(
            results,
            [variable.value for variable in self.model.trainable_variables],
            self._upstream(batch),
            materialize_grads=True,
        )
        return self._value(results), list(gradients)

    @property
    def traces(self) -> int:
        """How often ``torch.compile`` has made a graph."""
        import torch

        return int(torch._dynamo.utils.counters["stats"]["unique_graphs"]) if self.model.jit_compile else 0


@contextmanager
def _range(name: str) -> Iterator[None]:
    range_ = enter_range(name)
    try:
        yield
    finally:
        leave_range(range_)
