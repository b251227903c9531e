"""What a value must be: texts with wildcards, ranges of numbers, alternatives; written in words or in Python."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import date
from typing import Any

from benchmarker.quick_dataclass import dataclass
from benchmarker.records.schema.faults import is_number
from benchmarker.records.timestamps import as_written, beginning

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_CONSTANTS = {"null": None, "true": True, "false": False}

Test = Callable[[Any], bool]


@dataclass(frozen=True)
class Range:
    """Numbers from ``low`` to ``high``, both included; None leaves that side open."""

    low: float | None
    high: float | None

    @property
    def is_empty(self) -> bool:
        """Whether no number is in it."""
        return self.low is not None and self.high is not None and self.low > self.high

    def __str__(self) -> str:
        return "..".join("" if side is None else f"{side:g}" for side in (self.low, self.high))


@dataclass(frozen=True)
class Where:
    """What a value must be one of, and what it must not be.

    Parameters
    ----------
    any_of : tuple or None
        Alternatives; None for any value.
    none_of : tuple
        What is not wanted; a record that lacks the field has none of it.
    """

    any_of: tuple[Any, ...] | None = None
    none_of: tuple[Any, ...] = ()


def alternatives(text: str) -> tuple[Any, ...]:
    """Return the values that a text with commas stands for."""
    return tuple(map(_value, text.split(",")))


def where_of(wanted: Any) -> Where:
    """Return what a filter of Python asks for; its texts mean the same as in words."""
    if isinstance(wanted, Where):
        return wanted
    if isinstance(wanted, str):
        return Where(alternatives(wanted))
    if isinstance(wanted, (list, tuple, set, frozenset)):
        return Where(tuple(_value(value) if isinstance(value, str) else value for value in wanted))
    return Where((wanted,))


def _value(text: str) -> Any:
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    low, dots, high = text.partition("..")
    if dots and (low or high) and all(not side or is_numeral(side) for side in (low, high)):
        return Range(*(float(side) if side else None for side in (low, high)))
    return text


def test_of(where: Where) -> Test:
    """Return what tells whether a value is as it must be."""
    wants = None if where.any_of is None else [matches(value) for value in where.any_of]
    refuses = [matches(value) for value in where.none_of]
    known: dict[tuple[type, Any], bool] = {}

    def test(value: Any) -> bool:
        # Most columns hold few different values.
        key = (type(value), value)
        if key not in known:
            known[key] = (wants is None or any(t(value) for t in wants)) and not any(
                t(value) for t in refuses
            )
        return known[key]

    return test


def matches(wanted: Any) -> Test:
    """Return the test for one alternative."""
    if wanted is None:
        return lambda value: value is None
    if isinstance(wanted, Range):
        low, high = wanted.low, wanted.high
        return lambda value: (
            is_number(value) and (low is None or value >= low) and (high is None or value <= high)
        )
    if isinstance(wanted, range):
        return lambda value: (
            is_number(value) and (isinstance(value, int) or value.is_integer()) and int(value) in wanted
        )
    if isinstance(wanted, date):
        return matches(as_written(beginning(wanted)))
    if isinstance(wanted, str):
        number = float(wanted) if is_numeral(wanted) else None
        pattern = re.compile(_expression(wanted), re.DOTALL)
        return lambda value: (
            bool(pattern.fullmatch(value))
            if isinstance(value, str)
            else number is not None and is_number(value) and value == number
        )
    # A field that is a text in some records is one in the table.
    text = json.dumps(wanted, default=str)
    return lambda value: text == value if isinstance(value, str) else _same(wanted, value)


def is_numeral(text: str) -> bool:
    return bool(_NUMBER.fullmatch(text))


def _expression(pattern: str) -> str:
    return "".join({"*": ".*", "?": "."}.get(c) or re.escape(c) for c in pattern)


def _same(wanted: Any, value: Any) -> bool:
    # In Python True is 1; in a record it is not.
    return isinstance(wanted, bool) == isinstance(value, bool) and bool(wanted == value)
