"""What a user names as a results folder becomes a folder of this machine: itself, or the copy of a place elsewhere."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarker.api.given_values import path_of
from benchmarker.errors import UsageError, missing_package, require
from benchmarker.records import places
from benchmarker.records.remote.addresses import checked_address, copy_folder, is_address, local_path
from benchmarker.records.store import Store


def open_place(name: str | os.PathLike[str]) -> Path:
    """Return the folder of this machine that has the records of a path or an address.

    The network is asked when something is read or written.

    Raises
    ------
    UsageError
        If it is neither path nor address, an address that cannot be one of results, or fsspec is not installed.
    """
    if not isinstance(name, str) or not is_address(name):
        found = path_of("a folder of results", name)
        require(found is not None, "a folder of results must be a path, got none")
        return Path(name)
    path = local_path(name)
    if path is not None:
        return path
    address = checked_address(name)
    if find_spec("fsspec") is None:
        raise UsageError(missing_package(f"'{address}'", "fsspec", "remote"))
    folder = copy_folder(address)
    place = places.place_at(folder)
    if place is None:
        from benchmarker.records.remote.folder import RemoteFolder

        places.register(RemoteFolder(address, folder))
    else:
        place.reopen()  # whoever names it again wants what is there now
    return folder


def store_at(folder: Path) -> Store:
    """Return what adds records to a folder, and sends them if it is the copy of a place elsewhere."""
    place = places.place_at(folder)
    return Store(folder) if place is None else RemoteStore(place)


class RemoteStore(Store):
    """A results folder elsewhere that records are added to: first to its copy on this machine, which may be all.

    Parameters
    ----------
    place : Place
        The place.
    """

    def __init__(self, place: places.Place) -> None:
        super().__init__(place.folder)
        self._place = place

    def check_writable(self) -> None:
        """As of a folder; what the place itself refuses is told, and that it cannot be reached is not."""
        super().check_writable()
        self._place.check_writable()

    def save(
        self, record: Mapping[str, Any], log_text: str | None = None, trace: bytes | None = None
    ) -> Path:
        """As of a folder; the record is in the copy, and where the place can be reached there, too."""
        return self._place.send(super().save(record, log_text, trace))
