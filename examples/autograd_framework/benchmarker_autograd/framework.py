"""The framework inside the worker, and programs of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from benchmarker.api import Device, Framework, Graph, Optimizer, Program, TrainingState, UnsupportedError
from benchmarker_autograd.operators import AutogradOperators

Arrays = dict[str, Any]
_STATE = {"sgd": (), "momentum": ("v",), "adam": ("m", "v")}
"""The optimizers that are offered, and what each remembers, by the letters of its equations."""


class Autograd(Framework):
    """HIPS autograd: NumPy whose functions are differentiated by tracing them at each call."""

    operators = AutogradOperators

    def __init__(self) -> None:
        import autograd

        self.autograd = autograd

    def version(self) -> str:
        from importlib.metadata import version

        return version("autograd")

    def configure(self, device: Device, *, threads: int, seed: int) -> str:
        if device.type != "cpu":
            raise UnsupportedError(f"autograd runs on the CPU alone, not on '{device.type}'")
        return "CPU"

    def build(
        self,
        graph: Graph,
        parameters: Mapping[str, Any],
        *,
        mode: str,
        device: Device,
        precision: str,
        optimizer: Optimizer,
        options: Any,
    ) -> Program:
        if mode == "inference":
            return AutogradProgram(graph, parameters, precision)
        if optimizer.kind not in _STATE:
            raise UnsupportedError(f"autograd has {', '.join(_STATE)}, not the optimizer '{optimizer.kind}'")
        if optimizer.modifiers:
            raise UnsupportedError("autograd has no clipping, averages or other kinds of decay")
        return TrainingProgram(self.autograd, graph, parameters, precision, optimizer)


class AutogradProgram(Program):
    """A graph as calls of operators, one after the other; what can be prepared is prepared here."""

    def __init__(self, graph: Graph, parameters: Mapping[str, Any], precision: str) -> None:
        import numpy

        self._type = numpy.float64 if precision == "fp64" else numpy.float32
        self._graph = graph
        self._parameters = {name: numpy.array(value, self._type) for name, value in parameters.items()}
        operators = AutogradOperators()
        self._calls = [(_call(operators, node), node.inputs, node.outputs) for node in graph.nodes]

    def load(self, batch: Mapping[str, Any]) -> Arrays:
        return {
            name: value.astype(self._type) if value.dtype.kind == "f" else value.copy()
            for name, value in batch.items()
        }

    def _forward(self, parameters: Arrays, batch: Arrays) -> Arrays:
        values = {**parameters, **batch}
        for call, inputs, outputs in self._calls:
            found = call(*[values[name] if name else None for name in inputs])
            values.update(zip(outputs, found if isinstance(found, tuple) else (found,)))
        return values

    def infer(self, batch: Arrays) -> tuple[Any, ...]:
        values = self._forward(self._parameters, batch)
        return tuple(values[name] for name in self._graph.outputs)

    def fetch(self, output: Any) -> tuple[Any, ...]:
        import numpy

        outputs = output if isinstance(output, tuple) else (output,)
        return tuple(numpy.array(value, self._type) for value in outputs)

    def synchronize(self, output: Any) -> None:
        """Return at once: NumPy has finished when its calls return."""

    def parameters(self) -> Arrays:
        return {name: value.copy() for name, value in self._parameters.items()}

    def assign(self, values: Mapping[str, Any]) -> None:
        for name, value in values.items():
            self._parameters[name][...] = value


def _call(operators: AutogradOperators, node: Any) -> Callable[..., Any]:
    method, keywords = getattr(operators, node.operator), node.keywords
    return lambda *tensors: method(*tensors, **keywords)


class TrainingProgram(AutogradProgram):
    """The same with its loss differentiated, and an optimizer written out."""

    def __init__(
        self, autograd: Any, graph: Graph, parameters: Mapping[str, Any], precision: str, optimizer: Optimizer
    ) -> None:
        import numpy

        super().__init__(graph, parameters, precision)
        self._optimizer = optimizer
        self._trainable = [p.name for p in graph.trainable]
        self._state: dict[str, Arrays] = {
            letter: {name: numpy.zeros_like(self._parameters[name]) for name in self._trainable}
            for letter in _STATE[optimizer.kind]
        }
        self._steps = 0

        def loss(trainable: Arrays, batch: Arrays) -> Any:
            return self._forward({**self._parameters, **trainable}, batch)[graph.loss or ""]

        self._value_and_gradients = autograd.value_and_grad(loss)

    def _differentiated(self, batch: Arrays) -> tuple[Any, Arrays]:
        found: tuple[Any, Arrays] = self._value_and_gradients(
            {name: self._parameters[name] for name in self._trainable}, batch
        )
        return found

    def gradients(self, batch: Arrays) -> tuple[float, Arrays]:
        loss, gradients = self._differentiated(batch)
        return float(loss), gradients

    def train_step(self, batch: Arrays) -> Any:
        loss, gradients = self._differentiated(batch)
        self._steps += 1
        for name in self._trainable:
            self._update(name, gradients[name])
        return loss

    def _update(self, name: str, gradient: Any) -> None:
        constants, parameter = self._optimizer, self._parameters[name]
        rate = constants.learning_rate
        if constants.weight_decay:
            gradient = gradient + constants.weight_decay * parameter
        if constants.kind == "sgd":
            parameter -= rate * gradient
        elif constants.kind == "momentum":
            velocity = self._state["v"][name]
            velocity[...] = constants.momentum * velocity + gradient
            parameter -= rate * velocity
        else:
            parameter -= rate * self._adam(self._state["m"][name], self._state["v"][name], gradient)

    def _adam(self, mean: Any, square: Any, gradient: Any) -> Any:
        beta1, beta2 = self._optimizer.beta1, self._optimizer.beta2
        mean[...] = beta1 * mean + (1.0 - beta1) * gradient
        square[...] = beta2 * square + (1.0 - beta2) * gradient**2
        root = (square / (1.0 - beta2**self._steps)) ** 0.5
        return mean / (1.0 - beta1**self._steps) / (root + self._optimizer.epsilon)

    def optimizer_state(self) -> dict[str, Arrays]:
        return {
            letter: {name: value.copy() for name, value in arrays.items()}
            for letter, arrays in self._state.items()
        }

    def set_hyperparameters(self, values: Mapping[str, float]) -> None:
        """Take what the equations read at each step."""
        if set(values) - {"learning_rate", "momentum", "weight_decay"}:
            raise UnsupportedError(f"autograd takes no other {', '.join(values)} between steps")
        self._optimizer = self._optimizer.with_constants(values)

    def restore(self, state: TrainingState) -> None:
        self.assign(state.parameters)
        for letter, arrays in self._state.items():
            for name, value in arrays.items():
                value[...] = state.optimizer[letter][name]
        self._steps = state.steps
