"""A convolutional autoencoder for MNIST."""

from __future__ import annotations

from benchmarker.api.optimizer import Optimizer
from benchmarker.api.problem import Problem, Published
from benchmarker.graph.network import Network
from benchmarker.graph.types import Distribution
from benchmarker.quick_dataclass import dataclass


@dataclass(frozen=True)
class Parameters:
    """Sizes of the network."""

    image_size: int = 28
    channels: int = 1
    filters: int = 32


def build(net: Network, p: Parameters) -> None:
    """Add the network to ``net``; it returns the image's pixels, which its loss compares to the image."""
    image = net.input(
        "image", (p.channels, p.image_size, p.image_size), distribution=Distribution("uniform", 1.0, low=0.0)
    )
    x = image
    for number in (1, 2):
        x = net.pool(net.relu(net.convolution(f"encoder{number}", x, p.filters, 3, pad=1)), 2)
    for number in (1, 2):
        name = f"decoder{number}"
        x = net.relu(net.transposed_convolution(name, x, p.filters, 3, stride=2, pad=1, output_padding=1))
    x = net.convolution("pixels", x, p.channels, 3, pad=1)
    net.output(net.sigmoid(x))
    net.loss(net.binary_cross_entropy_loss(x, image))


def benchmarker_problem() -> Problem:
    return Problem(
        name="conv_autoencoder",
        task="image reconstruction",
        source="keras-io, examples/vision/autoencoder; its transposed convolutions cut the border at the front, "
        "Keras's at the back",
        parameters=Parameters,
        build=build,
        optimizer=Optimizer("adam", learning_rate=0.001),
        batch_size=128,
        published=(Published(28_353, 9_031_680),),
        reduced={"image_size": 12, "filters": 6},
        reduced_batch_size=4,
    )
