"""The options of a kind of picture are the keyword arguments of its function; text becomes what they take."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any

from benchmarker.errors import UsageError, did_you_mean
from benchmarker.quick_dataclass import dataclass

_TRUE, _FALSE = ("true", "yes", "on", "1"), ("false", "no", "off", "0")


@dataclass(frozen=True)
class Option:
    """An option of a picture.

    Parameters
    ----------
    name : str
        Of the keyword.
    takes : str
        What it may be, in words.
    default : object
        Where it is not given; ``None`` leaves it to the records.
    """

    name: str
    takes: str
    default: Any


def options_of(function: Callable[..., Any]) -> tuple[Option, ...]:
    """Return the options of a picture's function, in order."""
    kinds = typing.get_type_hints(function)
    keywords = [p for p in inspect.signature(function).parameters.values() if p.kind is p.KEYWORD_ONLY]
    return tuple(Option(p.name, _takes(kinds[p.name]), p.default) for p in keywords)


def parsed(kind: str, function: Callable[..., Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return options as the function takes them.

    Parameters
    ----------
    kind : str
        Of picture, for the message.
    function : callable
        Its keyword arguments are the options.
    given : mapping
        Values by name, as text or already typed.

    Raises
    ------
    UsageError
        On an option that the picture does not have, or a value that it does not take.
    """
    kinds = typing.get_type_hints(function)
    known = [option.name for option in options_of(function)]
    for name in given:
        if name not in known:
            hint = did_you_mean(name, known) if known else "; it has none"
            raise UsageError(f"picture '{kind}' has no option '{name}'{hint}")
    return {name: _value(kind, name, kinds[name], value) for name, value in given.items()}


def _value(kind: str, name: str, annotation: Any, value: Any) -> Any:
    for choice in _alternatives(annotation):
        try:
            return _converted(choice, value)
        except ValueError:
            continue
    raise UsageError(f"picture '{kind}': '{name}' must be {_takes(annotation)}, got '{value}'")


def _alternatives(annotation: Any) -> tuple[Any, ...]:
    """Return the types of a union; of ``X | None`` first ``None``, which text is not."""
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        return tuple(sorted(typing.get_args(annotation), key=lambda kind: kind is not type(None)))
    return (annotation,)


def _converted(kind: Any, value: Any) -> Any:
    if kind is type(None):
        return _one_of((None,), value)
    if typing.get_origin(kind) is typing.Literal:
        return _one_of(typing.get_args(kind), value)
    if kind is bool:
        return value if isinstance(value, bool) else _switch(str(value))
    if isinstance(value, bool):
        raise ValueError
    return kind(value)


def _one_of(choices: tuple[Any, ...], value: Any) -> Any:
    if value not in choices:
        raise ValueError
    return value


def _switch(text: str) -> bool:
    if text.lower() not in _TRUE + _FALSE:
        raise ValueError
    return text.lower() in _TRUE


def _takes(annotation: Any) -> str:
    words = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}
    kinds = [kind for kind in _alternatives(annotation) if kind is not type(None)]
    choices = [
        " or ".join(map(str, typing.get_args(kind)))
        if typing.get_origin(kind) is typing.Literal
        else words.get(kind, str(kind))
        for kind in kinds
    ]
    return " or ".join(choices)
