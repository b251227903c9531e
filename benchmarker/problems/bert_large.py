"""BERT-Large."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarker.framework import Optimizer
from benchmarker.problem import Problem, Published
from benchmarker.problems import bert_base


@dataclass(frozen=True)
class Parameters(bert_base.Parameters):
    """Sizes of the network, as those of ``bert_base``."""

    layers: int = 24
    width: int = 1024
    heads: int = 16
    feed_forward: int = 4096


def benchmarker_problem() -> Problem:
    """Return the problem."""
    return Problem(
        name="bert_large",
        task="language modelling",
        source="Devlin et al. 2018, arXiv 1810.04805, section 3 and appendix A.2",
        parameters=Parameters,
        build=bert_base.build,
        optimizer=Optimizer("adamw", learning_rate=1e-4, epsilon=1e-6, weight_decay=0.01),
        batch_size=2,
        published=(
            Published(335_174_458, 87_189_618_688),
            Published(335_174_458, 177_600_462_848, {"length": 256}),
            Published(335_174_458, 368_085_827_584, {"length": 512}),
            Published(335_144_963, 78_922_127_360, {"head": "classification"}),
        ),
        reduced=bert_base.REDUCED,
        reduced_batch_size=4,
    )
