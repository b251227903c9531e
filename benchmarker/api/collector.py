"""The collector contract: a context around a run that reads facts about the machine and the run."""

from __future__ import annotations

from typing import Any

from benchmarker.quick_dataclass import dataclass

Readings = Any
"""JSON values: an object, or a list where there may be several of the same thing."""


@dataclass(frozen=True)
class Run:
    """What a collector may look at of a run.

    Parameters
    ----------
    framework : str
        Its name.
    problem : str
        Its name; of one that is a file, with the absolute path.
    mode : str
        ``inference``, ``training`` or ``gradient``.
    device : str
        ``cpu`` or ``cuda``.
    gpus : tuple of int
        Indices of the GPUs that the worker may see; empty on a CPU.
    threads : int
        For computing inside operators.
    anonymous : bool
        Whether host and user names stay out of the record.
    """

    framework: str
    problem: str
    mode: str = "training"
    device: str = "cpu"
    gpus: tuple[int, ...] = ()
    threads: int = 1
    anonymous: bool = False


class Unavailable(Exception):  # noqa: N818 - a fact about the machine, not a fault
    """Raised by a collector that has nothing to read here, with the reason.

    Parameters
    ----------
    reason : str
        Why, e.g. ``"no NVIDIA driver is loaded"``.
    readings : JSON value
        What to record all the same, e.g. an empty list of GPUs.
    """

    def __init__(self, reason: str, readings: Readings = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.readings = readings
