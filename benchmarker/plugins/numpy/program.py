"""The NumPy framework and its programs: a framework like any other, and the reference of all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from benchmarker.errors import UnsupportedError
from benchmarker.framework import Device, Framework, Optimizer, Program
from benchmarker.graph.graph import Graph, walk
from benchmarker.graph.types import Node
from benchmarker.plugins.numpy.operators import NumpyOperators
from benchmarker.plugins.numpy.optimizers import make_update
from benchmarker.plugins.numpy.tape import Tape, Variable

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

_DTYPES: Mapping[str, type[Any]] = {"fp32": np.float32, "fp64": np.float64}


class NumpyFramework(Framework):
    """NumPy on the CPU; the number of threads is its BLAS's, set by the environment before the start."""

    operators: ClassVar[type[NumpyOperators]] = NumpyOperators

    def __init__(self) -> None:
        self._seed = 0

    def version(self) -> str:
        """Return NumPy's version."""
        return np.__version__

    def configure(self, device: Device, *, threads: int, seed: int) -> str:
        """Keep the seed of dropout's masks; NumPy has no call of its own for the number of threads."""
        if device.type != "cpu":
            raise UnsupportedError(f"framework 'numpy' runs on the cpu only, got device '{device.type}'")
        self._seed = seed
        return "cpu"

    def build(
        self,
        graph: Graph,
        parameters: Mapping[str, Array],
        *,
        mode: str,
        device: Device,
        precision: str,
        optimizer: Optimizer,
        options: Any,
    ) -> NumpyProgram:
        """Copy the parameters and resolve the steps of ``graph``."""
        if precision not in _DTYPES:
            raise UnsupportedError(
                f"framework 'numpy' computes in {' or '.join(_DTYPES)}, got precision '{precision}'"
            )
        update = optimizer if mode == "training" else None
        return NumpyProgram(self.operators, graph, parameters, _DTYPES[precision], update, self._seed)

    def libraries(self) -> dict[str, str]:
        """Return the BLAS that NumPy was built with and its version."""
        return {"blas": _blas()}


def _blas() -> str:
    try:
        config: Any = np.show_config(mode="dicts")  # NumPy 1.26 and newer
    except TypeError:
        known = ("openblas64__info", "openblas_info", "blas_mkl_info", "blas_opt_info")
        old = (getattr(np.__config__, name, None) for name in known)
        libraries: list[str] = next((info["libraries"] for info in old if info), ["unknown"])
        return libraries[0]
    blas = config["Build Dependencies"]["blas"]
    return f"{blas.get('name', 'unknown')} {blas.get('version', '')}".strip()


@dataclass(frozen=True)
class _Step:
    """One node of inference, ready to call, with the values that nothing needs afterwards."""

    operator: Callable[..., Any]
    node: Node
    last_used: tuple[str, ...]


def _inference_steps(graph: Graph, operators: NumpyOperators) -> tuple[_Step, ...]:
    seen = {*graph.outputs, *(p.name for p in graph.parameters)}
    steps = []
    for node in reversed(graph.nodes):
        named = dict.fromkeys(name for name in (*node.inputs, *node.outputs) if name)
        steps.append(
            _Step(getattr(operators, node.operator), node, tuple(name for name in named if name not in seen))
        )
        seen.update(named)
    return tuple(reversed(steps))


class NumpyProgram(Program):
    """A graph on NumPy arrays: inference frees what is no longer needed, training keeps a tape.

    Parameters
    ----------
    operators : type
        The forward meaning.
    graph, parameters : Graph, mapping
        As given to :meth:`NumpyFramework.build`.
    dtype : type
        Floating type to compute in.
    optimizer : Optimizer or None
        None for inference.
    seed : int
        Seed of dropout's masks.

    Attributes
    ----------
    switched : float
        In the backward pass, rectifiers and maxima that near to switching (a share of their largest
        input) have switched: what rounding may at most have done to the gradients there.
    """

    def __init__(
        self,
        operators: type[NumpyOperators],
        graph: Graph,
        parameters: Mapping[str, Array],
        dtype: type[Any],
        optimizer: Optimizer | None,
        seed: int,
    ) -> None:
        self.switched = 0.0
        self._operators = operators
        self._graph = graph
        self._dtype = dtype
        self._parameters = {p.name: np.array(parameters[p.name], dtype, order="C") for p in graph.parameters}
        self._trainable = {p.name: self._parameters[p.name] for p in graph.trainable}
        self._generator = np.random.default_rng(seed)
        self._outputs = graph.outputs
        self._inference = _inference_steps(graph.without_loss(), operators(dtype=dtype))
        self._update = make_update(optimizer, self._trainable) if optimizer else None

    def load(self, batch: Mapping[str, Array]) -> dict[str, Array]:
        """Copy the mini-batch in the program's floating type; indices stay int64."""
        return {name: self._native(np.asarray(batch[name])) for name in (i.name for i in self._graph.inputs)}

    def _native(self, array: Array) -> Array:
        dtype = self._dtype if np.issubdtype(array.dtype, np.floating) else array.dtype
        return np.array(array, dtype, order="C")

    def infer(self, batch: dict[str, Array]) -> tuple[Array, ...]:
        """Run forward and return the outputs."""
        values: dict[str, Any] = {**self._parameters, **batch}
        for step in self._inference:
            node = step.node
            result = step.operator(
                *[values[name] if name else None for name in node.inputs], **node.attributes
            )
            values.update(zip(node.outputs, result if isinstance(result, tuple) else (result,)))
            for name in step.last_used:
                del values[name]
        return tuple(values[name] for name in self._outputs)

    def train_step(self, batch: dict[str, Array]) -> Array:
        """Run forward, backward and update; return the loss before the update."""
        if self._update is None:
            raise UnsupportedError("a program built for inference has no train_step")
        loss, gradients = self.half_step(batch)
        self._update(gradients)
        return loss

    def train_parts(self, batch: dict[str, Array]) -> Iterator[tuple[str, Any]]:
        """Run a step in its parts; the tape goes backwards right after the forward pass, as one part."""
        if self._update is None:
            raise UnsupportedError("a program built for inference has no parts of a training step")
        loss, gradients = self.half_step(batch)
        yield "forward and backward", loss
        self._update(gradients)
        yield "update", loss

    def half_step(self, batch: dict[str, Array]) -> tuple[Array, dict[str, Array]]:
        """Return loss and gradients of a step: it moves running statistics, but no parameter yet."""
        forward = self._operators(
            training=True, generator=self._generator, update_statistics=True, dtype=self._dtype
        )
        return self._loss_and_gradients(batch, forward)

    def assign(self, values: Mapping[str, Array]) -> None:
        """Take these values of parameters and running statistics."""
        for name, value in values.items():
            self._parameters[name][...] = value

    def value(self, name: str) -> Array:
        """Return a copy of a parameter or running statistic, in the program's floating type."""
        return self._parameters[name].copy()

    def gradients(self, batch: dict[str, Array]) -> tuple[float, dict[str, Array]]:
        """Return loss and gradients in the program's floating type; nothing changes."""
        forward = self._operators(training=True, dtype=self._dtype)
        loss, gradients = self._loss_and_gradients(batch, forward)
        return float(loss), gradients

    def _loss_and_gradients(
        self, batch: dict[str, Array], forward: NumpyOperators
    ) -> tuple[Array, dict[str, Array]]:
        if self._graph.loss is None:
            raise UnsupportedError(f"the graph '{self._graph.name}' has no loss to differentiate")
        tape = Tape(forward)
        leaves = {name: Variable(p, name in self._trainable) for name, p in self._parameters.items()}
        inputs = {name: Variable(array) for name, array in batch.items()}
        loss: Variable = walk(self._graph, tape, {**inputs, **leaves})[self._graph.loss]
        tape.backward(loss, self.switched)
        return loss.value, {name: leaves[name].take_gradient() for name in self._trainable}

    def parameters(self) -> dict[str, Array]:
        """Return float32 copies of all parameters and running statistics."""
        return {name: p.astype(np.float32) for name, p in self._parameters.items()}

    def fetch(self, output: Any) -> tuple[Array, ...]:
        """Return copies, contiguous and in the program's floating type."""
        outputs = output if isinstance(output, tuple) else (output,)
        return tuple(np.array(value, order="C") for value in outputs)

    def synchronize(self, output: Any) -> None:
        """Return at once: NumPy has finished when its calls return."""
