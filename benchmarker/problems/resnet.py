"""Residual networks for ImageNet, 18 to 152 layers (He et al. 2015, arXiv 1512.03385, table 1)."""

from __future__ import annotations

from functools import partial

from benchmarker.api.optimizer import Optimizer
from benchmarker.api.problem import Problem, Published, with_defaults
from benchmarker.problems.layers import resnet

V1_5 = "; v1.5: stride in the 3x3 convolution"


def _member(layers: int, block: resnet.Block, blocks: str, published: Published, note: str = "") -> Problem:
    """Return a column of the table: its block, how many of it the four stages have, and its size."""
    return Problem(
        name=f"resnet{layers}",
        task="image classification",
        source=f"He et al. 2015, arXiv 1512.03385, table 1, {layers} layers{note}",
        parameters=with_defaults(resnet.ImageNet, blocks=blocks),
        build=partial(resnet.classify, block=block),
        optimizer=Optimizer("momentum", learning_rate=0.01, momentum=0.9),
        batch_size=4,
        published=(published,),
        reduced=resnet.REDUCED,
        reduced_batch_size=4,
    )


RESNET18 = _member(18, resnet.basic, "2-2-2-2", Published(11_689_512, 3_628_146_688))
RESNET34 = _member(34, resnet.basic, "3-4-6-3", Published(21_797_672, 7_327_522_816))
RESNET50 = _member(50, resnet.bottleneck, "3-4-6-3", Published(25_557_032, 8_178_368_512), V1_5)
RESNET101 = _member(101, resnet.bottleneck, "3-4-23-3", Published(44_549_160, 15_602_810_880), V1_5)
RESNET152 = _member(152, resnet.bottleneck, "3-8-36-3", Published(60_192_808, 23_027_253_248), V1_5)
