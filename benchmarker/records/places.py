"""Which folders of this machine are copies of places elsewhere: what reads a folder need not know more of it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol


class Place(Protocol):
    """A place of records elsewhere, and the folder of this machine that has a copy of it."""

    @property
    def address(self) -> str:
        """What the user calls it."""

    @property
    def folder(self) -> Path:
        """The copy."""

    def refresh(self) -> None:
        """Bring the copy up to date, once in a command."""

    def fetch(self, file: Path) -> None:
        """Bring a file that lies beside a record into the copy, if there is one there."""

    def reopen(self) -> None:
        """Have the copy brought up to date again when it is next read."""

    def check_writable(self) -> None:
        """Raise ``UsageError`` if the place refuses records."""

    def send(self, file: Path) -> Path:
        """Send a record that is new in the copy; return its file, which may have a new name."""

    def index(self) -> tuple[int, int]:
        """Make index objects; return how many records went in, and how many there are."""

    def close(self) -> Sequence[str]:
        """Send what was not sent yet; return a sentence for each thing that the user should know."""

    @property
    def unsent(self) -> int:
        """How many records are here alone."""


_opened: dict[str, Place] = {}
"""By the folder of the copy."""


def register(place: Place) -> None:
    """Have a folder count as the copy of a place until the command ends."""
    _opened[str(place.folder)] = place


def place_at(folder: str | os.PathLike[str]) -> Place | None:
    """Return the place that a folder is the copy of; None if it stands for itself."""
    return _opened.get(os.fspath(folder))


def refresh(folder: str | os.PathLike[str]) -> None:
    """Bring a folder up to date if it is the copy of a place elsewhere.

    Raises
    ------
    StoreError
        If that cannot be reached, or refuses.
    """
    place = place_at(folder)
    if place is not None:
        place.refresh()


def fetch(file: Path) -> None:
    """Bring a file beside a record into the copy of its place if it lies in one and is not there."""
    if not _opened or file.exists():
        return
    for folder in file.parents:
        place = place_at(folder)
        if place is not None:
            place.fetch(file)


def shown(path: Path) -> str:
    """Return what the user calls a folder or a file in it: its address if it is elsewhere."""
    for folder in (path, *path.parents) if _opened else ():
        place = place_at(folder)
        if place is not None:
            return "/".join((place.address, *path.relative_to(folder).parts))
    return str(path)


def check_writable(folder: Path) -> None:
    """Raise ``UsageError`` if a folder is the copy of a place that refuses records."""
    place = place_at(folder)
    if place is not None:
        place.check_writable()


def close(folder: Path | None = None) -> tuple[list[str], bool]:
    """Send what was not sent to the places that were opened; return what to tell, and whether all is there now.

    Parameters
    ----------
    folder : Path or None
        The copy of one; None for all.
    """
    sentences: list[str] = []
    complete = True
    for name in list(_opened) if folder is None else [str(folder)] if place_at(folder) else []:
        place = _opened.pop(name)
        sentences += place.close()
        complete = complete and not place.unsent
    return sentences, complete
