"""VGG-16."""

from __future__ import annotations

from benchmarker.framework import Optimizer
from benchmarker.graph.network import Network
from benchmarker.layers import vgg
from benchmarker.problem import Problem, Published

GROUPS = ((2, 64), (2, 128), (3, 256), (3, 512), (3, 512))
"""3x3 convolutions and their filters before each pooling (Simonyan & Zisserman 2014, table 1, column D)."""


def build(net: Network, p: vgg.ImageNet) -> None:
    """Add the network to ``net``."""
    vgg.classify(net, p, GROUPS)


def benchmarker_problem() -> Problem:
    """Return the problem."""
    return Problem(
        name="vgg16",
        task="image classification",
        source="Simonyan & Zisserman 2014, arXiv 1409.1556, table 1, column D",
        parameters=vgg.ImageNet,
        build=build,
        optimizer=Optimizer("momentum", learning_rate=0.01, momentum=0.9),
        batch_size=4,
        published=(Published(138_357_544, 30_940_528_640),),
        reduced=vgg.REDUCED,
        reduced_batch_size=2,
    )
