"""Some files become a part of the table, in bytes: what a helper process sends and an index is made of."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pyarrow as pa

from benchmarker.results.arrow import arrow_table
from benchmarker.results.flattening import Columns
from benchmarker.results.migration import newest
from benchmarker.results.reading import DamagedError, parse_record, read_bytes
from benchmarker.results.typed import typed

_DAMAGED = b"damaged"


def read_chunk(paths: Sequence[str]) -> bytes:
    """Return the part of some files, none of which may be a symbolic link."""
    columns, damaged = Columns(), {}
    for place, path in enumerate(paths):
        try:
            columns.add(newest(parse_record(read_bytes(path, follow=False))))
        except DamagedError as error:
            damaged[place] = str(error)
    table = arrow_table(typed(columns.finish()), columns.rows)
    table = table.replace_schema_metadata({_DAMAGED: json.dumps(damaged)})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def open_chunk(data: bytes) -> tuple[pa.Table, dict[int, str]]:
    """Return the rows of a part, and why which of its files (by position) have none."""
    table = pa.ipc.open_stream(pa.BufferReader(data)).read_all()
    damaged = json.loads(table.schema.metadata[_DAMAGED])
    rows = table.replace_schema_metadata(None)
    return rows, {int(place): reason for place, reason in damaged.items()}
