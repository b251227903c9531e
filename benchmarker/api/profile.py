"""What a framework's own profiler tells of single operators, in one form for all frameworks."""

from __future__ import annotations

from benchmarker.quick_dataclass import dataclass

PHASES = ("forward", "backward", "update", "other")


@dataclass(frozen=True)
class Call:
    """One operation as the framework ran it; those of one thread do not overlap.

    Parameters
    ----------
    node : str or None
        Name of the graph's node it came from; None if that is not known.
    native : str
        The framework's own name of the operation.
    phase : str
        One of :data:`PHASES`.
    start_seconds : float
        From the beginning of the profile.
    seconds : float
        How long it took, other calls inside it left out.
    thread : int
        Which thread ran it, from 0, the one that runs the steps.
    step : int
        In which step, from 0.
    """

    node: str | None
    native: str
    phase: str
    start_seconds: float
    seconds: float
    thread: int = 0
    step: int = 0


@dataclass(frozen=True)
class Profile:
    """Some steps under a profiler.

    Parameters
    ----------
    source : str
        Which profiler, e.g. ``"torch.profiler"``.
    calls : tuple of Call
        In order of their start.
    steps : tuple of (float, float)
        Start, from the beginning of the profile, and seconds of each step, its synchronisation included.
    """

    source: str
    calls: tuple[Call, ...]
    steps: tuple[tuple[float, float], ...]
