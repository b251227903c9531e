"""One two-dimensional convolution, every attribute a parameter."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarker.framework import Optimizer
from benchmarker.graph.network import Network
from benchmarker.layers.sizes import Padding
from benchmarker.problem import Problem, Published


@dataclass(frozen=True)
class Parameters:
    """Sizes of the input and attributes of the convolution, the same on both axes but ``height``/``width``."""

    channels: int = 64
    height: int = 56
    width: int = 56
    filters: int = 64
    kernel: int = 3
    stride: int = 1
    padding: Padding = 1
    dilation: int = 1
    groups: int = 1
    bias: bool = True


def build(net: Network, p: Parameters) -> None:
    """Add the convolution to ``net``; in training its loss is the mean of the squared output."""
    x = net.input("image", (p.channels, p.height, p.width))
    y = net.convolution(
        "conv",
        x,
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
        name="conv2d",
        task="operator",
        source="ONNX Conv; the default is the 3x3 convolution of ResNet's second stage (He et al. 2015, table 1)",
        parameters=Parameters,
        build=build,
        optimizer=Optimizer("sgd", learning_rate=0.01),
        batch_size=4,
        published=(Published(64 * 64 * 9 + 64, 2 * 64 * 64 * 9 * 56 * 56),),
        reduced={"channels": 8, "height": 12, "width": 10, "filters": 6},
        reduced_batch_size=2,
    )
