"""What trainings of a recipe came to, seed by seed: what its target is chosen by, and held to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Optional, Tuple

from benchmarker.errors import UsageError
from benchmarker.quick_dataclass import dataclass
from benchmarker.training.recipe import METRICS, Target

MIN_SEEDS = 20
"""Seeds that a target needs."""


@dataclass(frozen=True)
class ReferenceRun:
    """One training to the recipe's limits.

    Parameters
    ----------
    seed : int
        Of the run.
    steps : int or None
        Updates until the target; None if it was not reached.
    best, last : float
        Values of the target's metric.
    """

    seed: int
    steps: Optional[int]
    best: float
    last: float


@dataclass(frozen=True)
class ReferenceRuns:
    """The reference runs of a recipe.

    Parameters
    ----------
    recipe : str
        Digest of the recipe that was trained.
    framework : str
        What trained it, with its version.
    runs : tuple of ReferenceRun
        In the order of the seeds.
    """

    recipe: str
    framework: str
    runs: Tuple[ReferenceRun, ...]

    @staticmethod
    def read(path: Path) -> ReferenceRuns:
        """Read them from JSON.

        Raises
        ------
        UsageError
            If the file cannot be read or holds something else.
        """
        try:
            values = json.loads(path.read_text(encoding="utf-8"))
            runs = tuple(ReferenceRun(**run) for run in values["runs"])
            return ReferenceRuns(values["recipe"], values["framework"], runs)
        except OSError as error:
            raise UsageError(f"the reference runs '{path}' cannot be read: {error.strerror}") from None
        except (KeyError, TypeError, ValueError):
            raise UsageError(f"'{path}' holds no reference runs of a recipe") from None

    def check(self, target: Target, name: str) -> None:
        """Refuse a target that no run reached.

        Raises
        ------
        UsageError
            With the best value that there was.
        """
        values = [run.best for run in self.runs]
        if any(map(target.is_reached, values)):
            return
        best = max(values) if METRICS[target.metric] else min(values)
        raise UsageError(
            f"the target of recipe '{name}', {target.metric} {target.value:g}, was not reached by any of its "
            f"{len(values)} reference runs, the best of which came to {best:.4g}; choose another"
        )
