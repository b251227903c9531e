"""Index objects: many records in one archive, and beside it the list of what it holds. They are added, never changed.

``.index/ID.tar.gz`` has the records byte by byte; ``.index/ID.json.gz`` has, by name, the state of each object when it
was packed, and is written last. ID is a digest of the archive. A record that has changed or gone since is told by
its state, so that no index object is ever wrong, and records that no archive has are read one by one.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchmarker.records.reading import MAX_FILE_BYTES, parse_json
from benchmarker.records.remote.objects import State

FOLDER = ".index"
ARCHIVE, LIST = ".tar.gz", ".json.gz"
MAX_RECORDS = 2048
MAX_BYTES = 64 * 2**20
"""Of one archive's records together; a single one may be larger."""
MAX_LIST_BYTES = 16 * 2**20
"""Of an unpacked list, which is ten times what that of the most records takes."""
_VERSION = 1
_BROKEN = (
    *(OSError, EOFError, ValueError, TypeError, KeyError, AttributeError, OverflowError),
    *(zlib.error, tarfile.TarError),
)


def packed(records: Sequence[tuple[str, State, bytes]]) -> tuple[str, bytes, bytes]:
    """Return the identifier of an archive of records, its content, and that of its list.

    Parameters
    ----------
    records : sequence of tuple
        Name, state and content of each.
    """
    buffer = io.BytesIO()
    # Level 1: records repeat each other so much that higher ones gain little.
    with (
        gzip.GzipFile(fileobj=buffer, mode="wb", compresslevel=1, mtime=0) as stream,
        tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for name, _, data in records:
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    content = buffer.getvalue()
    members = {name: list(state) for name, state, _ in records}
    listed = json.dumps({"version": _VERSION, "members": members}, separators=(",", ":")).encode()
    return _identifier(content), content, gzip.compress(listed, 1, mtime=0)


def members(data: bytes) -> Mapping[str, State]:
    """Return what a list tells; nothing if it is damaged, larger than any that is written, or of a later version."""
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as stream:
            text = stream.read(MAX_LIST_BYTES + 1)
        if len(text) > MAX_LIST_BYTES:
            return {}
        found: Any = parse_json(text)
        if found["version"] != _VERSION:
            return {}
        return {str(name): (int(size), str(token)) for name, (size, token) in found["members"].items()}
    except _BROKEN:
        return {}


def unpacked(identifier: str, data: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield the names and contents of an archive's records; nothing of one that is not as it was written."""
    if _identifier(data) != identifier:
        return
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r|gz") as archive:
            for member in archive:
                stream = (
                    archive.extractfile(member) if member.isreg() and member.size <= MAX_FILE_BYTES else None
                )
                if stream is not None:
                    yield member.name, stream.read()
    except _BROKEN:
        return


def _identifier(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:32]
