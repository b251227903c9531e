"""ViT-Base with patches of 16 x 16."""

from __future__ import annotations

from benchmarker.framework import Optimizer
from benchmarker.layers.vision_transformer import REDUCED, Parameters, build
from benchmarker.problem import Problem, Published


def benchmarker_problem() -> Problem:
    """Return the problem."""
    return Problem(
        name="vit_base_16",
        task="image classification",
        source="Dosovitskiy et al. 2020, arXiv 2010.11929, table 1; dropout, learning rate and weight decay as on "
        "ImageNet (table 3), with the decoupled decay, AdamW, that Touvron et al. 2020, table 9, give for it",
        parameters=Parameters,
        build=build,
        optimizer=Optimizer("adamw", learning_rate=3e-3, weight_decay=0.3),
        batch_size=4,
        published=(Published(86_567_656, 35_127_656_448),),
        reduced=REDUCED,
    )
