"""OpenVINO: what is known of it without importing it."""

from __future__ import annotations

from typing import Annotated

from benchmarker.api.framework import FrameworkPlugin
from benchmarker.api.rules import Choice
from benchmarker.quick_dataclass import dataclass


@dataclass(frozen=True)
class Options:
    """Options of OpenVINO.

    Parameters
    ----------
    hint : {"latency", "throughput"}
        Its performance hint. ``latency`` (its own default) gives a step all threads; ``throughput`` divides the
        threads into streams and has as many steps under way at once as OpenVINO thinks best: that is what steps
        in a row are timed for, and one alone then takes longer.
    pinning : bool
        Whether its threads stay on one core each, as is its own default.
    """

    hint: Annotated[str, Choice(("latency", "throughput"))] = "latency"
    pinning: bool = True


_RECORDED = (
    "OPENVINO_LOG_LEVEL",
    "OV_CPU_LEGACY_ATTN",
    "OV_CPU_MAX_ISA",
    "OV_ENABLE_SERIALIZE_TRACING",
    "OV_ENABLE_VISUALIZE_TRACING",
)


def benchmarker_framework() -> FrameworkPlugin:
    return FrameworkPlugin(
        name="openvino",
        distribution="openvino",
        requirements=("openvino==2026.4.1", "onnx==1.23.2", "numpy"),
        implementation="benchmarker.plugins.openvino.framework:OpenVino",
        python=">=3.11",
        options=Options,
        recorded_variables=_RECORDED,
        modes=("inference", "generation"),
        # Of all but fp32 what the processor has; where it lacks them a run is refused.
        precisions={"cpu": ("fp32", "bf16", "fp16", "int8")},
    )
