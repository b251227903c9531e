"""A program of MXNet: the graph as one symbol, bound to arrays that are made once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.api.generation import OWN_OUTPUTS
from benchmarker.api.native_scheme import ServerAgain
from benchmarker.api.optimizer import Optimizer
from benchmarker.api.profile import Profile
from benchmarker.errors import UnsupportedError
from benchmarker.graph.graph import Graph
from benchmarker.plugins.common.hyperparameters import Hyperparameters
from benchmarker.plugins.common.integers import require_32_bits
from benchmarker.plugins.mxnet.composed import ComposedUpdates
from benchmarker.plugins.mxnet.distributed import MeanGradients, ServedWeights, Store
from benchmarker.plugins.mxnet.fusion import fusion, would_keep
from benchmarker.plugins.mxnet.lowering import Lowering, Settings
from benchmarker.plugins.mxnet.optimizers import Updates, is_native, make_updates
from benchmarker.plugins.mxnet.profiler import Parts, joined_nodes, profiled
from benchmarker.plugins.mxnet.restoring import RestorableProgram
from benchmarker.plugins.mxnet.serving import PsLiteAgain
from benchmarker.plugins.mxnet.symbol_operators import native_shape
from benchmarker.training.optimizers.advance import places

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


class MxnetProgram(RestorableProgram):
    """One executor for the timed path; others only where a method needs one, sharing its arrays."""

    def __init__(
        self,
        graph: Graph,
        parameters: Mapping[str, Array],
        settings: Settings,
        optimizer: Optimizer | None,
        store: Store | None = None,
    ) -> None:
        import mxnet

        require_32_bits(parameters)
        self._mx: Any = mxnet
        self._graph = graph
        self._settings = settings
        self._lowering = lowering = Lowering(graph, settings)
        self._slots = lowering.slots
        self._arrays = {
            slot.name: self._array(slot.encode(parameters), lowering.stored(slot)) for slot in self._slots
        }
        self._arrays.update({name: self._arrays[name].tostype("csr") for name in lowering.sparse})
        for (_, statistic), name in lowering.own.items():
            self._arrays[name] = self._arrays[statistic].copy()
        self._feed = {i.name: self._zeros(native_shape(i.type), lowering.fed(i)) for i in graph.inputs}
        self._constants: dict[str, Any] = {}
        self._fed: Any = None
        self._infer: Any = None
        self._train: Any = None
        self._gradients: dict[str, Any] = {}
        self._updates: Updates | ComposedUpdates | None = None
        self._hyperparameters = Hyperparameters(optimizer or Optimizer())
        if settings.training:
            self._gradients = self._gradient_arrays()
            self._train = self._bind(lowering.differentiated(dropout=True), self._gradients)
        self._exchange: MeanGradients | ServedWeights | None = None
        if store is not None:
            trained = {name: self._arrays[name] for name in self._gradients}
            self._exchange = store.exchange_of(self._hyperparameters.optimizer, trained, self._gradients)
        if optimizer is not None and not isinstance(self._exchange, ServedWeights):
            self._updates = self._made_updates(settings)
        if not settings.training:
            self._infer = self._bind(lowering.outputs(), {})
        self._upstream = [self._feed[graph.upstream[name]] for name in graph.outputs if graph.upstream]

    # --- building ----------------------------------------------------------------------------

    def _made_updates(self, settings: Settings) -> Updates | ComposedUpdates:
        updated = [slot for slot in self._slots if slot.trainable]
        known, arrays, gradients = self._hyperparameters, self._arrays, self._gradients
        if is_native(known.optimizer, updated):
            return make_updates(
                known, [arrays[s.name] for s in updated], [gradients[s.name] for s in updated]
            )
        self.composed_rule = known.built_rule
        where = places(self._graph, known.optimizer.modifiers.decay_of)
        return ComposedUpdates(known, where, updated, arrays, gradients, settings.context)

    def _array(self, value: Array, dtype: str) -> Any:
        return self._mx.nd.array(value, ctx=self._settings.context, dtype=dtype)

    def _zeros(self, shape: tuple[int, ...], dtype: str = "float32") -> Any:
        return self._mx.nd.zeros(shape, ctx=self._settings.context, dtype=dtype)

    def _gradient_arrays(self) -> dict[str, Any]:
        return {
            s.name: self._zeros(self._arrays[s.name].shape, self._arrays[s.name].dtype)
            for s in self._slots
            if s.trainable
        }

    def _bind(
        self,
        symbol: Any,
        gradients: Mapping[str, Any],
        state: Mapping[str, Any] | None = None,
        *,
        request: str = "write",
        shared_memory_with: Any = None,
    ) -> Any:
        """Return an executor on the program's arrays.

        Parameters
        ----------
        symbol : mx.sym.Symbol
            What it runs.
        gradients, state : mapping
            The arrays that it writes.
        request : {"write", "add"}
            Whether gradients are written over what is there or added to it.
        shared_memory_with : mx.executor.Executor, optional
            One whose memory it uses, as the two never run at once.
        """
        arguments = symbol.list_arguments()
        states = symbol.list_auxiliary_states()
        for name, value in self._lowering.constants.items():
            if name not in self._constants:
                self._constants[name] = self._array(value, value.dtype.name)
        arrays = {**self._arrays, **self._feed, **self._constants}
        wanted = {name: gradients[name] for name in arguments if name in gradients}
        # Fused operators keep copies of the weights and would not see an update, nor those of another mini-batch.
        fuses = self._settings.fusion and not self._settings.training and not would_keep(symbol, self._feed)
        with fusion(fuses):
            return symbol.bind(
                self._settings.context,
                {name: arrays[name] for name in arguments},
                args_grad=wanted or None,
                grad_req={name: request if name in wanted else "null" for name in arguments},
                aux_states={name: (state or arrays)[name] for name in states},
                shared_exec=shared_memory_with,
            )

    # --- the timed path ----------------------------------------------------------------------

    def load(self, batch: Mapping[str, Array]) -> Any:
        loaded = {
            name: self._array(np.reshape(batch[name], a.shape), np.dtype(a.dtype).name)
            for name, a in self._feed.items()
        }
        self._mx.nd.waitall()
        return loaded

    def _take(self, batch: Any) -> None:
        """Copy a batch other than the last one into the arrays that the executors read."""
        for name, array in self._feed.items():
            batch[name].copyto(array)
        self._fed = batch

    def infer(self, batch: Any) -> Any:
        if batch is not self._fed:
            self._take(batch)
        if self._infer is None:
            self._infer = self._bind(self._lowering.outputs(), {})
        if self._train is not None:
            self._wait_for_statistics()
        return self._infer.forward(is_train=False)

    def train_step(self, batch: Any) -> Any:
        if batch is not self._fed:
            self._take(batch)
        (loss,) = self._train.forward(is_train=True)
        self._train.backward()
        self._finish_step()
        return loss

    def gradient_step(self, batch: Any) -> tuple[Any, Any]:
        if batch is not self._fed:
            self._take(batch)
        outputs = self._train.forward(is_train=True)
        self._train.backward(self._upstream)
        self._settle_statistics()
        return outputs if self._upstream else outputs[0], self._gradients

    def train_micro(self, batches: Sequence[Any]) -> Any:
        mean = self._zeros((1,))
        for number, batch in enumerate(batches):
            self._take(batch)
            executor = self._adding if number else self._train
            (loss,) = executor.forward(is_train=True)
            executor.backward()
            self._settle_statistics()
            mean += loss / len(batches)
        for gradient in self._gradients.values():
            gradient /= len(batches)
        self._updated()
        return mean

    @cached_property
    def _adding(self) -> Any:
        """The executor that adds to the gradients that are there."""
        symbol = self._lowering.loss(dropout=True)
        return self._bind(symbol, self._gradients, request="add", shared_memory_with=self._train)

    def train_parts(self, batch: Any) -> Iterator[tuple[str, Any]]:
        if batch is not self._fed:
            self._take(batch)
        (loss,) = self._train.forward(is_train=True)
        yield "forward", loss
        self._train.backward()
        yield "backward", loss
        self._finish_step()
        yield "update", loss

    def _finish_step(self) -> None:
        self._updated()
        self._settle_statistics()

    def _updated(self) -> None:
        if self._exchange is not None:
            self._exchange.take()
        if not isinstance(self._exchange, ServedWeights):
            self._updating().update()

    def _updating(self) -> Updates | ComposedUpdates:
        if isinstance(self._exchange, ServedWeights):
            raise UnsupportedError("the optimizer is the server's, which keeps its constants")
        if self._updates is None:
            raise UnsupportedError("a program that was not built for training has no optimizer")
        return self._updates

    def _settle_statistics(self) -> None:
        if self._lowering.shared:
            self._wait_for_statistics()
            for statistic in self._lowering.shared:
                statistic.settle(self._arrays)

    def _wait_for_statistics(self) -> None:
        """Wait for all: MXNet's engine does not know that the backward pass writes running statistics."""
        self._mx.nd.waitall()

    def synchronize(self, output: Any) -> None:
        self._mx.nd.waitall()

    def profile(self, batch: Any, steps: int) -> Profile:
        if self._settings.context.device_type != "cpu":
            raise UnsupportedError("MXNet's profile is read on the cpu only, not on a CUDA device")
        symbol = self._lowering.differentiated(dropout=True) if self._train else self._lowering.outputs()
        executor = self._bind(symbol, self._gradients)
        self._take(batch)

        def forward() -> None:
            executor.forward(is_train=self._settings.training)

        def backward() -> None:
            if self._settings.training:
                executor.backward(self._upstream)

        def update() -> None:
            if self._updates is not None:
                self._updates.update()
            self._settle_statistics()

        parts = Parts(forward, backward, update)
        fused = {} if self._settings.training else joined_nodes(symbol)
        return profiled(self._graph, executor, parts, fused, steps)

    # --- the edges ---------------------------------------------------------------------------

    def fetch_gradients(self, gradients: Mapping[str, Any]) -> dict[str, Array]:
        result: dict[str, Array] = {}
        for slot in self._slots:
            if slot.trainable:
                result.update(slot.decode(gradients[slot.name].asnumpy().astype(np.float32, copy=False)))
        return result

    def gradients(self, batch: Any) -> tuple[float, dict[str, Array]]:
        self._take(batch)
        symbol = self._lowering.differentiated(dropout=False)
        arrays = self._gradient_arrays()
        # Backward moves running statistics: let it move copies.
        self._wait_for_statistics()
        state = {name: self._arrays[name].copy() for name in symbol.list_auxiliary_states()}
        executor = self._bind(symbol, arrays, state)
        outputs = executor.forward(is_train=True)
        executor.backward(self._upstream)
        result = self.fetch_gradients(arrays)
        if not self._upstream:
            return float(outputs[0].asnumpy()[0]), result
        products = (y.asnumpy().astype("float64") * dy.asnumpy() for y, dy in zip(outputs, self._upstream))
        return float(sum(product.sum() for product in products)), result

    def exchanged(self) -> dict[str, int] | None:
        return self._exchange.exchanged if self._exchange else None

    def server_again(self) -> ServerAgain:
        return PsLiteAgain(self._hyperparameters.optimizer, [s for s in self._slots if s.trainable])

    def parameters(self) -> dict[str, Array]:
        self._wait_for_statistics()
        result: dict[str, Array] = {}
        for slot in self._slots:
            result.update(slot.decode(self._arrays[slot.name].asnumpy().astype(np.float32)))
        return result

    def set_hyperparameters(self, values: Mapping[str, float]) -> None:
        self.use_hyperparameters(self.prepare_hyperparameters(values))

    def prepare_hyperparameters(self, values: Mapping[str, float]) -> Optimizer:
        self._updating()
        return self._hyperparameters.prepared(values)

    def use_hyperparameters(self, prepared: Optimizer) -> None:
        self._hyperparameters.optimizer = prepared

    def optimizer_state(self) -> dict[str, dict[str, Array]]:
        updates = self._updating()
        if isinstance(updates, ComposedUpdates):
            return updates.state_by_parameter()
        found = updates.state()
        return {letter: self._state(arrays, factor) for letter, (arrays, factor) in found.items()}

    def _state(self, arrays: Sequence[Any], factor: float) -> dict[str, Array]:
        """Return by parameter what there is one of for each trainable slot, times a factor."""
        result: dict[str, Array] = {}
        for slot, array in zip((slot for slot in self._slots if slot.trainable), arrays):
            scaled = array.asnumpy().astype(np.float64) * factor + 0.0  # no -0
            result.update(slot.decode(scaled.astype(np.float32)))
        return result

    def assign(self, values: Mapping[str, Array]) -> None:
        if not self._settings.training and self._settings.fusion:
            raise UnsupportedError("MXNet's fused operators keep copies of the parameters; rebuild them")
        self._wait_for_statistics()
        for slot in self._slots:
            given = {m.name: values[m.name] for m in slot.members if m.name in values}
            if not given:
                continue
            held = self._arrays[slot.name]
            own = slot.decode(held.asnumpy()) if len(given) < len(slot.members) else {}
            value = self._array(slot.encode({**own, **given}), np.dtype(held.dtype).name)
            for name in (slot.name, *self._lowering.copies(slot.name)):
                array = self._arrays[name]
                (value if array.stype == "default" else value.tostype(array.stype)).copyto(array)
        self._mx.nd.waitall()

    def output_tensors(self, output: Any) -> Sequence[Any]:
        # An executor's outputs are in the same memory after each step.
        return [*(tensor.copy() for tensor in output[:OWN_OUTPUTS]), *output[OWN_OUTPUTS:]]

    def take(self, tensors: Sequence[Any]) -> Any:
        """Return the tensors by the names of the inputs, into whose arrays a step copies them, on the device."""
        return {
            declared.name: tensor.reshape(self._feed[declared.name].shape)
            for declared, tensor in zip(self._graph.inputs, tensors)
        }

    def fetch(self, output: Any) -> tuple[Array, ...]:
        if not isinstance(output, (list, tuple)):
            return (output.asnumpy().astype(np.float32).reshape(()),)
        shapes = [self._graph.types[name].shape for name in self._graph.outputs]
        return tuple(o.asnumpy().astype(np.float32).reshape(s) for o, s in zip(output, shapes))

    def memory(self) -> dict[str, int]:
        context = self._settings.context
        if context.device_type != "gpu":
            return {}
        free, total = self._mx.context.gpu_memory_info(context.device_id)
        return {"device_used": total - free, "device_total": total}
