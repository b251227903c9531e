"""What is known of a column by its name: the kind of its values, its unit, what it means."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarker.schema import load_schema

CATEGORY, TEXT, TIME, INTEGER, NUMBER, BOOLEAN = "category", "text", "time", "integer", "number", "boolean"

LEFT_OUT = frozenset(
    {
        "timing.device_event_seconds",
        "learning.steps",
        "learning.seconds",
        "learning.losses",
        "timing.steady_state.segments",
        "trust.checkpoints",
        "monitors.utilization.columns",
        "replication.resumed",
        "verification.tensors",
        "operator.tensors",
        "profile.nodes",
        "environment.packages",
        "error.log_tail",
    }
)
"""Too long for a cell of a table; they stay in the records, as every list of samples does."""
SAMPLES = "samples_seconds"

_UNIQUE = {"path", "id", "log", "command", "error.message"}
"""Texts that are another one in each record; all other texts repeat."""
ENDS = ("low", "high")
"""Of an interval."""
STANDS_FOR = ("name", "grade")
"""Members that stand for the object that has them."""
_KINDS = {"integer": INTEGER, "number": NUMBER, "boolean": BOOLEAN}
_UNITS = (
    (r"\.throughput", "samples/s"),
    (r"flops_per_second", "FLOP/s"),
    (r"bytes_per_second", "B/s"),
    (r"(\w+)_per_second", r"\1/s"),
    (r"joules_per_sample", "J/sample"),
    (r"(\w+)_per_joule", r"\1/J"),
    (r"(flops|bytes)_share_of_peak|_share|_coverage|_relative|half_width|\.accuracy", "1"),
    (r"flops_per_(step|sample)", "FLOP"),
    (r"bytes_per_step|_bytes|^memory\.(framework|predicted)\.\w+", "B"),
    (r"joules", "J"),
    (r"_watts", "W"),
    (r"_mhz(\.\w+)?", "MHz"),
    (r"_seconds", "s"),
    (r"(step_seconds|replication)\.(median|mean|std|min|max|p\d+|ci95\.\w+)", "s"),
)


@dataclass(frozen=True)
class Field:
    """A column.

    Parameters
    ----------
    kind : str or None
        Of its values; None if the schema leaves it open.
    unit : str or None
        Of its numbers; ``1`` for a ratio.
    description : str or None
        What the schema says of it.
    """

    kind: str | None
    unit: str | None
    description: str | None


_PATH = Field(TEXT, None, "The record's file.")


@functools.cache
def field(name: str) -> Field:
    """Return what is known of a column."""
    if name == "path":
        return _PATH
    node = schema_of(name)
    if node is None:
        return Field(None, _unit(name), None)
    return Field(_kind(name, node), _unit(name), node.get("description"))


@functools.lru_cache(8192)
def is_left_out(name: str) -> bool:
    """Tell whether a field of a record is not in the table, by itself or because it is inside of such a one.

    What the schema does not know in a group that it closes is not in it either.
    """
    parts = name.split(".")
    if (name and _is_unknown(parts)) or any(part.endswith(SAMPLES) for part in parts):
        return True
    return any(".".join(parts[:count]) in LEFT_OUT for count in range(1, len(parts) + 1))


@functools.lru_cache(8192)
def is_untold(name: str) -> bool:
    """Tell whether the table does not say what a field is, so that the record must be asked.

    That is what is left out of it, and a group that may be null while none of its columns tells that it is.
    """
    if is_left_out(name):
        return True
    node = schema_of(name)
    if node is None or not {"object", "null"} <= {*types_of(node)}:
        return False
    members = node.get("properties", {})
    if not members or any(member in members for member in STANDS_FOR):
        # An open group may have a name too, which is a column then.
        return bool(not members and "additionalProperties" in node)
    return not any(_is_always_told(f"{name}.{member}") for member in node.get("required", ()))


def _is_always_told(name: str) -> bool:
    types = types_of(schema_of(name) or {})
    return bool(types) and not {"null", "object", "array"} & {*types} and not is_left_out(name)


def _is_unknown(parts: Sequence[str]) -> bool:
    node: Any = load_schema()
    for part in parts:
        known = node.get("properties", {})
        if part not in known:
            return node.get("additionalProperties") is False
        node = known[part]
    return False


@functools.cache
def always() -> tuple[str, ...]:
    """Return the columns of every table: plain values that are in every record, be they null."""
    return tuple(_leaves(load_schema(), ""))


@functools.cache
def place(name: str) -> tuple[tuple[int, str], ...]:
    """Return what columns are sorted by: the order of the schema, by name where that has none."""
    found: list[tuple[int, str]] = []
    node: Any = load_schema()
    for part in name.split("."):
        known = node.get("properties", {})
        if part in known:
            found.append((list(known).index(part), ""))
            node = known[part]
        elif part.isdecimal():
            found.append((int(part), ""))
            node = node.get("items", {})
        else:
            found.append((ENDS.index(part), "") if part in ENDS else (len(known), part))
            node = node.get("additionalProperties")
        if not isinstance(node, dict):
            node = {}
    return tuple(found)


def _leaves(node: Mapping[str, Any], before: str) -> Iterator[str]:
    for part, member in node.get("properties", {}).items():
        name, types = before + part, types_of(member)
        if is_left_out(name):
            continue
        if "object" in types:
            if "null" not in types:
                yield from _leaves(member, f"{name}.")
        elif "array" not in types or "object" not in types_of(member.get("items", {})):
            yield name


def types_of(node: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the types that a part of the schema allows; none if it leaves them open."""
    types = node.get("type", ())
    return (types,) if isinstance(types, str) else tuple(types)


def schema_of(name: str) -> Mapping[str, Any] | None:
    """Return what the schema says of a field; None if it leaves it open."""
    schema = load_schema()
    node: Any = schema
    for part in name.split("."):
        if "items" in node and (part.isdecimal() or part in ENDS):
            # The ends of an interval are told by the interval's own description.
            node = {"description": node.get("description"), **node["items"]}
        else:
            node = node.get("properties", {}).get(part, node.get("additionalProperties"))
        if not isinstance(node, dict):
            return None
        if "$ref" in node:
            node = schema["$defs"][node["$ref"].rpartition("/")[2]]
    return node if node.get("type") else None


def _kind(name: str, node: Mapping[str, Any]) -> str | None:
    types = [kind for kind in types_of(node) if kind != "null"]
    if types in (["string"], ["array"]):
        is_time = str(node.get("pattern", "")).startswith(r"^\d{4}-") or name.endswith("_at")
        return TIME if is_time else TEXT if name in _UNIQUE else CATEGORY
    return _KINDS.get(types[0]) if len(types) == 1 else None


def _unit(name: str) -> str | None:
    for pattern, unit in _UNITS:
        found = re.search(f"(?:{pattern})$", name)
        if found:
            return found.expand(unit)
    return None
