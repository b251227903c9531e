"""Depthwise separable convolutions (Chollet 2016, arXiv 1610.02357, section 1.2)."""

from __future__ import annotations

from benchmarker.graph.network import Network
from benchmarker.graph.recorder import Value


def depthwise(net: Network, name: str, x: Value, *, stride: int = 1, dilation: int = 1) -> Value:
    """3x3 convolution of each channel apart, padded to keep the size, without bias."""
    channels = x.shape[1]
    return net.convolution(
        name, x, channels, 3, stride=stride, pad=dilation, dilation=dilation, groups=channels, bias=False
    )


def separable(
    net: Network, name: str, x: Value, filters: int, *, stride: int = 1, dilation: int = 1
) -> Value:
    """Depthwise 3x3, then pointwise 1x1 convolution, nothing in between, without biases."""
    x = depthwise(net, f"{name}.depthwise", x, stride=stride, dilation=dilation)
    return net.convolution(f"{name}.pointwise", x, filters, 1, bias=False)
