"""What a record says of the limits that were set: within them or not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarker.experiment.acceptance import metric_of
from benchmarker.records.lookup import value_at


def judge(record: Mapping[str, Any], accept: Mapping[str, float]) -> dict[str, Any] | None:
    """Return the verdict over a record as it stands in the record.

    A number that the record does not have is not accepted. Limits of metrics that the mode does not have
    are left out.

    Parameters
    ----------
    record : mapping
        A record.
    accept : mapping
        Name of a threshold to its limit.

    Returns
    -------
    dict or None
        ``None`` if there is nothing to judge.
    """
    limits = [_judged(record, name, limit) for name, limit in accept.items() if _applies(record, name)]
    if not limits:
        return None
    return {"status": "passed" if all(limit["passed"] for limit in limits) else "failed", "limits": limits}


def _applies(record: Mapping[str, Any], name: str) -> bool:
    return record["mode"] in metric_of(name).modes


def _judged(record: Mapping[str, Any], name: str, limit: float) -> dict[str, Any]:
    value = value_at(record, metric_of(name).path)
    least = name.startswith("min_")
    passed = value is not None and (value >= limit if least else value <= limit)
    return {"name": name, "limit": limit, "value": value, "passed": bool(passed)}
