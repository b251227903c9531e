"""Installed distributions: names, versions and entry points, read from the few lines of their files that hold them.

``importlib.metadata`` gives the same, but its import alone takes longer than all else that ``list`` does, and it
parses a distribution's metadata as an e-mail, long description included, each time it is asked. It is used only where
distributions lie elsewhere than in folders, such as in a zip file. Paths are strings here, for pathlib takes longer
than the reading: every command asks each distribution.
"""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Collection, Iterator
from functools import lru_cache
from importlib.machinery import PathFinder
from pathlib import Path
from typing import NamedTuple, Protocol

_INFO = re.compile(r"([^-]+)(?:-.+)?\.(?:dist|egg)-info")
_FILES = ("METADATA", "PKG-INFO")
_ENTRY_POINTS = "entry_points.txt"
_AS_HYPHENS = str.maketrans("_.", "--")


class Distribution(Protocol):
    """An installed distribution, as far as it is read here; those of ``importlib.metadata`` are such."""

    def read_text(self, filename: str) -> str | None:
        """Return the text of a file of its metadata; None if there is none."""


class InstalledFolder(NamedTuple):
    """A ``.dist-info`` or ``.egg-info`` folder."""

    path: str

    def read_text(self, filename: str) -> str | None:
        """Return the text of a file in the folder; None if there is none."""
        try:
            with open(f"{self.path}/{filename}", encoding="utf-8") as file:
                return file.read()
        except OSError:
            return None


class EntryPoint(NamedTuple):
    """A line of a distribution's entry points; ``value`` is ``"module:attribute"``."""

    group: str
    name: str
    value: str


def normalised(name: str) -> str:
    """Return a distribution's name as indexes compare it (PEP 503)."""
    found = name.lower().translate(_AS_HYPHENS)
    return re.sub("-{2,}", "-", found) if "--" in found else found


def name_and_version(distribution: Distribution) -> tuple[str, str] | None:
    """Return the name and the version of a distribution; None if its metadata lack them."""
    text = next(filter(None, map(distribution.read_text, _FILES)), "")
    head = text.partition("\n\n")[0]
    name, version = (re.search(rf"^{field}:[ \t]*(\S+)", head, re.MULTILINE) for field in ("Name", "Version"))
    return None if name is None or version is None else (name[1], version[1])


def installed_version(name: str) -> str | None:
    """Return the version of a distribution in the running interpreter, or None."""
    found = _distribution(name)
    known = name_and_version(found) if found is not None else None
    return known[1] if known else None


def _entry_points(text: str) -> Iterator[EntryPoint]:
    """Yield the entry points of a distribution as they stand in its file."""
    group = ""
    for line in map(str.strip, text.splitlines()):
        if line.startswith("[") and line.endswith("]"):
            group = line[1:-1]
        elif line and not line.startswith("#"):
            name, _, value = line.partition("=")
            yield EntryPoint(group, name.strip(), value.strip())


def installed_points(groups: Collection[str]) -> Iterator[tuple[EntryPoint, tuple[str, str]]]:
    """Yield the entry points of these groups, each with name and version of the distribution that it comes from."""
    for distribution in distributions():
        text = distribution.read_text(_ENTRY_POINTS)
        if text is None or not any(group in text for group in groups):
            continue
        points = [point for point in _entry_points(text) if point.group in groups]
        if points:
            origin = name_and_version(distribution) or ("unknown", "?")
            yield from ((point, origin) for point in points)


def distributions() -> Iterator[Distribution]:
    """Yield the distributions of the running interpreter; of several with one name the first on the path."""
    folders = _folders()
    if folders is None:
        yield from _from_importlib()
        return
    seen: set[str] = set()
    for found in folders:
        yield from (distribution for name, distribution in found.items() if name not in seen)
        seen.update(found)


def _distribution(name: str) -> Distribution | None:
    folders = _folders()
    if folders is None:
        from importlib import metadata

        try:
            return metadata.distribution(name)
        except metadata.PackageNotFoundError:
            return None
    wanted = normalised(name)
    return next((found[wanted] for found in folders if wanted in found), None)


def _from_importlib() -> Iterator[Distribution]:
    from importlib import metadata

    seen: set[str] = set()
    for distribution in metadata.distributions():
        known = name_and_version(distribution)
        if known is not None and normalised(known[0]) not in seen:
            seen.add(normalised(known[0]))
            yield distribution


def _folders() -> list[dict[str, InstalledFolder]] | None:
    """Return what is in each folder of the path; None if something that is no folder may tell of distributions."""
    others = (finder for finder in sys.meta_path if finder is not PathFinder)
    if any(hasattr(finder, "find_distributions") for finder in others):
        return None
    found = []
    for folder in map(os.path.abspath, sys.path):
        try:
            state = os.stat(folder)
        except OSError:
            continue
        if folder.endswith(".egg") or not stat.S_ISDIR(state.st_mode):
            return None
        found.append(_in_folder(folder, state.st_mtime_ns))
    return found


@lru_cache(maxsize=64)
def _in_folder(path: str, changed: int) -> dict[str, InstalledFolder]:
    """Return the distributions of a folder by normalised name, as they were when something in it last changed."""
    del changed  # part of the key alone
    try:
        with os.scandir(path) as files:
            names = sorted(file.name for file in files)
    except OSError:
        return {}
    found: dict[str, InstalledFolder] = {}
    for name in names:
        info = _INFO.fullmatch(name)
        if info is not None:
            found.setdefault(normalised(info[1]), InstalledFolder(f"{path}/{name}"))
    return found


def checkout_entry_points(path: Path, prefix: str) -> Iterator[tuple[str, str, str]]:
    """Yield group, name and value of each entry point that a ``setup.cfg`` declares, groups without their prefix."""
    import configparser

    parser = configparser.ConfigParser()
    if not parser.read(path) or not parser.has_section("options.entry_points"):
        return
    for group, lines in parser.items("options.entry_points"):
        for line in filter(None, map(str.strip, lines.splitlines())):
            name, value = (part.strip() for part in line.split("=", 1))
            yield group.removeprefix(f"{prefix}."), name, value
