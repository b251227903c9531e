"""One file becomes one record, or the reason why it is none. The file is untrusted: anybody may have made it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from benchmarker.errors import StoreError
from benchmarker.files import open_regular
from benchmarker.records.schema import Record, version_fault

MAX_FILE_BYTES = 256 * 2**20
"""Bytes of a file that is read; a record of a million samples has a tenth of it."""


class DamagedError(Exception):
    """A file is no record; the text says why and goes on from the file's name."""


def parse_json(data: bytes) -> Any:
    """Return the value of a JSON text; NaN and Infinity, which Python would take, are refused.

    Raises
    ------
    ValueError
        If it is not JSON in UTF-8, or nested too deeply to be a record.
    """
    import orjson  # here, so that a run's worker need not wait for it

    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        pass
    # The standard library takes what is rare and allowed (half a surrogate pair, from a log in an unknown
    # encoding), and says in more words what is wrong with the rest.
    try:
        return json.loads(data.decode("utf-8"), parse_constant=_refuse_constant)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")


def read_bytes(path: str | os.PathLike[str], *, follow: bool) -> bytes:
    """Return what is in a regular file, and wait for nobody: a pipe is none.

    Parameters
    ----------
    path : path
        The file.
    follow : bool
        Whether it may be a symbolic link.

    Raises
    ------
    DamagedError
        If that cannot be done.
    """
    try:
        descriptor = open_regular(path, follow=follow)
        try:
            return _content(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise DamagedError(f"cannot be read: {error.strerror}") from None


def _content(descriptor: int) -> bytes:
    found = os.fstat(descriptor)
    if found.st_size > MAX_FILE_BYTES:
        raise DamagedError(f"is larger than {MAX_FILE_BYTES >> 20} MiB, so it is not read")
    # One call is enough but for a file that grows meanwhile; what is cut is no JSON.
    return os.read(descriptor, found.st_size + 1)


def parse_record(data: bytes) -> Record:
    """Return the record of a file's bytes, of any version that this release knows. It is not validated.

    Raises
    ------
    DamagedError
        If they are not JSON or not a record.
    """
    try:
        record = parse_json(data)
    except ValueError as error:
        raise DamagedError(f"is not JSON: {error}") from None
    if not isinstance(record, dict) or "schema_version" not in record:
        raise DamagedError("is not a record: it has no schema_version")
    reason = version_fault(record["schema_version"])
    if reason:
        raise DamagedError(f"cannot be read: schema_version {reason}")
    return record


def read_record(path: str | os.PathLike[str]) -> Record:
    """Read one record as it was written, of any version that this release knows. It is not validated.

    Raises
    ------
    StoreError
        If the file cannot be read, is not JSON or not a record.
    """
    try:
        return parse_record(read_bytes(path, follow=True))
    except DamagedError as error:
        raise StoreError(f"'{Path(path)}' {error}") from None
