"""DeiT-Base with patches of 16 x 16: the network of ViT-Base, trained without dropout."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarker.framework import Optimizer
from benchmarker.layers import vision_transformer
from benchmarker.problem import Problem, Published


@dataclass(frozen=True)
class Parameters(vision_transformer.Parameters):
    """Sizes of the network, as those of ``vit_base_16``."""

    dropout: float = 0.0


def benchmarker_problem() -> Problem:
    """Return the problem."""
    return Problem(
        name="deit_base_16",
        task="image classification",
        source="Touvron et al. 2020, arXiv 2012.12877, table 1 and table 9, without distillation",
        parameters=Parameters,
        build=vision_transformer.build,
        optimizer=Optimizer("adamw", learning_rate=5e-4, weight_decay=0.05),
        batch_size=4,
        published=(Published(86_567_656, 35_127_656_448),),
        reduced=vision_transformer.REDUCED,
    )
