"""Many files are read by helper processes, one for each core: paths go in, parts of the table as Arrow come out."""

from __future__ import annotations

import contextlib
import functools
import gc
import json
import queue
import struct
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa

from benchmarker.analysis.results.arrow import arrow_table
from benchmarker.analysis.results.flattening import read_part
from benchmarker.analysis.results.table import typed
from benchmarker.machine.threads import available_threads
from benchmarker.records.reading import read_bytes

CHUNK = 500
"""Files of a part."""
_MAX_HELPERS = 16
LENGTH = struct.Struct("<Q")
"""Before each answer: its length in bytes."""
_DAMAGED = b"damaged"

# Not multiprocessing: it would import the user's own program again in each helper, or fork beside its threads.
_START = f"import json, sys; sys.path[:] = json.loads(sys.argv[1]); from {__name__} import serve; serve()"


def read_chunks(paths: Sequence[str]) -> Iterator[tuple[int, bytes]]:
    """Yield the parts of files, in their order: the number of files, and what they hold.

    Where helpers cannot be started, or one ends, the files are read in this process.
    """
    chunks = [paths[start : start + CHUNK] for start in range(0, len(paths), CHUNK)]
    count = min(available_threads(), len(chunks), _MAX_HELPERS)
    if count < 2:
        yield from zip(map(len, chunks), map(read_chunk, chunks))
        return
    with _Helpers(count) as helpers, ThreadPoolExecutor(count) as threads:
        try:
            yield from zip(map(len, chunks), threads.map(helpers.read, chunks))
        finally:
            helpers.stop()
            threads.shutdown(cancel_futures=True)


class _Helpers:
    """Helpers, each of which serves one thread at a time."""

    def __init__(self, count: int) -> None:
        command = [sys.executable, "-I", "-c", _START, json.dumps(sys.path)]
        self._all: list[subprocess.Popen[bytes]] = []
        self._idle: queue.SimpleQueue[subprocess.Popen[bytes] | None] = queue.SimpleQueue()
        for _ in range(count):
            self._idle.put(self._start(command))

    def __enter__(self) -> _Helpers:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _start(self, command: Sequence[str]) -> subprocess.Popen[bytes] | None:
        try:
            helper = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError:
            return None
        self._all.append(helper)
        return helper

    def read(self, paths: Sequence[str]) -> bytes:
        """Return the part of some files, from the next helper that is idle."""
        helper = self._idle.get()
        try:
            answer = _ask(helper, paths) if helper else None
        except (OSError, ValueError):
            answer = None
        # One that has failed is not asked again.
        self._idle.put(helper if answer is not None else None)
        return read_chunk(paths) if answer is None else answer

    def stop(self) -> None:
        for helper in self._all:
            helper.kill()
            with contextlib.suppress(OSError, ValueError):
                helper.communicate()
        self._all.clear()


def _ask(helper: subprocess.Popen[bytes], paths: Sequence[str]) -> bytes | None:
    assert helper.stdin is not None
    assert helper.stdout is not None
    helper.stdin.write(json.dumps(list(paths)).encode() + b"\n")
    helper.stdin.flush()
    head = helper.stdout.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    (length,) = LENGTH.unpack(head)
    answer = helper.stdout.read(length)
    return answer if len(answer) == length else None


def serve() -> None:
    """Answer each line of paths until there are no more."""
    # Parsed records hold no cycles, and looking for them takes a third of the time.
    gc.disable()
    for line in sys.stdin.buffer:
        answer = read_chunk(json.loads(line))
        sys.stdout.buffer.write(LENGTH.pack(len(answer)) + answer)
        sys.stdout.buffer.flush()


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
