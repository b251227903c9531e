"""How well a number should be known, and the profiles that name what is usual."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarker.quick_dataclass import dataclass


@dataclass(frozen=True)
class Precision:
    """How well a number should be known, and what that may take.

    Parameters
    ----------
    profile : str or None
        Name of the profile that it comes from.
    half_width : float
        Relative half-width of the 95 % interval between processes, at most; 0.02 is 2 %.
    min_processes, max_processes : int
        Fresh processes for a cell.
    budget_seconds : float
        Time for a cell, after which no further process is started.
    min_steady_seconds : float
        Time that the steady part of each process should last.
    min_steps : int
        Steps that the steady part of each process should have.
    """

    profile: str | None
    half_width: float
    min_processes: int
    max_processes: int
    budget_seconds: float
    min_steady_seconds: float
    min_steps: int


PROFILES: Mapping[str, Precision] = {
    precision.profile: precision
    for precision in (
        Precision("quick", 0.05, 5, 10, 2 * 60.0, 1.0, 20),
        Precision("standard", 0.02, 10, 30, 15 * 60.0, 2.0, 30),
        Precision("rigorous", 0.01, 15, 60, 60 * 60.0, 5.0, 50),
    )
    if precision.profile
}
