"""Typed options: text from the command line into the fields of a plugin's dataclass."""

from __future__ import annotations

import dataclasses
import json
import math
import typing
from collections.abc import Hashable, Mapping
from functools import cache
from typing import Any, TypeVar, cast

from benchmarker.api.given_values import real_number, whole_number
from benchmarker.api.rules import MAX_COUNT, Rule, Whole
from benchmarker.errors import UsageError, did_you_mean
from benchmarker.quick_dataclass import dataclass

_Options = TypeVar("_Options")
_TRUE = {"true", "yes", "on", "1"}
_FALSE = {"false", "no", "off", "0"}


@dataclass(frozen=True)
class NoOptions:
    """Options of a plug-in that has none."""


def _parse_bool(text: str) -> bool:
    if text.lower() in _TRUE | _FALSE:
        return text.lower() in _TRUE
    raise ValueError


def _parse(kind: Any, value: Any) -> Any:
    if kind is bool:
        return value if isinstance(value, bool) else _parse_bool(str(value))
    if kind is int:
        if isinstance(value, (bool, float)):
            raise ValueError
        return whole_number(value) if isinstance(value, str) else int(value)
    if kind is float:
        number = real_number(value) if isinstance(value, str) else float(value)
        if not math.isfinite(number):
            raise ValueError
        return number
    return str(value)


def split_values(text: str) -> list[str]:
    """Split at the commas that are in no brackets and no double quotes, so that a value may be JSON.

    A value in double quotes is the text inside them.
    """
    parts, start, depth, quoted = [], 0, 0, False
    for place, character in enumerate(text):
        if character == '"' and (place == 0 or text[place - 1] != "\\"):
            quoted = not quoted
        elif not quoted and character in "[{":
            depth += 1
        elif not quoted and character in "]}":
            depth -= 1
        elif character == "," and not quoted and depth <= 0:
            parts.append(text[start:place])
            start = place + 1
    return [_unquoted(part.strip()) for part in (*parts, text[start:])]


def _unquoted(text: str) -> str:
    if not text.startswith('"'):
        return text
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, str) else text


def as_text(value: Any) -> str:
    """Return a value as :func:`split_values` reads it back."""
    if isinstance(value, bool):
        return str(value).lower()
    text = str(value)
    # Another value after it shows whether all brackets and quotes are closed.
    return text if split_values(f"{text},") == [text, ""] else json.dumps(text)


@cache
def _evaluated_hints(options: Hashable, *, include_extras: bool) -> Mapping[str, Any]:
    """Return the annotations of a class: evaluated once, as a plan asks for them with each of its cells."""
    return typing.get_type_hints(options, include_extras=include_extras)


def option_types(options: type[Any]) -> dict[str, Any]:
    """Return the type of each field of an options dataclass."""
    hints = _evaluated_hints(cast(Hashable, options), include_extras=False)
    return {field.name: hints[field.name] for field in dataclasses.fields(options)}


def option_rules(options: type[Any]) -> dict[str, Rule]:
    """Return what each field of an options dataclass may hold, beyond its type.

    A field says it itself, as ``Annotated[int, Whole(0)]``. Any other whole number counts something: it is
    at least 1, or its default if that is less, and at most :data:`~benchmarker.api.rules.MAX_COUNT`.
    """
    hints = _evaluated_hints(cast(Hashable, options), include_extras=True)
    found: dict[str, Rule] = {}
    for field in dataclasses.fields(options):
        own = [rule for rule in getattr(hints[field.name], "__metadata__", ()) if isinstance(rule, Rule)]
        if own:
            found[field.name] = own[0]
        elif hints[field.name] is int:
            least = min(1, field.default) if isinstance(field.default, int) else 1
            found[field.name] = Whole(least, MAX_COUNT)
    return found


def parse_options(options: type[_Options], values: Mapping[str, Any], owner: str) -> _Options:
    """Make an options object from names and values.

    Parameters
    ----------
    options : type
        Frozen dataclass with fields of type bool, int, float or str; :func:`option_rules` bounds them.
    values : mapping
        Values by name, as text or already typed.
    owner : str
        Who has these options, for the message, e.g. ``"problem 'resnet50'"``.

    Raises
    ------
    UsageError
        On an unknown name or a value that is not of the field's type or outside of its bounds.
    """
    kinds, rules = option_types(options), option_rules(options)
    parsed = {}
    for name, value in values.items():
        if name not in kinds:
            raise UsageError(f"{owner} has no parameter '{name}'{did_you_mean(name, kinds)}")
        try:
            parsed[name] = _parse(kinds[name], value)
        except (TypeError, ValueError):
            raise UsageError(f"{owner}: '{name}' must be {_article(kinds[name])}, got '{value}'") from None
        for _, message in rules[name].faults(parsed[name]) if name in rules else ():
            raise UsageError(f"{owner}: '{name}' {message}")
    return options(**parsed)


def _article(kind: Any) -> str:
    names = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}
    return names.get(kind, str(kind))
