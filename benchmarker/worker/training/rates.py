"""The constants of the optimizer at each step, and the one place where a program is given them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.api.optimizer import Optimizer, constants
from benchmarker.api.program import Program
from benchmarker.errors import UsageError
from benchmarker.training.recipe import Training
from benchmarker.training.schedules import table, table_digest

if TYPE_CHECKING:
    import numpy.typing as npt

    Tables = Mapping[str, npt.NDArray[np.float64]]


def _check_scheduled(name: str, optimizer: Optimizer) -> None:
    words = name.replace("_", " ")
    if name not in constants(optimizer.kind):
        raise UsageError(
            f"optimizer '{optimizer.kind}' has no {words} that a schedule could change; leave it out"
        )
    if name != "learning_rate" and not getattr(optimizer, name):
        raise UsageError(f"a schedule multiplies the {words} of the optimizer, which is 0; give it a value")


class Rates:
    """Tables of those constants that change.

    Parameters
    ----------
    tables : mapping
        Values of each constant by the index of the step.
    optimizer : Optimizer
        With all other constants.
    """

    def __init__(self, tables: Tables, optimizer: Optimizer) -> None:
        self._tables = tables
        self._optimizer = optimizer
        self._changes = self._changing()
        self._numbers: dict[str, float] = {}
        self._counted = 0

    @staticmethod
    def of(training: Training, optimizer: Optimizer, steps: int, steps_per_epoch: int) -> Rates:
        """Return the tables of a recipe.

        Raises
        ------
        UsageError
            If a schedule is shorter than the training, or of a constant that the optimizer has not.
        """
        for name in training.schedules:
            _check_scheduled(name, optimizer)
        found = {
            name: table(schedule, getattr(optimizer, name), steps, steps_per_epoch, name.replace("_", " "))
            for name, schedule in training.schedules.items()
        }
        found.setdefault("learning_rate", np.full(steps, optimizer.learning_rate))
        return Rates(found, optimizer)

    def _changing(self) -> bytes:
        """Return of each step whether a constant changes before it; the program is built with those of none."""
        found = np.zeros(len(next(iter(self._tables.values()))), np.bool_)
        for name, values in self._tables.items():
            found[:1] |= values[:1] != getattr(self._optimizer, name)
            found[1:] |= values[1:] != values[:-1]
        return found.tobytes()

    def optimizer(self, index: int) -> Optimizer:
        """Return the optimizer as it is at a step."""
        return replace(self._optimizer, **self.at(index))

    def at(self, index: int) -> dict[str, Any]:
        """Return the scheduled constants of a step."""
        return {name: float(values[index]) for name, values in self._tables.items()}

    def give(self, program: Program, index: int) -> None:
        """Give a program the constants of a step, if they are others than before it."""
        if self._changes[index]:
            program.set_hyperparameters(self.at(index))

    def prepared(self, program: Program, index: int) -> Any:
        """Return the constants of a step as the program uses them; None where they are those of the step before."""
        return program.prepare_hyperparameters(self.at(index)) if self._changes[index] else None

    def give_base(self, program: Program) -> None:
        """Give a program the constants that schedules started from."""
        if any(self._changes):
            program.set_hyperparameters({name: getattr(self._optimizer, name) for name in self._tables})

    def numbers(self, steps: int) -> dict[str, float]:
        """Return what the rule keeps from update to update, after so many of them; these only become more."""
        for index in range(self._counted, steps):
            self.optimizer(index).rule.numbers(index + 1, self._numbers)
            if not self._numbers:
                return {}  # what keeps nothing of the first keeps nothing
            self._counted = index + 1
        return dict(self._numbers)

    @property
    def digests(self) -> dict[str, str]:
        """SHA-256 of each table's little-endian float64 values."""
        return {name: table_digest(values) for name, values in self._tables.items()}
