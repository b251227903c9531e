"""Whether a managed environment still holds what was installed: by the lists of files that its distributions have."""

from __future__ import annotations

import base64
import csv
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarker.execution.environments.places import DAMAGE_MARK, environments_folder

_BLOCK = 1 << 20


class Damage(NamedTuple):
    """A file that is not as it was installed."""

    distribution: str
    file: str
    reason: str


def find_damage(folder: Path, *, contents: bool = False) -> Iterator[Damage]:
    """Yield the files of an environment that are gone or have another size, other contents, or other names.

    Parameters
    ----------
    folder : Path
        Of the environment.
    contents : bool
        Whether to read all files and compare their digests, not only their sizes; files that are hard links, as
        older versions made them, count then too: what damages uv's cache or another environment damages this one.
    """
    for packages in (*folder.glob("lib/python*/site-packages"), *folder.glob("Lib/site-packages")):
        for listed in packages.glob("*.dist-info/RECORD"):
            name = listed.parent.name.partition("-")[0]
            for file, reason in _changed(packages, listed, contents):
                yield Damage(name, file, reason)


def _changed(packages: Path, listed: Path, contents: bool) -> Iterator[tuple[str, str]]:
    try:
        rows = list(csv.reader(listed.read_text(encoding="utf-8").splitlines()))
    except (OSError, ValueError, csv.Error):
        rows = []
    if not rows:
        yield f"{listed.parent.name}/{listed.name}", "cannot be read"
    for row in rows:
        file, digest, size = (*row, "", "", "")[:3]
        if not size.isdecimal() or file.endswith(".pyc"):
            continue  # bytecode is compiled anew here
        path = os.path.join(packages, file)  # noqa: PTH118 - a Path takes as long as all else here
        try:
            found = os.stat(path)  # noqa: PTH116 - as above
            if found.st_size != int(size):
                yield file, f"has {found.st_size} bytes, not {size}"
            elif contents and found.st_nlink > 1:
                yield file, "is a hard link that it shares with uv's cache or another environment"
            elif contents and digest.startswith("sha256=") and _digest(path) != digest:
                yield file, "has other contents"
        except OSError as error:
            yield (
                file,
                "is gone" if isinstance(error, FileNotFoundError) else f"cannot be read: {error.strerror}",
            )


def _digest(path: str) -> str:
    found = hashlib.sha256()
    with open(path, "rb") as stream:
        while block := stream.read(_BLOCK):
            found.update(block)
    return f"sha256={base64.urlsafe_b64encode(found.digest()).decode().rstrip('=')}"


def mark_damaged(name: str, *, contents: bool = False) -> str | None:
    """Return what is damaged in a managed environment, which is then made anew when it is next needed; else None.

    Parameters
    ----------
    name : str
        Of the environment.
    contents : bool
        As for :func:`find_damage`.
    """
    folder = environments_folder() / name
    found = list(find_damage(folder, contents=contents))
    if not found:
        return None
    try:
        (folder / DAMAGE_MARK).touch()
        then = "the next run, or 'benchmarker env create', recreates it"
    except OSError:
        then = f"remove it with 'benchmarker env remove {name}'"
    more = f" and {len(found) - 1} more files" if len(found) > 1 else ""
    return f"the environment {name} is damaged: {found[0].file} {found[0].reason}{more}; {then}"
