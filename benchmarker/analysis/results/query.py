"""SQL over records, through DuckDB: it reads the table that it is given, and reaches nothing else."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from benchmarker.analysis.results.collection import Results
from benchmarker.errors import BenchmarkerError, UsageError, missing_package, printable
from benchmarker.quick_dataclass import dataclass
from benchmarker.records.timestamps import as_written

_READS = ("SELECT", "EXPLAIN")
_LOCKED = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "memory_limit": "1GB",
    "temp_directory": "",
}
"""No file, no network, no extension, no variable of this program, and no more memory than this."""


@dataclass(frozen=True)
class Answer:
    """What a query gives.

    Parameters
    ----------
    names : tuple of str
        The columns.
    numeric : tuple of bool
        Whether a column holds numbers.
    rows : iterator of tuple
        Plain values as JSON has them, read as they are asked for. One that fails midway raises ``UsageError``.
    """

    names: tuple[str, ...]
    numeric: tuple[bool, ...]
    rows: Iterator[tuple[Any, ...]]


def query(results: Results, sql: str) -> Answer:
    """Return what an SQL query says of records.

    Parameters
    ----------
    results : Results
        The table ``records`` has a row for each, with the columns of ``to_arrow()``; ``samples``, made only
        if the query names it, a row for each sample.
    sql : str
        One statement that reads, in DuckDB's SQL. Dotted names of columns need double quotes.

    Raises
    ------
    UsageError
        If it is no such statement, or fails.
    BenchmarkerError
        If DuckDB or pyarrow is not installed.
    """
    try:
        import duckdb
    except ImportError:
        raise BenchmarkerError(missing_package("a query", "duckdb", "analysis")) from None
    connection = duckdb.connect(":memory:", config=_LOCKED)
    try:
        _check(connection.extract_statements(sql))
        connection.register("records", results.to_arrow())
        # A word of a text is taken for the table too, which costs time and no more.
        if re.search(r"\bsamples\b", sql, re.IGNORECASE):
            connection.register("samples", results.samples())
        connection.execute("SET lock_configuration = true")
        return _answer(connection.sql(sql))
    except duckdb.Error as error:
        raise _in_words(error) from None


def _check(statements: Sequence[Any]) -> None:
    if len(statements) != 1:
        raise UsageError(f"a query must be one statement, got {len(statements)}")
    kind = statements[0].type.name
    if kind not in _READS:
        raise UsageError(f"a query must read, with SELECT, got one of kind {kind}")


def _answer(relation: Any) -> Answer:
    import pyarrow as pa

    reader = pa.RecordBatchReader.from_stream(relation)
    is_number = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
    numeric = tuple(any(test(column.type) for test in is_number) for column in reader.schema)
    return Answer(tuple(reader.schema.names), numeric, _rows(reader))


def _rows(reader: Any) -> Iterator[tuple[Any, ...]]:
    import duckdb

    try:
        for batch in reader:
            for row in zip(*(column.to_pylist() for column in batch.columns)):
                yield tuple(map(_plain, row))
    except (duckdb.Error, OSError) as error:  # Arrow tells of a source that fails as OSError
        raise _in_words(error) from None


def _plain(value: Any) -> Any:
    """Return a value as JSON has it: times in UTC, null for numbers that are not finite."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, (float, Decimal)):
        number = float(value)
        if not math.isfinite(number):
            return None
        return int(value) if isinstance(value, Decimal) and value == int(value) else number
    if isinstance(value, datetime):
        return as_written(value)
    if isinstance(value, dict):
        return {str(name): _plain(member) for name, member in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else str(value)


def _in_words(error: Exception) -> UsageError:
    """Return DuckDB's message as one sentence, without its drawing of the statement."""
    lines = [line.strip() for line in str(error).splitlines()]
    message = printable(" ".join(line for line in lines if line and not line.startswith(("LINE ", "^"))))
    unknown = re.match(r"Catalog Error: Table with name (.+?) does not exist", message)
    if unknown:
        # What it would suggest is a table of its own.
        return UsageError(f"a query reads the tables 'records' and 'samples', and there is no '{unknown[1]}'")
    return UsageError(f"the query fails: {message}")
