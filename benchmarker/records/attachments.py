"""What lies beside a record: only files that the store itself would have written there."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarker.records import places

LOG, TRACE = ".log", ".trace.json.gz"
"""Endings in the place of the record's own."""
MAX_BYTES = 1 << 30
"""Of one file: more than workers may print, and than a trace may have."""


def log_of(file: Path, name: object) -> Path | None:
    """Return the log of a record's file, given the name that the record tells; None if it has none."""
    return _own(file, LOG, name)


def trace_of(file: Path, name: object) -> Path | None:
    """Return the trace of a record's file, given the name that the record tells; None if it has none."""
    return _own(file, TRACE, name)


def attachments_of(file: Path) -> dict[str, Path]:
    """Return the files that lie beside one that the store has just written, by ending."""
    found = {ending: file.with_suffix(ending) for ending in (LOG, TRACE)}
    return {ending: path for ending, path in found.items() if path.is_file()}


def named_by(file: Path, record: Mapping[str, Any]) -> dict[str, Path]:
    """Return the files beside a record's that the record tells of, by ending."""
    found = {LOG: log_of(file, record.get("log")), TRACE: trace_of(file, trace_name(record))}
    return {ending: path for ending, path in found.items() if path is not None}


def trace_name(record: Mapping[str, Any]) -> object:
    profile = record.get("profile")
    return profile.get("trace") if isinstance(profile, Mapping) else None


def naming(record: Mapping[str, Any], stem: str, endings: Mapping[str, object]) -> dict[str, Any]:
    """Return a record that names the files beside it, of these endings and this stem."""
    named = {**record, "log": f"{stem}{LOG}" if LOG in endings else None}
    if isinstance(record.get("profile"), Mapping):
        trace = f"{stem}{TRACE}" if TRACE in endings else None
        named["profile"] = {**record["profile"], "trace": trace}
    return named


def _own(file: Path, ending: str, name: object) -> Path | None:
    # A record may come from anywhere, so a name in it leads nowhere else, and a link is not followed.
    path = file.with_suffix(ending)
    if name == path.name:
        places.fetch(path)
    if name != path.name or path.is_symlink() or not path.is_file():
        return None
    return path if path.stat().st_size <= MAX_BYTES else None
