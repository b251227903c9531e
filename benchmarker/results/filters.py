"""What records must have to be wanted: ``framework=pytorch problem=resnet* since=7d``."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from benchmarker.errors import UsageError, did_you_mean
from benchmarker.results.moments import as_written, beginning, end
from benchmarker.results.tables import Table
from benchmarker.schema import load_schema

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_WORD = re.compile(r"([^=!]+)(!?=)(.*)", re.DOTALL)
_CONSTANTS = {"null": None, "true": True, "false": False}
_STANDS_FOR = ("name", "grade")
"""Members that stand for the object that has them."""
_TIMES = ("since", "until")

Test = Callable[[Any], bool]


@dataclass(frozen=True)
class Range:
    """Numbers from ``low`` to ``high``, both included; None leaves that side open."""

    low: float | None
    high: float | None


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


def parse_filters(words: Sequence[str]) -> dict[str, Any]:
    """Return the filters that a command's words ask for, for :func:`benchmarker.load_results`.

    Parameters
    ----------
    words : sequence of str
        ``KEY=VALUE`` or ``KEY!=VALUE``. A key is the dotted name of a field
        (``problem.parameters.image_size``), ``since`` or ``until``. A value may hold ``*`` and ``?``,
        alternatives with commas between them, and ranges of numbers (``8..64``, ``8..``); ``null``,
        ``true`` and ``false`` are what JSON means by them.

    Raises
    ------
    UsageError
        If a word has another form, or a key names no field of a record.
    """
    found: dict[str, Any] = {}
    for word in words:
        parts = _WORD.fullmatch(word)
        if not parts or not parts[3]:
            raise UsageError(f"a filter must be KEY=VALUE or KEY!=VALUE, got '{word}'")
        key, wanted = parts[1].replace("__", "."), parts[2] == "="
        check_field(key)
        if key in _TIMES:
            found[key] = _moment(key, wanted, parts[3], found)
        else:
            found[key] = _joined(key, found.get(key, Where()), wanted, _alternatives(parts[3]))
    return found


def _moment(key: str, wanted: bool, text: str, found: Mapping[str, Any]) -> Any:
    if not wanted or key in found:
        raise UsageError(f"'{key}' must be given once and as {key}=MOMENT, got '{text}'")
    return (beginning if key == "since" else end)(text)


def _joined(key: str, before: Where, wanted: bool, values: tuple[Any, ...]) -> Where:
    if not wanted:
        return Where(before.any_of, before.none_of + values)
    if before.any_of is not None:
        raise UsageError(
            f"a filter must be given once, with commas between alternatives; '{key}' is there twice"
        )
    return Where(values, before.none_of)


def _alternatives(text: str) -> tuple[Any, ...]:
    return tuple(_value(part) for part in text.split(","))


def _value(text: str) -> Any:
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    low, dots, high = text.partition("..")
    if dots and (low or high) and all(not side or _NUMBER.fullmatch(side) for side in (low, high)):
        return Range(*(float(side) if side else None for side in (low, high)))
    return text


def check_field(name: str) -> None:
    """Raise ``UsageError`` if a dotted name can name no field of a record, nor ``since`` or ``until``."""
    node: Mapping[str, Any] = load_schema()
    if name in _TIMES:
        return
    for depth, part in enumerate(name.split(".")):
        known = node.get("properties")
        if known is None:
            return
        if part not in known and node.get("additionalProperties") is False:
            near = did_you_mean(part, [*known, *(() if depth else _TIMES)])
            inside = f" (in '{name}')" if depth else ""
            raise UsageError(f"a filter must name a field of a record, got '{part}'{inside}{near}")
        node = known.get(part, {})


def select(
    table: Table, filters: Mapping[str, Any], left_out: Callable[[str], bool], look: Callable[[int, str], Any]
) -> list[int]:
    """Return the rows that pass all filters.

    Parameters
    ----------
    table : Table
        The records.
    filters : mapping
        By field, with ``__`` or a dot between names: a value, a collection of alternatives, a
        :class:`Range` or a :class:`Where`; ``since`` and ``until`` with a moment.
    left_out : callable
        Tells whether a field is in the records but not in the table.
    look : callable
        Returns such a field's value of the record of a row.

    Raises
    ------
    UsageError
        If a filter names no field of a record.
    """
    tests = {name.replace("__", "."): value for name, value in filters.items()}
    for name in tests:
        check_field(name)
    rows: Iterable[int] = range(len(table))
    opened = {name for name in tests if name not in _TIMES and left_out(name)}
    # Those that open records come last, when few are left.
    for name in sorted(tests, key=opened.__contains__):
        test = _test(name, tests[name])
        if name in opened:
            rows = [row for row in rows if test(look(row, name))]
        else:
            values = column(table, "started_at" if name in _TIMES else name)
            rows = [row for row in rows if test(values[row])]
    return list(rows)


def column(table: Table, name: str) -> Sequence[Any]:
    """Return the values that a name stands for; of an object its ``name`` or ``grade``."""
    names = set(table.names)
    for known in (name, *(f"{name}.{member}" for member in _STANDS_FOR)):
        if known in names:
            return table.values(known)
    below = [table.values(other) for other in table.names if other.startswith(f"{name}.")]
    # An object of which nothing is known is as good as null.
    return [_SOMETHING if any(v is not None for v in cells) else None for cells in zip(*below)] or [
        None
    ] * len(table)


def look_up(record: Mapping[str, Any], name: str) -> Any:
    """Return the value of a field that is in the record and not in the table; None if there is none."""
    value: Any = record
    for part in name.split("."):
        if isinstance(value, list) and part.isdecimal() and int(part) < len(value):
            value = value[int(part)]
        elif isinstance(value, Mapping) and part in value:
            value = value[part]
        else:
            return None
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return _SOMETHING if isinstance(value, Mapping) else value


_SOMETHING = object()


def _test(name: str, wanted: Any) -> Test:
    if name == "since":
        first = as_written(beginning(wanted))
        return lambda value: isinstance(value, str) and value >= first
    if name == "until":
        last = as_written(end(wanted))
        return lambda value: isinstance(value, str) and value < last
    where = wanted if isinstance(wanted, Where) else Where(_several(wanted))
    wants = None if where.any_of is None else [_one(value) for value in where.any_of]
    refuses = [_one(value) for value in where.none_of]
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


def _several(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (list, tuple, set, frozenset)) else (value,)


def _one(wanted: Any) -> Test:
    """Return the test for one alternative."""
    if wanted is None:
        return lambda value: value is None
    if isinstance(wanted, Range):
        low, high = wanted.low, wanted.high
        return lambda value: (
            _is_number(value) and (low is None or value >= low) and (high is None or value <= high)
        )
    if isinstance(wanted, date):
        return _one(as_written(beginning(wanted)))
    if isinstance(wanted, str):
        number = float(wanted) if _NUMBER.fullmatch(wanted) else None
        pattern = re.compile(_expression(wanted), re.DOTALL)
        return lambda value: (
            bool(pattern.fullmatch(value))
            if isinstance(value, str)
            else number is not None and _is_number(value) and value == number
        )
    # A field that is a text in some records is one in the table.
    text = json.dumps(wanted, default=str)
    return lambda value: text == value if isinstance(value, str) else _same(wanted, value)


def _expression(pattern: str) -> str:
    return "".join({"*": ".*", "?": "."}.get(c) or re.escape(c) for c in pattern)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _same(wanted: Any, value: Any) -> bool:
    # In Python True is 1; in a record it is not.
    return isinstance(wanted, bool) == isinstance(value, bool) and bool(wanted == value)
