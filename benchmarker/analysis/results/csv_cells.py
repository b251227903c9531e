"""Texts as cells of CSV: spreadsheets run what begins like a formula, so it gets an apostrophe before it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

_FORMULA = r"^\s*[=+\-@\x{FF1D}\x{FF0B}\x{FF0D}\x{FF20}]|^[\t\r\n]"
"""Beginnings of formulas, also in full width, after blanks too, as some programs drop these."""
_FORMULA_OF_PYTHON = re.compile(re.sub(r"\\x\{(....)\}", r"\\u\1", _FORMULA))
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


def defused(text: str) -> str:
    """Return a text that no spreadsheet takes for a formula; numbers stay as they are."""
    if _FORMULA_OF_PYTHON.match(text) and not _NUMBER.fullmatch(text):
        return f"'{text}"
    return text


def defused_table(table: pa.Table) -> pa.Table:
    """Return a table whose texts and headings are defused; columns without a formula are not copied."""
    import pyarrow as pa

    for place, column in enumerate(table.columns):
        kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            table = table.set_column(place, table.column_names[place], _defused_column(column))
    return table.rename_columns(list(map(defused, table.column_names)))


def _defused_column(column: Any) -> Any:
    import pyarrow as pa
    from pyarrow import compute

    texts = column.cast(pa.string())
    if not compute.any(compute.match_substring_regex(texts, _FORMULA)).as_py():
        return column
    return pa.array([None if text is None else defused(text) for text in texts.to_pylist()], pa.string())
