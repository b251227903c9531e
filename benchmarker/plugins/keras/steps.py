"""A step of a Keras model, one class a backend: what Keras' own loops call for each mini-batch.

``predict_on_batch`` and ``train_on_batch`` turn what they return into NumPy arrays and numbers, so that no
device could go on in the meantime. Timed is what they and ``fit`` call inside: the function that
``make_predict_function`` or ``make_train_function`` compiled, on tensors that are on the device already.

A step over micro-batches is a loop as Keras' guides write it: the model and its optimizer called in functions
of our own, compiled as Keras would. The accumulation that Keras' optimizers have counts every step of a model
and is fixed when the model is compiled.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.api.framework import Device
from benchmarker.api.profile import Profile
from benchmarker.graph.graph import Graph

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

Batch = tuple[Any, ...]


class Steps(ABC):
    """Steps of a compiled model.

    Parameters
    ----------
    model : keras.Model
        As :func:`~benchmarker.plugins.keras.model.make_model` returns it, compiled.
    upstream : int
        How many of the last tensors of a mini-batch are gradients of the outputs.
    device : Device
        Where it runs.
    """

    def __init__(self, model: Any, upstream: int, device: Device) -> None:
        self.model = model
        self.upstream = upstream
        self.device = device
        model.make_predict_function()
        model.make_train_function()

    @abstractmethod
    def predict(self, batch: Batch) -> Batch:
        """Return the outputs."""

    @abstractmethod
    def train(self, batch: Batch) -> Any:
        """Return the loss before the update."""

    @abstractmethod
    def train_micro(self, batches: Sequence[Batch]) -> Any:
        """Return the mean loss of micro-batches before their one update."""

    @abstractmethod
    def differentiate(self, batch: Batch) -> tuple[Any, list[Any]]:
        """Return value and gradients of a training step without dropout; nothing moves."""

    @abstractmethod
    def gradient_step(self, batch: Batch) -> tuple[Any, list[Any]]:
        """Return value and gradients of a training step; statistics move, no parameter does."""

    @abstractmethod
    def profile(self, graph: Graph, mode: str, batch: Batch, steps: int) -> Profile:
        """Run steps of a mode under the backend's profiler.

        Raises
        ------
        UnsupportedError
            If what the option ``jit`` makes of the model has no single operators.
        """

    def settle(self) -> None:  # noqa: B027 - most backends keep the state in the variables
        """Bring the state into the model's variables."""

    def set_variable(self, variable: Any, value: Any) -> None:
        """Have the optimizer find a value in one of its variables at the next step."""
        variable.assign(value)

    def assign(self, values: Sequence[tuple[Any, Array]]) -> None:
        """Give variables of the model other values, arrays that are theirs from then on."""
        for variable, value in values:
            variable.assign(value)

    def as_array(self, tensor: Any) -> Array:
        """Return a tensor as an array, a view of its memory where it can be."""
        return np.asarray(tensor)

    def generator(self) -> dict[str, Array]:
        """Return the state of the backend's own generator, if dropout draws from that."""
        return {}

    def set_generator(self, state: Mapping[str, Array]) -> None:  # noqa: B027 - most backends are given seeds
        """Put back what :meth:`generator` told, if it is there."""

    def synchronize(self, output: Any) -> None:  # noqa: B027 - a CPU is done when a function returns
        """Return when all that was asked for is done."""

    def memory(self) -> dict[str, int]:
        """Return bytes of the backend's allocator on the device."""
        return {}

    def reset_memory(self) -> None:  # noqa: B027 - most backends cannot
        """Have peaks begin anew."""

    def event(self) -> Any:
        """Return an event in the device's queue, None without one."""
        return None

    def seconds_between(self, first: Any, last: Any) -> float:
        """Return the device's seconds from one event to another."""
        raise NotImplementedError

    @property
    def traces(self) -> int:
        """How often the model has been compiled."""
        return int(self.model.calls)

    def _value(self, results: Batch) -> Any:
        return results if self.upstream else results[0]

    def _upstream(self, batch: Batch) -> list[Any] | None:
        return list(batch[len(batch) - self.upstream :]) if self.upstream else None

    def _step(self, mode: str) -> Callable[[Batch], Any]:
        return {"inference": self.predict, "training": self.train, "gradient": self.gradient_step}[mode]
