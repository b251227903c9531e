"""The schema's rules as types of msgspec, which holds a record to them while it reads it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, Optional, Union

import msgspec

Node = Mapping[str, Any]

_PLAIN: Mapping[str, tuple[Any, ...]] = {
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "null": (None,),
}
_LIMITS = {
    "minimum": "ge",
    "maximum": "le",
    "exclusiveMinimum": "gt",
    "minLength": "min_length",
    "pattern": "pattern",
    "minItems": "min_length",
    "maxItems": "max_length",
}
_OF_KIND = {
    "string": ("minLength", "pattern"),
    "integer": ("minimum", "maximum", "exclusiveMinimum"),
    "number": ("minimum", "maximum", "exclusiveMinimum"),
    "array": ("minItems", "maxItems"),
}
"""Which rules of JSON Schema are of which kind of value."""


def type_of(node: Node, schema: Node) -> Any:
    """Return the type of a value; of an object, one with its members that the schema names, others are passed over.

    Parameters
    ----------
    node : mapping
        The rules for the value.
    schema : mapping
        The whole schema, to which ``$ref`` leads.
    """
    if "$ref" in node:
        return type_of(schema["$defs"][node["$ref"].rpartition("/")[2]], schema)
    if "const" in node:
        return Literal[node["const"]]
    if "enum" in node:
        known = Literal[tuple(value for value in node["enum"] if value is not None)]  # type: ignore[valid-type]
        return Optional[known] if None in node["enum"] else known
    kinds = kinds_of(node)
    return Union[tuple(one for kind in kinds for one in _types(kind, node, schema))] if kinds else Any


def kinds_of(node: Node) -> Sequence[str]:
    """Return which kinds of values a node may have; none where it leaves that open."""
    kinds = node.get("type", ())
    return [kinds] if isinstance(kinds, str) else kinds


def _types(kind: str, node: Node, schema: Node) -> Iterator[Any]:
    rules = {_LIMITS[name]: node[name] for name in _OF_KIND.get(kind, ()) if name in node}
    for found in _bare(kind, node, schema):
        yield Annotated[found, msgspec.Meta(**rules)] if rules else found


def _bare(kind: str, node: Node, schema: Node) -> tuple[Any, ...]:
    if kind == "array":
        return (list[type_of(node.get("items", {}), schema)],)  # type: ignore[misc]
    if kind != "object":
        return _PLAIN[kind]
    others = node.get("additionalProperties")
    if others is not False:
        values = type_of(others, schema) if isinstance(others, Mapping) else Any
        return (dict[str, values],)  # type: ignore[valid-type]
    members = {name: type_of(member, schema) for name, member in node["properties"].items()}
    return (struct_of("group", members, frozenset(node.get("required", ()))),)


def struct_of(name: str, members: Mapping[str, Any], required: frozenset[str]) -> Any:
    """Return the type of an object with these members; one that is not required may be missing, and is None then."""
    fields = [(one, kind) if one in required else (one, kind, None) for one, kind in members.items()]
    return msgspec.defstruct(name, fields, kw_only=True, gc=False)
