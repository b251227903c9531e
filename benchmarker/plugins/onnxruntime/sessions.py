"""Sessions of ONNX Runtime: the graph as a model in memory, on the device that was asked for and no other."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from benchmarker.api.framework import Device
from benchmarker.errors import UnsupportedError
from benchmarker.plugins.common.onnx.model import OnnxModel
from benchmarker.quick_dataclass import dataclass

if TYPE_CHECKING:
    from benchmarker.plugins.onnxruntime import Options

_LEVELS = {
    "all": "ORT_ENABLE_ALL",
    "extended": "ORT_ENABLE_EXTENDED",
    "basic": "ORT_ENABLE_BASIC",
    "none": "ORT_DISABLE_ALL",
}
_PROVIDERS = {
    "dnnl": "DnnlExecutionProvider",
    "openvino": "OpenVINOExecutionProvider",
    "xnnpack": "XnnpackExecutionProvider",
}
"""What ONNX Runtime calls those that are chosen by name."""
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

    @property
    def is_chosen(self) -> bool:
        """Whether another execution provider than that of the device was asked for."""
        return self.options.provider != "device"


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
        try:
            session = onnxruntime.InferenceSession(self._message, settings, providers=[(provider, options)])
        except Exception as error:
            if not self.setting.is_chosen:
                raise
            raise UnsupportedError(
                f"ONNX Runtime's '{provider}' does not take the whole model, and nothing else is to compute a part of "
                f"it: {_last_line(error)}"
            ) from error
        session.disable_fallback()
        if session.get_providers()[0] != provider:
            raise UnsupportedError(
                f"ONNX Runtime {onnxruntime.__version__} has no working '{provider}' here, so there is no "
                f"'{self.setting.device.type}'; use the device 'cpu'"
            )
        return session

    def _session_options(self) -> Any:
        import onnxruntime

        options = self.setting.options
        settings = onnxruntime.SessionOptions()
        settings.intra_op_num_threads = self.setting.threads
        settings.inter_op_num_threads = 1
        settings.log_severity_level = ERRORS_ONLY
        level = _LEVELS[options.optimization]
        settings.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
        if options.denormals_as_zero:
            settings.add_session_config_entry("session.set_denormal_as_zero", "1")
        if self.setting.is_chosen:
            # What it does not take would run in ONNX Runtime's own kernels, and be measured as its.
            settings.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
        return settings

    def _provider(self) -> tuple[str, dict[str, str]]:
        device = self.setting.device
        if self.setting.is_chosen:
            return self._chosen()
        if device.type == "cpu":
            return "CPUExecutionProvider", {}
        # TF32 is on by default there.
        tf32 = "1" if self.setting.precision == "tf32" else "0"
        return "CUDAExecutionProvider", {"device_id": str(device.index), "use_tf32": tf32}

    def _chosen(self) -> tuple[str, dict[str, str]]:
        import onnxruntime

        requested = self.setting.options.provider
        provider = _PROVIDERS[requested]
        here = onnxruntime.get_available_providers()
        if provider not in here or self.setting.device.type != "cpu":
            raise UnsupportedError(
                f"ONNX Runtime {onnxruntime.__version__} has no execution provider '{requested}' for the device "
                f"'{self.setting.device.type}' here, its package has {', '.join(here)}; use provider=device, or --env "
                "with a package that has it"
            )
        threads = self.setting.threads
        if requested == "openvino":
            # Where the processor has bfloat16, OpenVINO would compute in it.
            properties = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": str(threads)}
            return provider, {"device_type": "CPU", "load_config": json.dumps({"CPU": properties})}
        return provider, {"intra_op_num_threads": str(threads)} if requested == "xnnpack" else {}


def _last_line(error: Exception) -> str:
    """Return where ONNX Runtime says which part it is, after its own source's place."""
    return (str(error).strip().splitlines() or [type(error).__name__])[-1].strip()
