"""Our ResNet-50 on OpenVINO against its own calls on the exported model, side by side in one process.

Prints one JSON line; ``ratio`` is our time over theirs. Run it with an interpreter that has OpenVINO:
``python benchmarks/lowering/openvino_resnet50.py``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import openvino
from exported import compare_engine

from benchmarker.plugins.openvino import Options
from benchmarker.plugins.openvino.framework import OpenVino


def plain(
    path: Path, batch: Mapping[str, Any], threads: int
) -> tuple[Callable[[], Any], Callable[[Any], Any]]:
    """Return a step as OpenVINO's guide for low latency has it: one request, its tensors set once."""
    settings = {
        "INFERENCE_PRECISION_HINT": "f32",
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_NUM_THREADS": threads,
    }
    compiled = openvino.Core().compile_model(str(path), "CPU", settings)
    request = compiled.create_infer_request()
    request.set_input_tensor(openvino.Tensor(batch["image"].copy()))

    def step() -> Any:
        request.infer(share_outputs=True)
        return request

    return step, lambda output: output.get_output_tensor().data.copy()


if __name__ == "__main__":
    compare_engine("openvino", OpenVino(), Options(), plain)
