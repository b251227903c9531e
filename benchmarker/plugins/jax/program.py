"""A program of JAX: each step compiled by XLA in one piece, what it replaces donated to it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.api.optimizer import Optimizer, state_names
from benchmarker.errors import UnsupportedError
from benchmarker.graph.graph import Graph
from benchmarker.plugins.common.composed import RuleSteps
from benchmarker.plugins.common.hyperparameters import Hyperparameters
from benchmarker.plugins.common.integers import require_32_bits
from benchmarker.plugins.jax import Options, devices
from benchmarker.plugins.jax.attribution import origins
from benchmarker.plugins.jax.composed import ComposedUpdate
from benchmarker.plugins.jax.layouts import chosen_forms
from benchmarker.plugins.jax.optimizers import OptimizerState, is_native, start_state
from benchmarker.plugins.jax.profiler import profiled
from benchmarker.plugins.jax.restoring import RestorableProgram
from benchmarker.plugins.jax.steps import MutableState, Precision, State, Steps
from benchmarker.plugins.jax.tensors import Form
from benchmarker.training.optimizers.advance import places

if TYPE_CHECKING:
    import numpy.typing as npt

    from benchmarker.api.profile import Profile

    Array = npt.NDArray[np.generic]


PRECISIONS = {
    "fp32": Precision("float32"),
    "fp64": Precision("float64", "float64"),
    "tf32": Precision("float32"),
    "bf16": Precision("bfloat16"),
    "fp16": Precision("float16", loss_scale=1024.0),
}


class JaxProgram(RestorableProgram):
    """A graph as compiled XLA programs; see :meth:`benchmarker.api.framework.Framework.build` for the arguments.

    Parameters
    ----------
    place : jax.Device
        Where it runs.
    seed : int
        Seed of dropout's masks.
    """

    def __init__(
        self,
        graph: Graph,
        parameters: Mapping[str, Array],
        *,
        mode: str,
        place: Any,
        precision: str,
        optimizer: Optimizer,
        options: Options,
        seed: int,
    ) -> None:
        import jax

        require_32_bits(parameters)
        self._jax = jax
        self._graph = graph
        self._mode = mode
        self._place = place
        self._precision = precision
        self._types = PRECISIONS[precision]
        self._compilations = 0
        self._compiler_options: Mapping[str, str] | None = None
        channels_last = options.layout == "nhwc"
        self._forms = chosen_forms(graph, channels_last)
        composed = None
        if mode == "training" and not is_native(optimizer):
            self.composed_rule = optimizer.rule
            where = places(graph, optimizer.modifiers.decay_of)
            composed = ComposedUpdate(optimizer.rule, where, self._forms, self._types.exact)
        self._steps = self._made_steps(
            Steps(graph, self._forms, self._types, channels_last, optimizer, composed)
        )
        native = {
            p.name: self._put(parameters[p.name], self._forms[p.name], self._stored_type(p.type.dtype))
            for p in graph.parameters
        }
        self._parameters = dict(native) if mode == "inference" else None
        trained = {p.name: native.pop(p.name) for p in graph.trainable}
        moved = {name: native.pop(name) for name in graph.statistics if name in native}
        self._fixed = native
        self._state = State(
            trained, MutableState(moved, self._start_key(seed)), self._start_slots(optimizer, trained)
        )
        self._hyperparameters = Hyperparameters(optimizer)
        self._numbers = RuleSteps(self._hyperparameters) if composed else None
        self._constants = self._placed_constants(optimizer)
        # Operators have nothing that a forward pass replaces.
        self._moves = bool(moved) or self._state.moved.key is not None
        if graph.upstream:
            self._forms.update(self._upstream_forms())

    def _start_key(self, seed: int) -> Any:
        if self._mode == "inference" or "dropout" not in self._graph.operators:
            return None
        return self._placed(self._jax.random.key(seed))

    def _start_slots(self, optimizer: Optimizer, trained: Mapping[str, Any]) -> Any:
        if self._mode != "training":
            return None
        with self._settings():
            if self._steps.composed is None:
                shapes = {
                    name: self._jax.ShapeDtypeStruct(array.shape, array.dtype)
                    for name, array in trained.items()
                }
                started = start_state(self._jax.numpy, optimizer, shapes)
            else:
                arrays = {name: np.asarray(array) for name, array in trained.items()}
                started = OptimizerState(self._steps.composed.start(arrays), None)
            return self._placed(started)

    def _made_steps(self, steps: Steps) -> Steps:
        """Return the steps that are compiled."""
        return steps

    def _placed(self, tree: Any) -> Any:
        """Return arrays where the steps take them."""
        return self._jax.device_put(tree, self._place)

    def _placed_constants(self, optimizer: Optimizer) -> Any:
        """Return the constants of an optimizer that the update takes as values, on the device."""
        if self._numbers is not None:
            return np.zeros(len(self._numbers.names), self._types.exact)
        values = [getattr(optimizer, name) for name in self._hyperparameters.names]
        with self._settings():
            return self._placed(np.array(values, self._types.exact))

    def _next_constants(self) -> Any:
        """Return what the next update takes as values."""
        if self._numbers is None:
            return self._constants
        return np.array(self._numbers.next(), self._types.exact)

    def _upstream_forms(self) -> dict[str, Form]:
        """Return how the gradients of the outputs stand: as the outputs do, which only tracing tells."""
        with self._settings():
            self._jax.eval_shape(self._steps.infer, self._all(), self._shapes())
        found = self._steps.output_forms
        return {given: found[name] for name, given in self._graph.upstream.items()}

    # --- the timed path ----------------------------------------------------------------------

    def infer(self, batch: Any) -> Any:
        parameters = self._all() if self._parameters is None else self._parameters
        return self._infer(parameters, batch)

    def train_step(self, batch: Any) -> Any:
        loss, self._state = self._train(self._state, self._next_constants(), self._fixed, batch)
        return loss

    def gradient_step(self, batch: Any) -> tuple[Any, Any]:
        trained, moved, _ = self._state
        value, gradients, after = self._differentiate(trained, moved, self._fixed, batch)
        if self._moves:
            self._state = self._state._replace(moved=after)
        return value, gradients

    def train_micro(self, batches: Sequence[Any]) -> Any:
        trained, moved, _ = self._state
        sums = self._no_sums(trained)
        for batch in batches:
            sums, moved = self._accumulate(trained, moved, sums, self._fixed, batch)
        state = self._state._replace(moved=moved)
        count = np.asarray(len(batches), self._types.exact)
        loss, self._state = self._apply_mean(state, self._next_constants(), sums, count)
        return loss

    def train_parts(self, batch: Any) -> Iterator[tuple[str, Any]]:
        raise UnsupportedError("JAX compiles the whole training step into one program")

    def profile(self, batch: Any, steps: int) -> Profile:
        of_mode = {
            "inference": ("_infer", self.infer),
            "training": ("_train", self.train_step),
            "gradient": ("_differentiate", self.gradient_step),
        }
        name, step = of_mode[self._mode]
        names = [node.name for node in self._graph.nodes]
        with self._with_single_kernels(name):
            known = origins(getattr(self, name).as_text())
            self.synchronize(step(batch))
            return profiled(lambda: self.synchronize(step(batch)), steps, known, names)

    @contextlib.contextmanager
    def _with_single_kernels(self, name: str) -> Iterator[None]:
        """Have a step compiled anew meanwhile, on a GPU: one that the driver replays as a graph is a single event."""
        if self._place.platform == "cpu":
            yield
            return
        timed, compilations = self.__dict__.pop(name, None), self._compilations
        self._compiler_options = devices.single_kernels(self._place.platform)
        try:
            yield
        finally:
            self._compiler_options = None
            self._compilations = compilations
            self.__dict__.pop(name, None)
            if timed is not None:
                self.__dict__[name] = timed

    def synchronize(self, output: Any) -> None:
        # All results of a program are ready at once, what it replaces too.
        self._jax.block_until_ready(output)

    # --- compiling ---------------------------------------------------------------------------

    @cached_property
    def _infer(self) -> Callable[..., Any]:
        return self._compiled(self._steps.infer, (), self._all(), self._shapes())

    @cached_property
    def _train(self) -> Callable[..., Any]:
        arguments = (self._state, self._constants, self._fixed, self._shapes())
        return self._compiled(self._steps.train, (0,), *arguments)

    @cached_property
    def _differentiate(self) -> Callable[..., Any]:
        trained, moved, _ = self._state
        return self._compiled(self._steps.differentiate, (1,), trained, moved, self._fixed, self._shapes())

    @cached_property
    def _gradients(self) -> Callable[..., Any]:
        trained, moved, _ = self._state
        step = partial(self._steps.differentiate, dropout=False)
        return self._compiled(step, (), trained, moved, self._fixed, self._shapes())

    @cached_property
    def _no_sums(self) -> Callable[..., Any]:
        return self._compiled(self._steps.no_sums, (), self._state.trained)

    @cached_property
    def _accumulate(self) -> Callable[..., Any]:
        trained, moved, _ = self._state
        sums = self._no_sums(trained)
        arguments = (trained, moved, sums, self._fixed, self._shapes())
        return self._compiled(self._steps.accumulate, (1, 2), *arguments)

    @cached_property
    def _apply_mean(self) -> Callable[..., Any]:
        sums = self._no_sums(self._state.trained)
        count = np.ones((), self._types.exact)
        return self._compiled(self._steps.apply_mean, (0,), self._state, self._constants, sums, count)

    def _compiled(
        self, step: Callable[..., Any], donated: tuple[int, ...], *arguments: Any
    ) -> Callable[..., Any]:
        """Return ``step`` compiled for such ``arguments``, those at the places ``donated`` given up to it."""
        with self._settings():
            jitted = self._jax.jit(step, donate_argnums=donated)
            compiled: Callable[..., Any] = jitted.lower(*arguments).compile(self._compiler_options)
        self._compilations += 1
        return compiled

    @contextlib.contextmanager
    def _settings(self) -> Iterator[None]:
        """Set what is global to JAX as this program needs it; a compiled program keeps it."""
        with contextlib.ExitStack() as stack:
            stack.enter_context(self._jax.enable_x64(self._precision == "fp64"))
            if self._place.platform != "cpu" and self._precision in devices.PRODUCTS:
                stack.enter_context(self._jax.default_matmul_precision(devices.PRODUCTS[self._precision]))
            yield

    def _shapes(self) -> tuple[Any, ...]:
        """Return what :meth:`load` returns, without its values."""
        return tuple(
            self._jax.ShapeDtypeStruct(
                self._forms[i.name].encode(np.empty(i.type.shape, np.bool_)).shape,
                self._native_type(i.type.dtype),
            )
            for i in self._graph.inputs
        )

    # --- the edges ---------------------------------------------------------------------------

    def load(self, batch: Mapping[str, Array]) -> Any:
        return tuple(
            self._put(batch[i.name], self._forms[i.name], self._native_type(i.type.dtype))
            for i in self._graph.inputs
        )

    def output_tensors(self, output: Any) -> Sequence[Any]:
        return tuple(output)

    def take(self, tensors: Sequence[Any]) -> Any:
        return tuple(tensors)

    def fetch(self, output: Any) -> tuple[Array, ...]:
        if not isinstance(output, tuple):
            return (self._array(output),)
        forms = self._steps.output_forms
        return tuple(
            forms[name].decode(self._array(value)) for name, value in zip(self._graph.outputs, output)
        )

    def parameters(self) -> dict[str, Array]:
        return {name: self._decoded(name, array) for name, array in self._all().items()}

    def optimizer_state(self) -> dict[str, dict[str, Array]]:
        if self._state.optimizer is None:
            raise UnsupportedError("a program that was not built for training has no optimizer")
        slots = self._state.optimizer.slots
        if self._steps.composed is not None:
            return self._composed_state(self._steps.composed, slots)
        letters = state_names(self._steps.optimizer.kind)
        return {
            letter: {name: self._decoded(name, slots[name][place]) for name in slots}
            for place, letter in enumerate(letters)
        }

    def _composed_state(
        self, composed: ComposedUpdate, slots: Mapping[str, tuple[Any, ...]]
    ) -> dict[str, dict[str, Array]]:
        found: dict[str, dict[str, Array]] = {letter: {} for letter in composed.rule.state}
        for name, arrays in slots.items():
            own = tuple(self._state.trained[name].shape)
            for letter, array in zip(self._letters(name), arrays):
                stands = composed.is_in_graph_layout(name) or tuple(array.shape) != own
                found[letter][name] = self._array(array) if stands else self._decoded(name, array)
        return found

    def set_hyperparameters(self, values: Mapping[str, float]) -> None:
        self.use_hyperparameters(self.prepare_hyperparameters(values))

    def prepare_hyperparameters(self, values: Mapping[str, float]) -> tuple[Optimizer, Any]:
        if self._state.optimizer is None:
            raise UnsupportedError("a program that was not built for training has no optimizer")
        optimizer = self._hyperparameters.prepared(values)
        return optimizer, self._placed_constants(optimizer)

    def use_hyperparameters(self, prepared: tuple[Optimizer, Any]) -> None:
        self._hyperparameters.optimizer, self._constants = prepared

    def assign(self, values: Mapping[str, Array]) -> None:
        types = {
            name: self._jax.numpy.dtype(self._stored_type(self._graph.types[name].dtype)) for name in values
        }
        copies = {
            name: np.array(self._forms[name].encode(value), types[name], order="C")
            for name, value in values.items()
        }
        # All at once: it is on the timed path of schemes that run over MPI.
        with self._settings():
            given = self._placed(copies)
        trained, moved, _ = self._state
        statistics = _replaced(moved.statistics, given)
        self._state = self._state._replace(
            trained=_replaced(trained, given), moved=moved._replace(statistics=statistics)
        )
        self._fixed = _replaced(self._fixed, given)
        if self._parameters is not None:
            self._parameters = _replaced(self._parameters, given)

    def gradients(self, batch: Any) -> tuple[float, dict[str, Array]]:
        value, gradients, _ = self._gradients(*self._state[:2], self._fixed, batch)
        return self._scalar(value, batch), _copied(self.fetch_gradients(gradients))

    def fetch_gradients(self, gradients: Any) -> dict[str, Array]:
        # On a CPU these are views of what XLA has left.
        return {name: self._forms[name].decode(np.asarray(array)) for name, array in gradients.items()}

    def _scalar(self, value: Any, batch: Any) -> float:
        """Return the loss; without one the products of outputs and upstream gradients, summed."""
        if not self._graph.upstream:
            return float(value)
        given = {i.name: self._array(array) for i, array in zip(self._graph.inputs, batch)}
        return sum(
            float((given[self._graph.upstream[name]] * self._array(y)).sum())
            for name, y in zip(self._graph.outputs, value)
        )

    def memory(self) -> dict[str, int]:
        return devices.memory(self._place)

    def compilations(self) -> int:
        return self._compilations

    def _all(self) -> dict[str, Any]:
        return {**self._state.trained, **self._state.moved.statistics, **self._fixed}

    def _native_type(self, dtype: str) -> str:
        return {"float32": self._types.compute, "bool": "bool"}.get(dtype, "int32")

    def _stored_type(self, dtype: str) -> str:
        return self._types.exact if dtype == "float32" else self._native_type(dtype)

    def _put(self, array: Array, form: Form, dtype: str) -> Any:
        """Return a copy on the device, for a donated array must be nobody else's."""
        with self._settings():
            native = np.array(form.encode(array), self._jax.numpy.dtype(dtype), order="C")
            return self._placed(native)

    def _array(self, value: Any) -> npt.NDArray[Any]:
        return np.array(value).astype(self._types.exact)

    def _decoded(self, name: str, value: Any) -> Array:
        return np.array(self._forms[name].decode(self._array(value)), order="C")


def _copied(arrays: Mapping[str, Array]) -> dict[str, Array]:
    return {name: np.array(array, order="C") for name, array in arrays.items()}


def _replaced(holder: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``holder`` with the new values of those that it holds."""
    return {name: values.get(name, old) for name, old in holder.items()}
