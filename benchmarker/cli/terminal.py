"""How wide the output may be, and what the terminal or the system may ask of a command."""

from __future__ import annotations

import shutil
import signal
from typing import Any

NARROWEST = 40
"""Columns below which nothing could be read."""


def output_width() -> int:
    """Return the columns of the terminal that standard output goes to; 80 where it goes to none."""
    return max(NARROWEST, shutil.get_terminal_size((80, 24)).columns)


def end_as_interrupted() -> None:
    """Asked to end, or left by its terminal, a command shall end its worker and leave a record."""
    signal.signal(signal.SIGTERM, _interrupt)
    signal.signal(signal.SIGHUP, _interrupt)


def _interrupt(*_: Any) -> None:
    raise KeyboardInterrupt
