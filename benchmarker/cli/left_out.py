"""Files that were left out, named on standard error in the same words by every command."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from benchmarker.errors import printable

SHOWN = 20
"""Files named one by one."""


def tell_left_out(files: Mapping[Path, str]) -> None:
    """Name files and what is wrong with them."""
    for path, reason in list(files.items())[:SHOWN]:
        print(printable(f"left out: {path}: {reason}"), file=sys.stderr)
    if len(files) > SHOWN:
        print(f"left out: {len(files) - SHOWN} more", file=sys.stderr)
