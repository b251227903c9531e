"""Sessions of ONNX Runtime: the graph as a model in memory, on the device that was asked for and no other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from benchmarker.api.framework import Device
from benchmarker.errors import UnsupportedError
from benchmarker.plugins.common.onnx.model import OnnxModel

if TYPE_CHECKING:
    from benchmarker.plugins.onnxruntime import Options

_LEVELS = {
    "all": "ORT_ENABLE_ALL",
    "extended": "ORT_ENABLE_EXTENDED",
    "basic": "ORT_ENABLE_BASIC",
    "none": "ORT_DISABLE_ALL",
}
ERRORS_ONLY = 3
"""Severity of what ONNX Runtime logs at least."""


@dataclass(frozen=True)
class Setting:
    """What sessions are made for."""

    device: Device
    precision: str
    threads: int
    options: Options

    @property
    def dtype(self) -> str:
        """Type of the floating-point tensors."""
        return "float16" if self.precision == "fp16" else "float32"


class Sessions:
    """Makes sessions of one model.

    Parameters
    ----------
    model : OnnxModel
        Whose values they use in place.
    setting : Setting
        What for.
    """

    def __init__(self, model: OnnxModel, setting: Setting) -> None:
        self.setting = setting
        self.lowered = model.lowered
        self._message = model.message()
        self._values = model.values

    def make(self, profile: str | None = None) -> Any:
        """Return a session.

        Parameters
        ----------
        profile : str, optional
            Beginning of the path of the profile that it writes, if it shall write one.

        Raises
        ------
        UnsupportedError
            If it does not run on the device.
        """
        import onnxruntime

        settings = self._session_options()
        if profile is not None:
            settings.enable_profiling = True
            settings.profile_file_prefix = profile
        # Values given apart from the model are not copied, and may be more than the 2 GiB of a message.
        values = [onnxruntime.OrtValue.ortvalue_from_numpy(array) for array in self._values.values()]
        settings.add_external_initializers(list(self._values), values)
        provider, options = self._provider()
        session = onnxruntime.InferenceSession(self._message, settings, providers=[(provider, options)])
        session.disable_fallback()
        if session.get_providers()[0] != provider:
            raise UnsupportedError(
                f"ONNX Runtime {onnxruntime.__version__} has no working '{provider}' here, so there is no "
                f"'{self.setting.device.type}'; use the device 'cpu'"
            )
        return session

    def _session_options(self) -> Any:
        import onnxruntime

        asked = self.setting.options
        settings = onnxruntime.SessionOptions()
        settings.intra_op_num_threads = self.setting.threads
        settings.inter_op_num_threads = 1
        settings.log_severity_level = ERRORS_ONLY
        level = _LEVELS[asked.optimization]
        settings.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
        if asked.denormals_as_zero:
            settings.add_session_config_entry("session.set_denormal_as_zero", "1")
        return settings

    def _provider(self) -> tuple[str, dict[str, str]]:
        device = self.setting.device
        if device.type == "cpu":
            return "CPUExecutionProvider", {}
        # TF32 is on by default there.
        tf32 = "1" if self.setting.precision == "tf32" else "0"
        return "CUDAExecutionProvider", {"device_id": str(device.index), "use_tf32": tf32}
