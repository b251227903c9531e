"""Where a record goes that cannot be written to the results folder: what was measured is not lost for it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from benchmarker.cache import home
from benchmarker.errors import StoreError, UsageError
from benchmarker.records.store import Store

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
    for attachments in ((log_text, trace), (None, None)):
        for folder in _places():
            try:
                return Store(folder).save(record, *attachments)
            except StoreError:
                continue
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
