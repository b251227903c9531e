"""Two convolutions and a fully connected layer on images."""

from __future__ import annotations

from benchmarker.api.optimizer import Optimizer
from benchmarker.api.problem import Problem, Published
from benchmarker.graph.network import Network
from benchmarker.graph.types import Distribution
from benchmarker.problems.layers.sizes import window_pads
from benchmarker.quick_dataclass import dataclass


@dataclass(frozen=True)
class Parameters:
    """Sizes of the network.

    ``padding`` is ``same`` or ``valid``; with two ``classes`` or more there are as many outputs and a
    softmax, with 1 there is one output and a sigmoid.
    """

    image_size: int = 224
    channels: int = 3
    filters: int = 32
    kernel: int = 2
    padding: str = "same"
    classes: int = 1


def build(net: Network, p: Parameters) -> None:
    """Add the network to ``net``; it returns a probability, or the logits of several classes."""
    x = net.input("image", (p.channels, p.image_size, p.image_size))
    binary = p.classes == 1
    label = (
        net.input("target", (1,), distribution=Distribution("integers", 2))
        if binary
        else net.labels("label", p.classes)
    )
    for layer in (1, 2):
        pads = window_pads(p.padding, x.shape[2:], p.kernel)
        x = net.relu(net.convolution(f"conv{layer}", x, p.filters, p.kernel, pads=pads))
    x = net.dense("fc", net.flatten(x), p.classes)
    net.output(net.sigmoid(x) if binary else x)
    net.loss(net.binary_cross_entropy_loss(x, label) if binary else net.softmax_cross_entropy_loss(x, label))


def benchmarker_problem() -> Problem:
    return Problem(
        name="cnn2d_simple",
        task="image classification",
        source="benchmarker, kernels/cnn2d_simple, Keras's form; padding=valid with classes=4 is PyTorch's",
        parameters=Parameters,
        build=build,
        optimizer=Optimizer("adam", learning_rate=0.001),
        batch_size=8,
        published=(
            Published(1_610_177, 452_788_224),
            Published(6_312_900, 454_543_104, {"padding": "valid", "classes": 4}),
        ),
        reduced={"image_size": 10, "filters": 6},
        reduced_batch_size=4,
    )
