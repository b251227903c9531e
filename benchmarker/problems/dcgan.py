"""DCGAN: a generator and a discriminator that learn from each other."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarker.api.optimizer import Optimizer
from benchmarker.api.problem import Problem, Published
from benchmarker.graph.initializers import ONES, ZEROS, he_normal
from benchmarker.graph.network import Network
from benchmarker.graph.recorder import Value
from benchmarker.graph.types import Distribution
from benchmarker.problems.layers.sizes import scaled
from benchmarker.quick_dataclass import dataclass

GENERATOR = (512, 256, 128, 64)
DISCRIMINATOR = (64, 128, 256, 512)
"""Filters of the 4x4 convolutions from noise to image and from image to verdict (Radford et al. 2015, figure 1)."""
IMAGE_SIZE = 64
SLOPE = 0.2
"""Of the discriminator's leaky rectifiers."""

Weights = Mapping[str, Value]


@dataclass(frozen=True)
class Parameters:
    """Sizes of the networks; ``width`` multiplies the filters of every layer."""

    noise: int = 100
    channels: int = 3
    width: float = 1.0


def generator(net: Network, noise: Value, p: Parameters) -> Value:
    """Images from noise: each transposed convolution doubles the size."""
    x = noise
    for number, filters in enumerate(GENERATOR, start=1):
        name, stride = f"generator.conv{number}", 1 if number == 1 else 2
        x = net.transposed_convolution(
            name, x, scaled(filters, p.width), 4, stride=stride, pad=stride - 1, bias=False
        )
        x = net.relu(net.batch_norm(f"generator.bn{number}", x))
    x = net.transposed_convolution("generator.conv5", x, p.channels, 4, stride=2, pad=1, bias=False)
    result: Value = net.tanh(x)
    return result


def discriminator_weights(net: Network, p: Parameters) -> dict[str, Value]:
    """Declare the discriminator's parameters, which it takes for real and for made images."""
    weights: dict[str, Value] = {}
    channels = p.channels
    for number, filters in enumerate((*(scaled(f, p.width) for f in DISCRIMINATOR), 1), start=1):
        shape = (filters, channels, 4, 4)
        weights[f"conv{number}"] = net.parameter(
            f"discriminator.conv{number}.weight", shape, he_normal(channels * 16)
        )
        if 1 < number <= len(DISCRIMINATOR):
            bn = f"discriminator.bn{number}"
            weights[f"scale{number}"] = net.parameter(f"{bn}.weight", (filters,), ONES)
            weights[f"shift{number}"] = net.parameter(f"{bn}.bias", (filters,), ZEROS)
        channels = filters
    return weights


def discriminator(net: Network, name: str, image: Value, weights: Weights) -> Value:
    """Logit of each image's being real; each pass keeps running statistics of its own."""
    x = image
    for number in range(1, len(DISCRIMINATOR) + 1):
        x = net.named(f"{name}.conv{number}").conv(
            x, weights[f"conv{number}"], strides=(2, 2), pads=(1,) * 4, dilations=(1, 1)
        )
        if number > 1:
            x = _normalized(
                net, f"{name}.bn{number}", x, weights[f"scale{number}"], weights[f"shift{number}"]
            )
        x = net.leaky_relu(x, alpha=SLOPE)
    x = net.named(f"{name}.conv5").conv(x, weights["conv5"], strides=(1, 1), pads=(0,) * 4, dilations=(1, 1))
    result: Value = net.flatten(x)
    return result


def _normalized(net: Network, name: str, x: Value, scale: Value, shift: Value) -> Value:
    mean = net.parameter(f"{name}.running_mean", scale.shape, ZEROS, trainable=False)
    variance = net.parameter(f"{name}.running_var", scale.shape, ONES, trainable=False)
    result: Value = net.named(name).batch_normalization(x, scale, shift, mean, variance)
    return result


def build(net: Network, p: Parameters) -> None:
    """Add both networks to ``net``; it returns images that the generator makes.

    The loss is the sum of both players' losses, in whose every term one player's parameters stand still:
    a step along its gradient is a step of each player along the gradient of its own loss, at once.
    """
    noise = net.input("noise", (p.noise, 1, 1))
    real = net.input("image", (p.channels, IMAGE_SIZE, IMAGE_SIZE), distribution=Distribution("uniform", 1.0))
    true = net.input("true", (1,), distribution=ONES)
    false = net.input("false", (1,), distribution=ZEROS)
    made = generator(net, noise, p)
    net.output(made)
    weights = discriminator_weights(net, p)
    frozen = {name: net.stop_gradient(weight) for name, weight in weights.items()}
    seen_real = discriminator(net, "real", real, weights)
    seen_made = discriminator(net, "made", net.stop_gradient(made), weights)
    fooled = discriminator(net, "fooled", made, frozen)
    discriminating = net.add(
        net.binary_cross_entropy_loss(seen_real, true), net.binary_cross_entropy_loss(seen_made, false)
    )
    net.loss(net.add(discriminating, net.binary_cross_entropy_loss(fooled, true)))


def benchmarker_problem() -> Problem:
    return Problem(
        name="dcgan",
        task="image generation",
        source="Radford et al. 2015, arXiv 1511.06434, figure 1 and section 4; both players move at once",
        parameters=Parameters,
        build=build,
        optimizer=Optimizer("adam", learning_rate=2e-4, beta1=0.5),
        batch_size=16,
        published=(Published(6_342_272, 209_256_448),),
        reduced={"noise": 8, "width": 0.03125},
        reduced_batch_size=4,
    )
