"""A program of TensorFlow: the graph traced once into a ``tf.function`` of fixed signature."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.api.framework import Device
from benchmarker.api.generation import OWN_OUTPUTS
from benchmarker.api.optimizer import Optimizer
from benchmarker.api.profile import Profile
from benchmarker.errors import UnsupportedError
from benchmarker.graph.graph import Graph, apply_node
from benchmarker.plugins.common.axis_orders import Order, graph_order, inverse
from benchmarker.plugins.common.composed import state_arrays
from benchmarker.plugins.common.layouts import with_unbiased_variances
from benchmarker.plugins.tensorflow import Options
from benchmarker.plugins.tensorflow.composed import ComposedRule, make_update
from benchmarker.plugins.tensorflow.distributed import Exchange
from benchmarker.plugins.tensorflow.elementwise import seeded_generator
from benchmarker.plugins.tensorflow.layouts import WeightLayout, input_orders, weight_layouts
from benchmarker.plugins.tensorflow.micro_batching import MicroSteps
from benchmarker.plugins.tensorflow.operators import TensorFlowOperators
from benchmarker.plugins.tensorflow.optimizers import UpdateRule
from benchmarker.plugins.tensorflow.profiler import STATISTICS, UPDATE, profiled, scope_of
from benchmarker.plugins.tensorflow.restoring import RestorableProgram
from benchmarker.plugins.tensorflow.sparse import sparse_layouts
from benchmarker.plugins.tensorflow.tensors import Tensor

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[np.generic]

COMPUTE_TYPES = {
    "fp32": "float32",
    "fp64": "float64",
    "tf32": "float32",
    "bf16": "bfloat16",
    "fp16": "float16",
}
LOSS_SCALES = {"fp16": 1024.0}
"""What the loss is multiplied by so that small gradients survive the format (a power of two is exact)."""


class TensorFlowProgram(RestorableProgram):
    """A graph as ``tf.function`` calls; see :meth:`benchmarker.api.framework.Framework.build` for the arguments.

    Parameters
    ----------
    exchange : Exchange or None
        Of gradients with other ranks.
    """

    def __init__(
        self,
        tensorflow: Any,
        graph: Graph,
        parameters: Mapping[str, Array],
        *,
        mode: str,
        device: Device,
        precision: str,
        optimizer: Optimizer,
        options: Options,
        exchange: Exchange | None = None,
    ) -> None:
        self._tf = tensorflow
        self._graph = graph
        self._device = device
        self._images_last = options.layout == "nhwc"
        self._options = options
        self._exchange = exchange
        self._freeze = options.freeze and mode == "inference"
        self._compute = tensorflow.dtypes.as_dtype(COMPUTE_TYPES[precision])
        self._loss_scale = LOSS_SCALES.get(precision, 1.0)
        self._exact = tensorflow.float64 if precision == "fp64" else tensorflow.float32
        sparse = {} if options.xla else sparse_layouts(graph, parameters)
        self._layouts: dict[str, WeightLayout] = {
            **weight_layouts(graph, images_last=self._images_last),
            **sparse,
        }
        if mode != "inference":
            self._layouts = with_unbiased_variances(self._layouts, graph)
        self._variables = {
            parameter.name: self._made(parameter.name, parameters[parameter.name], parameter.trainable)
            for parameter in graph.parameters
        }
        self._trainable = [v for parameter in graph.trainable for v in self._variables[parameter.name]]
        self._input_orders = input_orders(graph, images_last=self._images_last)
        self._output_orders: list[Order] = []
        self._traces = 0
        self._generator = seeded_generator(tensorflow) if "dropout" in graph.operators else None
        self._update: UpdateRule | ComposedRule | None = None
        if mode == "training":
            self._update = make_update(
                tensorflow, optimizer, graph, self._variables, self._layouts, options.xla
            )
            self.composed_rule = self._update.rule
            self._run = self._train_next
        elif mode == "gradient":
            self._run = self._differentiated = self._trace(self._half_step)
        else:
            self._run = self._infer = self._trace(self._forward)

    # --- the timed path ----------------------------------------------------------------------

    def infer(self, batch: Any) -> Any:
        return self._infer(*batch)

    def train_step(self, batch: Any) -> Any:
        return self._train(*batch, *self._updating().next())

    def gradient_step(self, batch: Any) -> tuple[Any, Any]:
        result: tuple[Any, Any] = self._differentiated(*batch)
        return result

    def train_micro(self, batches: Sequence[Any]) -> Any:
        return self._micro(batches, self._updating().next())

    def train_parts(self, batch: Any) -> Iterator[tuple[str, Any]]:
        raise UnsupportedError("TensorFlow compiles the whole training step into one function")

    def compilations(self) -> int:
        return self._traces

    def synchronize(self, output: Any) -> None:
        # On the CPU a function returns when its last operation, updates included, has run.
        if self._device.type != "cpu":
            self._tf.test.experimental.sync_devices()

    def profile(self, batch: Any, steps: int) -> Profile:
        if self._options.xla:
            raise UnsupportedError(
                "XLA joins the graph's operators into kernels of its own; profile without it"
            )
        if self._device.type != "cpu":
            raise UnsupportedError("TensorFlow's trace is read on the cpu only, not on a CUDA device")
        return profiled(self._tf, self._graph, lambda: self._run(*batch), steps)

    # --- the edges ---------------------------------------------------------------------------

    def load(self, batch: Mapping[str, Array]) -> Any:
        tensors = []
        for declared, order in zip(self._graph.inputs, self._input_orders):
            array = np.array(batch[declared.name].transpose(order), order="C")
            tensors.append(self._tf.constant(array, self._native_dtype(declared.type.dtype)))
        return tuple(tensors)

    def output_tensors(self, output: Any) -> Sequence[Any]:
        orders = zip(output[OWN_OUTPUTS:], self._output_orders[OWN_OUTPUTS:])
        return (*output[:OWN_OUTPUTS], *(self._as_in_the_graph(value, order) for value, order in orders))

    def _as_in_the_graph(self, value: Any, order: Order) -> Any:
        in_place = order == graph_order(len(order))
        return value if in_place else self._tf.transpose(value, inverse(order))

    def take(self, tensors: Sequence[Any]) -> Any:
        return tuple(tensors)

    def fetch(self, output: Any) -> tuple[Array, ...]:
        if not isinstance(output, (tuple, list)):
            return (self._tf.cast(output, self._exact).numpy(),)
        return tuple(
            self._tf.cast(value, self._exact).numpy().transpose(inverse(order))
            for value, order in zip(output, self._output_orders)
        )

    def parameters(self) -> dict[str, Array]:
        return {name: self._decoded(name, variables) for name, variables in self._variables.items()}

    def assign(self, values: Mapping[str, Array]) -> None:
        if self._freeze:
            raise UnsupportedError("option 'freeze' makes the parameters constants of the traced function")
        for name, value in values.items():
            for variable, native in zip(self._variables[name], self._layouts[name].encode(value)):
                self._set(variable, native)

    def _set(self, variable: Any, value: Array) -> None:
        tf = self._tf
        # A copy: a tensor may share its memory with the array. ``variable.assign`` reads it back too.
        tensor = tf.constant(np.array(value, order="C"))
        if tensor.dtype != variable.dtype:
            tensor = tf.cast(tensor, variable.dtype)
        tf.raw_ops.AssignVariableOp(resource=variable.handle, value=tensor)

    def gradients(self, batch: Any) -> tuple[float, dict[str, Array]]:
        loss, gradients = self._gradients(*batch)
        return float(loss), self._by_parameter(gradients)

    def fetch_gradients(self, gradients: Any) -> dict[str, Array]:
        left = iter(gradients)
        return {
            p.name: self._layouts[p.name].decode(
                [self._as_array(next(left)) for _ in self._variables[p.name]]
            )
            for p in self._graph.trainable
        }

    def _as_array(self, gradient: Any) -> Array:
        """Return a gradient as an array, a view of its memory where it can be."""
        tensor = self._tf.cast(self._tf.convert_to_tensor(gradient), self._exact)
        return np.asarray(memoryview(tensor)) if self._device.type == "cpu" else tensor.numpy()

    def exchanged(self) -> dict[str, int] | None:
        return self._exchange.exchanged if self._exchange else None

    def set_hyperparameters(self, values: Mapping[str, float]) -> None:
        self.use_hyperparameters(self.prepare_hyperparameters(values))

    def prepare_hyperparameters(self, values: Mapping[str, float]) -> Any:
        return self._updating().prepared(values)

    def use_hyperparameters(self, prepared: Any) -> None:
        self._updating().use(prepared)

    def optimizer_state(self) -> dict[str, dict[str, Array]]:
        kept = self._updating().state()
        natives = {p.name: self._variables[p.name] for p in self._graph.trainable}
        return {
            letter: state_arrays(natives, slots, self._decoded, lambda kept: kept.numpy())
            for letter, slots in kept.items()
        }

    def _updating(self) -> UpdateRule | ComposedRule:
        if self._update is None:
            raise UnsupportedError("a program that was not built for training has no optimizer")
        return self._update

    def _by_parameter(self, natives: Sequence[Any]) -> dict[str, Array]:
        """Return what there is one of for each trainable variable, in their order, by parameter."""
        left, names = iter(natives), [parameter.name for parameter in self._graph.trainable]
        return {name: self._decoded(name, [next(left) for _ in self._variables[name]]) for name in names}

    def memory(self) -> dict[str, int]:
        if self._device.type == "cpu":
            return {}
        known = self._tf.config.experimental.get_memory_info("GPU:0")
        return {f"{name}_bytes": int(value) for name, value in known.items()}

    def _made(self, name: str, array: Array, trainable: bool) -> tuple[Any, ...]:
        """Return the variables of a parameter."""
        dtype = self._compute if self._is_operand(name) else self._exact
        kind = self._graph.types[name].dtype
        dtype = dtype if kind == "float32" else self._native_dtype(kind)
        return tuple(
            self._tf.Variable(self._tf.cast(native, dtype), trainable=trainable, dtype=dtype)
            for native in self._layouts[name].encode(array)
        )

    def _is_operand(self, name: str) -> bool:
        """Return whether a parameter is an operator's operand, given in the type that it computes in.

        Those of a network are exact, as an update needs them, and so are those of a normalization.
        """
        operators = {node.operator for node, _ in self._graph.uses(name)}
        if operators == {"sparse_matmul"}:
            return True
        return bool(self._graph.upstream) and "batch_normalization" not in operators

    def _decoded(self, name: str, tensors: Sequence[Any]) -> Array:
        arrays = [self._tf.cast(tensor, self._exact).numpy() for tensor in tensors]
        return np.array(self._layouts[name].decode(arrays), order="C")

    def _native_dtype(self, dtype: str) -> Any:
        return self._compute if dtype == "float32" else self._tf.dtypes.as_dtype(dtype)

    # --- tracing -----------------------------------------------------------------------------

    def _train_next(self, *batch: Any) -> Any:
        return self.train_step(batch)

    def _trace(self, body: Callable[..., Any], further: Sequence[Any] = ()) -> Callable[..., Any]:
        """Trace ``body`` for the graph's inputs, and what is given after them, and return the concrete function."""
        tf = self._tf

        def counted(*batch: Any) -> Any:
            self._traces += 1  # Python runs the body only to trace it
            return body(*batch)

        signature = [
            tf.TensorSpec([i.type.shape[axis] for axis in order], self._native_dtype(i.type.dtype))
            for i, order in zip(self._graph.inputs, self._input_orders)
        ]
        traced = tf.function(
            counted,
            input_signature=[*signature, *further],
            autograph=False,
            jit_compile=self._options.xla or None,
        )
        concrete: Callable[..., Any] = traced.get_concrete_function()
        return concrete

    @cached_property
    def _train(self) -> Callable[..., Any]:
        return self._trace(self._on_replica(self._step), self._updating().given)

    @cached_property
    def _gradients(self) -> Callable[..., Any]:
        return self._trace(self._loss_and_gradients)

    @cached_property
    def _micro(self) -> MicroSteps:
        update = self._on_replica(self._moved)
        share = self._tf.TensorSpec((), self._exact)
        return MicroSteps(
            self._tf,
            lambda body: self._trace(body, [share]),
            self._accumulated,
            update,
            self._trainable,
            self._updating().given,
        )

    def _on_replica(self, body: Callable[..., Any]) -> Callable[..., Any]:
        return body if self._exchange is None else self._exchange.on_replica(body)

    def _moved(self, gradients: Sequence[Any], *given: Any) -> None:
        """Update the parameters, by all ranks' gradients if there are others, with what the rule is given."""
        if self._exchange is not None:
            gradients = self._exchange.mean(gradients)
        self._updating()(gradients, *given)

    def _operators(self, **settings: Any) -> TensorFlowOperators:
        settings = {"xla": self._options.xla, "images_last": self._images_last, **settings}
        return TensorFlowOperators(self._tf, self._compute, **settings)

    def _values(self, operators: TensorFlowOperators, batch: Sequence[Any]) -> dict[str, Tensor]:
        known: dict[str, Any] = {}
        for declared, tensor, order in zip(self._graph.inputs, batch, self._input_orders):
            known[declared.name] = Tensor(tensor, order)
        for parameter in self._graph.parameters:
            variables = self._variables[parameter.name]
            natives = [self._constant(v) for v in variables] if self._freeze else variables
            known[parameter.name] = self._layouts[parameter.name].tensors(natives)
        for index, node in enumerate(self._graph.nodes):
            # The scope names every operation, so that a profile tells which node it came from.
            with self._tf.name_scope(scope_of(index)):
                inputs = [known[name] if name else None for name in node.inputs]
                known.update(zip(node.outputs, apply_node(node, operators, inputs)))
        return known

    def _constant(self, variable: Any) -> Any:
        with self._tf.init_scope():
            value = variable.numpy()
        return self._tf.constant(value)

    def _forward(self, *batch: Any) -> tuple[Any, ...]:
        operators = self._operators()
        return self._outputs(operators, self._values(operators, batch))

    def _outputs(self, operators: TensorFlowOperators, values: Mapping[str, Tensor]) -> tuple[Any, ...]:
        outputs = [operators.settled(values[name]) for name in self._graph.outputs]
        self._output_orders = [output.order for output in outputs]
        return tuple(self._tf.convert_to_tensor(output.value) for output in outputs)

    def _differentiate(
        self, operators: TensorFlowOperators, batch: Sequence[Any], share: Any = None
    ) -> tuple[Any, list[Any]]:
        """Return the loss and the gradient of it, or of a ``share`` of it, for each trainable variable.

        That of a table of which rows were gathered is ``tf.IndexedSlices``.
        """
        tf = self._tf
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(self._trainable)
            loss = self._values(operators, batch)[str(self._graph.loss)].value
            scaled = loss if share is None else loss * share
            scaled = scaled * self._loss_scale if self._loss_scale != 1.0 else scaled
        gradients = tape.gradient(scaled, self._trainable, unconnected_gradients=tf.UnconnectedGradients.ZERO)
        if self._loss_scale != 1.0:
            gradients = [self._unscaled(gradient) for gradient in gradients]
        return loss, gradients

    def _unscaled(self, gradient: Any) -> Any:
        if isinstance(gradient, self._tf.IndexedSlices):
            return self._tf.IndexedSlices(gradient.values / self._loss_scale, gradient.indices)
        return gradient / self._loss_scale

    def _differentiate_outputs(
        self, operators: TensorFlowOperators, batch: Sequence[Any]
    ) -> tuple[tuple[Any, ...], list[Any], list[Any]]:
        """Return the outputs, their gradients as the mini-batch holds them, and those of all trainable variables."""
        tf = self._tf
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(self._trainable)
            values = self._values(operators, batch)
            outputs = self._outputs(operators, values)
        upstream = [
            operators.arrange(values[self._graph.upstream[name]], order)
            for name, order in zip(self._graph.outputs, self._output_orders)
        ]
        gradients = tape.gradient(
            outputs, self._trainable, upstream, unconnected_gradients=tf.UnconnectedGradients.ZERO
        )
        return outputs, upstream, gradients

    def _loss_and_gradients(self, *batch: Any) -> tuple[Any, list[Any]]:
        tf, operators = self._tf, self._operators(training=True)
        if self._graph.upstream:
            outputs, upstream, gradients = self._differentiate_outputs(operators, batch)
            exact = [tf.cast(x, self._exact) * tf.cast(dx, self._exact) for x, dx in zip(outputs, upstream)]
            loss = tf.add_n([tf.reduce_sum(product) for product in exact])
        else:
            loss, gradients = self._differentiate(operators, batch)
        return loss, [tf.convert_to_tensor(gradient) for gradient in gradients]

    def _half_step(self, *batch: Any) -> tuple[Any, list[Any]]:
        operators = self._operators(training=True, generator=self._generator)
        value: Any
        if self._graph.upstream:
            value, _, gradients = self._differentiate_outputs(operators, batch)
        else:
            value, gradients = self._differentiate(operators, batch)
        self._move_statistics(operators)
        return value, gradients

    def _accumulated(self, share: Any, *batch: Any) -> tuple[Any, list[Any]]:
        operators = self._operators(training=True, generator=self._generator)
        loss, gradients = self._differentiate(operators, batch, share)
        self._move_statistics(operators)
        return loss, gradients

    def _step(self, *inputs: Any) -> Any:
        count = len(self._graph.inputs)
        batch, given = inputs[:count], inputs[count:]
        operators = self._operators(training=True, generator=self._generator)
        loss, gradients = self._differentiate(operators, batch)
        with self._tf.name_scope(UPDATE):
            self._moved(gradients, *given)
        self._move_statistics(operators)
        return loss

    def _move_statistics(self, operators: TensorFlowOperators) -> None:
        with self._tf.name_scope(STATISTICS):
            for variable, value in operators.updates.items():
                variable.deref().assign(value, read_value=False)
