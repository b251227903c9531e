"""ONNX files as problems: unpacked once by an isolated worker that has ``onnx``, kept by their content."""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
import uuid
from collections.abc import Callable
from dataclasses import asdict
from functools import cache
from pathlib import Path

from benchmarker import registry
from benchmarker.environments import home, resolve
from benchmarker.errors import BenchmarkerError, UsageError
from benchmarker.experiment import RunSpec
from benchmarker.launchers import Event, WorkerCommand
from benchmarker.onnx_cache import hold, remove_least_recently_used
from benchmarker.onnx_model.plain import FORM, MODEL_FILE
from benchmarker.outcomes import failure, log_tail
from benchmarker.packages import package_folders
from benchmarker.problem_files import ONNX, onnx_value, path_of, recorded_name
from benchmarker.registry import PluginEntry
from benchmarker.worker.job import Job
from benchmarker.worker_environment import worker_environment

FRAMEWORK = "onnxruntime"
"""Whose environment has the package ``onnx``."""


def entry(name: str) -> PluginEntry:
    """Return the entry of the problem ``onnx:PATH``; the model is unpacked if it is not yet.

    Raises
    ------
    UsageError
        If there is no such file, or it is no valid ONNX model.
    """
    path = path_of(name)
    if not path.is_file():
        raise UsageError(f"onnx: needs the path of a model that is there, got '{name.removeprefix(ONNX)}'")
    state = path.stat()
    digest = unpacked(path, state.st_mtime_ns, state.st_size)
    while not hold(_folder() / digest):  # another process removed it for want of room
        unpacked.cache_clear()
        digest = unpacked(path, state.st_mtime_ns, state.st_size)
    value = onnx_value(_folder() / digest, path, digest)
    return PluginEntry("problems", recorded_name(name), value, "ONNX file", f"sha256:{digest}")


def node_tests(note: Callable[[str], None] = lambda text: None) -> Path:
    """Return the folder of the ONNX project's node tests, taken out of the package ``onnx`` if need be."""
    requirements = ",".join(registry.framework(FRAMEWORK).requirements)
    version = hashlib.sha256(requirements.encode()).hexdigest()[:12]
    folder = _folder() / f"node-tests-{version}"
    while not hold(folder):
        note("taking the node tests out of the package onnx")
        temporary = _temporary()
        try:
            _unpack(None, temporary)
            _move(temporary, folder)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    return folder


@cache
def unpacked(path: Path, modified_ns: int, size: int) -> str:
    """Return the digest of a model and its external data, under which it is unpacked now."""
    own = _sha256(path)
    listing = _folder() / f"{own}.external.json"
    if listing.is_file():
        digest = _whole_digest(own, path, json.loads(listing.read_text(encoding="utf-8")))
        if digest is not None and (_folder() / digest).is_dir():
            return digest
    remove_least_recently_used(_folder())
    temporary = _temporary()
    try:
        _unpack(path, temporary)
        external = json.loads((temporary / MODEL_FILE).read_text(encoding="utf-8"))["external"]
        digest = _whole_digest(own, path, external)
        if digest is None:
            raise UsageError(f"the external data of '{path}' are gone")
        _move(temporary, _folder() / digest)
        _write(listing, json.dumps(external))
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return digest


def _whole_digest(own: str, path: Path, external: list[str]) -> str | None:
    """Return the digest of a model file and its external data; None if one of these is not in its folder."""
    if not external:
        return own
    root = path.resolve().parent
    files = [(root / location).resolve() for location in external]
    if not all(root in file.parents and file.is_file() for file in files):
        return None
    parts = [own, *(f"{location} {_sha256(file)}" for location, file in zip(external, files))]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _folder() -> Path:
    return home() / "onnx" / str(FORM)


def _temporary() -> Path:
    folder = _folder() / f".{uuid.uuid4().hex}"
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise UsageError(
            f"models are kept in a folder that can be written, got '{folder.parent}' ({error.strerror}); choose "
            "another with BENCHMARKER_HOME"
        ) from None
    return folder


def _move(temporary: Path, target: Path) -> None:
    try:
        temporary.replace(target)
    except OSError:
        if not target.is_dir():
            raise  # not another process that was quicker


def _write(path: Path, text: str) -> None:
    temporary = path.with_name(f".{uuid.uuid4().hex}")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)


def _unpack(path: Path | None, folder: Path) -> None:
    """Have a worker unpack a model, or the node tests, into ``folder``."""
    plugin = registry.framework(FRAMEWORK)
    interpreter = resolve(plugin)
    events: dict[str, Event] = {}
    stages = ["start"]

    def handle(event: Event) -> None:
        events[event["event"]] = event
        if event["event"] == "stage":
            stages.append(str(event["name"]))

    value = registry.find("frameworks", FRAMEWORK).value
    files = {"model": None if path is None else str(path), "folder": str(folder)}
    job = Job("unpack_onnx", value, onnx=files)
    with tempfile.TemporaryDirectory(prefix="benchmarker-") as name:
        log = Path(name) / "unpack.log"
        spec = RunSpec(plugin.name, "")
        command = WorkerCommand(
            interpreter.path,
            asdict(job),
            package_folders((job.framework,)),
            worker_environment(spec, plugin),
            (),
            log,
        )
        outcome = registry.launcher("local").launch(command, handle)
        if outcome.ended_by == "interrupt":
            raise KeyboardInterrupt
        error, tail = events.get("error"), log_tail(log)
        failed = failure(outcome, stages[-1], error, None, "result" in events, tail, False, None)
    if failed is not None:
        kind = UsageError if failed.type == "UsageError" else BenchmarkerError
        raise kind(failed.message)
