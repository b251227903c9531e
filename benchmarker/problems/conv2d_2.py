"""Two pairs of 2x2 convolutions on an image of one channel, with two classes."""

from __future__ import annotations

from benchmarker.api.optimizer import Optimizer
from benchmarker.api.problem import Problem, Published
from benchmarker.graph.network import Network
from benchmarker.graph.types import Distribution
from benchmarker.problems.layers.sizes import same_pads
from benchmarker.quick_dataclass import dataclass


@dataclass(frozen=True)
class Parameters:
    """Sizes of the network."""

    image_size: int = 128
    channels: int = 1
    filters: int = 64
    kernel: int = 2


def build(net: Network, p: Parameters) -> None:
    """Add the network to ``net``; it returns the probability of the second class."""
    x = net.input("image", (p.channels, p.image_size, p.image_size))
    target = net.input("target", (1,), distribution=Distribution("integers", 2))
    for pair in (1, 2):
        if pair == 2:
            x = net.pool(x, 2)
        for layer in (1, 2):
            pads = same_pads(x.shape[2:], p.kernel)
            x = net.relu(net.convolution(f"conv{pair}_{layer}", x, p.filters, p.kernel, pads=pads))
    x = net.dense("fc", net.flatten(x), 1)
    net.output(net.sigmoid(x))
    net.loss(net.binary_cross_entropy_loss(x, target))


def benchmarker_problem() -> Problem:
    return Problem(
        name="conv2d_2",
        task="image classification",
        source="Drozd & Matsuoka, benchmarker (poster), conv2d_2; padding 'same' as in its Keras kernel",
        parameters=Parameters,
        build=build,
        optimizer=Optimizer("adam", learning_rate=0.001),
        batch_size=8,
        published=(Published(311_809, 814_219_264),),
        reduced={"image_size": 12, "filters": 6},
        reduced_batch_size=4,
    )
