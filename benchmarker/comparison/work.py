"""What a process computed, and for how long: only step times of the same work are compared."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

Record = Mapping[str, Any]

_NO_WORK = frozenset(
    (
        *("framework", "framework_version", "framework_options", "environment"),
        *("affinity", "gpus", "launcher", "start", "compile_cache"),
        *("seed", "repetition", "data_dir"),
    )
)
"""Members of ``specification`` that say on what, where and how a process was started, and with which values."""


def work_of(record: Record) -> tuple[str, str]:
    """Return what two records have in common if, and only if, they did the same work.

    That is the hash of ``comparable``, and whatever else was asked for that bears on a step: its number of
    steps, for how long, whether parts were timed. What was not given is as good as not known (before 1.1).
    """
    given = {name: value for name, value in _asked(record).items() if value is not None}
    return record["comparable"]["hash"], json.dumps(given, sort_keys=True)


def keys_of(record: Record) -> dict[str, Any]:
    """Return the work of a record in the clear: the keys of ``comparable``, then what else was asked for."""
    return {**record["comparable"]["keys"], **_asked(record)}


def _asked(record: Record) -> dict[str, Any]:
    known = record["comparable"]["keys"]
    asked = record.get("specification") or {}
    return {
        name: _plain(value) for name, value in asked.items() if name not in known and name not in _NO_WORK
    }


def _plain(value: Any) -> Any:
    """Return 3.0, as of the command line, as 3, as of a file."""
    return int(value) if isinstance(value, float) and value.is_integer() else value
