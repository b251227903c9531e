"""RoBERTa, large size."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarker.framework import Optimizer
from benchmarker.problem import Problem, Published
from benchmarker.problems import roberta_base


@dataclass(frozen=True)
class Parameters(roberta_base.Parameters):
    """Sizes of the network, as those of ``roberta_base``."""

    length: int = 256
    layers: int = 24
    width: int = 1024
    heads: int = 16
    feed_forward: int = 4096


def benchmarker_problem() -> Problem:
    """Return the problem."""
    return Problem(
        name="roberta_large",
        task="language modelling",
        source="Liu et al. 2019, arXiv 1907.11692, section 5 and table 9; 256 tokens as undertherain/benchmarker",
        parameters=Parameters,
        build=roberta_base.build,
        optimizer=Optimizer("adamw", learning_rate=4e-4, beta2=0.98, epsilon=1e-6, weight_decay=0.01),
        batch_size=2,
        published=(
            Published(355_412_057, 187_951_480_832),
            Published(355_412_057, 92_365_127_680, {"length": 128}),
            Published(355_412_057, 388_787_863_552, {"length": 512}),
        ),
        reduced=roberta_base.REDUCED,
        reduced_batch_size=4,
    )
