"""What a training has come to: a row per evaluation, and why it ended."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import asdict, fields
from typing import Any, Optional

from benchmarker.quick_dataclass import dataclass
from benchmarker.training.recipe import ACCURACY, METRICS, Training

TARGET, STEPS, EPOCHS, SECONDS, LOSS, NO_IMPROVEMENT, DIVERGED = (
    "target",
    "steps",
    "epochs",
    "seconds",
    "loss",
    "no_improvement",
    "diverged",
)
"""Why a training ended."""


@dataclasses.dataclass
class Clocks:
    """Where the time of a training went, nanoseconds; each part is in one of them only.

    Parameters
    ----------
    training : int
        Steps after the first, each row of them closed by the device's synchronisation.
    loading : int
        Making mini-batches and bringing them to the device.
    evaluation : int
        Everything between two rows of steps that judges the weights.
    first_step : int
        The first step, with what it compiles; of a training that has gone on from a checkpoint that of each process.
    checkpoints : int
        Writing checkpoints.
    """

    training: int = 0
    loading: int = 0
    evaluation: int = 0
    first_step: int = 0
    checkpoints: int = 0


@dataclass(frozen=True)
class Row:
    """An evaluation.

    Parameters
    ----------
    step : int
        Updates so far.
    samples : int
        Samples that they took.
    train_loss : float or None
        That the last of them returned; None before the first, or if it is not finite.
    evaluation_loss : float or None
        Mean over the evaluated part.
    correct : int
        Samples of it that are classified rightly.
    training_seconds, loading_seconds, evaluation_seconds : float
        By those clocks, this evaluation included.
    """

    step: int
    samples: int
    train_loss: Optional[float]
    evaluation_loss: Optional[float]
    correct: int
    training_seconds: float
    loading_seconds: float
    evaluation_seconds: float


class Curve:
    """Every evaluation, and what follows from them.

    Parameters
    ----------
    training : Training
        The recipe's table.
    total : int
        Samples that are evaluated.
    """

    def __init__(self, training: Training, total: int) -> None:
        self._training = training
        self._total = total
        self.rows: list[Row] = []
        self.hit: Optional[Row] = None
        self.best: Optional[float] = None
        self.last: Optional[float] = None
        self._without_improvement = 0

    def add(self, row: Row) -> None:
        """Take an evaluation."""
        value = self._value(row)
        self.rows.append(row)
        self.last = value
        self._without_improvement += 1
        if self._is_better(value):
            self.best, self._without_improvement = value, 0
        if self.hit is None and self._training.target.is_reached(value):
            self.hit = row

    def _value(self, row: Row) -> float:
        """Return what the target is of; not a number if that is not known."""
        if self._training.target.metric == ACCURACY:
            return row.correct / self._total
        return math.nan if row.evaluation_loss is None else row.evaluation_loss

    def _is_better(self, value: float) -> bool:
        if self.best is None:
            return not math.isnan(value)
        return value > self.best if METRICS[self._training.target.metric] else value < self.best

    def end(self) -> Optional[str]:
        """Return why the training ends with the last evaluation, or None."""
        limits = self._training.limits
        if self.hit is not None and self._training.early_stop:
            return TARGET
        loss = self.rows[-1].evaluation_loss
        if limits.loss is not None and loss is not None and loss <= limits.loss:
            return LOSS
        if limits.no_improvement is not None and self._without_improvement >= limits.no_improvement:
            return NO_IMPROVEMENT
        return None

    def to_json(self) -> dict[str, Any]:
        """Return a list per column."""
        rows = [asdict(row) for row in self.rows]
        return {field.name: [row[field.name] for row in rows] for field in fields(Row)}
