"""The index of a folder with many records: its table, and of which state of each file the rows are.

Helper processes, one per core, read what is new: paths go in, parts of the table come out as Arrow. The index is a
cache. It may be deleted at any time, is replaced as a whole, and one that is damaged or of another release counts as
none.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import hashlib
import json
import os
import queue
import struct
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa

from benchmarker.analysis.results.arrow import arrow_table, joined
from benchmarker.analysis.results.columns import typed
from benchmarker.analysis.results.rows import read_part
from benchmarker.cache import evict, home, staged_file
from benchmarker.machine.threads import available_threads
from benchmarker.quick_dataclass import dataclass
from benchmarker.records.files import File, OnProgress, State, names_in
from benchmarker.records.reading import read_bytes
from benchmarker.records.schema import load_schema
from benchmarker.version import __version__

MAX_INDEXES = 64
"""Of folders; the one that was written longest ago goes when there is another."""

_UNSETTLED_NS = 2_000_000_000
"""A file changed so shortly before it was read may change again within one tick of the file system's clock."""
_CHANGING: State = (0, 0, 0, 0)
_PARTS = {"size": pa.int64(), "changed": pa.int64(), "touched": pa.int64(), "inode": pa.uint64()}
"""Of a state."""
_BROKEN = (OSError, ValueError, KeyError, IndexError, TypeError, pa.ArrowException)


@dataclass(frozen=True)
class Index:
    """What was read of a folder.

    Parameters
    ----------
    rows : mapping of str to (State, int)
        For each record, by the file's name in the folder: the file's state, and the row.
    damaged : mapping of str to (State, str)
        For each other file: its state, and what is wrong with it.
    table : pyarrow.Table
        The rows.
    """

    rows: Mapping[str, tuple[State, int]]
    damaged: Mapping[str, tuple[State, str]]
    table: pa.Table


def settled(files: Sequence[File]) -> list[State]:
    """Return the states by which files will be known again; of one that has just changed it is none."""
    now = time.time_ns()
    return [_CHANGING if now - file.state[2] < _UNSETTLED_NS else file.state for file in files]


def load_index(folder: Path) -> Index | None:
    """Return the index of a folder, or None if there is none to be trusted."""
    try:
        data = _place(folder).read_bytes()
        head, _, body = data.partition(b"\n")
        if head != _head(body):
            return None
        reader = pa.BufferReader(body)
        keys = pa.ipc.open_stream(reader).read_all()
        table = pa.ipc.open_stream(reader).read_all()
        names = [os.fsdecode(name) for name in keys["name"].to_pylist()]
        states = zip(*(keys[part].to_pylist() for part in _PARTS))
        notes = json.loads(keys.schema.metadata[b"damaged"])
    except _BROKEN:
        return None
    damaged = {name: (tuple(state), reason) for name, (*state, reason) in notes.items()}
    return Index({name: (state, row) for row, (name, state) in enumerate(zip(names, states))}, damaged, table)


def save_index(folder: Path, index: Index) -> None:
    """Keep an index, whole or not at all; where that cannot be done, the next one reads the files again."""
    place = _place(folder)
    body = _body(index)
    with contextlib.suppress(OSError):
        with staged_file(place) as stream:
            stream.write(_head(body) + b"\n")
            stream.write(body)
        evict(place.parent, "*.arrow", max_entries=MAX_INDEXES)


def _place(folder: Path) -> Path:
    name = hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()
    return home() / "indexes" / f"{name}.arrow"


def _body(index: Index) -> pa.Buffer:
    states = [state for state, _ in index.rows.values()]
    notes = {name: (*state, reason) for name, (state, reason) in index.damaged.items()}
    keys = pa.table(
        {
            "name": pa.array([os.fsencode(name) for name in index.rows], pa.binary()),
            **{
                part: pa.array([state[place] for state in states], kind)
                for place, (part, kind) in enumerate(_PARTS.items())
            },
        }
    ).replace_schema_metadata({"damaged": json.dumps(notes)})
    sink = pa.BufferOutputStream()
    for table in (keys, index.table):
        with pa.ipc.new_stream(
            sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")
        ) as writer:
            writer.write_table(table)
    return sink.getvalue()


def _head(body: bytes | pa.Buffer) -> bytes:
    return f"benchmarker index {_release()} {hashlib.blake2b(body).hexdigest()}".encode()


@functools.cache
def _release() -> str:
    """Return what decides how a record becomes a row: this release, its own code, and Arrow's."""
    digest = hashlib.sha256(f"{__version__} {pa.__version__} {json.dumps(load_schema())}".encode())
    for file in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()


_EMPTY = Index({}, {}, pa.table({}))


def indexed(folder: Path, files: Sequence[File], on_progress: OnProgress | None = None) -> Index:
    """Return an up-to-date index of a folder, with rows in the order of its files; it is kept for the next time.

    Parameters
    ----------
    folder : Path
        The folder.
    files : sequence of File
        What is in it, in the order that is wanted.
    on_progress : callable or None
        Called with the number of files that are read and of those that must be.
    """
    names = names_in(folder, files)
    before = load_index(folder) or _EMPTY
    states = dict(zip(names, (file.state for file in files)))
    kept = {n: entry for n, entry in before.rows.items() if states.get(n) == entry[0]}
    damaged = {n: entry for n, entry in before.damaged.items() if states.get(n) == entry[0]}
    new = [place for place, name in enumerate(names) if name not in kept and name not in damaged]
    if not new and len(kept) == len(before.rows) and len(damaged) == len(before.damaged):
        return before
    tables = [before.table]
    total = len(before.table)
    known = dict(zip(new, settled([files[place] for place in new])))
    done = 0
    for count, data in read_chunks([files[place].path for place in new]):
        rows, faults = open_chunk(data)
        for offset, place in enumerate(new[done : done + count]):
            if offset in faults:
                damaged[names[place]] = (known[place], faults[offset])
            else:
                kept[names[place]] = (known[place], total)
                total += 1
        tables.append(rows)
        done += count
        if on_progress:
            on_progress(done, len(new))
    index = _in_order(names, kept, damaged, joined(tables))
    save_index(folder, index)
    return index


def _in_order(
    names: Sequence[str],
    rows: Mapping[str, tuple[State, int]],
    damaged: Mapping[str, tuple[State, str]],
    table: pa.Table,
) -> Index:
    """Return the index whose rows stand as the names do."""
    order = [name for name in names if name in rows]
    places = [rows[name][1] for name in order]
    if places != list(range(len(table))):
        table = table.take(pa.array(places, pa.int64()))
    return Index({name: (rows[name][0], row) for row, name in enumerate(order)}, damaged, table)


# --- helper processes ----------------------------------------------------------------------------

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
