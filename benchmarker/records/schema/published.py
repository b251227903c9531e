"""The JSON Schema that the structs amount to, which other tools read: ``record-1.json``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarker.records.schema.kinds import NARROWED, REQUIRED
from benchmarker.records.schema.members import Group, Member, Value, describe, members_of
from benchmarker.records.schema.record import Record
from benchmarker.records.schema.versions import VERSIONS

OLDEST = VERSIONS[0]
Node = dict[str, Any]

_NUMBER = {"ge": "minimum", "le": "maximum", "gt": "exclusiveMinimum"}
_BOUNDS = {
    "string": {"min_length": "minLength", "pattern": "pattern"},
    "integer": _NUMBER,
    "number": _NUMBER,
    "array": {"min_length": "minItems", "max_length": "maxItems"},
    "boolean": {},
}


def published_schema() -> Node:
    """Return the JSON Schema of a record of any version."""
    return json_schema_of(Record)


def json_schema_of(record: Group) -> Node:
    """Return the JSON Schema that the struct of a record amounts to."""
    definitions: dict[str, Node] = {}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"benchmarker record, version {OLDEST.partition('.')[0]}",
        "description": describe(record),
        **_closed(record, nullable=False),
        "allOf": [*_rules(record, definitions)],
        "$defs": definitions,
    }


def _closed(group: Group, *, nullable: bool) -> Node:
    return {**_with_members(group, nullable=nullable), "additionalProperties": False}


def _with_members(group: Group, *, nullable: bool) -> Node:
    members = members_of(group)
    required = [name for name, member in members.items() if member.since == OLDEST]
    return {
        "type": ["object", "null"] if nullable else "object",
        **({"required": required} if required else {}),
        "properties": {name: _member(member) for name, member in members.items()},
    }


def _member(member: Member) -> Node:
    return {"description": member.description, **_value(member.value)}


def _value(value: Value) -> Node:
    kind = value.json_type
    if kind is None:
        return {}
    if kind == "object":
        return _object(value)
    node: Node = {"type": [kind, "null"] if value.nullable else kind}
    if value.unit and kind in ("integer", "number"):
        node["unit"] = value.unit
    node |= {_BOUNDS[kind][name]: bound for name, bound in value.bounds.items()}
    if value.choices:
        node |= _choice(value.choices, value.nullable)
    if value.items:
        node["items"] = _value(value.items)
    return node


def _choice(values: tuple[str, ...], nullable: bool) -> Node:
    if len(values) == 1 and not nullable:
        return {"const": values[0]}
    return {"enum": [*values, *([None] if nullable else [])]}


def _object(value: Value) -> Node:
    group, others = value.group, value.others
    if group and others is None:
        closed = _closed(group, nullable=value.nullable)
        return {"description": describe(group), **closed}
    if group:
        node = _with_members(group, nullable=value.nullable)
    else:
        node = {"type": ["object", "null"] if value.nullable else "object"}
        if REQUIRED in value.notes:
            node["required"] = [*value.notes[REQUIRED]]
    assert others is not None
    return {**node, "additionalProperties": _value(others) or True}


def _rules(record: Group, definitions: dict[str, Node]) -> Iterator[Node]:
    """Yield what records must have since each version; groups that are only then closed become definitions."""
    for place, version in enumerate(VERSIONS[1:], start=1):
        then = _since(record, version, definitions)
        if then:
            earlier = {"enum": [*VERSIONS[:place]]}
            yield {"if": {"properties": {"schema_version": {"not": earlier}}}, "then": then}


def _since(group: Group, version: str, definitions: dict[str, Node]) -> Node:
    members = members_of(group)
    required = [name for name, member in members.items() if member.since == version]
    inner = {name: _inside(member.value, version, definitions) for name, member in members.items()}
    properties = {name: node for name, node in inner.items() if node}
    return {
        **({"required": required} if required else {}),
        **({"properties": properties} if properties else {}),
    }


def _inside(value: Value, version: str, definitions: dict[str, Node]) -> Node:
    since, group = value.notes.get(NARROWED, (None, None))
    if since == version:
        definitions[group.__name__] = {"description": describe(group), **_closed(group, nullable=False)}
        return {"if": {"type": "object"}, "then": {"$ref": f"#/$defs/{group.__name__}"}}
    return _since(value.group, version, definitions) if value.group else {}
