"""The programs of PyTorch: a graph as generated functions over native tensors."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from benchmarker.api.framework import Device
from benchmarker.graph.graph import Graph
from benchmarker.plugins.common.composed import state_arrays
from benchmarker.plugins.numpy.evaluation import RuleProgram
from benchmarker.plugins.pytorch.devices import NativeDevice, seconds_between
from benchmarker.plugins.pytorch.functions import Functions
from benchmarker.plugins.pytorch.profiler import profiled
from benchmarker.plugins.pytorch.tensors import Tensors, to_numpy
from benchmarker.plugins.pytorch.training import TrainingSteps

if TYPE_CHECKING:
    import numpy.typing as npt

    from benchmarker.api.profile import Profile
    from benchmarker.api.training_state import TrainingState

    Array = npt.NDArray[Any]


class _PytorchProgram(RuleProgram):
    """A graph as one generated function over native tensors; its other methods are shared by all modes.

    Parameters
    ----------
    graph, tensors, device, compiled
        As given to :meth:`Framework.build`, and the parameters made native.
    with_ranges : callable
        Makes the step over functions that tell a profiler of the nodes.
    """

    def __init__(
        self,
        graph: Graph,
        tensors: Tensors,
        device: Device,
        compiled: bool,
        with_ranges: Callable[[], Callable[..., Any]],
    ) -> None:
        self._compiled = compiled
        self._with_ranges = with_ranges
        self._graph = graph
        self._tensors = tensors
        self._device = NativeDevice(device)
        # A call saved at each step of a CPU.
        self._waits = device.type != "cpu"

    def load(self, batch: Mapping[str, Array]) -> tuple[Any, ...]:
        return tuple(self._tensors.put(i.name, batch[i.name]) for i in self._graph.inputs)

    def parameters(self) -> dict[str, Array]:
        native = self._tensors.native
        return {name: self._tensors.decode(name, native[name]) for name in native}

    def assign(self, values: Mapping[str, Array]) -> None:
        for name, value in values.items():
            self._tensors.assign(name, value)

    def output_tensors(self, output: Any) -> Sequence[Any]:
        return tuple(output)

    def take(self, tensors: Sequence[Any]) -> Any:
        return tuple(tensors)

    def fetch(self, output: Any) -> tuple[Array, ...]:
        outputs = output if isinstance(output, tuple) else (output,)
        return tuple(to_numpy(tensor) for tensor in outputs)

    def synchronize(self, output: Any) -> None:
        if self._waits:
            self._device.wait()

    def profile(self, batch: tuple[Any, ...], steps: int) -> Profile:
        step = self._with_ranges()
        return profiled(lambda: self.synchronize(step(*batch)), steps, self._device.type)

    def memory(self) -> dict[str, int]:
        return self._device.memory()

    def reset_memory(self) -> None:
        self._device.reset_memory()

    def compilations(self) -> int:
        """Return how many graphs ``torch.compile`` has made in this process; none where it is not used."""
        import torch

        return int(torch._dynamo.utils.counters["stats"]["unique_graphs"]) if self._compiled else 0

    def device_event(self) -> Any:
        return self._device.event()

    def device_seconds(self, first: Any, last: Any) -> float:
        return seconds_between(first, last)


class InferenceProgram(_PytorchProgram):
    """The graph forward, without what autograd would keep."""

    def __init__(
        self, graph: Graph, tensors: Tensors, device: Device, compiled: bool, functions: Functions
    ) -> None:
        import torch

        self._inference_mode = torch.inference_mode()  # made once: that takes as long as entering it
        self._forward = functions.make(graph.outputs, training=False)
        self._functions = functions

        def with_ranges() -> Callable[..., Any]:
            forward = functions.make(graph.outputs, training=False, ranges=True)
            wrapped: Callable[..., Any] = torch.inference_mode()(forward)
            return wrapped

        super().__init__(graph, tensors, device, compiled, with_ranges)

    def infer(self, batch: tuple[Any, ...]) -> Any:
        with self._inference_mode:
            return self._forward(*batch)

    def integer_products(self) -> int | None:
        return self._functions.integer_products


class _DifferentiatedProgram(_PytorchProgram):
    """Goes backward too.

    Parameters
    ----------
    graph, tensors, device, compiled, with_ranges
        As of :class:`_PytorchProgram`.
    gradients : callable
        Value and gradients of a mini-batch, in the order of ``tensors.trainable``.
    make_forward : callable
        Makes the function for :meth:`infer`, which only evaluation between steps needs.
    """

    def __init__(
        self,
        graph: Graph,
        tensors: Tensors,
        device: Device,
        compiled: bool,
        with_ranges: Callable[[], Callable[..., Any]],
        gradients: Callable[..., tuple[Any, list[Any]]],
        make_forward: Callable[[], Callable[..., Any]],
    ) -> None:
        super().__init__(graph, tensors, device, compiled, with_ranges)
        self._gradients = gradients
        self._make_forward = make_forward

    @functools.cached_property
    def _forward(self) -> Callable[..., Any]:
        return self._make_forward()

    def infer(self, batch: tuple[Any, ...]) -> Any:
        import torch

        with torch.no_grad():
            return self._forward(*batch)

    def gradients(self, batch: tuple[Any, ...]) -> tuple[float, dict[str, Array]]:
        value, flat = self._gradients(*batch)
        return float(value.detach()), self._by_parameter(flat)

    def fetch_gradients(self, gradients: Any) -> dict[str, Array]:
        import torch

        trained = self._tensors.trainable
        return self._by_parameter(
            [torch.zeros_like(own) if found is None else found for own, found in zip(trained, gradients)]
        )

    def _by_parameter(self, flat: Sequence[Any]) -> dict[str, Array]:
        """Return what there is one of for each trainable tensor, in their order, by parameter."""
        found = dict(zip(map(id, self._tensors.trainable), flat))
        decode, native = self._tensors.decode, self._tensors.native
        return {
            p.name: decode(p.name, [found[id(tensor)] for tensor in native[p.name]])
            for p in self._graph.trainable
        }


class TrainingProgram(_DifferentiatedProgram):
    """Forward, loss, backward and update.

    Parameters
    ----------
    steps : TrainingSteps
        Of a mini-batch, in one and in parts, and of micro-batches; and the optimizer's state and constants.
    further
        As of :class:`_DifferentiatedProgram`.
    """

    def __init__(self, steps: TrainingSteps, *further: Any) -> None:
        super().__init__(*further)
        self._step, self._parts, self._micro = steps.whole, steps.parts, steps.micro
        self._state, self._constants = steps.state, steps.constants
        self._native_state, self._restore = steps.native_state, steps.restore
        self._skipped, self._note = steps.skipped, steps.note
        self._exchanged = steps.exchanged
        self.composed_rule, self.averaging_rule = steps.composed_rule, steps.averaging_rule

    def train_step(self, batch: tuple[Any, ...]) -> Any:
        return self._step(*batch)

    def train_parts(self, batch: tuple[Any, ...]) -> Iterator[tuple[str, Any]]:
        return self._parts(*batch)

    def train_micro(self, batches: Sequence[tuple[Any, ...]]) -> Any:
        return self._micro(batches)

    def set_hyperparameters(self, values: Mapping[str, float]) -> None:
        self.use_hyperparameters(self.prepare_hyperparameters(values))

    def prepare_hyperparameters(self, values: Mapping[str, float]) -> Any:
        return self._constants.prepared(values)

    def use_hyperparameters(self, prepared: Any) -> None:
        self._constants.use(prepared)

    def native_state(self) -> dict[str, Array]:
        return self._native_state()

    def restore(self, state: TrainingState) -> None:
        self._restore(state)

    def exchanged(self) -> dict[str, int] | None:
        return self._exchanged

    def skipped_updates(self, steps: int) -> int | None:
        return self._skipped(steps)

    def note_updates(self, steps: int) -> None:
        self._note(steps)

    def optimizer_state(self) -> dict[str, dict[str, Array]]:
        natives = {p.name: self._tensors.native[p.name] for p in self._graph.trainable}
        return {
            letter: state_arrays(natives, slots, self._tensors.decode, to_numpy)
            for letter, slots in self._state().items()
        }


class GradientProgram(_DifferentiatedProgram):
    """Forward and backward."""

    def __init__(self, step: Callable[..., tuple[Any, Any]], *further: Any) -> None:
        super().__init__(*further)
        self._step = step

    def gradient_step(self, batch: tuple[Any, ...]) -> tuple[Any, Any]:
        return self._step(*batch)
