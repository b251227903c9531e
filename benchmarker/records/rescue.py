"""Where a record goes that cannot be written to the results folder: what was measured is not lost for it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from benchmarker.cache import home
from benchmarker.errors import StoreError, UsageError
from benchmarker.records.store import Store, add_record

FOLDER = "benchmarker-rescued"


def rescue(record: Mapping[str, Any], log_text: str | None, trace: bytes | None, error: StoreError) -> Path:
    """Write a record with its log and its trace elsewhere, or alone where there is no room for these.

    Parameters
    ----------
    record, log_text, trace
        As :meth:`~benchmarker.records.store.Store.save` takes them.
    error : StoreError
        Why it could not be written where it belongs.

    Returns
    -------
    Path
        The record's file.

    Raises
    ------
    StoreError
        As ``error``, if there is no place at all.
    """

    def save(folder: Path, whole: bool) -> Path:
        return Store(folder).save(record, *((log_text, trace) if whole else (None, None)))

    return _first_place(save, error)


def rescue_unchecked(
    record: Mapping[str, Any], name: str, attachments: Mapping[str, bytes], error: StoreError
) -> Path:
    """Write a record that may be invalid elsewhere, or alone where there is no room for what lies beside it.

    Parameters
    ----------
    record : mapping
        As its file has it, of any version.
    name : str
        Of its file, without ending.
    attachments : mapping
        Ending to the content of the file beside it.
    error : StoreError
        As :func:`rescue` takes it, which also says what is returned and raised.
    """

    def save(folder: Path, whole: bool) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        return add_record(folder, name, dict(record), attachments if whole else {})

    return _first_place(save, error)


def attempt(rescuing: Callable[[StoreError], Path], error: StoreError) -> tuple[Path | None, str]:
    """Return the file of a record that is rescued, None if there is no place at all, and the sentence to tell."""
    try:
        path = rescuing(error)
    except StoreError:
        return (
            None,
            f"{error}, nor could it be kept anywhere else: only what is printed here is left of it",
        )
    return path, f"{error}; it is kept as '{path}'"


def _first_place(save: Callable[[Path, bool], Path], error: StoreError) -> Path:
    """Save in the first folder that takes the record whole, else in the first that takes it alone."""
    for whole in (True, False):
        for folder in _places():
            try:
                return save(folder, whole)
            except (OSError, StoreError):
                with suppress(OSError):
                    folder.rmdir()  # made for this record, and empty
    raise error


def _places() -> Iterator[Path]:
    places: tuple[Callable[[], Path], ...] = (
        lambda: home() / "rescued",
        lambda: Path(tempfile.gettempdir()) / FOLDER,
        lambda: Path.home() / FOLDER,
    )
    for place in places:
        # There may be no folder for temporary files that can be written, and no home.
        with suppress(OSError, RuntimeError, UsageError):
            yield place()
