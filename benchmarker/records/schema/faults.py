"""What breaks a rule of the published schema, in words: asked only of what the decoder has refused."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarker.errors import nearest
from benchmarker.quick_dataclass import dataclass

Node = Mapping[str, Any]
Steps = tuple[str | int, ...]

_KINDS = {
    "object": "an object",
    "array": "a list",
    "string": "a text",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
    "null": "null",
}
_RULES = {
    "const": "must be '{}'",
    "minimum": "must be at least {}",
    "maximum": "must be at most {}",
    "exclusiveMinimum": "must be more than {}",
    "minLength": "must have at least {} character(s)",
    "pattern": "must match {}",
    "minItems": "must have at least {} item(s)",
    "maxItems": "must have at most {} item(s)",
}
_PLAIN_NAME = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True)
class Fault:
    """Something wrong with a record.

    Parameters
    ----------
    path : str
        Where, as a JSON path, e.g. ``$.timing.samples_seconds[3]``.
    message : str
        What, in plain words.
    """

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path} {self.message}"


def json_path(steps: Sequence[str | int]) -> str:
    """Return a JSON path such as ``$.platform.gpus[0].name`` from member names and list positions."""
    return "$" + "".join(map(_step, steps))


def _step(step: str | int) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    if _PLAIN_NAME.fullmatch(step):
        return f".{step}"
    return f"[{json.dumps(step, ensure_ascii=False)}]"


def find_faults(value: Any, schema: Node, *, unknown: bool = True) -> list[Fault]:
    """Return every place where a value breaks a rule of a schema.

    Parameters
    ----------
    value : JSON
        Its numbers are finite.
    schema : mapping
        A JSON Schema with the rules that the published one has.
    unknown : bool
        Whether members that it does not know are faults.
    """
    found = _Search(schema, unknown).faults(value, schema, ())
    # A member may be missing by two rules.
    return list(dict.fromkeys(found))


@dataclass(frozen=True)
class _Search:
    schema: Node
    unknown: bool

    def faults(self, value: Any, node: Node, steps: Steps) -> list[Fault]:
        """Return what is wrong with a value and with all that is in it."""
        if "$ref" in node:
            node = self.schema["$defs"][node["$ref"].rpartition("/")[2]]
        kinds = node.get("type", ())
        if kinds and not (_is(value, kinds) if isinstance(kinds, str) else _is_any(value, kinds)):
            return [_broken("type", kinds, value, steps)]
        found = []
        for rule, wanted in node.items():
            holds = _HOLDS.get(rule)
            if holds and not holds(value, wanted):
                found.append(_broken(rule, wanted, value, steps))
        if isinstance(value, dict):
            found += self._members(value, node, steps)
        elif isinstance(value, list) and "items" in node:
            for place, item in enumerate(value):
                found += self.faults(item, node["items"], (*steps, place))
        if "if" in node and not self.faults(value, node["if"], ()):
            found += self.faults(value, node["then"], steps)
        for rule in node.get("allOf", ()):
            if "if" in rule and not self.faults(value, rule["if"], ()):
                found += self.faults(value, rule["then"], steps)
        return found

    def _members(self, value: Mapping[str, Any], node: Node, steps: Steps) -> list[Fault]:
        found = [
            Fault(json_path((*steps, name)), "is missing")
            for name in node.get("required", ())
            if name not in value
        ]
        known, others = node.get("properties", {}), node.get("additionalProperties", True)
        for name, member in value.items():
            if name in known:
                found += self.faults(member, known[name], (*steps, name))
            elif others is True:
                continue
            elif isinstance(others, Mapping):
                found += self.faults(member, others, (*steps, name))
            elif not others and self.unknown:
                message = f"is not a field of a record{nearest(name, known)}"
                found.append(Fault(json_path((*steps, name)), message))
        return found


def _is(value: Any, kind: str) -> bool:
    """Tell whether a value is of a type of JSON Schema, for which 8.0 is a whole number."""
    if isinstance(value, bool) or value is None:
        return kind == ("null" if value is None else "boolean")
    if kind == "integer":
        return isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    return isinstance(value, _PYTHON[kind])


def _is_any(value: Any, kinds: Sequence[str]) -> bool:
    for kind in kinds:  # noqa: SIM110 - any() would make a generator for each of a record's values
        if _is(value, kind):
            return True
    return False


_PYTHON: Mapping[str, Any] = {
    "object": dict,
    "array": list,
    "string": str,
    "number": (int, float),
    "boolean": (),
    "null": (),
}


def is_number(value: Any) -> bool:
    """Tell whether a JSON value is a number; a truth value is none."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


_HOLDS: Mapping[str, Any] = {
    "const": lambda value, wanted: value == wanted,
    "enum": lambda value, wanted: value in wanted,
    "not": lambda value, wanted: value not in wanted["enum"],
    "minimum": lambda value, bound: not is_number(value) or value >= bound,
    "maximum": lambda value, bound: not is_number(value) or value <= bound,
    "exclusiveMinimum": lambda value, bound: not is_number(value) or value > bound,
    "minLength": lambda value, bound: not isinstance(value, str) or len(value) >= bound,
    "pattern": lambda value, wanted: not isinstance(value, str) or re.search(wanted, value) is not None,
    "minItems": lambda value, bound: not isinstance(value, list) or len(value) >= bound,
    "maxItems": lambda value, bound: not isinstance(value, list) or len(value) <= bound,
}


def _broken(rule: str, wanted: Any, value: Any, steps: Steps) -> Fault:
    return Fault(json_path(steps), f"{_words(rule, wanted)}, got {shown(value)}")


def _words(rule: str, wanted: Any) -> str:
    """Return a rule of JSON Schema in plain words."""
    if rule == "type":
        kinds = [wanted] if isinstance(wanted, str) else wanted
        return f"must be {' or '.join(_KINDS[kind] for kind in kinds)}"
    if rule == "enum":
        return f"must be one of {', '.join(map(shown, wanted))}"
    return _RULES.get(rule, rule).format(wanted)


def shown(value: Any) -> str:
    """Return a value as JSON, cut to a length that fits on a line."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except TypeError:
        text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
