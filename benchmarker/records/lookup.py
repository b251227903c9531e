"""Fields of a record by their dotted names, and what was asked of its run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarker.experiment.options import RUN_OPTIONS
from benchmarker.experiment.spec import UNSTATED

_MAX_NUMBER = 1e300
Record = Mapping[str, Any]
"""A record as JSON values, of any version of the schema, to be read alone."""
_ELSEWHERE = {
    "framework": "framework.name",
    "framework_version": "framework.requested_version",
    "framework_options": "framework.options",
    "problem": "problem.name",
    "problem_parameters": "problem.parameters",
    "optimizer": "optimizer",
    "repetition": "repetition",
    **{name: option.recorded_at for name, option in RUN_OPTIONS.items() if option.recorded_at},
}
"""Where a record of version 1.0, which has no specification, says the same."""


def value_at(record: Mapping[str, Any], path: str) -> Any:
    """Return the value at a dotted path, which may have positions in lists; ``None`` if there is nothing."""
    value: Any = record
    for name in path.split("."):
        if isinstance(value, (dict, Mapping)):  # dict first: to ask an abstract class takes ten times as long
            value = value.get(name)
        elif isinstance(value, list) and name.isdecimal() and len(name) < 10 and int(name) < len(value):
            value = value[int(name)]
        else:
            return None
    return value


def number_at(record: Mapping[str, Any], path: str) -> float | None:
    """Return the number at a dotted path; ``None`` if something else is there, as collectors may tell anything."""
    value = value_at(record, path)
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= _MAX_NUMBER
    return value if is_number else None


def work_name(record: Mapping[str, Any]) -> str:
    """Return what ran, as people call it: the recipe that was trained by, else the problem."""
    return str(value_at(record, "specification.training.name") or record["problem"]["name"])


def specification_elsewhere(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was asked for, as far as a record from before ``specification`` (1.1) tells."""
    return {name: value_at(record, at) for name, at in _ELSEWHERE.items()}


def specification_of(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the record's specification; what was added since it was made stands at its default."""
    stated = record.get("specification") or specification_elsewhere(record)
    return {**UNSTATED, **stated}
