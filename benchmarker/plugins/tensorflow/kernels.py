"""Which of TensorFlow's kernels there are in this process."""

from __future__ import annotations

from functools import cache
from typing import Any

from benchmarker.api.framework import Device
from benchmarker.errors import UnsupportedError
from benchmarker.plugins.tensorflow import Options


def onednn_is_off() -> bool:
    """Tell whether TensorFlow goes without oneDNN, as it is told to or as the CPU makes it."""
    from tensorflow.python.util import _pywrap_util_port

    return not _pywrap_util_port.IsMklEnabled()


@cache
def has_channels_first_in_bf16() -> bool:
    """Tell whether the CPU's kernels of bfloat16 take images channels first: oneDNN has them for newer CPUs alone."""
    import tensorflow as tf

    @tf.function  # type: ignore[untyped-decorator,unused-ignore]
    def pooled(x: Any) -> Any:
        return tf.nn.max_pool2d(x, 2, 2, "VALID", data_format="NCHW")

    try:
        pooled(tf.zeros((1, 1, 2, 2), tf.bfloat16))
    except (tf.errors.InvalidArgumentError, tf.errors.UnimplementedError):
        return False
    return True


def require_channels_first(device: Device, precision: str, options: Options) -> None:
    """Refuse ``layout=nchw`` where there are no kernels for it."""
    if precision == "fp64":
        raise UnsupportedError(
            "option 'layout=nchw' of TensorFlow is for precisions below fp64, which has kernels for "
            "layout=nhwc only"
        )
    if device.type == "cpu" and precision == "bf16" and not options.xla and not has_channels_first_in_bf16():
        raise UnsupportedError(
            "option 'layout=nchw' of TensorFlow has no kernels for bf16 on this CPU; use layout=nhwc"
        )
    if device.type == "cpu" and onednn_is_off() and not options.xla:
        raise UnsupportedError(
            "option 'layout=nchw' of TensorFlow needs oneDNN on a CPU, which is off here; leave "
            "TF_ENABLE_ONEDNN_OPTS unset, or use layout=nhwc"
        )
