"""A program of IREE: a function of a compiled module, called with arrays on the device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.plugins.common.onnx.model import OnnxModel
from benchmarker.plugins.common.onnx.program import OnnxProgram
from benchmarker.plugins.iree.compiling import ENTRY, compiled

if TYPE_CHECKING:
    import numpy.typing as npt

    from benchmarker.plugins.iree import Options

    Array = npt.NDArray[Any]


class IreeProgram(OnnxProgram):
    """Compiled in the first step. Each step's outputs have memory of their own.

    Parameters
    ----------
    model, parameters
        As in :class:`OnnxProgram`.
    config : iree.runtime.Config
        The device.
    options : Options
        For the compiler.
    """

    def __init__(
        self, model: OnnxModel, parameters: Mapping[str, Array], config: Any, options: Options
    ) -> None:
        super().__init__(model, parameters)
        self._config = config
        self._options = options
        self._is_single = len(model.outputs) == 1
        self._call: Any = None

    def _tensor(self, array: Array) -> Any:
        from iree.runtime import asdevicearray

        return asdevicearray(self._config.device, array)

    def _array(self, tensor: Any) -> Array:
        return np.asarray(tensor.to_host())

    def _outputs(self, output: Any) -> Sequence[Any]:
        return output  # type: ignore[no-any-return]

    def _compile(self) -> Any:
        from iree.runtime import VmModule, load_vm_module

        module = VmModule.copy_buffer(self._config.vm_instance, compiled(self._model, self._options))
        return load_vm_module(module, self._config)[ENTRY]

    def infer(self, batch: Mapping[str, Any]) -> list[Any]:
        if self._call is None:
            self._call = self._compile()
        found = self._call(*batch.values())
        return [found] if self._is_single else list(found)

    def compilations(self) -> int:
        return int(self._call is not None)

    def output_tensors(self, output: Any) -> Sequence[Any]:
        return output  # type: ignore[no-any-return]

    def synchronize(self, output: Any) -> None:
        """Return at once: the compiled function returns when its outputs are ready."""
