"""OpenCV's module of neural networks (DNN): what is known of it without importing it."""

from __future__ import annotations

from benchmarker.api.framework import FrameworkPlugin

_RECORDED = (
    "OPENCV_CPU_DISABLE",
    "OPENCV_DNN_BACKEND_DEFAULT",
    "OPENCV_FORCE_DNN_ENGINE",
    "OPENCV_FOR_OPENMP_DYNAMIC_DISABLE",
    "OPENCV_FOR_THREADS_NUM",
    "OPENCV_LOG_LEVEL",
    "OPENCV_THREAD_POOL_ACTIVE_WAIT_MAIN",
    "OPENCV_THREAD_POOL_ACTIVE_WAIT_THREADS_LIMIT",
    "OPENCV_THREAD_POOL_ACTIVE_WAIT_WORKER",
)


def benchmarker_framework() -> FrameworkPlugin:
    return FrameworkPlugin(
        name="opencv",
        distribution="opencv-python-headless",
        requirements=("opencv-python-headless==5.0.0.93", "onnx==1.23.2", "numpy"),
        implementation="benchmarker.plugins.opencv.framework:OpenCv",
        python=">=3.11",
        recorded_variables=_RECORDED,
        modes=("inference", "generation"),
        image_decoder="benchmarker.plugins.opencv.images:decoder",
    )
