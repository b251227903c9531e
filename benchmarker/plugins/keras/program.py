"""The Keras framework over each backend, and its programs."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from benchmarker.errors import UnsupportedError, UsageError
from benchmarker.framework import Device, Framework, Optimizer, Program
from benchmarker.graph.composites import written_out
from benchmarker.graph.graph import Graph
from benchmarker.plugins.keras import Options
from benchmarker.plugins.keras.binding import Binding
from benchmarker.plugins.keras.floats import FLOATS, set_floats
from benchmarker.plugins.keras.jax_steps import JaxSteps
from benchmarker.plugins.keras.model import make_model
from benchmarker.plugins.keras.operators import BINDERS, KerasOperators
from benchmarker.plugins.keras.optimizers import make_optimizer
from benchmarker.plugins.keras.pytorch_steps import TorchSteps
from benchmarker.plugins.keras.site import Setting
from benchmarker.plugins.keras.stepping import Steps
from benchmarker.plugins.keras.tensorflow_steps import TensorFlowSteps
from benchmarker.profiling import Profile

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

JIT = {"auto": "auto", "on": True, "off": False}
"""What ``model.compile`` takes for each value of the option."""


class KerasProgram(Program):
    """A graph as a compiled Keras model; see :meth:`benchmarker.framework.Framework.build`."""

    def __init__(
        self,
        graph: Graph,
        parameters: Mapping[str, Array],
        *,
        mode: str,
        setting: Setting,
        steps: type[Steps],
        optimizer: Optimizer,
        jit: Any,
    ) -> None:
        from keras import ops

        self._ops = ops
        self._graph = written_out(graph, BINDERS)
        self._mode = mode
        self._floats = setting.dtype
        self._integers = "int32" if setting.backend == "jax" else "int64"
        self._binding = Binding(self._graph, setting)
        self._model = make_model(self._graph, self._binding, parameters)
        chosen = make_optimizer(optimizer)
        self._model.compile(optimizer=chosen, jit_compile=jit)
        if mode == "training":
            chosen.build(self._model.trainable_variables)
        self._steps = steps(self._model, len(graph.upstream))

    # --- the timed path ----------------------------------------------------------------------

    def infer(self, batch: Any) -> Any:
        return self._steps.predict(batch)

    def train_step(self, batch: Any) -> Any:
        return self._steps.train(batch)

    def train_micro(self, batches: Sequence[Any]) -> Any:
        return self._steps.train_micro(batches)

    def gradient_step(self, batch: Any) -> tuple[Any, Any]:
        return self._steps.gradient_step(batch)

    def synchronize(self, output: Any) -> None:
        self._steps.synchronize(output)

    def compilations(self) -> int:
        return self._steps.traces

    def profile(self, batch: Any, steps: int) -> Profile:
        return self._steps.profile(self._graph, self._mode, batch, steps)

    # --- the edges ---------------------------------------------------------------------------

    def load(self, batch: Mapping[str, Array]) -> Any:
        return tuple(
            self._loaded(batch[i.name].transpose(self._binding.orders[i.name])) for i in self._graph.inputs
        )

    def _loaded(self, array: Array) -> Any:
        floating = np.issubdtype(array.dtype, np.floating)
        # A copy: over PyTorch and JAX a tensor may share its memory with the array.
        copy = np.array(array, self._floats if floating else self._integers, order="C")
        return self._ops.convert_to_tensor(copy)

    def fetch(self, output: Any) -> tuple[Array, ...]:
        if not isinstance(output, (tuple, list)):
            return (self._array(output),)
        orders = [self._binding.orders[name] for name in self._graph.outputs]
        return tuple(self._array(value).transpose(np.argsort(o)) for value, o in zip(output, orders))

    def parameters(self) -> dict[str, Array]:
        self._steps.settle()
        weights = self._model.weights_by_name
        return {p.name: self._decoded(p.name, weights[p.name]) for p in self._graph.parameters}

    def assign(self, values: Mapping[str, Array]) -> None:
        self._steps.settle()
        for name, value in values.items():
            (native,) = self._binding.layouts[name].encode(value)
            self._model.weights_by_name[name].assign(self._loaded(native))

    def gradients(self, batch: Any) -> tuple[float, dict[str, Array]]:
        value, gradients = self._steps.differentiate(batch)
        found = {p.name: self._decoded(p.name, g) for p, g in zip(self._graph.trainable, gradients)}
        if not self._graph.upstream:
            return float(self._array(value)), found
        given = batch[len(batch) - len(value) :]
        products = (np.vdot(self._array(y), self._array(dy)) for y, dy in zip(value, given))
        return float(sum(products)), found

    def _decoded(self, name: str, native: Any) -> Array:
        return np.array(self._binding.layouts[name].decode([self._array(native)]))

    def _array(self, tensor: Any) -> Array:
        return np.array(self._ops.convert_to_numpy(tensor))


class KerasFramework(Framework):
    """Keras; the constructor imports it with its backend, which ``KERAS_BACKEND`` chooses."""

    operators = KerasOperators
    backend: ClassVar[str]
    """Keras' name of it."""
    steps: ClassVar[type[Steps]]
    """How a model over it is stepped."""

    def __init__(self) -> None:
        import keras

        found = keras.backend.backend()
        if found != self.backend:
            raise UnsupportedError(
                f"Keras runs over '{found}' in this process and cannot change; start it with "
                f"KERAS_BACKEND={self.backend}"
            )
        self._keras: Any = keras

    def version(self) -> str:
        return str(self._keras.__version__)

    def configure(self, device: Device, *, threads: int, seed: int) -> str:
        self._set_threads(threads)
        self._keras.utils.set_random_seed(seed)
        return "cpu"

    def _set_threads(self, threads: int) -> None:
        raise NotImplementedError

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
        jit = (options if isinstance(options, Options) else Options()).jit
        if jit not in JIT:
            raise UsageError(f"option 'jit' of Keras must be one of {', '.join(JIT)}, got '{jit}'")
        if mode == "training" and graph.loss is None:
            raise UnsupportedError(
                f"problem '{graph.name}' has no loss, so it cannot be trained; use inference"
            )
        if precision not in FLOATS:
            raise UnsupportedError(f"Keras runs {', '.join(FLOATS)} here, not precision '{precision}'")
        self._set_floats(FLOATS[precision])
        return KerasProgram(
            graph,
            parameters,
            mode=mode,
            setting=Setting(self.backend, FLOATS[precision]),
            steps=self.steps,
            optimizer=optimizer,
            jit=JIT[jit],
        )

    def _set_floats(self, dtype: str) -> None:
        set_floats(dtype)


class OverTensorFlow(KerasFramework):
    """Keras over TensorFlow."""

    backend = "tensorflow"
    steps = TensorFlowSteps

    def _set_threads(self, threads: int) -> None:
        import tensorflow as tf

        try:
            tf.config.threading.set_intra_op_parallelism_threads(threads)
            tf.config.threading.set_inter_op_parallelism_threads(threads)
        except RuntimeError as error:
            raise UnsupportedError(
                f"TensorFlow takes threads only before its first operation in a process: {error}"
            ) from error

    def libraries(self) -> dict[str, str]:
        import tensorflow as tf

        switched_off = os.environ.get("TF_ENABLE_ONEDNN_OPTS") == "0"
        return {"tensorflow": str(tf.version.VERSION), "onednn": "off" if switched_off else "on"}

    def out_of_memory_signs(self) -> Sequence[str]:
        return ("ResourceExhaustedError", "RESOURCE_EXHAUSTED", "OOM when allocating", "failed to allocate")


class OverJax(KerasFramework):
    """Keras over JAX."""

    backend = "jax"
    steps = JaxSteps

    def _set_threads(self, threads: int) -> None:
        # XLA's pool asks for this when the first computation makes the backend; there is no call for it.
        os.environ["NPROC"] = str(threads)

    def _set_floats(self, dtype: str) -> None:
        import jax

        super()._set_floats(dtype)
        # Without it JAX would round every float64 to float32.
        jax.config.update("jax_enable_x64", dtype == "float64")

    def libraries(self) -> dict[str, str]:
        import jax
        import jaxlib

        return {"jax": str(jax.__version__), "jaxlib": str(jaxlib.__version__)}

    def out_of_memory_signs(self) -> Sequence[str]:
        return ("RESOURCE_EXHAUSTED", "Out of memory")


class OverPytorch(KerasFramework):
    """Keras over PyTorch."""

    backend = "torch"
    steps = TorchSteps
    later_imports = ("torch._dynamo",)

    def _set_threads(self, threads: int) -> None:
        import torch

        torch.set_num_threads(threads)

    def libraries(self) -> dict[str, str]:
        import torch

        return {"torch": str(torch.__version__), "cpu_capability": torch.backends.cpu.get_cpu_capability()}

    def out_of_memory_signs(self) -> Sequence[str]:
        return ("DefaultCPUAllocator: can't allocate memory",)
