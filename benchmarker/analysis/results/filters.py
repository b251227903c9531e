"""What records must have to be wanted: ``framework=pytorch problem=resnet* since=7d``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from benchmarker.analysis.results.columns import (
    BOOLEAN,
    ENDS,
    INTEGER,
    NUMBER,
    STANDS_FOR,
    field,
    member_at,
)
from benchmarker.analysis.results.matching import Range as Range
from benchmarker.analysis.results.matching import (
    Test,
    alternatives,
    is_numeral,
    matches,
    test_of,
    where_of,
)
from benchmarker.analysis.results.matching import Where as Where
from benchmarker.analysis.results.table import Table
from benchmarker.errors import UsageError, did_you_mean, nearest
from benchmarker.records.lookup import value_at
from benchmarker.records.schema.faults import is_number
from benchmarker.records.schema.members import Value, members_of, value_of
from benchmarker.records.schema.record import Record
from benchmarker.records.timestamps import as_written, beginning, end

_WORD = re.compile(r"([^=!]+)(!?=)(.*)", re.DOTALL)
TIMES = ("since", "until")
"""Filters by the time at which a run started."""
_EXAMPLES = 3
"""Fields of a group that are named."""
_SHORT = {
    "threads": "execution.threads",
    "ranks": "specification.ranks",
    "scheme": "specification.scheme",
}
"""Names for what is asked often."""


def parse_filters(words: Sequence[str]) -> dict[str, Any]:
    """Return the filters that a command's words ask for, for :func:`benchmarker.load_results`.

    Parameters
    ----------
    words : sequence of str
        ``KEY=VALUE`` or ``KEY!=VALUE``. A key is the dotted name of a field
        (``problem.parameters.image_size``), ``threads``, ``ranks``, ``scheme``, ``since`` or ``until``. A value may
        hold ``*`` and ``?``, alternatives with commas between them, and ranges of numbers (``8..64``, ``8..``);
        ``null``, ``true`` and ``false`` are what JSON means by them.

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


def field_names() -> tuple[str, ...]:
    """Return the dotted names of all fields and groups of fields that are declared."""
    return tuple(_declared(value_of(Record), ""))


def _declared(value: Value, before: str) -> Iterator[str]:
    for part, member in (members_of(value.group) if value.group else {}).items():
        yield before + part
        yield from _declared(member.value, f"{before}{part}.")


def choices_of(name: str) -> tuple[str, ...]:
    """Return the values that a field may have, if they are few."""
    member = member_at(_full(name))
    return () if member is None else tuple(map(str, member.value.choices or ()))


def filter_keys() -> tuple[str, ...]:
    """Return what filters can be of: fields, and short names."""
    return (*field_names(), *_SHORT, *TIMES)


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
    table: Table,
    filters: Mapping[str, Any],
    is_outside_table: Callable[[str], bool],
    look: Callable[[int, str], Any],
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
    is_outside_table : callable
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
    opened = {name for name in tests if name not in TIMES and is_outside_table(name)}
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
    value = value_at(record, name)
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


def check_field(name: str) -> None:
    """Raise ``UsageError`` if a dotted name can name no field of a record, nor ``since`` or ``until``."""
    if name in TIMES:
        return
    value = value_of(Record)
    parts = name.split(".")
    for depth, part in enumerate(parts):
        if value.group is None:
            _check_inside(value, ".".join(parts[:depth]), part)
            return
        known = members_of(value.group)
        if part in known:
            value = known[part].value
        elif value.others:
            return
        else:
            near = did_you_mean(part, [*known, *(() if depth else TIMES)])
            inside = f" (in '{name}')" if depth else ""
            raise UsageError(f"a filter must name a field of a record, got '{part}'{inside}{near}")


def _check_inside(value: Value, name: str, part: str) -> None:
    """Refuse a member of what has none: ``status.ne``."""
    is_item = value.json_type == "array" and (part.isdecimal() or part in ENDS)
    if value.json_type not in (None, "object") and not is_item:
        raise UsageError(
            f"a filter must name a field of a record, got '{name}.{part}', and '{name}' has no '{part}'; what is "
            f"not wanted is written {name}!=VALUE, in Python {name.replace('.', '__')}=Where(none_of=(VALUE,))"
        )


def check_values(name: str, where: Where) -> None:
    """Raise ``UsageError`` if a field can have no such value as is wanted, or not wanted.

    Parameters
    ----------
    name : str
        Dotted name of a field.
    where : Where
        The values.
    """
    for value in (*(where.any_of or ()), *where.none_of):
        _check_range(value)
        if value is not None:
            _check_value(name, value)


def _check_range(value: Any) -> None:
    if isinstance(value, range) and not value:
        raise UsageError(f"a range must not be empty, got {value}")
    if isinstance(value, Range) and value.is_empty:
        raise UsageError(f"a range must go from the smaller number to the larger, got '{value}'")


def _check_value(name: str, value: Any) -> None:
    member = member_at(name)
    if member is None:
        return
    of = member.value
    if of.json_type == "object":
        members = members_of(of.group) if of.group else {}
        stand_in = next((known for known in STANDS_FOR if known in members), None)
        if stand_in is None:
            _check_group(name, of, value)
        else:
            _check_value(f"{name}.{stand_in}", value)
    elif of.choices:
        if not any(map(matches(value), of.choices)):
            near = nearest(value, of.choices)
            raise UsageError(f"'{name}' must be one of {', '.join(of.choices)}, got {_quoted(value)}{near}")
    else:
        _check_kind(name, value)


def _check_group(name: str, of: Value, value: Any) -> None:
    """Refuse a value for a group of fields; of a collector's reading, a member may stand for it."""
    if of.is_reading:
        return
    members = members_of(of.group) if of.group else {}
    fitting = [m for m, member in members.items() if any(map(matches(value), member.value.choices))]
    examples = [f"{name}.{member}" for member in (fitting or list(members) or ["NAME"])[:_EXAMPLES]]
    raise UsageError(
        f"a filter of a value must name a single field, '{name}' is a group of them, got {_quoted(value)}; name one in "
        f"it, such as {', '.join(examples)}"
    )


def _check_kind(name: str, value: Any) -> None:
    kind = field(name).kind
    is_range = isinstance(value, (Range, range))
    if kind in (INTEGER, NUMBER):
        if not (is_range or is_number(value) or (isinstance(value, str) and is_numeral(value))):
            raise UsageError(
                f"'{name}' is a number, so what it must be is like 8, 8..64, 8.. or null, got {_quoted(value)}"
            )
    elif kind == BOOLEAN:
        if not isinstance(value, bool):
            raise UsageError(f"'{name}' must be true, false or null, got {_quoted(value)}")
    elif kind is not None and is_range:
        raise UsageError(f"a range must be of numbers, and '{name}' is not one, got {_quoted(value)}")


def _quoted(value: Any) -> str:
    """Return a value as the words of a filter have it."""
    return f"'{str(value).lower() if isinstance(value, bool) else value}'"
