"""The programs of Paddle: a graph as straight lines over native tensors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.api.optimizer import Optimizer
from benchmarker.api.profile import Profile
from benchmarker.errors import UnsupportedError
from benchmarker.graph.graph import Graph
from benchmarker.plugins.common.composed import state_arrays
from benchmarker.plugins.paddle.lowering import Line, TracedLine, Watching, lower, native_form
from benchmarker.plugins.paddle.operators import PaddleOperators
from benchmarker.plugins.paddle.optimizers import Update, made_update
from benchmarker.plugins.paddle.profiler import BACKWARD, UPDATE, part, profiled, watching
from benchmarker.plugins.paddle.restoring import RestorableProgram

if TYPE_CHECKING:
    import numpy.typing as npt

    from benchmarker.plugins.paddle import Options

    Array = npt.NDArray[Any]


class PaddleProgram(RestorableProgram):
    """A graph on Paddle's tensors.

    Parameters
    ----------
    graph, parameters, mode, optimizer, options
        As given to :meth:`Framework.build`.
    """

    def __init__(
        self,
        graph: Graph,
        parameters: Mapping[str, Array],
        mode: str,
        optimizer: Optimizer,
        options: Options,
    ) -> None:
        import paddle

        self._paddle: Any = paddle
        self._graph, self._mode = graph, mode
        self._to_static = options.to_static
        self._calls, self._layouts = native_form(graph)
        self._native = {
            p.name: self._adopted(p.name, p.trainable, parameters[p.name]) for p in graph.parameters
        }
        self._trained = [tensor for p in graph.trainable for tensor in self._native[p.name]]
        names = [i.name for i in graph.inputs]
        self._upstream = [names.index(graph.upstream[name]) for name in graph.outputs if graph.upstream]
        self._inference = self._line(self._calls.outputs)
        if mode == "inference":
            return
        self._differentiable = self._line(self._differentiated(), training=True)
        self._undropped = self._differentiable
        if "dropout" in graph.operators:
            self._undropped = self._line(self._differentiated(), training=True, dropout=False)
        if mode == "training":
            self._update = made_update(optimizer, graph, self._native, self._layouts)
            self.composed_rule = self._update.composed_rule

    def _adopted(self, name: str, trainable: bool, value: Array) -> tuple[Any, ...]:
        arrays = [self._typed(array) for array in self._layouts[name].encode(value)]
        return tuple(map(self._parameter if trainable else self._paddle.to_tensor, arrays))

    def _parameter(self, array: Array) -> Any:
        zeros = self._paddle.nn.initializer.Constant(0.0)
        made = self._paddle.create_parameter(list(array.shape), str(array.dtype), default_initializer=zeros)
        made.set_value(array)
        return made

    @staticmethod
    def _typed(array: Array) -> Array:
        given = np.asarray(array, order="C")
        return given.astype(np.float32) if np.issubdtype(given.dtype, np.floating) else given

    def _differentiated(self) -> tuple[str, ...]:
        """Return what goes backward: the loss, or the outputs of a graph without one."""
        if self._upstream:
            return self._calls.outputs
        if self._calls.loss is None:
            raise UnsupportedError(f"problem '{self._graph.name}' has no loss, so it cannot be trained")
        return (self._calls.loss,)

    def _line(
        self,
        outputs: Sequence[str],
        observed: Watching | None = None,
        **settings: bool,
    ) -> Line:
        operators = PaddleOperators(**settings)
        traced = self._to_static and observed is None
        return lower(self._calls, outputs, self._native, operators, traced=traced, observed=observed)

    def load(self, batch: Mapping[str, Array]) -> tuple[Any, ...]:
        return tuple(self._paddle.to_tensor(self._typed(batch[i.name])) for i in self._graph.inputs)

    def output_tensors(self, output: Any) -> Sequence[Any]:
        return tuple(output)

    def take(self, tensors: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(tensors)

    def infer(self, batch: tuple[Any, ...]) -> tuple[Any, ...]:
        with self._paddle.no_grad():
            return self._inference(*batch)

    def train_step(self, batch: tuple[Any, ...]) -> Any:
        (loss,) = self._differentiable(*batch)
        loss.backward()
        self._update.step()
        return loss

    def train_parts(self, batch: tuple[Any, ...]) -> Iterator[tuple[str, Any]]:
        (loss,) = self._differentiable(*batch)
        yield "forward", loss
        loss.backward()
        yield "backward", loss
        self._update.step()
        yield "update", loss

    def train_micro(self, batches: Sequence[tuple[Any, ...]]) -> Any:
        """Let the gradients of all micro-batches add up, and update once; return the mean loss."""
        total = None
        for batch in batches:
            (loss,) = self._differentiable(*batch)
            part = loss / len(batches)
            part.backward()
            total = part.detach() if total is None else total + part.detach()
        self._update.step()
        return total

    def gradient_step(self, batch: tuple[Any, ...]) -> tuple[Any, Any]:
        values = self._differentiable(*batch)
        return values if self._upstream else values[0], self._backward(values, batch)

    def _backward(self, values: Sequence[Any], batch: tuple[Any, ...]) -> Any:
        seeds = [batch[place] for place in self._upstream] or None
        return self._paddle.grad(list(values), self._trained, seeds, allow_unused=True)

    def gradients(self, batch: tuple[Any, ...]) -> tuple[float, dict[str, Array]]:
        kept = {name: [t.numpy() for t in self._native[name]] for name in self._graph.statistics}
        values = self._undropped(*batch)
        found = self.fetch_gradients(self._backward(values, batch))
        for name, arrays in kept.items():
            for tensor, array in zip(self._native[name], arrays):
                tensor.set_value(array)
        if not self._upstream:
            return float(values[0]), found
        pairs = ((y.numpy(), batch[place].numpy()) for y, place in zip(values, self._upstream))
        return float(sum((y.astype(np.float64) * dy).sum() for y, dy in pairs)), found

    def fetch_gradients(self, gradients: Any) -> dict[str, Array]:
        left = iter(gradients)
        return {
            p.name: self._decoded(p.name, [next(left) for _ in self._native[p.name]])
            for p in self._graph.trainable
        }

    def profile(self, batch: tuple[Any, ...], steps: int) -> Profile:
        """Run steps under Paddle's own profiler."""
        if self._to_static:
            raise UnsupportedError(
                "a traced program runs in one piece, so its operators cannot be distinguished; use to_static=false"
            )
        observed = watching({node.name for node in self._graph.nodes})
        if self._mode == "inference":
            line = self._line(self._calls.outputs, observed)

            def infer() -> None:
                with self._paddle.no_grad():
                    line(*batch)

            return profiled(infer, steps)
        line = self._line(self._differentiated(), observed, training=True)

        def step() -> None:
            values = line(*batch)
            training = self._mode == "training"
            with part(BACKWARD):
                values[0].backward() if training else self._backward(values, batch)
            if training:
                with part(UPDATE):
                    self._update.step()

        return profiled(step, steps)

    def parameters(self) -> dict[str, Array]:
        return {name: self._decoded(name, tensors) for name, tensors in self._native.items()}

    def _decoded(self, name: str, tensors: Sequence[Any]) -> Array:
        """Return what has a parameter's shape in the graph's layout; a gradient that is missing is of zeros."""
        pairs = zip(tensors, self._native[name])
        arrays = [np.zeros(own.shape, np.float32) if t is None else t.numpy() for t, own in pairs]
        return np.array(self._layouts[name].decode(arrays), order="C")

    def assign(self, values: Mapping[str, Array]) -> None:
        for name, value in values.items():
            for tensor, array in zip(self._native[name], self._layouts[name].encode(value)):
                tensor.set_value(self._typed(array))

    def set_hyperparameters(self, values: Mapping[str, float]) -> None:
        self._update.set_constants(values)

    def optimizer_state(self) -> dict[str, dict[str, Array]]:
        natives = {p.name: self._native[p.name] for p in self._graph.trainable}
        return {
            letter: state_arrays(natives, slots, self._decoded, lambda slot: np.array(slot.numpy()))
            for letter, slots in self._update.state().items()
        }

    def fetch(self, output: Any) -> tuple[Array, ...]:
        return tuple(value.numpy() for value in (output if isinstance(output, tuple) else (output,)))

    def synchronize(self, output: Any) -> None:
        """Return at once: on a processor each function of Paddle's has finished when it returns."""

    def compilations(self) -> int | None:
        lines = {id(line): line for line in vars(self).values() if isinstance(line, TracedLine)}
        return sum(line.compilations for line in lines.values())

    def _updating(self) -> Update:
        return self._update
