"""TensorFlow itself, inside the worker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.api.framework import Device, Framework
from benchmarker.api.optimizer import Optimizer
from benchmarker.api.program import Program
from benchmarker.errors import UnsupportedError
from benchmarker.graph.graph import Graph
from benchmarker.plugins.tensorflow import Options, distributed
from benchmarker.plugins.tensorflow.kernels import onednn_is_off, require_channels_first
from benchmarker.plugins.tensorflow.operators import TensorFlowOperators
from benchmarker.plugins.tensorflow.program import COMPUTE_TYPES, TensorFlowProgram

if TYPE_CHECKING:
    import numpy.typing as npt

    from benchmarker.api.world import World

    Array = npt.NDArray[np.generic]


class TensorFlow(Framework):
    """TensorFlow; the constructor imports it."""

    operators = TensorFlowOperators

    def __init__(self) -> None:
        import tensorflow

        self._tf: Any = tensorflow
        self._exchange: distributed.Exchange | None = None

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

    def join(self, world: World, scheme: str) -> None:
        self._exchange = distributed.join(self._tf, world)

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
        options = options if isinstance(options, Options) else Options()
        if options.layout == "nchw":
            require_channels_first(device, precision, options)
        self._tf.config.experimental.enable_tensor_float_32_execution(precision == "tf32")
        return TensorFlowProgram(
            self._tf,
            graph,
            parameters,
            mode=mode,
            device=device,
            precision=precision,
            optimizer=optimizer,
            options=options,
            exchange=self._exchange if mode == "training" else None,
        )

    def libraries(self) -> dict[str, str]:
        known = self._tf.sysconfig.get_build_info()
        found = {
            name: str(known[key])
            for name, key in (("cuda", "cuda_version"), ("cudnn", "cudnn_version"))
            if key in known
        }
        return {
            **found,
            "onednn": "off" if onednn_is_off() else "on",
            "tensorflow_git": str(self._tf.version.GIT_VERSION),
        }

    def out_of_memory_signs(self) -> Sequence[str]:
        return ("ResourceExhaustedError", "RESOURCE_EXHAUSTED", "OOM when allocating", "failed to allocate")
