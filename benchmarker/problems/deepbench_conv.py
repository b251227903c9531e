"""DeepBench's convolution."""

from __future__ import annotations

from benchmarker.api.problem import Problem, Published
from benchmarker.graph.network import Network
from benchmarker.problems.layers.sizes import Padding
from benchmarker.quick_dataclass import dataclass


@dataclass(frozen=True)
class Parameters:
    """Sizes of the images (for speech ``width`` is time), the filters and their windows."""

    width: int = 56
    height: int = 56
    in_channels: int = 64
    batch: int = 8
    filters: int = 64
    kernel_w: int = 3
    kernel_h: int = 3
    pad_w: Padding = 1
    pad_h: Padding = 1
    stride_w: int = 1
    stride_h: int = 1


def build(net: Network, p: Parameters) -> None:
    """Add the convolution to ``net``; a framework lays its filters out as it likes before a step."""
    x = net.operand("image", (p.batch, p.in_channels, p.height, p.width))
    y = net.convolution(
        "conv",
        x,
        p.filters,
        (p.kernel_h, p.kernel_w),
        stride=(p.stride_h, p.stride_w),
        pad=(p.pad_h, p.pad_w),
        bias=False,
    )
    net.output(y)


def benchmarker_problem() -> Problem:
    speech = {"width": 700, "height": 161, "in_channels": 1, "batch": 4, "filters": 32, "kernel_w": 20}
    speech |= {"kernel_h": 5, "pad_w": 0, "pad_h": 0, "stride_w": 2, "stride_h": 2}
    return Problem(
        name="deepbench_conv",
        task="operator",
        source="DeepBench (Narang & Diamos 2016, github.com/baidu-research/DeepBench), convolution",
        parameters=Parameters,
        build=build,
        batch_size=1,
        published=(
            Published(64 * 64 * 3 * 3, 2 * 8 * 64 * 56 * 56 * 64 * 3 * 3),
            Published(32 * 5 * 20, 2 * 4 * 32 * 79 * 341 * 5 * 20, speech),
        ),
        reduced={
            "width": 10,
            "height": 7,
            "in_channels": 3,
            "batch": 2,
            "filters": 4,
            "kernel_w": 4,
            "stride_w": 2,
        },
        reduced_batch_size=1,
    )
