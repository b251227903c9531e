"""Two-dimensional pooling, every attribute a parameter."""

from __future__ import annotations

from benchmarker.api.optimizer import Optimizer
from benchmarker.api.problem import Problem, Published
from benchmarker.graph.initializers import ZEROS
from benchmarker.graph.network import Network
from benchmarker.graph.recorder import Value
from benchmarker.problems.layers.sizes import Padding, require_choice
from benchmarker.quick_dataclass import dataclass


@dataclass(frozen=True)
class Parameters:
    """Sizes of the input and attributes of the pooling, whose ``kind`` is ``max`` or ``average``."""

    kind: str = "max"
    channels: int = 64
    height: int = 112
    width: int = 112
    kernel: int = 3
    stride: int = 2
    padding: Padding = 1


def pooled(net: Network, p: Parameters, x: Value) -> Value:
    """Pool ``x``; padding is not part of a mean."""
    pool = net.max_pool if p.kind == "max" else net.average_pool
    result: Value = pool(x, kernel_shape=(p.kernel,) * 2, strides=(p.stride,) * 2, pads=(p.padding,) * 4)
    return result


def build(net: Network, p: Parameters) -> None:
    """Add the pooling to ``net``; in training its loss is the mean of the squared output.

    Pooling has no parameters, so training adds an offset to each channel before it: without one there
    would be no gradient to compute.
    """
    require_choice("kind", p.kind, ("max", "average"))
    x = net.input("image", (p.channels, p.height, p.width))
    net.output(pooled(net, p, x))
    y = pooled(net, p, net.add(x, net.parameter("offset", (p.channels, 1, 1), ZEROS)))
    net.loss(net.reduce_mean(net.mul(y, y)))


def benchmarker_problem() -> Problem:
    return Problem(
        name="pool2d",
        task="operator",
        source="ONNX MaxPool and AveragePool; the default is the pooling of ResNet's stem (He et al. 2015, table 1)",
        parameters=Parameters,
        build=build,
        optimizer=Optimizer("sgd", learning_rate=0.01),
        batch_size=4,
        published=(Published(64, 0),),
        reduced={"channels": 4, "height": 12, "width": 10},
        reduced_batch_size=2,
    )
