"""Images that are folders: their digest, their variables, and how they are laid out with more in them."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

from benchmarker.cache import home, load_json, store_json
from benchmarker.errors import UsageError
from benchmarker.files import sha256_of
from benchmarker.quick_dataclass import dataclass

OURS = ("/dev", "/proc", "/sys", "/tmp")  # noqa: S108 - inside
"""What comes from the machine, or is empty, whatever the image has there."""
MAX_LINKS = 40


@dataclass(frozen=True)
class Step:
    """One thing in the root of a container.

    Parameters
    ----------
    kind : {"folder", "link", "bind"}
        What it is.
    path : str
        Where it is, inside.
    source : str
        Where a link points to, or what is bound.
    """

    kind: str
    path: str
    source: str = ""


def require_folder(image: str) -> Path:
    """Return the folder that an image is.

    Raises
    ------
    UsageError
        If there is none, or it is no root file system.
    """
    folder = Path(image)
    if not folder.exists():
        raise UsageError(f"--env: there is no image '{image}'; give the folder of a root file system")
    if not folder.is_dir() or not (folder / "usr").is_dir():
        raise UsageError(
            f"--env: '{image}' is not a root file system: it must be a folder with a 'usr' in it"
        )
    return folder.resolve()


def layout(image: Path, targets: Iterable[str]) -> list[Step]:
    """Return the root of a container that has all of an image, and a place for each target.

    What holds no target is bound whole; a folder that has one is made anew, so that the place can be made in it.

    Parameters
    ----------
    image : Path
        The folder.
    targets : iterable of str
        Absolute paths inside.
    """
    return list(_steps(image, "/", frozenset(real_path(image, target) for target in targets)))


def _steps(image: Path, inside: str, targets: frozenset[str]) -> Iterator[Step]:
    folder = image / inside.lstrip("/")
    try:
        names = sorted(found.name for found in folder.iterdir())
    except OSError:  # of somebody else: it is left empty
        return
    for name in names:
        path = str(PurePosixPath(inside, name))
        found = folder / name
        if path in OURS or path in targets:
            continue
        if found.is_symlink():
            yield Step("link", path, str(found.readlink()))
        elif found.is_dir() and any(target.startswith(f"{path}/") for target in targets):
            yield Step("folder", path)
            yield from _steps(image, path, targets)
        elif found.is_dir() or found.is_file():
            yield Step("bind", path, str(found))


def real_path(image: Path, path: str) -> str:
    """Return a path inside as it is once the image's own links are followed."""
    for _ in range(MAX_LINKS):
        for parent in [*reversed(PurePosixPath(path).parents), PurePosixPath(path)]:
            here = image / str(parent).lstrip("/")
            if str(parent) != "/" and here.is_symlink():
                rest = PurePosixPath(path).relative_to(parent)
                path = os.path.normpath(PurePosixPath(parent.parent, here.readlink(), rest))
                break
        else:
            return path
    raise UsageError(f"--env: links in the image '{image}' go in a circle at '{path}'")


def variables(image: Path) -> dict[str, str]:
    """Return what a folder's ``/ch/environment`` sets, which Charliecloud writes of an image's own variables."""
    try:
        lines = (image / "ch/environment").read_text(errors="replace").splitlines()
    except OSError:
        return {}
    pairs = (line.partition("=") for line in lines if "=" in line)
    return {name: value for name, _, value in pairs if name.isidentifier()}


def digest(image: Path) -> str:
    """Return the digest of a folder: of each entry's path, kind, executable bit, and content or target, in order.

    Contents are read once; as long as sizes and times stay, what was found then is returned.
    """
    entries = list(_entries(image))
    state = hashlib.sha256(json.dumps([e[:1] + e[2:] for e in entries]).encode()).hexdigest()
    kept = home() / "image-digests" / f"{state[:32]}.json"
    known = load_json(kept)
    if isinstance(known, dict) and known.get("state") == state and isinstance(known.get("digest"), str):
        return str(known["digest"])
    total = hashlib.sha256()
    for name, found, mode, *_ in entries:
        kind = f"{stat.S_IFMT(mode):o}{'x' if mode & 0o100 else '-'}"
        total.update(json.dumps([name, kind, _content(found, mode)]).encode() + b"\n")
    result = f"sha256:{total.hexdigest()}"
    # A folder that cannot be written costs the next command the same reading.
    with contextlib.suppress(OSError):
        store_json(kept, {"state": state, "digest": result})
    return result


def _entries(image: Path) -> Iterator[tuple[str, str, int, int, int, int, int]]:
    """Yield each entry's path inside, its path here, and what changes when it does."""
    for folder, folders, files in os.walk(image):
        folders.sort()
        for name in sorted(folders + files):
            path = os.path.join(folder, name)  # noqa: PTH118 - a Path takes as long as all else here
            inside = path[len(str(image)) :]
            if inside.startswith(tuple(f"{ours}/" for ours in OURS)):
                continue
            found = os.lstat(path)
            # The times of a folder change with every mount point; its entries are here themselves.
            moving = (0, 0) if stat.S_ISDIR(found.st_mode) else (found.st_size, found.st_ctime_ns)
            yield inside, path, found.st_mode, found.st_ino, found.st_dev, *moving


def _content(path: str, mode: int) -> str:
    if stat.S_ISLNK(mode):
        return str(Path(path).readlink())
    if not stat.S_ISREG(mode):
        return ""
    try:
        return sha256_of(Path(path))
    except PermissionError:
        return "unreadable"
