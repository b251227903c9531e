"""The collector contract: a context around a run that reads facts about the machine and the run."""

from __future__ import annotations

from typing import Any

Readings = Any
"""JSON values: an object, or a list where there may be several of the same thing."""


class NothingToRead(Exception):  # noqa: N818 - a fact about the machine, not a fault
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
