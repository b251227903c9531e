"""A training that several ranks make: rank 0 decides, each evaluates its part of the samples."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Optional

import numpy as np

from benchmarker.api.program import Program
from benchmarker.data.evaluation import Evaluation
from benchmarker.worker.ranks.group import Group
from benchmarker.worker.training.evaluation import Evaluator
from benchmarker.worker.training.together import Together

if TYPE_CHECKING:
    from benchmarker.worker.training.evaluation import Weights


class RanksTogether(Together):
    """All ranks of a training, each of which makes the same calls.

    Parameters
    ----------
    group : Group
        The ranks.
    consistent : bool
        Whether all have the same weights after a step; otherwise their mean is evaluated, as by Lian et al. (2017).
    """

    def __init__(self, group: Group, consistent: bool) -> None:
        self._group = group
        self.others = group.others
        self._consistent = consistent

    def loss(self, value: float) -> float:
        """Return the mean: all ranks have as many rows."""
        losses = self._group.gather("loss", _finite(value))
        return sum(map(_number, losses)) / len(losses)

    def decided(self, value: bool) -> bool:
        return self._group.agree("decision", value)

    def steps(self, name: str, value: int) -> int:
        return self._group.agree(name, value)

    def weights(self, program: Program) -> Weights:
        own = program.evaluation_parameters()
        if self._consistent:
            return own
        arrays: dict[str, Any] = {name: np.asarray(array) for name, array in own.items()}
        shared = self._group.share(arrays)
        means = {name: np.mean([each[name] for each in shared], axis=0, dtype=np.float64) for name in arrays}
        return {name: mean.astype(arrays[name].dtype) for name, mean in means.items()}

    def evaluation(self, evaluator: Evaluator) -> Evaluation:
        own = evaluator.evaluate(first=self._group.rank, stride=self._group.size)
        sums: tuple[Any, ...] = (own.correct, own.total, _finite(own.loss_sum))
        parts = self._group.gather("evaluation", sums)
        found = (Evaluation(correct, total, _number(loss)) for correct, total, loss in parts)
        return sum(found, Evaluation())


def _finite(value: float) -> Optional[float]:
    """Return a number as JSON has it: what is none as null."""
    return value if math.isfinite(value) else None


def _number(value: Optional[float]) -> float:
    return math.nan if value is None else value
