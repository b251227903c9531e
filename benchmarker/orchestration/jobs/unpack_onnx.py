"""ONNX files as problems: unpacked once by an isolated worker that has ``onnx``, kept by their content."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path

from benchmarker import registry
from benchmarker.api.framework import Device
from benchmarker.cache import (
    discard,
    evict,
    explain_unwritable,
    hold,
    home,
    publish_folder,
    release,
    staged_folder,
    store_json,
)
from benchmarker.errors import ProtocolError, UsageError
from benchmarker.execution.environments import resolve
from benchmarker.execution.isolated import run_isolated
from benchmarker.files import sha256_of
from benchmarker.graph.onnx.plain import FORM, MODEL_FILE
from benchmarker.machine.kept_facts import load_as
from benchmarker.quick_dataclass import dataclass
from benchmarker.worker.other_jobs import UnpackJob

_MODELS = "*[0-9a-f]"
"""Folders are named by digests, unlike the lists of external files beside them."""
FRAMEWORK = "onnxruntime"
"""Whose environment has the package ``onnx``."""
MAX_BYTES = 8 << 30
"""Least recently used models beyond this are removed, unless a process uses them."""
_LIST = "files.json"
"""In each folder: size and time of change of its other files, by which damage is noticed without reading them."""


@dataclass(frozen=True)
class _Unpacked:
    """What is read here of an unpacked model."""

    external: list[str]


def unpacked_model(path: Path) -> tuple[Path, str]:
    """Return the folder in which a model is unpacked, which it is now if it was not, and the model's digest.

    Raises
    ------
    UsageError
        If it is no valid ONNX model.
    """
    state = path.stat()
    digest = unpacked(path, state.st_mtime_ns, state.st_size)
    while not hold(_folder() / digest):  # another process removed it for want of room
        unpacked.cache_clear()
        digest = unpacked(path, state.st_mtime_ns, state.st_size)
    return _folder() / digest, digest


def node_tests(note: Callable[[str], None] = lambda text: None) -> Path:
    """Return the folder of the ONNX project's node tests, taken out of the package ``onnx`` if need be."""
    requirements = ",".join(registry.framework(FRAMEWORK).requirements)
    version = hashlib.sha256(requirements.encode()).hexdigest()[:12]
    folder = _folder() / f"node-tests-{version}"
    while not (_is_whole(folder) and hold(folder)):
        note("taking the node tests out of the package onnx")
        with _staged() as made:
            _unpack(None, made)
            _publish(made, folder)
    return folder


@cache
def unpacked(path: Path, modified_ns: int, size: int) -> str:
    """Return the digest of a model and its external data, under which it is unpacked now."""
    own = sha256_of(path)
    listing = _folder() / f"{own}.external.json"
    external = load_as(listing, list[str])
    if external is not None:
        digest = _whole_digest(own, path, external)
        if digest is not None and _is_whole(_folder() / digest):
            return digest
    evict(_folder(), _MODELS, max_bytes=MAX_BYTES)
    with _staged() as made:
        _unpack(path, made)
        model = load_as(made / MODEL_FILE, _Unpacked)
        if model is None:
            raise ProtocolError(f"it left no model of '{path}'")
        external = model.external
        digest = _whole_digest(own, path, external)
        if digest is None:
            raise UsageError(f"the external data of '{path}' are gone")
        _publish(made, _folder() / digest)
        store_json(listing, external)
    return digest


def _publish(made: Path, folder: Path) -> None:
    """Give a filled folder its name, with a list of its files; a damaged one of that name goes.

    Raises
    ------
    UsageError
        If another process uses the damaged one.
    """
    files = [path for path in made.rglob("*") if path.is_file()]
    store_json(made / _LIST, {path.relative_to(made).as_posix(): _stamp(path) for path in files})
    if not _is_whole(folder):
        release(folder)
        if not discard(folder) and not _is_whole(folder):  # another process may have made it meanwhile
            raise UsageError(
                f"'{folder}' has to be made anew, since files in it were changed, but another command uses it; wait "
                "until that has ended"
            )
    publish_folder(made, folder)


def _is_whole(folder: Path) -> bool:
    """Tell whether a folder has all files as they were written."""
    listed = load_as(folder / _LIST, dict[str, tuple[int, int]])
    if listed is None:
        return False
    try:
        return all(_stamp(folder / name) == stamp for name, stamp in listed.items())
    except (OSError, ValueError):
        return False


def _stamp(path: Path) -> tuple[int, int]:
    """Return the bytes of a file, and when they were last changed, in nanoseconds."""
    state = path.stat()
    return state.st_size, state.st_mtime_ns


def _whole_digest(own: str, path: Path, external: list[str]) -> str | None:
    """Return the digest of a model file and its external data; None if one of these is not in its folder."""
    if not external:
        return own
    root = path.resolve().parent
    files = [(root / location).resolve() for location in external]
    if not all(root in file.parents and file.is_file() for file in files):
        return None
    parts = [own, *(f"{location} {sha256_of(file)}" for location, file in zip(external, files))]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _folder() -> Path:
    return home() / "onnx" / str(FORM)


@contextmanager
def _staged() -> Iterator[Path]:
    with ExitStack() as stack:
        with explain_unwritable(_folder(), "models"):
            folder = stack.enter_context(staged_folder(_folder() / "model"))
        yield folder


def _unpack(path: Path | None, folder: Path) -> None:
    """Have a worker unpack a model, or the node tests, into ``folder``."""
    plugin = registry.framework(FRAMEWORK)
    job = UnpackJob(
        framework=registry.find("frameworks", FRAMEWORK).value,
        device=Device("cpu"),
        threads=1,
        seed=0,
        model=None if path is None else str(path),
        folder=str(folder),
    )
    run_isolated(job, plugin, resolve(plugin)).result()
