"""A model read and compiled by OpenVINO for the precision and the threads that were asked for, and no others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarker.cache import temporary_folder
from benchmarker.errors import UnsupportedError
from benchmarker.plugins.common.onnx.model import OnnxModel
from benchmarker.quick_dataclass import dataclass

if TYPE_CHECKING:
    from benchmarker.plugins.openvino import Options

DEVICE = "CPU"
_PRECISIONS = {
    "fp32": ("f32", "FP32"),
    "int8": ("f32", "INT8"),
    "bf16": ("bf16", "BF16"),
    "fp16": ("f16", "FP16"),
}
"""OpenVINO's name of each precision, and that of the processor's capability."""


@dataclass(frozen=True)
class Setting:
    """What a model is compiled for."""

    precision: str
    threads: int
    options: Options

    def properties(self) -> dict[str, Any]:
        """Return OpenVINO's properties.

        Where the processor has bfloat16, float32 models are computed in it unless they say otherwise.
        """
        hint, _ = _PRECISIONS[self.precision]
        return {
            "INFERENCE_PRECISION_HINT": hint,
            "KV_CACHE_PRECISION": hint,
            "INFERENCE_NUM_THREADS": self.threads,
            "PERFORMANCE_HINT": self.options.hint.upper(),
            "ENABLE_CPU_PINNING": self.options.pinning,
        }


class Compiler:
    """A model that OpenVINO has read, to be compiled.

    Parameters
    ----------
    core : openvino.Core
        Of this process.
    model : OnnxModel
        Which is written to a file and read from it.
    setting : Setting
        What for.

    Raises
    ------
    UnsupportedError
        If this processor lacks the precision.
    """

    def __init__(self, core: Any, model: OnnxModel, setting: Setting) -> None:
        self._core = core
        self.setting = setting
        _, capability = _PRECISIONS[setting.precision]
        able = core.get_property(DEVICE, "OPTIMIZATION_CAPABILITIES")
        if capability not in able:
            raise UnsupportedError(
                f"OpenVINO has no {setting.precision} on this processor, only {', '.join(able)}; use fp32"
            )
        with temporary_folder() as folder:
            self._model = core.read_model(str(model.write(folder)))

    def compile(self, **more: Any) -> Any:
        """Return the compiled model.

        Raises
        ------
        UnsupportedError
            If OpenVINO compiled it for another precision.
        """
        wanted = {**self.setting.properties(), **more}
        compiled = self._core.compile_model(self._model, DEVICE, wanted)
        found = compiled.get_property("INFERENCE_PRECISION_HINT").to_string()
        if found != wanted["INFERENCE_PRECISION_HINT"]:
            raise UnsupportedError(
                f"OpenVINO compiled for {found} where {self.setting.precision} was asked for"
            )
        return compiled
