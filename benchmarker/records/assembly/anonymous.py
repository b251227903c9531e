"""Records that name neither host nor user, nor anybody's folder."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarker.experiment.options import RUN_OPTIONS
from benchmarker.machine.identity import without_folders, without_names

MAX_TRACE_TEXT_BYTES = 256 << 20
"""Of a trace that is not compressed; a longer one is left out rather than kept with names."""

_PATHS = tuple(name for name, option in RUN_OPTIONS.items() if option.holds_path)
"""Members of a specification that may hold a path, and in it a name."""


def anonymous_specification(specification: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was asked without names and folders of users, as the record of an anonymous run has it."""
    found: dict[str, Any] = without_folders(specification)
    return {**found, **{name: without_names(found[name]) for name in _PATHS}}


_PATH_OPTIONS = tuple(f"{RUN_OPTIONS[name].flag}=" for name in _PATHS)
_TEXTS = ("error", "platform", "collectors", "monitors", "environment", "verification")
"""Members whose texts are anybody's: what tools, libraries and plug-ins said."""
_NAMED_TEXTS = {"execution": "environment_variables", "framework": "libraries", "device": "name"}


def anonymised(record: dict[str, Any], problem: Path | None) -> dict[str, Any]:
    """Return the record without host and user names, and without folders of users anywhere."""
    found: dict[str, Any] = without_folders(record, problem)
    found.update((name, without_names(found[name])) for name in _TEXTS)
    for name, member in _NAMED_TEXTS.items():
        found[name] = {**found[name], member: without_names(found[name][member])}
    found["specification"] = anonymous_specification(record["specification"])
    found["command"] = [
        without_names(part) if part.startswith(_PATH_OPTIONS) else part for part in found["command"]
    ]
    return found


def anonymous_trace(data: bytes, problem: Path | None) -> bytes | None:
    """Return a gzip-compressed trace without names and folders; None for one that cannot be read."""
    try:
        # What a worker has left may be anything, also a few bytes that become very many.
        reader = zlib.decompressobj(16 + zlib.MAX_WBITS)
        text = reader.decompress(data, MAX_TRACE_TEXT_BYTES)
        document = json.loads(text) if reader.eof else None
    except (zlib.error, ValueError, RecursionError):
        return None
    if document is None:
        return None
    anonymous_text = json.dumps(without_names(document, problem), separators=(",", ":"))
    return gzip.compress(anonymous_text.encode("ascii"), mtime=0)
