"""Our ResNet-50 on OpenCV against its own calls on the exported model, side by side in one process.

Prints one JSON line; ``ratio`` is our time over theirs. Run it with an interpreter that has OpenCV:
``python benchmarks/lowering/opencv_resnet50.py``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import cv2
from exported import compare_engine

from benchmarker.api.framework import NoOptions
from benchmarker.plugins.opencv.framework import OpenCv


def plain(
    path: Path, batch: Mapping[str, Any], threads: int
) -> tuple[Callable[[], Any], Callable[[Any], Any]]:
    """Return a step as OpenCV's tutorials have it; the images are set once."""
    cv2.setNumThreads(threads)
    net = cv2.dnn.readNetFromONNX(str(path), cv2.dnn.ENGINE_NEW)
    net.setInput(batch["image"])
    return net.forward, lambda output: output


if __name__ == "__main__":
    compare_engine("opencv", OpenCv(), NoOptions(), plain)
