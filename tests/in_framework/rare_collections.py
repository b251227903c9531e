"""Garbage is collected rarely: to look through all that frameworks keep, every 700 new objects, costs a tenth."""

from __future__ import annotations

import gc

MIN_OBJECTS_TO_COLLECT = 20_000


def collect_rarely() -> None:
    """Leave what there is now alone, and look at what is made from here on once there is much of it."""
    gc.freeze()
    gc.set_threshold(MIN_OBJECTS_TO_COLLECT)
