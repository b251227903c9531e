"""What decides about a training where several processes make it: they must all go on, or all end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarker.api.program import Program
from benchmarker.data.evaluation import Evaluation
from benchmarker.worker.training.evaluation import Evaluator

if TYPE_CHECKING:
    from benchmarker.worker.training.evaluation import Weights


class Together:
    """A training of one process, which decides alone; of several ranks it is overridden.

    Attributes
    ----------
    others : tuple of int
        The other processes of the training.
    """

    others: tuple[int, ...] = ()

    def loss(self, value: float) -> float:
        """Return the loss of all rows of a mini-batch, of that of the own ones."""
        return value

    def decided(self, value: bool) -> bool:
        """Return what is decided, where each may have found something else."""
        return value

    def steps(self, name: str, value: int) -> int:
        """Return how many steps all of them make."""
        return value

    def weights(self, program: Program) -> Weights:
        """Return the weights that are evaluated."""
        return program.evaluation_parameters()

    def evaluation(self, evaluator: Evaluator) -> Evaluation:
        """Return what is found of every sample."""
        return evaluator.evaluate()
