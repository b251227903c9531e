"""The Paddle framework: threads, seed, and its programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from benchmarker.api.framework import Device, Framework
from benchmarker.api.optimizer import Optimizer
from benchmarker.errors import UnsupportedError
from benchmarker.graph.graph import Graph
from benchmarker.plugins.paddle.operators import PaddleOperators
from benchmarker.plugins.paddle.program import PaddleProgram

if TYPE_CHECKING:
    import numpy.typing as npt

    from benchmarker.plugins.paddle import Options

    Array = npt.NDArray[Any]


class PaddleFramework(Framework):
    """PaddlePaddle; the constructor imports it."""

    operators = PaddleOperators

    def __init__(self) -> None:
        import paddle

        self._paddle: Any = paddle

    def version(self) -> str:
        return str(self._paddle.__version__)

    def configure(self, device: Device, *, threads: int, seed: int) -> str:
        if device.type != "cpu":
            raise UnsupportedError(f"framework 'paddle' runs on the cpu alone, not on '{device.type}'")
        self._paddle.set_device("cpu")
        # Beside OMP_NUM_THREADS, which it has read when it was imported.
        self._paddle.base.core.set_num_threads(threads)
        self._paddle.seed(seed)
        return "cpu"

    def build(
        self,
        graph: Graph,
        parameters: Mapping[str, Array],
        *,
        mode: str,
        device: Device,
        precision: str,
        optimizer: Optimizer,
        options: Options,
    ) -> PaddleProgram:
        return PaddleProgram(graph, parameters, mode, optimizer, options)

    def libraries(self) -> dict[str, str]:
        version = self._paddle.version
        flags = self._paddle.get_flags(["FLAGS_use_mkldnn", "FLAGS_new_executor_serial_run"])
        return {
            "mkl": str(version.mkl()).lower(),
            "onednn": "on" if flags["FLAGS_use_mkldnn"] else "off",
            "executor": "serial" if flags["FLAGS_new_executor_serial_run"] else "of several threads",
            "paddle_commit": str(version.commit),
        }

    def out_of_memory_signs(self) -> Sequence[str]:
        return ("(ResourceExhausted)", "Fail to alloc memory")
