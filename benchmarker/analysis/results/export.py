"""Records as a file for other programs: flat tables as CSV or Parquet, whole records as JSON lines.

Spreadsheets run a cell of CSV that begins like a formula, so it gets an apostrophe before it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from benchmarker.errors import BenchmarkerError, StoreError, UsageError, missing_package
from benchmarker.files import staged

if TYPE_CHECKING:
    import pyarrow as pa

    from benchmarker.analysis.results.collection import Results


FORMATS = ("csv", "parquet", "jsonl")


def format_of(target: str, named: str | None) -> str:
    """Return the format of an export: the one that was named, else what the file's ending says.

    Raises
    ------
    UsageError
        If neither says one.
    """
    ending = Path(target).suffix.removeprefix(".").lower()
    if named or ending in FORMATS:
        return named or ending
    listed = ", ".join(f".{name}" for name in FORMATS)
    raise UsageError(f"an export's file must end in one of {listed}, or --format name one, got '{target}'")


def export(results: Results, target: Path, kind: str, *, replace: bool = False) -> None:
    """Write records to a file, whole or not at all.

    Parameters
    ----------
    results : Results
        The records.
    target : Path
        The file.
    kind : str
        One of :data:`FORMATS`.
    replace : bool
        Whether a file of that name may be replaced.

    Raises
    ------
    UsageError
        If the file is there already and may not be replaced, or its folder is not there.
    StoreError
        If it cannot be written; nothing is left of it.
    BenchmarkerError
        If the format needs pyarrow, which is not installed.
    """
    taken = UsageError(f"an export does not overwrite a file, and '{target}' exists; --force replaces it")
    if target.is_dir():
        raise UsageError(f"an export needs a file, and '{target}' is a folder")
    if not target.parent.is_dir():
        raise UsageError(f"an export goes to a folder that exists, got '{target}'")
    if target.exists() and not replace:
        raise taken
    try:
        with staged(target, replace=replace) as stream:
            write(results, stream, kind)
    except FileExistsError:
        raise taken from None
    except OSError as error:
        raise StoreError(f"'{target}' could not be written: {error.strerror or error}") from None


def write(results: Results, stream: BinaryIO, kind: str) -> None:
    """Write records to a stream that is open for bytes, in one of the :data:`FORMATS`."""
    _WRITERS[kind](results, stream)


def _write_csv(results: Results, stream: BinaryIO) -> None:
    table = _table(results)
    from pyarrow import csv

    csv.write_csv(defused_table(table), stream)


def _write_parquet(results: Results, stream: BinaryIO) -> None:
    table = _table(results)
    from pyarrow import parquet

    parquet.write_table(table, stream)


def _write_jsonl(results: Results, stream: BinaryIO) -> None:
    for record in results:
        stream.write(
            json.dumps(record, ensure_ascii=False, allow_nan=False).encode("utf-8", "backslashreplace")
        )
        stream.write(b"\n")


_WRITERS: dict[str, Callable[[Results, BinaryIO], None]] = {
    "csv": _write_csv,
    "parquet": _write_parquet,
    "jsonl": _write_jsonl,
}


def _table(results: Results) -> Any:
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise BenchmarkerError(missing_package("a table of records", "pyarrow", "analysis")) from None
    return results.to_arrow()


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

    columns = []
    for column in table.columns:
        kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
        columns.append(_defused_column(column) if is_text else column)
    return pa.Table.from_arrays(columns, list(map(defused, table.column_names)))


def _defused_column(column: Any) -> Any:
    import pyarrow as pa
    from pyarrow import compute

    texts = column.cast(pa.string())
    if not compute.any(compute.match_substring_regex(texts, _FORMULA)).as_py():
        return column
    return pa.array([None if text is None else defused(text) for text in texts.to_pylist()], pa.string())
