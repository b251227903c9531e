"""The log beside a record: only the file that the store itself would have written there."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any


def log_of(file: Path, record: Mapping[str, Any]) -> Path | None:
    """Return the log of a record's file, ``None`` if it has none.

    A record may come from anywhere, so a name in it leads nowhere else: the log has the record's own name,
    lies in its folder and is no link.
    """
    log = file.with_suffix(".log")
    if record.get("log") != log.name or log.is_symlink() or not log.is_file():
        return None
    return log
