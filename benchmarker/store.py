"""The results folder: records are written once, whole and validated, and read back with filters."""

from __future__ import annotations

import contextlib
import errno
import json
import math
import os
import re
import secrets
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarker.errors import StoreError, UsageError
from benchmarker.schema import Record, load_schema, validate, version_fault

if TYPE_CHECKING:
    from benchmarker.results import Results

DEFAULT_FOLDER = Path("results")

_NO_LINKS = {errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EMLINK}
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
        probe = self.folder / f".probe-{secrets.token_hex(8)}"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            _write_new(probe, b"")
        except OSError as error:
            raise UsageError(
                f"results must go to a folder that can be written, got '{self.folder}' "
                f"({error.strerror}); choose another with --results"
            ) from None
        finally:
            _remove(probe)

    def save(self, record: Mapping[str, Any], log_text: str | None = None) -> Path:
        """Write a record, and its log beside it; never over another file, never half.

        Numbers that are not finite, which JSON does not have, are written as null; where the schema
        asks for a number (a sample, say) the record is refused. ``log`` is filled in.

        Parameters
        ----------
        record : mapping
            A record of the newest schema version; it is not changed.
        log_text : str or None
            What the worker printed.

        Returns
        -------
        Path
            The record's file.

        Raises
        ------
        ValueError
            If the record is not valid, which is a bug of whoever made it.
        StoreError
            If it could not be written (disk full, folder gone, ...); nothing is left behind.
        """
        clean = _ordered(_plain(record))
        faults = validate(clean)
        if faults:
            raise ValueError("the record is not valid: " + "; ".join(map(str, faults)))
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            return self._save(clean, log_text)
        except OSError as error:
            raise StoreError(
                f"the record could not be written to '{self.folder}': {error.strerror or error}"
            ) from error

    def _save(self, record: Record, log_text: str | None) -> Path:
        stem = base = record_name(record)
        while True:
            target, log = self.folder / f"{stem}.json", self.folder / f"{stem}.log"
            if log_text is None:
                if _publish(target, format_record(record)):
                    return target
            elif _publish_pair(target, format_record({**record, "log": log.name}), log, log_text):
                return target
            stem = f"{base}-{secrets.token_hex(4)}"


def _publish(target: Path, text: str) -> bool:
    """Write a whole new file; return whether it was new. On an error nothing is left of it."""
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    try:
        _write_new(temporary, text.encode("utf-8", "backslashreplace"))
        _name_once(temporary, target)
    except FileExistsError:
        return False
    finally:
        _remove(temporary)
    _sync_folder(target.parent)
    return True


def _publish_pair(target: Path, text: str, log: Path, log_text: str) -> bool:
    """Write a new record and its log, or neither; return whether both names were free."""
    # The log first: a record never names a log that is not there.
    if not _publish(log, log_text):
        return False
    written = False
    try:
        written = _publish(target, text)
    finally:
        if not written:
            _remove(log)
    return written


def _write_new(path: Path, data: bytes) -> None:
    # Mode 0o666 less the umask, as for any file the user makes; tempfile would make it private.
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())


def _name_once(temporary: Path, target: Path) -> None:
    """Give a finished file its name; ``FileExistsError`` if the name is taken."""
    try:
        os.link(temporary, target)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        # A file system without hard links: whoever makes the empty file owns the name.
        os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
        temporary.replace(target)


def _sync_folder(folder: Path) -> None:
    # Some file systems cannot do this; the record is there all the same.
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink(missing_ok=True)


def _plain(value: Any) -> Any:
    """Return the value with lists for tuples, dicts for mappings, and null for numbers that are not finite."""
    if isinstance(value, Mapping):
        return {str(name): _plain(member) for name, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _ordered(record: Record) -> Record:
    order = {name: place for place, name in enumerate(load_schema()["properties"])}
    return dict(sorted(record.items(), key=lambda item: order.get(item[0], len(order))))


def format_record(record: Mapping[str, Any]) -> str:
    """Return a record as JSON for people: one member a line, small objects and plain lists on one line."""
    return _format(record, "") + "\n"


def _format(value: Any, indent: str) -> str:
    nested = _members(value)
    line = "" if any(map(_members, nested)) else json.dumps(value, ensure_ascii=False, allow_nan=False)
    if line and (len(line) <= _LINE_LENGTH or not isinstance(value, dict)):
        return line
    inner = indent + "  "
    if isinstance(value, dict):
        lines = [f"{inner}{json.dumps(name)}: {_format(member, inner)}" for name, member in value.items()]
        return "{\n" + ",\n".join(lines) + f"\n{indent}}}"
    return "[\n" + ",\n".join(inner + _format(item, inner) for item in value) + f"\n{indent}]"


def _members(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def parse_json(data: bytes) -> Any:
    """Return the value of a JSON text; NaN and Infinity, which Python would take, are refused.

    Raises
    ------
    ValueError
        If it is not JSON in UTF-8, or nested too deeply to be a record.
    """
    try:
        return json.loads(data.decode("utf-8"), parse_constant=_refuse_constant)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def read_record(path: str | os.PathLike[str]) -> Record:
    """Read one record of any version that this release knows. It is not validated.

    Raises
    ------
    StoreError
        If the file cannot be read, is not JSON or not a record.
    """
    try:
        record = parse_json(Path(path).read_bytes())
    except OSError as error:
        raise StoreError(f"'{path}' cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise StoreError(f"'{path}' is not JSON: {error}") from None
    if not isinstance(record, dict) or "schema_version" not in record:
        raise StoreError(f"'{path}' is not a record: it has no schema_version")
    reason = version_fault(record["schema_version"])
    if reason:
        raise StoreError(f"'{path}' cannot be read: schema_version {reason}")
    return record


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")


def record_files(path: str | os.PathLike[str]) -> list[Path]:
    """Return the record files of a folder and the folders below it, by name; or the file that was named.

    Raises
    ------
    UsageError
        If there is no such file or folder.
    """
    path = Path(path)
    if path.is_dir():
        found = (file for file in path.rglob("*.json") if file.is_file())
        return sorted(file for file in found if not _hidden(file.relative_to(path)))
    if not path.exists():
        raise UsageError(f"records are read from a file or a folder that exists, got '{path}'")
    return [path]


def _hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def iter_records(
    path: str | os.PathLike[str] = DEFAULT_FOLDER,
    on_damage: Callable[[Path, str], None] | None = None,
) -> Iterator[tuple[Path, Record]]:
    """Yield the files and records of a folder, in the order of their names.

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


def load_results(path: str | os.PathLike[str] = DEFAULT_FOLDER, **filters: Any) -> Results:
    """Return the records of a folder.

    Parameters
    ----------
    path : path
        A folder, or one file.
    filters
        What records must have: ``framework="pytorch"``, ``status=["ok", "failed"]``,
        ``problem__parameters__image_size=64``. A list, tuple or set holds alternatives; the name of
        an object that has a ``name`` stands for it.

    Raises
    ------
    UsageError
        If there is no such file or folder, or a filter names no field of a record.
    """
    from benchmarker.results import collect

    return collect(path, filters)
