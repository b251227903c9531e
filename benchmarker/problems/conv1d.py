"""One one-dimensional convolution, every attribute a parameter."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarker.framework import Optimizer
from benchmarker.graph.network import Network
from benchmarker.layers.sizes import Padding
from benchmarker.problem import Problem, Published


@dataclass(frozen=True)
class Parameters:
    """Sizes of the input and attributes of the convolution."""

    channels: int = 512
    length: int = 3000
    filters: int = 512
    kernel: int = 3
    stride: int = 2
    padding: Padding = 1
    dilation: int = 1
    groups: int = 1
    bias: bool = True


def build(net: Network, p: Parameters) -> None:
    """Add the convolution to ``net``; in training its loss is the mean of the squared output."""
    y = net.convolution(
        "conv",
        net.input("signal", (p.channels, p.length)),
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
        name="conv1d",
        task="operator",
        source="ONNX Conv; the default is the second convolution of Whisper base on 30 seconds of sound "
        "(Radford et al. 2022, arXiv 2212.04356, section 2.2)",
        parameters=Parameters,
        build=build,
        optimizer=Optimizer("sgd", learning_rate=0.01),
        batch_size=4,
        published=(Published(512 * 512 * 3 + 512, 2 * 512 * 512 * 3 * 1500),),
        reduced={"channels": 8, "length": 21, "filters": 6},
        reduced_batch_size=2,
    )
