"""Keras itself over each backend, inside the worker."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from benchmarker.api.framework import Device, Framework
from benchmarker.api.optimizer import Optimizer
from benchmarker.api.program import Program
from benchmarker.errors import UnsupportedError, UsageError
from benchmarker.graph.graph import Graph
from benchmarker.plugins.jax import devices as jax_devices
from benchmarker.plugins.jax import distributed as jax_distributed
from benchmarker.plugins.keras import Options, ranks_jax, ranks_pytorch, ranks_tensorflow
from benchmarker.plugins.keras.binding_site import Setting
from benchmarker.plugins.keras.dtypes import FLOATS, set_floats
from benchmarker.plugins.keras.operators import KerasOperators
from benchmarker.plugins.keras.program import KerasProgram
from benchmarker.plugins.keras.steps import Steps
from benchmarker.plugins.keras.steps_jax import JaxSteps
from benchmarker.plugins.keras.steps_pytorch import TorchSteps
from benchmarker.plugins.keras.steps_tensorflow import TensorFlowSteps
from benchmarker.plugins.pytorch import devices as torch_devices
from benchmarker.plugins.pytorch import distributed as torch_distributed
from benchmarker.plugins.tensorflow import distributed as tensorflow_distributed
from benchmarker.plugins.tensorflow.kernels import onednn_is_off

if TYPE_CHECKING:
    import numpy.typing as npt

    from benchmarker.api.world import World

    Array = npt.NDArray[Any]


JIT = {"auto": "auto", "on": True, "off": False}
"""What ``model.compile`` takes for each value of the option."""


class KerasFramework(Framework):
    """Keras; the constructor imports it with its backend, which ``KERAS_BACKEND`` chooses."""

    operators = KerasOperators
    backend: ClassVar[str]
    """Keras' name of it."""
    steps: ClassVar[type[Steps]]
    """How a model over it is stepped."""
    of_ranks: ClassVar[tuple[type[KerasProgram], type[Steps]]]
    """The same of several ranks, and their program; of backends by which they can meet."""
    _exchanges = False

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
        name = self._start(device)
        self._keras.utils.set_random_seed(self._seed(seed))
        return name

    def _seed(self, seed: int) -> int:
        """Return what masks are drawn from."""
        return seed

    def _start(self, device: Device) -> str:
        """Have the backend use a device, and return its name."""
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
        self._set_precision(precision)
        program, steps = self._kinds(mode)
        return program(
            graph,
            parameters,
            mode=mode,
            setting=Setting(self.backend, FLOATS[precision]),
            steps=steps,
            optimizer=optimizer,
            jit=JIT[jit],
            device=device,
        )

    def _kinds(self, mode: str) -> tuple[type[KerasProgram], type[Steps]]:
        """Return what is made of a graph for a mode."""
        return self.of_ranks if self._exchanges and mode == "training" else (KerasProgram, self.steps)

    def _set_precision(self, precision: str) -> None:
        set_floats(FLOATS[precision])


class OverTensorFlow(KerasFramework):
    """Keras over TensorFlow."""

    backend = "tensorflow"
    steps = TensorFlowSteps
    of_ranks = ranks_tensorflow.RankProgram, ranks_tensorflow.RankSteps
    _strategy: Any = None

    def join(self, world: World, scheme: str) -> None:
        import tensorflow as tf

        self._strategy = tensorflow_distributed.join(tf, world).strategy
        self._exchanges = True

    def build(self, graph: Graph, parameters: Mapping[str, Array], *, mode: str, **settings: Any) -> Program:
        if not self._exchanges or mode != "training":
            return super().build(graph, parameters, mode=mode, **settings)
        with self._strategy.scope():
            return super().build(graph, parameters, mode=mode, **settings)

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

        return {"tensorflow": str(tf.version.VERSION), "onednn": "off" if onednn_is_off() else "on"}

    def out_of_memory_signs(self) -> Sequence[str]:
        return ("ResourceExhaustedError", "RESOURCE_EXHAUSTED", "OOM when allocating", "failed to allocate")


class OverJax(KerasFramework):
    """Keras over JAX."""

    backend = "jax"
    steps = JaxSteps
    of_ranks = ranks_jax.RankProgram, ranks_jax.RankSteps

    def join(self, world: World, scheme: str) -> None:
        jax_distributed.join(world)
        self._exchanges = True

    def leave(self) -> None:
        jax_distributed.leave()

    def _seed(self, seed: int) -> int:
        return ranks_jax.seed_of_all(seed) if self._exchanges else seed

    def _set_threads(self, threads: int) -> None:
        # XLA's pool asks for this when the first computation makes the backend; there is no call for it.
        os.environ["NPROC"] = str(threads)

    def _start(self, device: Device) -> str:
        return jax_devices.name_of(jax_devices.start(device))

    def _set_precision(self, precision: str) -> None:
        import jax

        super()._set_precision(precision)
        # Without it JAX would round every float64 to float32.
        jax.config.update("jax_enable_x64", precision == "fp64")
        if jax.default_backend() != "cpu":
            jax.config.update("jax_default_matmul_precision", jax_devices.PRODUCTS.get(precision))

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
    of_ranks = ranks_pytorch.RankProgram, ranks_pytorch.RankSteps
    later_imports = ("torch._dynamo",)

    def join(self, world: World, scheme: str) -> None:
        torch_distributed.join(world)
        self._exchanges = True

    def leave(self) -> None:
        torch_distributed.leave()

    def _set_threads(self, threads: int) -> None:
        import torch

        torch.set_num_threads(threads)

    def _start(self, device: Device) -> str:
        return torch_devices.start(device)

    def _set_precision(self, precision: str) -> None:
        super()._set_precision(precision)
        torch_devices.allow_tf32(precision == "tf32")

    def libraries(self) -> dict[str, str]:
        import torch

        capability = torch.backends.cpu.get_cpu_capability()
        return {"torch": str(torch.__version__), "cpu_capability": capability, **torch_devices.libraries()}

    def out_of_memory_signs(self) -> Sequence[str]:
        return torch_devices.OUT_OF_MEMORY_SIGNS
