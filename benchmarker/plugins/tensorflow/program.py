"""TensorFlow inside the worker: the graph traced once into a ``tf.function`` of fixed signature."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.errors import UnsupportedError
from benchmarker.framework import Device, Framework, Optimizer, Program
from benchmarker.graph.graph import Graph, walk
from benchmarker.layouts import parameter_layouts
from benchmarker.plugins.tensorflow import Options
from benchmarker.plugins.tensorflow.operators import TensorFlowOperators
from benchmarker.plugins.tensorflow.tensors import (
    LAYOUTS,
    Order,
    OrderedLayout,
    Tensor,
    graph_order,
    input_order,
)
from benchmarker.plugins.tensorflow.updates import UpdateRule

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[np.generic]

COMPUTE_TYPES = {"fp32": "float32", "tf32": "float32", "bf16": "bfloat16", "fp16": "float16"}
LOSS_SCALES = {"fp16": 1024.0}
"""What the loss is multiplied by so that small gradients survive the format (a power of two is exact)."""


class TensorFlowProgram(Program):
    """A graph as ``tf.function`` calls; see :meth:`benchmarker.framework.Framework.build` for the arguments."""

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
    ) -> None:
        self._tf = tensorflow
        self._graph = graph
        self._device = device
        self._options = options
        self._freeze = options.freeze and mode == "inference"
        self._compute = tensorflow.dtypes.as_dtype(COMPUTE_TYPES[precision])
        self._loss_scale = LOSS_SCALES.get(precision, 1.0)
        self._layouts = parameter_layouts(graph, LAYOUTS)
        self._variables = {
            parameter.name: self._variable(parameter.name, parameters[parameter.name], parameter.trainable)
            for parameter in graph.parameters
        }
        self._trainable = [self._variables[parameter.name] for parameter in graph.trainable]
        self._input_orders = [
            input_order(len(i.type.shape), [node for node, _ in graph.uses(i.name)]) for i in graph.inputs
        ]
        self._output_orders: list[Order] = []
        if mode == "training":
            self._update = UpdateRule(tensorflow, optimizer, self._trainable)
            self._train = self._trace(self._step)
        else:
            self._infer = self._trace(self._forward)

    # --- the timed path ----------------------------------------------------------------------

    def infer(self, batch: Any) -> Any:
        return self._infer(*batch)

    def train_step(self, batch: Any) -> Any:
        return self._train(*batch)

    def synchronize(self, output: Any) -> None:
        # On the CPU a function returns when its last operation, updates included, has run.
        if self._device.type != "cpu":
            self._tf.test.experimental.sync_devices()

    # --- the edges ---------------------------------------------------------------------------

    def load(self, batch: Mapping[str, Array]) -> Any:
        tensors = []
        for declared, order in zip(self._graph.inputs, self._input_orders):
            array = np.array(batch[declared.name].transpose(order), order="C")
            tensors.append(self._tf.constant(array, self._native_dtype(declared.type.dtype)))
        return tuple(tensors)

    def fetch(self, output: Any) -> tuple[Array, ...]:
        if not isinstance(output, (tuple, list)):
            return (self._tf.cast(output, self._tf.float32).numpy(),)
        return tuple(
            self._tf.cast(value, self._tf.float32).numpy().transpose(np.argsort(order))
            for value, order in zip(output, self._output_orders)
        )

    def parameters(self) -> dict[str, Array]:
        return {name: self._decoded(name, variable) for name, variable in self._variables.items()}

    def gradients(self, batch: Any) -> tuple[float, dict[str, Array]]:
        loss, gradients = self._gradients(*batch)
        names = [parameter.name for parameter in self._graph.trainable]
        return float(loss), {name: self._decoded(name, g) for name, g in zip(names, gradients)}

    def memory(self) -> dict[str, int]:
        if self._device.type == "cpu":
            return {}
        known = self._tf.config.experimental.get_memory_info("GPU:0")
        return {f"{name}_bytes": int(value) for name, value in known.items()}

    def _variable(self, name: str, array: Array, trainable: bool) -> Any:
        (native,) = self._layouts[name].encode(array)
        return self._tf.Variable(native, trainable=trainable, dtype=self._tf.float32)

    def _decoded(self, name: str, tensor: Any) -> Array:
        return np.array(self._layouts[name].decode([tensor.numpy()]))

    def _native_dtype(self, dtype: str) -> Any:
        return self._compute if dtype == "float32" else self._tf.dtypes.as_dtype(dtype)

    # --- tracing -----------------------------------------------------------------------------

    def _trace(self, body: Callable[..., Any]) -> Callable[..., Any]:
        """Trace ``body`` for the graph's inputs and return the concrete function."""
        tf = self._tf
        signature = [
            tf.TensorSpec([i.type.shape[axis] for axis in order], self._native_dtype(i.type.dtype))
            for i, order in zip(self._graph.inputs, self._input_orders)
        ]
        traced = tf.function(
            body, input_signature=signature, autograph=False, jit_compile=self._options.xla or None
        )
        concrete: Callable[..., Any] = traced.get_concrete_function()
        return concrete

    @cached_property
    def _gradients(self) -> Callable[..., Any]:
        return self._trace(self._loss_and_gradients)

    def _values(self, operators: TensorFlowOperators, batch: Sequence[Any]) -> dict[str, Tensor]:
        known = {}
        for declared, tensor, order in zip(self._graph.inputs, batch, self._input_orders):
            known[declared.name] = Tensor(tensor, order)
        for parameter in self._graph.parameters:
            layout = self._layouts[parameter.name]
            rank = len(parameter.type.shape)
            order = layout.order if isinstance(layout, OrderedLayout) else graph_order(rank)
            value = self._variables[parameter.name]
            known[parameter.name] = Tensor(self._constant(value) if self._freeze else value, order)
        return walk(self._graph, operators, known)

    def _constant(self, variable: Any) -> Any:
        with self._tf.init_scope():
            value = variable.numpy()
        return self._tf.constant(value)

    def _forward(self, *batch: Any) -> tuple[Any, ...]:
        values = self._values(TensorFlowOperators(self._tf), batch)
        outputs = [values[name] for name in self._graph.outputs]
        self._output_orders = [output.order for output in outputs]
        return tuple(self._tf.convert_to_tensor(output.value) for output in outputs)

    def _differentiate(self, operators: TensorFlowOperators, batch: Sequence[Any]) -> tuple[Any, list[Any]]:
        """Return the loss and its gradient for each trainable variable, in float32."""
        tf = self._tf
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(self._trainable)
            loss = self._values(operators, batch)[str(self._graph.loss)].value
            scaled = loss * self._loss_scale if self._loss_scale != 1.0 else loss
        gradients = tape.gradient(scaled, self._trainable, unconnected_gradients=tf.UnconnectedGradients.ZERO)
        if self._loss_scale != 1.0:
            gradients = [gradient / self._loss_scale for gradient in gradients]
        return loss, gradients

    def _loss_and_gradients(self, *batch: Any) -> tuple[Any, list[Any]]:
        return self._differentiate(TensorFlowOperators(self._tf, training=True), batch)

    def _step(self, *batch: Any) -> Any:
        operators = TensorFlowOperators(self._tf, training=True, dropout=True)
        loss, gradients = self._differentiate(operators, batch)
        self._update(gradients)
        for variable, value in operators.updates:
            variable.assign(value, read_value=False)
        return loss


class TensorFlow(Framework):
    """TensorFlow; the constructor imports it."""

    operators = TensorFlowOperators

    def __init__(self) -> None:
        import tensorflow

        self._tf: Any = tensorflow

    def version(self) -> str:
        return str(self._tf.version.VERSION)

    def configure(self, device: Device, *, threads: int, seed: int) -> str:
        tf = self._tf
        try:
            tf.config.threading.set_intra_op_parallelism_threads(threads)
            tf.config.threading.set_inter_op_parallelism_threads(threads)
            name = self._choose(device)
        except RuntimeError as error:
            raise UnsupportedError(
                f"TensorFlow takes threads and device only before its first operation in a process: {error}"
            ) from error
        tf.config.experimental.set_synchronous_execution(True)
        tf.random.set_seed(seed)
        return name

    def _choose(self, device: Device) -> str:
        """Make ``device`` the only one in sight and return its name."""
        config = self._tf.config
        gpus = config.list_physical_devices("GPU")
        if device.type == "cpu":
            config.set_visible_devices([], "GPU")
            return "CPU"
        if device.index >= len(gpus):
            raise UnsupportedError(
                f"TensorFlow sees {len(gpus)} GPUs, so there is no cuda device {device.index}; use --device=cpu"
            )
        gpu = gpus[device.index]
        config.set_visible_devices(gpu, "GPU")
        config.experimental.set_memory_growth(gpu, True)
        return str(config.experimental.get_device_details(gpu).get("device_name", "GPU"))

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
    ) -> Program:
        if precision not in COMPUTE_TYPES:
            raise UnsupportedError(
                f"TensorFlow runs {', '.join(COMPUTE_TYPES)} here, not precision '{precision}'"
            )
        self._tf.config.experimental.enable_tensor_float_32_execution(precision == "tf32")
        return TensorFlowProgram(
            self._tf,
            graph,
            parameters,
            mode=mode,
            device=device,
            precision=precision,
            optimizer=optimizer,
            options=options if isinstance(options, Options) else Options(),
        )

    def libraries(self) -> dict[str, str]:
        known = self._tf.sysconfig.get_build_info()
        found = {
            name: str(known[key])
            for name, key in (("cuda", "cuda_version"), ("cudnn", "cudnn_version"))
            if key in known
        }
        switched_off = os.environ.get("TF_ENABLE_ONEDNN_OPTS") == "0"
        return {
            **found,
            "onednn": "off" if switched_off else "on",
            "tensorflow_git": str(self._tf.version.GIT_VERSION),
        }

    def out_of_memory_signs(self) -> Sequence[str]:
        return ("ResourceExhaustedError", "RESOURCE_EXHAUSTED", "OOM when allocating", "failed to allocate")
