"""An ONNX model in a file, run as anybody would run it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarker.plugins.onnxruntime.sessions import ERRORS_ONLY

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


def run_file(path: Path, batches: Mapping[str, Mapping[str, Array]], threads: int) -> dict[str, list[Array]]:
    """Return the outputs of the model for each mini-batch, by the mini-batch's name.

    Parameters
    ----------
    path : Path
        The model.
    batches : mapping
        Mini-batches: arrays by the name of the input.
    threads : int
        That run an operator.
    """
    import onnxruntime

    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = threads
    settings.log_severity_level = ERRORS_ONLY
    session = onnxruntime.InferenceSession(str(path), settings, providers=["CPUExecutionProvider"])
    return {name: session.run(None, dict(batch)) for name, batch in batches.items()}
