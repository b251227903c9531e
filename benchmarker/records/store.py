"""The results folder: records are written once, whole and validated, and read back with filters."""

from __future__ import annotations

import json
import math
import os
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarker.errors import StoreError, UsageError
from benchmarker.files import publish, publish_with, remove
from benchmarker.machine.secrets import without_secrets
from benchmarker.records.attachments import LOG, TRACE, naming
from benchmarker.records.files import find_files
from benchmarker.records.reading import parse_json as parse_json
from benchmarker.records.reading import read_record as read_record
from benchmarker.records.schema import Record, load_schema, validate

DEFAULT_FOLDER = Path("results")

_PART_LENGTH = 40
_LINE_LENGTH = 96


def record_name(record: Mapping[str, Any]) -> str:
    """Return a file name without ending: time (UTC), framework, problem, mode, end of the identifier.

    The time comes first, so that names sort in the order of the runs.
    """
    framework = record["framework"]
    parts = (
        record["started_at"][:19].replace(":", "") + "Z",
        f"{framework['name']}-{framework['version'] or 'unknown'}",
        record["problem"]["name"],
        record["mode"],
        record["id"][-8:],
    )
    return "_".join(re.sub(r"[^A-Za-z0-9.+_-]+", "-", part)[:_PART_LENGTH] for part in parts)


class InvalidRecordError(ValueError):
    """A record breaks a rule of its schema."""


def require_writable(folder: Path, what: str, option: str) -> None:
    """Make a folder and write a file in it.

    Raises
    ------
    UsageError
        If that cannot be done.
    """
    probe = folder / f".probe-{os.urandom(8).hex()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        publish(probe, b"")
    except OSError as error:
        raise UsageError(
            f"{what} must go to a folder that can be written, got '{folder}' ({error.strerror}); choose another with "
            f"{option}"
        ) from None
    finally:
        remove(probe)


class Store:
    """A results folder that records are added to.

    Parameters
    ----------
    folder : path
        Made when it is needed.
    """

    def __init__(self, folder: str | os.PathLike[str] = DEFAULT_FOLDER) -> None:
        self.folder = Path(folder)

    def check_writable(self) -> None:
        """Make the folder and write a file in it, so that no run is lost for want of a place.

        Raises
        ------
        UsageError
            If that cannot be done.
        """
        require_writable(self.folder, "results", "--results")

    def save(
        self, record: Mapping[str, Any], log_text: str | None = None, trace: bytes | None = None
    ) -> Path:
        """Write a record, its log and its trace beside it; never over another file, never half.

        Numbers that are not finite, which JSON does not have, are written as null; where the schema
        asks for a number (a sample, say) the record is refused. ``log`` and ``profile.trace`` are filled in.

        Parameters
        ----------
        record : mapping
            A record of the newest schema version; it is not changed.
        log_text : str or None
            What the worker printed.
        trace : bytes or None
            The trace of its profile, compressed.

        Returns
        -------
        Path
            The record's file.

        Raises
        ------
        InvalidRecordError
            If the record is not valid, which is a bug of whoever made it.
        StoreError
            If it could not be written (disk full, folder gone, ...); nothing is left behind.
        """
        clean = checked(record)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            return self._save(clean, log_text, trace)
        except OSError as error:
            raise StoreError(
                f"the record could not be written to '{self.folder}': {error.strerror or error}"
            ) from error

    def _save(self, record: Record, log_text: str | None, trace: bytes | None) -> Path:
        log = None if log_text is None else _encoded(without_secrets(log_text))
        files = {ending: data for ending, data in ((LOG, log), (TRACE, trace)) if data is not None}
        return add_record(self.folder, record_name(record), record, files)


def add_record(
    folder: Path, base: str, record: Record, attachments: Mapping[str, bytes], *, durable: bool = True
) -> Path:
    """Write a record and what lies beside it as new files of a folder that exists; return the record's file.

    Parameters
    ----------
    folder : Path
        The folder.
    base : str
        Name without ending; if it is taken, something is added.
    record : dict
        A valid record; the names of the files beside it are filled in.
    attachments : mapping
        Ending to the file's content.
    durable : bool
        Whether the files are on the disk when this returns; otherwise whoever adds many sees to that himself.

    Raises
    ------
    OSError
        If that cannot be done; nothing is left behind.
    """
    stem = base
    while True:
        target = folder / f"{stem}.json"
        data = _encoded(format_record(naming(record, stem, attachments)))
        if publish_with(
            target,
            data,
            {folder / f"{stem}{ending}": file for ending, file in attachments.items()},
            durable=durable,
        ):
            return target
        stem = f"{base}-{os.urandom(4).hex()}"


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "backslashreplace")


def checked(record: Mapping[str, Any]) -> Record:
    """Return a record as it is stored: its members in order, and null for numbers that are not finite.

    Raises
    ------
    InvalidRecordError
        If it is not valid.
    """
    clean = _ordered(as_json(record))
    faults = validate(clean)
    if faults:
        raise InvalidRecordError("the record is not valid: " + "; ".join(map(str, faults)))
    return clean


def as_stored(path: Path, record: Mapping[str, Any]) -> Record:
    """Return a record as its file has it, or would have it if there had been a place that takes it."""
    try:
        return read_record(path)
    except StoreError:
        return checked(record)


def as_json(value: Any) -> Any:
    """Return the value with lists for tuples, dicts for mappings, and null for numbers that are not finite."""
    # What there is most of comes first, the question that takes longest last.
    if value is None or isinstance(value, (str, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, (list, tuple)):
        return [as_json(item) for item in value]
    if isinstance(value, Mapping):
        return {str(name): as_json(member) for name, member in value.items()}
    return value


def _ordered(record: Record) -> Record:
    order = {name: place for place, name in enumerate(load_schema()["properties"])}
    return dict(sorted(record.items(), key=lambda item: order.get(item[0], len(order))))


_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
"""Made once: ``json.dumps`` makes an encoder for each of a record's thousand values."""
_encode_name = json.JSONEncoder().encode


def format_record(record: Mapping[str, Any]) -> str:
    """Return a record as JSON for people: one member a line, small objects and plain lists on one line."""
    try:
        return _format(record, "") + "\n"
    except RecursionError:
        raise StoreError("a record cannot be nested as deeply as this one") from None


def _format(value: Any, indent: str) -> str:
    if not isinstance(value, (dict, list)):
        return _format_scalar(value)
    if not any(map(_has_members, value.values() if isinstance(value, dict) else value)):
        line = _encode(value)
        if len(line) <= _LINE_LENGTH or isinstance(value, list):
            return line
    inner = indent + "  "
    if isinstance(value, dict):
        lines = [f"{inner}{_encode_name(name)}: {_format(member, inner)}" for name, member in value.items()]
        return "{\n" + ",\n".join(lines) + f"\n{indent}}}"
    return "[\n" + ",\n".join([inner + _format(item, inner) for item in value]) + f"\n{indent}]"


def _has_members(value: Any) -> bool:
    return isinstance(value, (dict, list)) and bool(value)


def _format_scalar(value: Any) -> str:
    # The encoder takes ten times as long for a number, and refuses one that is not finite.
    if type(value) is int or (type(value) is float and math.isfinite(value)):
        return repr(value)
    return "null" if value is None else _encode(value)


def record_files(path: str | os.PathLike[str]) -> list[Path]:
    """Return the record files of a folder and the folders below it, by name; or the file that was named.

    Hidden files and symbolic links in the folder are left out.

    Raises
    ------
    UsageError
        If there is no such file or folder.
    """
    return [Path(file.path) for file in find_files(path, lambda damaged, reason: None)]


def iter_records(
    path: str | os.PathLike[str] = DEFAULT_FOLDER,
    on_damage: Callable[[Path, str], None] | None = None,
) -> Iterator[tuple[Path, Record]]:
    """Yield the files and records of a folder, in the order of their names, each as it was written.

    Parameters
    ----------
    path : path
        A folder, or one file.
    on_damage : callable or None
        Called with the path and the reason for each file that cannot be read, which is skipped; a
        warning is given otherwise.

    Raises
    ------
    UsageError
        If there is no such file or folder.
    """
    for file in record_files(path):
        try:
            record = read_record(file)
        except StoreError as error:
            if on_damage is None:
                warnings.warn(f"skipped: {error}", stacklevel=2)
            else:
                on_damage(file, str(error))
            continue
        yield file, record
