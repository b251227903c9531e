"""What a training goes on from: all that one step of a program hands to the next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING

from benchmarker.quick_dataclass import dataclass

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Array = npt.NDArray[np.generic]


@dataclass(frozen=True)
class TrainingState:
    """A program for training between two of its steps, in terms that every framework understands.

    Parameters
    ----------
    steps : int
        Steps that led here, an update each.
    parameters : mapping
        All parameters and running statistics, as :meth:`~benchmarker.api.program.Program.parameters` tells them.
    optimizer : mapping
        By letter and parameter, as :meth:`~benchmarker.api.program.Program.optimizer_state` tells it.
    numbers : mapping
        What the rule keeps from update to update (``memory`` of :meth:`~benchmarker.api.update_rule.UpdateRule.
        numbers`), for programs that compute it.
    native : mapping
        As :meth:`~benchmarker.api.program.Program.native_state` told it, of the very same framework; empty where
        another one has made the steps.
    """

    steps: int
    parameters: Mapping[str, Array]
    optimizer: Mapping[str, Mapping[str, Array]]
    numbers: Mapping[str, float] = field(default_factory=dict)
    native: Mapping[str, Array] = field(default_factory=dict)
