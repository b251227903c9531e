"""A program of Chainer: a straight line of functions on its variables."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.api.optimizer import Optimizer, state_names
from benchmarker.api.profile import Profile
from benchmarker.errors import UnsupportedError
from benchmarker.graph.graph import Graph
from benchmarker.graph.transformations.expand_composites import expand_composites
from benchmarker.plugins.chainer.composed import ComposedUpdates
from benchmarker.plugins.chainer.layouts import LAYOUTS
from benchmarker.plugins.chainer.operators import BINDERS, ChainerOperators
from benchmarker.plugins.chainer.optimizers import Updates, is_native
from benchmarker.plugins.chainer.profiler import Watch, profiled
from benchmarker.plugins.chainer.ranks import Ranks
from benchmarker.plugins.chainer.restoring import RestorableProgram
from benchmarker.plugins.common.composed import state_arrays
from benchmarker.plugins.common.hyperparameters import Hyperparameters
from benchmarker.plugins.common.integers import require_32_bits
from benchmarker.plugins.common.layouts import parameter_layouts, sparse_operands, with_unbiased_variances
from benchmarker.plugins.common.straight_line import straight_line
from benchmarker.training.optimizers.advance import places

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

DTYPES: Mapping[str, type[Any]] = {"fp32": np.float32, "fp64": np.float64, "fp16": np.float16}


class ChainerProgram(RestorableProgram):
    """A graph on Chainer variables: trainable parameters are ``chainer.Parameter``, state is plain arrays."""

    def __init__(
        self,
        graph: Graph,
        parameters: Mapping[str, Array],
        mode: str,
        device: Any,
        precision: str,
        optimizer: Optimizer,
        ranks: Ranks | None = None,
    ) -> None:
        import chainer

        require_32_bits(parameters)
        self._chainer = chainer
        self._graph = graph
        self._mode = mode
        self._sparse = sparse_operands(graph)
        self._calls = expand_composites(graph, _native_operators(graph, self._sparse), "chainer")
        self._device = device
        self._dtype = DTYPES[precision]
        self._exact = np.float64 if self._dtype is np.float64 else np.float32
        self._optimizer = optimizer
        self._layouts = parameter_layouts(graph, LAYOUTS)
        if mode != "inference":
            self._layouts = with_unbiased_variances(self._layouts, graph)
        self._link = chainer.Link()
        self._native = {
            p.name: self._adopt(p.name, p.trainable, parameters[p.name]) for p in graph.parameters
        }
        self._trained = tuple(self._link.params())  # the link sorts them at each call
        self._inference = self._line(self._calls.outputs)
        self._update: Updates | ComposedUpdates | None = None
        self._places = [
            [i.name for i in graph.inputs].index(graph.upstream[name])
            for name in graph.outputs
            if graph.upstream
        ]
        self._ranks = ranks if mode == "training" else None
        if mode == "training":
            self._update = self._made_update(optimizer, precision)
        if self._ranks is not None:
            self._ranks.begin(self._link)
        if mode != "inference":
            self._differentiable = self._line(self._differentiated(), training=True)
            self._frozen = self._line(self._differentiated(), training=True, updating=False)

    def _adopt(self, name: str, trainable: bool, value: Array) -> tuple[Any, ...]:
        """Return the native arrays of a parameter, copied; trainable ones belong to the link."""
        arrays = [self._send(a, self._parameter_dtype(name)) for a in self._layouts[name].encode(value)]
        if name in self._sparse:
            return tuple(self._chainer.utils.to_coo(array) for array in arrays)
        if not trainable:
            return tuple(arrays)
        natives = []
        for array in arrays:
            native = self._chainer.Parameter(array)
            with self._link.init_scope():
                setattr(self._link, f"p{sum(1 for _ in self._link.params())}", native)
            natives.append(native)
        return tuple(natives)

    def _parameter_dtype(self, name: str) -> type[Any]:
        """Return the program's type; batch normalization keeps single precision in half-precision programs."""
        normalizes = any(node.operator == "batch_normalization" for node, _ in self._graph.uses(name))
        if normalizes and self._dtype is np.float16:
            return np.float32
        return self._native_type(self._graph.types[name].dtype)

    def _send(self, array: Array, dtype: Any) -> Any:
        return self._device.send(np.array(array, dtype, order="C"))

    def _differentiated(self) -> tuple[str, ...]:
        """Return what goes backward: the loss, or the outputs of a graph without one."""
        if self._places:
            return self._calls.outputs
        if self._calls.loss is None:
            raise UnsupportedError(f"problem '{self._graph.name}' has no loss, so it cannot be trained")
        return (self._calls.loss,)

    def _line(
        self,
        outputs: Sequence[str],
        observed: Callable[[str, Callable[..., Any]], Callable[..., Any]] | None = None,
        **settings: bool,
    ) -> Callable[..., tuple[Any, ...]]:
        """Return the straight line to ``outputs``; ``observed`` may replace what each node calls."""
        graph = self._calls
        operators = ChainerOperators(dtype=self._dtype, device=self._device, **settings)
        used = {*outputs, *(name for node in graph.nodes for name in node.inputs)}
        shapes = {name: type_.shape for name, type_ in graph.types.items()}
        binding = {
            node.name: operators.bind(
                node.operator,
                node.keywords,
                [shapes.get(name) for name in node.inputs],
                [name in used for name in node.outputs],
                real=graph.types[node.outputs[0]].dtype == "float32",
            )
            for node in graph.nodes
        }
        if observed is not None:
            binding = {name: observed(name, native) for name, native in binding.items()}
        constants = {
            name: natives[0] if len(natives) == 1 else natives for name, natives in self._native.items()
        }
        return straight_line(graph, binding, outputs=outputs, constants=constants)

    def load(self, batch: Mapping[str, Array]) -> tuple[Any, ...]:
        """Return the inputs' arrays in the graph's order; labels as 32-bit integers, as Chainer wants them."""
        loaded = []
        for declared in self._graph.inputs:
            array = np.asarray(batch[declared.name])
            loaded.append(self._send(array, self._native_type(declared.type.dtype)))
        return tuple(loaded)

    def _native_type(self, dtype: str) -> type[Any]:
        return {"float32": self._dtype, "bool": np.bool_}.get(dtype, np.int32)

    def infer(self, batch: tuple[Any, ...]) -> tuple[Any, ...]:
        """Run forward without building Chainer's graph and return the outputs as variables."""
        with self._chainer.no_backprop_mode(), self._chainer.using_config("train", False):
            return self._inference(*batch)

    def train_step(self, batch: tuple[Any, ...]) -> Any:
        """Run forward, loss, backward and update; return the loss as an array."""
        update = self._updating()
        (loss,) = self._differentiable(*batch)
        self._clear_gradients()
        loss.backward()
        if self._ranks is not None:
            self._ranks.mean(self._link)
        update()
        return loss.array

    def _made_update(self, optimizer: Optimizer, precision: str) -> Updates | ComposedUpdates:
        if is_native(optimizer):
            return Updates(optimizer, self._link, mixed=precision == "fp16")
        if precision == "fp16":
            raise UnsupportedError(
                f"Chainer has no optimizer '{optimizer.kind}', and updates parameters of precision 'fp16' by its own "
                "alone; use fp32"
            )
        known = Hyperparameters(optimizer)
        self.composed_rule = known.built_rule
        where = places(self._graph, optimizer.modifiers.decay_of)
        return ComposedUpdates(known, where, self._native, self._layouts, self._device, self._exact)

    def _updating(self) -> Updates | ComposedUpdates:
        if self._update is None:
            raise UnsupportedError("a program that was not built for training cannot train")
        return self._update

    def gradient_step(self, batch: tuple[Any, ...]) -> tuple[Any, Any]:
        """Run forward and backward; running statistics move, no parameter does."""
        values = self._differentiable(*batch)
        self._clear_gradients()
        self._backward(values, batch)
        arrays = tuple(value.array for value in values)
        return arrays if self._places else arrays[0], [p.grad for p in self._trained]

    def _clear_gradients(self) -> None:
        for parameter in self._trained:
            parameter.cleargrad()

    def _backward(self, values: Sequence[Any], batch: tuple[Any, ...]) -> None:
        """Go backward from the loss, or from outputs whose gradients the mini-batch holds."""
        if not self._places:
            values[0].backward()
            return
        for value, place in zip(values, self._places):
            value.grad = batch[place]
        self._chainer.backward(list(values))

    def train_micro(self, batches: Sequence[tuple[Any, ...]]) -> Any:
        """Let the gradients of all micro-batches add up, and update once; return the mean loss."""
        update = self._updating()
        self._clear_gradients()
        mean = sum(self._share_of_gradient(batch, 1.0 / len(batches)) for batch in batches)
        if self._ranks is not None:
            self._ranks.mean(self._link)
        update()
        return mean

    def _share_of_gradient(self, batch: tuple[Any, ...], share: float) -> Any:
        """Add a share of the gradients to those that are there; return that of the loss."""
        (loss,) = self._differentiable(*batch)
        part = loss * share
        part.backward()
        return part.array

    def train_parts(self, batch: tuple[Any, ...]) -> Iterator[tuple[str, Any]]:
        """Run the same step in its parts."""
        update = self._updating()
        (loss,) = self._differentiable(*batch)
        yield "forward", loss.array
        self._clear_gradients()
        loss.backward()
        yield "backward", loss.array
        if self._ranks is not None:
            self._ranks.mean(self._link)
        update()
        yield "update", loss.array

    def exchanged(self) -> dict[str, int] | None:
        if self._ranks is None:
            return None
        return {"all-reduce": sum(int(parameter.array.nbytes) for parameter in self._trained)}

    def fetch_gradients(self, gradients: Any) -> dict[str, Array]:
        """Return what the last step left at the parameters, which are the gradients that it returned."""
        return {p.name: self._decode(p.name, _gradient_array) for p in self._graph.trainable}

    def gradients(self, batch: tuple[Any, ...]) -> tuple[float, dict[str, Array]]:
        """Return loss and gradients with the mini-batch's statistics; nothing moves, nothing is dropped."""
        values = self._frozen(*batch)
        self._clear_gradients()
        self._backward(values, batch)
        found = self.fetch_gradients(None)
        self._clear_gradients()
        if not self._places:
            return float(self._fetch(values[0])), found
        pairs = (
            (self._fetch(value), self._fetch(batch[place])) for value, place in zip(values, self._places)
        )
        return float(sum((y.astype(np.float64) * dy).sum() for y, dy in pairs)), found

    def profile(self, batch: tuple[Any, ...], steps: int) -> Profile:
        """Run steps in which a function hook times each function of Chainer's."""
        if self._device.xp is not np:
            raise UnsupportedError("Chainer's hooks see no CUDA device at work; profile it on the cpu")
        return profiled(self._graph, lambda watch: functools.partial(self._watched(watch), batch), steps)

    def _watched(self, watch: Watch) -> Callable[[tuple[Any, ...]], None]:
        """Return the step of the program's mode under a watch."""
        if self._mode == "inference":
            forward = self._line(self._calls.outputs, watch.watching)

            def infer(batch: tuple[Any, ...]) -> None:
                with self._chainer.no_backprop_mode(), self._chainer.using_config("train", False):
                    forward(*batch)

            return infer
        line = self._line(self._differentiated(), watch.watching, training=True)

        def step(batch: tuple[Any, ...]) -> None:
            values = line(*batch)
            self._clear_gradients()
            self._backward(values, batch)
            if self._update is not None:
                watch.updating(self._update)

        return step

    def parameters(self) -> dict[str, Array]:
        """Return copies of all parameters and state."""
        return {name: self._decode(name, _dense_array).astype(self._exact) for name in self._native}

    def optimizer_state(self) -> dict[str, dict[str, Array]]:
        """Return copies of the optimizer's state, as the equations have it."""
        updates = self._updating()
        if isinstance(updates, ComposedUpdates):
            natives = {p.name: self._native[p.name] for p in self._graph.trainable}
            return {
                letter: state_arrays(natives, slots, self._decoded, lambda a: np.array(self._fetch(a)))
                for letter, slots in updates.state().items()
            }
        found = {
            letter: self._state(functools.partial(updates.state, letter))
            for letter in state_names(self._optimizer.kind)
        }
        return {
            letter: {name: updates.unfolded(array) for name, array in arrays.items()}
            for letter, arrays in found.items()
        }

    def set_hyperparameters(self, values: Mapping[str, float]) -> None:
        """Use other constants of the optimizer from the next update on."""
        self._updating().set_constants(values)

    def _state(self, array_of: Callable[[Any], Any]) -> dict[str, Array]:
        return {p.name: self._decode(p.name, array_of).astype(self._exact) for p in self._graph.trainable}

    def assign(self, values: Mapping[str, Array]) -> None:
        """Overwrite the arrays of parameters, and the single-precision copies that half-precision ones have."""
        for name, value in values.items():
            for native, array in zip(self._native[name], self._layouts[name].encode(value)):
                copy = getattr(getattr(native, "update_rule", None), "_fp32_param", None)
                for held in (getattr(native, "array", native), getattr(copy, "array", None)):
                    if held is not None:
                        held[...] = self._send(array, held.dtype)

    def _decode(self, name: str, array_of: Callable[[Any], Any]) -> Array:
        return self._decoded(name, [array_of(native) for native in self._native[name]])

    def _decoded(self, name: str, natives: Sequence[Any]) -> Array:
        return self._layouts[name].decode([np.array(self._fetch(native)) for native in natives])

    def _fetch(self, value: Any) -> Array:
        array = getattr(value, "array", value)
        fetched: Array = self._chainer.get_device("@numpy").send(array)
        return fetched

    def output_tensors(self, output: Any) -> Sequence[Any]:
        return tuple(output)

    def take(self, tensors: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(
            self._chainer.as_array(tensor).astype(self._native_type(declared.type.dtype), copy=False)
            for declared, tensor in zip(self._graph.inputs, tensors)
        )

    def fetch(self, output: Any) -> tuple[Array, ...]:
        """Return outputs or a loss as NumPy arrays."""
        values = output if isinstance(output, tuple) else (output,)
        return tuple(self._fetch(value) for value in values)

    def synchronize(self, output: Any) -> None:
        """Wait for CUDA; NumPy is done when it returns."""
        if self._device.xp is not np:
            self._device.device.synchronize()

    def memory(self) -> dict[str, int]:
        """Return the state of CuPy's memory pool."""
        if self._device.xp is np:
            return {}
        pool = self._device.xp.get_default_memory_pool()
        return {"pool_used_bytes": pool.used_bytes(), "pool_total_bytes": pool.total_bytes()}


def _native_operators(graph: Graph, sparse: Collection[str]) -> set[str]:
    """Return the operators that are not expanded; ``sparse_matmul`` is if an operand is kept dense."""
    kept = all(node.inputs[0] in sparse for node in graph.nodes if node.operator == "sparse_matmul")
    return set(BINDERS) if kept else set(BINDERS) - {"sparse_matmul"}


def _dense_array(native: Any) -> Any:
    """Return the array of a parameter, running statistic or sparse matrix."""
    if hasattr(native, "to_dense"):
        native = native.to_dense()
    return getattr(native, "array", native)


def _gradient_array(parameter: Any) -> Any:
    """Return the gradient, zeros where the loss does not depend on the parameter."""
    return parameter.device.xp.zeros_like(parameter.array) if parameter.grad is None else parameter.grad
