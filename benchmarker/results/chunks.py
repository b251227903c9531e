"""Some files become a part of the table, in bytes: what a helper process sends and an index is made of."""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence

import pyarrow as pa

from benchmarker.results.arrow import arrow_table
from benchmarker.results.cells import read_part
from benchmarker.results.reading import read_bytes
from benchmarker.results.typed import typed

_DAMAGED = b"damaged"


def read_chunk(paths: Sequence[str]) -> bytes:
    """Return the part of some files, none of which may be a symbolic link."""
    part = read_part(paths, functools.partial(read_bytes, follow=False))
    table = arrow_table(typed(part.cells), part.length)
    table = table.replace_schema_metadata({_DAMAGED: json.dumps(part.damaged)})
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
