"""What records must have to be wanted: ``framework=pytorch problem=resnet* since=7d``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from benchmarker.errors import UsageError
from benchmarker.results.fields import STANDS_FOR
from benchmarker.results.filter_faults import TIMES, check_field, check_values
from benchmarker.results.matching import Range as Range
from benchmarker.results.matching import Test, alternatives, test_of, where_of
from benchmarker.results.matching import Where as Where
from benchmarker.results.moments import as_written, beginning, end
from benchmarker.results.tables import Table

_WORD = re.compile(r"([^=!]+)(!?=)(.*)", re.DOTALL)
_SHORT = {"threads": "execution.threads"}
"""Names for what is asked often."""


def parse_filters(words: Sequence[str]) -> dict[str, Any]:
    """Return the filters that a command's words ask for, for :func:`benchmarker.load_results`.

    Parameters
    ----------
    words : sequence of str
        ``KEY=VALUE`` or ``KEY!=VALUE``. A key is the dotted name of a field
        (``problem.parameters.image_size``), ``threads``, ``since`` or ``until``. A value may hold ``*`` and ``?``,
        alternatives with commas between them, and ranges of numbers (``8..64``, ``8..``); ``null``,
        ``true`` and ``false`` are what JSON means by them.

    Raises
    ------
    UsageError
        If a word has another form, a key names no field of a record, or no record can have such a value.
    """
    found: dict[str, Any] = {}
    for word in words:
        parts = _WORD.fullmatch(word)
        if not parts or not parts[3]:
            raise UsageError(f"a filter must be KEY=VALUE or KEY!=VALUE, got '{word}'")
        key, wanted = _full(parts[1]), parts[2] == "="
        check_field(key)
        if key in TIMES:
            found[key] = _moment(key, wanted, parts[3], found)
        else:
            found[key] = _joined(key, found.get(key, Where()), wanted, alternatives(parts[3]))
            check_values(key, found[key])
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


def _full(key: str) -> str:
    """Return the dotted name of a field as a filter has it."""
    name = key.replace("__", ".")
    return _SHORT.get(name, name)


def select(
    table: Table, filters: Mapping[str, Any], untold: Callable[[str], bool], look: Callable[[int, str], Any]
) -> list[int]:
    """Return the rows that pass all filters.

    Parameters
    ----------
    table : Table
        The records.
    filters : mapping
        By field, with ``__`` or a dot between names: a value, a text as in the words of a command, a
        collection of alternatives, a ``range``, a :class:`Range` or a :class:`Where`; ``since`` and
        ``until`` with a moment.
    untold : callable
        Tells whether a field's values are in the records but not in the table.
    look : callable
        Returns such a field's value of the record of a row.

    Raises
    ------
    UsageError
        If a filter names no field of a record, or no record can have such a value.
    """
    tests = {}
    for key, wanted in filters.items():
        name = _full(key)
        check_field(name)
        tests[name] = _test(name, wanted)
    rows: Iterable[int] = range(len(table))
    opened = {name for name in tests if name not in TIMES and untold(name)}
    # Those that open records come last, when few are left.
    for name in sorted(tests, key=opened.__contains__):
        test = tests[name]
        if name in opened:
            rows = [row for row in rows if test(look(row, name))]
        else:
            values = column(table, "started_at" if name in TIMES else name)
            rows = [row for row in rows if test(values[row])]
    return list(rows)


def column(table: Table, name: str) -> Sequence[Any]:
    """Return the values that a name stands for; of an object its ``name`` or ``grade``."""
    names = set(table.names)
    for known in (name, *(f"{name}.{member}" for member in STANDS_FOR)):
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
    where = where_of(wanted)
    check_values(name, where)
    return test_of(where)
