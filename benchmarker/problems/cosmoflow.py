"""CosmoFlow: cosmological parameters from a volume of dark matter."""

from __future__ import annotations

from benchmarker.api.optimizer import Optimizer
from benchmarker.api.problem import Problem, Published
from benchmarker.graph.network import Network
from benchmarker.graph.recorder import Value
from benchmarker.graph.types import Distribution
from benchmarker.problems.layers.sizes import same_pads, scaled
from benchmarker.quick_dataclass import dataclass

CONVOLUTIONS = (32, 64, 128, 256, 512)
HIDDEN = (128, 64)
"""Filters of the convolutions, each followed by 2x2x2 pooling, and units of the hidden layers."""
SLOPE = 0.3
"""Of the leaky rectifiers, Keras's default."""
RANGE = 1.2
"""The outputs are a hyperbolic tangent times this."""


@dataclass(frozen=True)
class Parameters:
    """Sizes of the network.

    ``channels`` are the red shifts, ``targets`` the parameters of the universe to predict; ``width``
    multiplies the filters of every convolution; ``kernel`` is 3 in MLPerf HPC v1.0 and later, 2 in v0.7.
    """

    volume_size: int = 128
    channels: int = 4
    targets: int = 4
    width: float = 1.0
    kernel: int = 3
    dropout: float = 0.5


def leaky(net: Network, x: Value) -> Value:
    """Leaky rectifier."""
    result: Value = net.leaky_relu(x, alpha=SLOPE)
    return result


def build(net: Network, p: Parameters) -> None:
    x = net.input("volume", (p.channels, *(p.volume_size,) * 3))
    target = net.input("target", (p.targets,), distribution=Distribution("uniform", 1.0))
    for number, filters in enumerate(CONVOLUTIONS, start=1):
        pads = same_pads(x.shape[2:], p.kernel)
        x = net.convolution(f"conv{number}", x, scaled(filters, p.width), p.kernel, pads=pads)
        x = net.pool(leaky(net, x), 2)
    x = net.flatten(x)
    for number, units in enumerate(HIDDEN, start=1):
        x = net.dropout(leaky(net, net.dense(f"fc{number}", x, units)), ratio=p.dropout)
    x = net.affine(net.tanh(net.dense("fc3", x, p.targets)), alpha=RANGE)
    net.output(x)
    net.loss(net.mean_squared_error_loss(x, target))


def benchmarker_problem() -> Problem:
    return Problem(
        name="cosmoflow",
        task="regression of volumes",
        source="Mathuriya et al. 2018, arXiv 1808.04728, in the form of MLPerf HPC v1.0; kernel=2 is v0.7's",
        parameters=Parameters,
        build=build,
        optimizer=Optimizer("momentum", learning_rate=1e-3, momentum=0.9),
        batch_size=1,
        published=(
            Published(8_907_556, 68_862_099_968),
            Published(5_597_604, 20_409_500_160, {"kernel": 2}),
        ),
        reduced={"volume_size": 32, "width": 0.0625},
        reduced_batch_size=2,
    )
