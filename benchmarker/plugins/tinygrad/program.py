"""The programs of tinygrad: each step recorded in its first call, and run again as it was compiled."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.api.generation import OWN_OUTPUTS
from benchmarker.api.optimizer import Optimizer
from benchmarker.api.profile import Profile
from benchmarker.api.training_state import TrainingState
from benchmarker.errors import UnsupportedError, require
from benchmarker.graph.graph import Graph, walk
from benchmarker.plugins.common.integers import require_32_bits
from benchmarker.plugins.numpy.evaluation import RuleProgram
from benchmarker.plugins.tinygrad.composed import ComposedUpdate
from benchmarker.plugins.tinygrad.operators import TinygradOperators, require_no_arrays
from benchmarker.plugins.tinygrad.tensors import host, loaded, owned

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

_COUNTER = "generator"


class TinygradProgram(RuleProgram):
    """A graph on tinygrad's tensors, which stand as in the graph; see :meth:`Framework.build` for the arguments."""

    def __init__(
        self, graph: Graph, parameters: Mapping[str, Array], mode: str, optimizer: Optimizer
    ) -> None:
        import tinygrad

        require_no_arrays(graph)
        require_32_bits(parameters)
        self._tinygrad: Any = tinygrad
        self._device = tinygrad.Device[tinygrad.Device.DEFAULT]
        self._graph = graph
        self._compilations = 0
        self._bounds = list(_bounds(graph))
        self._native = {p.name: loaded(parameters[p.name]) for p in graph.parameters}
        self._trained = {p.name: self._native[p.name] for p in graph.trainable}
        self._update: ComposedUpdate | None = None
        if mode != "inference" and graph.loss is None and not graph.upstream:
            raise UnsupportedError(f"problem '{graph.name}' has no loss, so it cannot be trained")
        if mode == "training":
            self._update = ComposedUpdate(optimizer, graph, self._trained)
            self.composed_rule = self._update.rule

    # --- what is recorded --------------------------------------------------------------------

    def _recorded(self, step: Callable[..., Any]) -> Any:
        """Return a step that is recorded, compiled and run in the first call, and run again in each later one."""

        def counted(*batch: Any) -> Any:
            self._compilations += 1
            return step(*batch)

        recorded = self._tinygrad.TinyJit(counted)
        # Else the first call records nothing, since it may make tensors that later ones find; here all are there.
        recorded.cnt = 1
        return recorded

    def _values(self, operators: TinygradOperators, batch: Sequence[Any]) -> dict[str, Any]:
        names = (i.name for i in self._graph.inputs)
        return walk(self._graph, operators, {**self._native, **dict(zip(names, batch))})

    def _outputs(self, *batch: Any) -> tuple[Any, ...]:
        values = self._values(TinygradOperators(), batch)
        return self._given([values[name] for name in self._graph.outputs])

    def _given(self, values: Sequence[Any], beside: Sequence[Any] = ()) -> tuple[Any, ...]:
        """Compute values together with what a step leaves beside them, and return them."""
        found = [owned(value) for value in values]
        self._tinygrad.Tensor.realize(*found, *beside)
        return tuple(found)

    def _differentiated(
        self, batch: Sequence[Any], *, dropout: bool = True
    ) -> tuple[list[Any], list[Any], list[Any]]:
        """Return the loss or the outputs, the gradients, and the running statistics, moved on."""
        operators = TinygradOperators(training=True, dropout=dropout)
        values = self._values(operators, batch)
        graph = self._graph
        if graph.loss is None:
            found = [values[name] for name in graph.outputs]
            parts = [(values[name] * values[given]).sum() for name, given in graph.upstream.items()]
            root = parts[0].usum(*parts[1:])
        else:
            root = values[graph.loss]
            found = [root]
        gradients = root.gradient(*self._trained.values()) if self._trained else []
        moved = [statistic.assign(new) for statistic, new in operators.updates.values()] if dropout else []
        return found, gradients, moved

    def _gradient(self, *batch: Any) -> tuple[Any, ...]:
        found, gradients, moved = self._differentiated(batch)
        return self._given([*found, *gradients], moved)

    def _training(self, *batch: Any) -> Any:
        (loss,), gradients, moved = self._differentiated(batch)
        return self._given([loss], [*moved, *self._updating().moved(gradients)])[0]

    def _begun(self, *batch: Any) -> None:
        (loss,), gradients, moved = self._differentiated(batch)
        sums = [total.assign(value) for total, value in zip(self._sums, (loss, *gradients))]
        self._given([], [*sums, *moved])

    def _continued(self, *batch: Any) -> None:
        (loss,), gradients, moved = self._differentiated(batch)
        sums = [total.assign(total + value) for total, value in zip(self._sums, (loss, *gradients))]
        self._given([], [*sums, *moved])

    def _ended(self) -> Any:
        update = self._updating()
        loss, *gradients = (total * update.share for total in self._sums)
        return self._given([loss], update.moved(gradients))[0]

    @cached_property
    def _sums(self) -> list[Any]:
        """Sums of the losses and the gradients of micro-batches."""
        shapes = [(), *(tensor.shape for tensor in self._trained.values())]
        return [loaded(np.zeros(shape, np.float32)) for shape in shapes]

    def _updating(self) -> ComposedUpdate:
        if self._update is None:
            raise UnsupportedError("a program that was not built for training has no optimizer")
        return self._update

    @cached_property
    def _infer(self) -> Any:
        return self._recorded(self._outputs)

    @cached_property
    def _differentiate(self) -> Any:
        return self._recorded(self._gradient)

    @cached_property
    def _train(self) -> Any:
        return self._recorded(self._training)

    @cached_property
    def _micro(self) -> tuple[Any, Any, Any]:
        return self._recorded(self._begun), self._recorded(self._continued), self._recorded(self._ended)

    # --- the timed path ----------------------------------------------------------------------

    def infer(self, batch: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the outputs; the next step writes over them."""
        return tuple(self._infer(*batch))

    def train_step(self, batch: tuple[Any, ...]) -> Any:
        self._updating().begin()
        return self._train(*batch)

    def gradient_step(self, batch: tuple[Any, ...]) -> tuple[Any, Any]:
        found = self._differentiate(*batch)
        if self._graph.loss is not None:
            return found[0], found[1:]
        count = len(self._graph.outputs)
        return found[:count], found[count:]

    def train_micro(self, batches: Sequence[tuple[Any, ...]]) -> Any:
        begun, continued, ended = self._micro
        _ = self._sums
        for number, batch in enumerate(batches):
            (continued if number else begun)(*batch)
        self._updating().begin(len(batches))
        return ended()

    def train_parts(self, batch: Any) -> Iterator[tuple[str, Any]]:
        raise UnsupportedError("tinygrad records and compiles a training step in one piece")

    def profile(self, batch: Any, steps: int) -> Profile:
        raise UnsupportedError(
            "tinygrad makes kernels of parts of several nodes, so that none of their times is that of an operator"
        )

    def synchronize(self, output: Any) -> None:
        self._device.synchronize()

    # --- the edges ---------------------------------------------------------------------------

    def load(self, batch: Mapping[str, Array]) -> tuple[Any, ...]:
        for name, size, ignored, operator in self._bounds:
            _require_indices(name, np.asarray(batch[name]), size, ignored, operator)
        return tuple(loaded(batch[i.name]) for i in self._graph.inputs)

    def output_tensors(self, output: Any) -> Sequence[Any]:
        """Return copies of scores and token, and what the next step takes before it is written over."""
        return (*(loaded(host(tensor)) for tensor in output[:OWN_OUTPUTS]), *output[OWN_OUTPUTS:])

    def take(self, tensors: Sequence[Any]) -> tuple[Any, ...]:
        # A step that took its own outputs would write over what it reads.
        return tuple(loaded(host(tensor)) for tensor in tensors)

    def fetch(self, output: Any) -> tuple[Array, ...]:
        return tuple(map(_array, output if isinstance(output, tuple) else (output,)))

    def gradients(self, batch: tuple[Any, ...]) -> tuple[float, dict[str, Array]]:
        found, gradients, _ = self._differentiated(batch, dropout=False)
        count = len(found)
        computed = self._given([*found, *gradients])
        fetched = self.fetch_gradients(computed[count:])
        if self._graph.loss is not None:
            return float(_array(computed[0])), fetched
        given = dict(zip((i.name for i in self._graph.inputs), batch))
        upstream = [host(given[name]) for name in self._graph.upstream.values()]
        pairs = zip(map(host, computed), upstream)
        return float(sum((y.astype(np.float64) * dy).sum() for y, dy in pairs)), fetched

    def fetch_gradients(self, gradients: Any) -> dict[str, Array]:
        return dict(zip(self._trained, map(_array, gradients)))

    def parameters(self) -> dict[str, Array]:
        return {name: _array(tensor) for name, tensor in self._native.items()}

    def assign(self, values: Mapping[str, Array]) -> None:
        for name, value in values.items():
            host(self._native[name])[...] = value

    def set_hyperparameters(self, values: Mapping[str, float]) -> None:
        self._updating().set_constants(values)

    def optimizer_state(self) -> dict[str, dict[str, Array]]:
        update = self._updating()
        return {
            letter: {name: _array(kept[letter]) for name, kept in update.state.items() if letter in kept}
            for letter in update.rule.state
        }

    def native_state(self) -> dict[str, Array]:
        """Return where tinygrad's generator has come to."""
        return {_COUNTER: _array(self._generator())} if "dropout" in self._graph.operators else {}

    def restore(self, state: TrainingState) -> None:
        update = self._updating()
        self.assign(state.parameters)
        update.resume_from(state)
        if _COUNTER in state.native:
            host(self._generator())[...] = state.native[_COUNTER]

    def _generator(self) -> Any:
        (counter,) = self._tinygrad.Tensor._device_rng_counters.values()
        return counter

    def compilations(self) -> int:
        return self._compilations


def _array(tensor: Any) -> Array:
    return np.array(host(tensor))


def _bounds(graph: Graph) -> Iterator[tuple[str, int, int | None, str]]:
    """Yield inputs of the graph that are indices: their names, how many there are to choose among, and what ignores."""
    names = {i.name for i in graph.inputs}
    axes = {"gather": 0, "gather_elements": -1, "softmax_cross_entropy_loss": 1}
    for node in graph.nodes:
        if node.operator in axes and node.inputs[1] in names:
            axis = node.keywords.get("axis", axes[node.operator])
            size = graph.types[node.inputs[0]].shape[axis]
            yield node.inputs[1], size, node.keywords.get("ignore_index"), node.operator


def _require_indices(name: str, given: Array, size: int, ignored: int | None, operator: str) -> None:
    """Refuse indices beyond the end, of which tinygrad makes zeros without a word."""
    wrong = given[(given < 0) | (given >= size)]
    wrong = wrong if ignored is None else wrong[wrong != ignored]
    require(
        not wrong.size,
        f"{operator}: indices of '{name}' must be at least 0 and below {size}, got {wrong[:1].tolist()}",
    )
