"""One convolution over one, two or three axes, every attribute a parameter."""

from __future__ import annotations

from typing import Any

from benchmarker.api.optimizer import Optimizer
from benchmarker.api.problem import Problem, Published
from benchmarker.graph.network import Network
from benchmarker.problems.layers.sizes import Padding
from benchmarker.quick_dataclass import dataclass


@dataclass(frozen=True)
class _Attributes:
    """Attributes of the convolution, the same on every axis."""

    kernel: int = 3
    stride: int = 1
    padding: Padding = 1
    dilation: int = 1
    groups: int = 1
    bias: bool = True


@dataclass(frozen=True)
class _Signal:
    channels: int = 512
    length: int = 3000
    filters: int = 512


@dataclass(frozen=True)
class _Image:
    channels: int = 64
    height: int = 56
    width: int = 56
    filters: int = 64


@dataclass(frozen=True)
class _Volume:
    channels: int = 64
    depth: int = 32
    height: int = 32
    width: int = 32
    filters: int = 128


# Fields of the last base come first: sizes, then attributes.


@dataclass(frozen=True)
class Parameters1d(_Attributes, _Signal):
    """Sizes of the input and attributes of the convolution."""

    stride: int = 2


@dataclass(frozen=True)
class Parameters2d(_Attributes, _Image):
    """Sizes of the input and attributes of the convolution, the same on both axes but ``height``/``width``."""


@dataclass(frozen=True)
class Parameters3d(_Attributes, _Volume):
    """Sizes of the input and attributes of the convolution, the same on every axis but the sizes."""


def build_1d(net: Network, p: Parameters1d) -> None:
    """Add the convolution of a signal to ``net``."""
    _build(net, p, "signal", (p.channels, p.length), p.filters)


def build_2d(net: Network, p: Parameters2d) -> None:
    """Add the convolution of an image to ``net``."""
    _build(net, p, "image", (p.channels, p.height, p.width), p.filters)


def build_3d(net: Network, p: Parameters3d) -> None:
    """Add the convolution of a volume to ``net``."""
    _build(net, p, "volume", (p.channels, p.depth, p.height, p.width), p.filters)


def _build(net: Network, p: _Attributes, name: str, shape: tuple[int, ...], filters: int) -> None:
    """Add an input of ``shape`` and its convolution; in training its loss is the mean of the squared output."""
    y = net.convolution(
        "conv",
        net.input(name, shape),
        filters,
        p.kernel,
        stride=p.stride,
        pad=p.padding,
        dilation=p.dilation,
        groups=p.groups,
        bias=p.bias,
    )
    net.output(y)
    net.loss(net.reduce_mean(net.mul(y, y)))


def _member(name: str, source: str, **values: Any) -> Problem:
    return Problem(
        name=name,
        task="operator",
        source=f"ONNX Conv; the default is {source}",
        optimizer=Optimizer("sgd", learning_rate=0.01),
        batch_size=4,
        reduced_batch_size=2,
        **values,
    )


CONV1D = _member(
    "conv1d",
    "the second convolution of Whisper base on 30 seconds of sound (Radford et al. 2022, arXiv 2212.04356, "
    "section 2.2)",
    parameters=Parameters1d,
    build=build_1d,
    published=(Published(512 * 512 * 3 + 512, 2 * 512 * 512 * 3 * 1500),),
    reduced={"channels": 8, "length": 21, "filters": 6},
)
CONV2D = _member(
    "conv2d",
    "the 3x3 convolution of ResNet's second stage (He et al. 2015, table 1)",
    parameters=Parameters2d,
    build=build_2d,
    published=(Published(64 * 64 * 9 + 64, 2 * 64 * 64 * 9 * 56 * 56),),
    reduced={"channels": 8, "height": 12, "width": 10, "filters": 6},
)
CONV3D = _member(
    "conv3d",
    "the third convolution of CosmoFlow (MLPerf HPC v1.0)",
    parameters=Parameters3d,
    build=build_3d,
    published=(Published(128 * 64 * 27 + 128, 2 * 128 * 64 * 27 * 32**3),),
    reduced={"channels": 4, "depth": 7, "height": 6, "width": 5, "filters": 6},
)
