"""Networks of 3x3 convolutions for ImageNet (Simonyan & Zisserman 2014, arXiv 1409.1556, table 1)."""

from __future__ import annotations

from functools import partial

from benchmarker.api.optimizer import Optimizer
from benchmarker.api.problem import Problem, Published
from benchmarker.problems.layers import vgg


def _member(layers: int, column: str, convolutions: tuple[int, ...], published: Published) -> Problem:
    """Return a column of the table: the 3x3 convolutions before each of its five poolings, and its size."""
    groups = tuple(zip(convolutions, vgg.FILTERS))
    return Problem(
        name=f"vgg{layers}",
        task="image classification",
        source=f"Simonyan & Zisserman 2014, arXiv 1409.1556, table 1, column {column}",
        parameters=vgg.ImageNet,
        build=partial(vgg.classify, groups=groups),
        optimizer=Optimizer("momentum", learning_rate=0.01, momentum=0.9),
        batch_size=4,
        published=(published,),
        reduced=vgg.REDUCED,
        reduced_batch_size=2,
    )


VGG16 = _member(16, "D", (2, 2, 3, 3, 3), Published(138_357_544, 30_940_528_640))
VGG19 = _member(19, "E", (2, 2, 4, 4, 4), Published(143_667_240, 39_264_124_928))
