"""One three-dimensional convolution, every attribute a parameter."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarker.framework import Optimizer
from benchmarker.graph.network import Network
from benchmarker.layers.sizes import Padding
from benchmarker.problem import Problem, Published


@dataclass(frozen=True)
class Parameters:
    """Sizes of the input and attributes of the convolution, the same on every axis but the sizes."""

    channels: int = 64
    depth: int = 32
    height: int = 32
    width: int = 32
    filters: int = 128
    kernel: int = 3
    stride: int = 1
    padding: Padding = 1
    dilation: int = 1
    groups: int = 1
    bias: bool = True


def build(net: Network, p: Parameters) -> None:
    """Add the convolution to ``net``; in training its loss is the mean of the squared output."""
    y = net.convolution(
        "conv",
        net.input("volume", (p.channels, p.depth, p.height, p.width)),
        p.filters,
        p.kernel,
        stride=p.stride,
        pad=p.padding,
        dilation=p.dilation,
        groups=p.groups,
        bias=p.bias,
    )
    net.output(y)
    net.loss(net.reduce_mean(net.mul(y, y)))


def benchmarker_problem() -> Problem:
    """Return the problem."""
    return Problem(
        name="conv3d",
        task="operator",
        source="ONNX Conv; the default is the third convolution of CosmoFlow (MLPerf HPC v1.0)",
        parameters=Parameters,
        build=build,
        optimizer=Optimizer("sgd", learning_rate=0.01),
        batch_size=4,
        published=(Published(128 * 64 * 27 + 128, 2 * 128 * 64 * 27 * 32**3),),
        reduced={"channels": 4, "depth": 7, "height": 6, "width": 5, "filters": 6},
        reduced_batch_size=2,
    )
