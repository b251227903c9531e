"""A choice by name with options, as recipes have it: ``"shuffled"``, or ``{ name = "bucketed", buckets = 30 }``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarker.errors import UsageError


def named_options(value: Any, kind: str) -> tuple[str, dict[str, Any]]:
    """Return the name and the options in a name, or in a mapping with ``name`` and options.

    Raises
    ------
    UsageError
        If it is neither.
    """
    if isinstance(value, str):
        return value, {}
    if isinstance(value, Mapping) and isinstance(value.get("name"), str):
        return value["name"], {str(key): option for key, option in value.items() if key != "name"}
    raise UsageError(f"a {kind} must be a name, or a table with 'name' and its options, got {value!r}")
