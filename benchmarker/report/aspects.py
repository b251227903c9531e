"""What tells the rows of a table apart: only aspects that vary become columns, the rest is said once."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarker.report.asked import value_at

Record = Mapping[str, Any]


@dataclass(frozen=True)
class Aspect:
    """Something that may vary over the rows of a table.

    Parameters
    ----------
    title : str
        Heading of its column.
    texts : tuple of str
        What it is in each row.
    varies : bool
        Whether it deserves a column.
    caption : str
        What is said once if it does not vary; empty if nothing.
    """

    title: str
    texts: tuple[str, ...]
    varies: bool
    caption: str = ""


def differ(values: Sequence[Any], owners: Sequence[Any]) -> bool:
    """Tell whether two rows of one owner have different values, all of them JSON."""
    found: dict[str, str] = {}
    return any(
        found.setdefault(owner, value) != value
        for owner, value in zip(map(json.dumps, owners), map(_as_text, values))
    )


_as_text = json.JSONEncoder(sort_keys=True).encode


def framework_label(record: Record) -> str:
    """Return the framework with its version, e.g. ``"pytorch 2.13.0+cpu"``."""
    framework = record["framework"]
    name = str(framework["name"])
    if framework["full"]:
        return f"{name} {framework['full'].removeprefix(f'{name}-')}"
    version = framework["version"] or framework["requested_version"]
    return f"{name} {version}" if version else name


_FOUND = (
    ("device name", "device.name", "framework.name"),
    ("Python", "environment.python", "framework.full"),
    ("interpreter", "environment.kind", "framework.full"),
    ("data digest", "inputs.data.digest", "inputs.data.name"),
    ("host", "platform.host.name", ""),
    ("processor", "platform.cpu.model", ""),
)
"""Title, path of the value, path of its owner."""


def found_aspects(records: Sequence[Record]) -> list[Aspect]:
    """Return the aspects of what only the runs found out; what a run did not is no variation."""
    return [_asked_version(records), *(_found(records, *row) for row in _FOUND)]


def _asked_version(records: Sequence[Record]) -> Aspect:
    """Tell runs that asked for a version from those that got the same one unasked."""
    texts = tuple(str(value_at(record, "framework.requested_version") or "any") for record in records)
    return Aspect("version asked", texts, differ(texts, list(map(framework_label, records))))


def _found(records: Sequence[Record], title: str, path: str, owner: str) -> Aspect:
    values = [value_at(record, path) for record in records]
    known = [(value, value_at(record, owner)) for value, record in zip(values, records) if value is not None]
    varies = differ([value for value, _ in known], [of for _, of in known])
    return Aspect(title, tuple("" if value is None else short_digest(str(value)) for value in values), varies)


def short_digest(text: str) -> str:
    """Return the beginning of a SHA-256 digest, and any other text as it is."""
    return f"{text[:19]}..." if text.startswith("sha256:") else text
