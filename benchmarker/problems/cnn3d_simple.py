"""Two convolutions and a fully connected layer on volumes."""

from __future__ import annotations

from benchmarker.api.optimizer import Optimizer
from benchmarker.api.problem import Problem, Published
from benchmarker.graph.network import Network
from benchmarker.graph.types import Distribution
from benchmarker.problems.layers.sizes import window_pads
from benchmarker.quick_dataclass import dataclass


@dataclass(frozen=True)
class Parameters:
    """Sizes of the network; ``padding`` is ``same`` or ``valid``."""

    volume_size: int = 64
    channels: int = 1
    filters: int = 32
    kernel: int = 2
    padding: str = "same"


def build(net: Network, p: Parameters) -> None:
    """Add the network to ``net``; it returns the probability of the second class."""
    x = net.input("volume", (p.channels, *(p.volume_size,) * 3))
    target = net.input("target", (1,), distribution=Distribution("integers", 2))
    for layer in (1, 2):
        pads = window_pads(p.padding, x.shape[2:], p.kernel)
        x = net.relu(net.convolution(f"conv{layer}", x, p.filters, p.kernel, pads=pads))
    x = net.dense("fc", net.flatten(x), 1)
    net.output(net.sigmoid(x))
    net.loss(net.binary_cross_entropy_loss(x, target))


def benchmarker_problem() -> Problem:
    return Problem(
        name="cnn3d_simple",
        task="volume classification",
        source="benchmarker, kernels/cnn3d_simple, Keras's form; padding=valid is MXNet's, and with kernel=3 "
        "and filters=16 Chainer's",
        parameters=Parameters,
        build=build,
        optimizer=Optimizer("adam", learning_rate=0.001),
        batch_size=4,
        published=(
            Published(8_397_121, 4_445_962_240),
            Published(7_635_009, 4_048_043_008, {"padding": "valid"}),
            Published(3_463_377, 3_198_811_392, {"padding": "valid", "kernel": 3, "filters": 16}),
        ),
        reduced={"volume_size": 8, "filters": 4},
        reduced_batch_size=4,
    )
