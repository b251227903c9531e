"""Whether what a record says was asked for is of the types that everything reads it as.

The schema leaves it open, since options come and go; their bounds may change too, so that only types are looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from benchmarker.api.given_values import shown
from benchmarker.api.rules import Flag, ListOf, Real, Rule, Whole
from benchmarker.experiment.options import RUN_OPTIONS

Finding = tuple[str, str]
"""Where in a record, and what is wrong there."""
_Types = tuple[type, ...]


def _types_of(rule: Rule) -> tuple[_Types, str]:
    if isinstance(rule, Flag):
        return (bool,), "true or false"
    if isinstance(rule, Whole):
        return (int,), "a whole number"
    return ((int, float), "a number") if isinstance(rule, Real) else ((str,), "a text")


_KNOWN: dict[str, tuple[_Types, str]] = {
    **{name: _types_of(option.rule) for name, option in RUN_OPTIONS.items() if not option.is_set},
    "framework": ((str,), "a text"),
    "framework_version": ((str,), "a text"),
    "framework_options": ((dict,), "an object"),
    "problem": ((str,), "a text"),
    "problem_digest": ((str,), "a text"),
    "problem_parameters": ((dict,), "an object"),
    "optimizer": ((dict,), "an object"),
    "training": ((dict,), "an object"),
    "repetition": ((int,), "a whole number"),
}
_SETS = {
    name: _types_of(option.rule.rule)
    for name, option in RUN_OPTIONS.items()
    if isinstance(option.rule, ListOf)
}


def specification_findings(specification: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield each member that is of another type than its option; null is what was not asked for."""
    for name, value in specification.items():
        path = f"$.specification.{name}"
        if name in _KNOWN and value is not None and not _is(value, _KNOWN[name][0]):
            yield path, f"must be {_KNOWN[name][1]}, got {shown(value)}"
        elif name in _SETS and value is not None and not _is_list(value, _SETS[name][0]):
            yield path, f"must be a list, each {_SETS[name][1]}, got {shown(value)}"
    for name in ("framework", "problem"):
        if not isinstance(specification.get(name, ""), str):
            yield f"$.specification.{name}", "must be a text, got null"
    yield from _optimizer(specification.get("optimizer"))


def _is(value: Any, types: _Types) -> bool:
    if int in types and isinstance(value, float):
        return float in types or value.is_integer()  # JSON does not tell 4 from 4.0
    return isinstance(value, types) and (bool in types or not isinstance(value, bool))


def _is_list(value: Any, types: _Types) -> bool:
    return isinstance(value, list) and all(_is(item, types) for item in value)


def _optimizer(optimizer: Any) -> Iterator[Finding]:
    for name, value in optimizer.items() if isinstance(optimizer, dict) else ():
        is_text = name in ("kind", "digest", "decay_kind", "decay_of")
        types, words = ((str,), "a text") if is_text else ((int, float), "a number")
        if not _is(value, types):
            yield f"$.specification.optimizer.{name}", f"must be {words}, got {shown(value)}"
    if isinstance(optimizer, dict) and "kind" not in optimizer:
        yield "$.specification.optimizer.kind", "is missing"
