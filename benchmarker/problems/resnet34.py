"""ResNet-34."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarker.framework import Optimizer
from benchmarker.graph.network import Network
from benchmarker.layers import resnet
from benchmarker.problem import Problem, Published


@dataclass(frozen=True)
class Parameters(resnet.ImageNet):
    """Sizes of the network: ``blocks`` of its four stages, ``width`` times the table's filters."""

    blocks: str = "3-4-6-3"


def build(net: Network, p: Parameters) -> None:
    """Add the network to ``net``."""
    resnet.classify(net, p, resnet.basic)


def benchmarker_problem() -> Problem:
    """Return the problem."""
    return Problem(
        name="resnet34",
        task="image classification",
        source="He et al. 2015, arXiv 1512.03385, table 1, 34 layers",
        parameters=Parameters,
        build=build,
        optimizer=Optimizer("momentum", learning_rate=0.01, momentum=0.9),
        batch_size=4,
        published=(Published(21_797_672, 7_327_522_816),),
        reduced=resnet.REDUCED,
        reduced_batch_size=4,
    )
