"""Measuring how long mini-batches take from storage to NumPy, here, and to a framework's tensors, in its worker."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarker import registry, statistics
from benchmarker.api.framework import Device, FrameworkPlugin
from benchmarker.cache import home
from benchmarker.data.latency.formats import StoredFormat, stored_formats
from benchmarker.data.latency.timing import (
    ARRAYS,
    Clock,
    TimedBatches,
    read_images,
    stored_files,
    time_batches,
)
from benchmarker.data.readers.image_folder import decoded, pillow
from benchmarker.errors import ProtocolError, UsageError, printable, shortened
from benchmarker.execution.environments import Interpreter, resolve
from benchmarker.execution.isolated import run_isolated
from benchmarker.execution.outcomes import Failure
from benchmarker.experiment.framework_version import parse_framework
from benchmarker.machine.threads import default_threads
from benchmarker.orchestration.events import check_groups
from benchmarker.quick_dataclass import dataclass
from benchmarker.worker.other_jobs import LatencyJob

NUMPY = "NumPy"
SEED = 42
BATCHES = 4
"""Different mini-batches that are stored."""


@dataclass(frozen=True)
class Latency:
    """How long mini-batches of a format took.

    Parameters
    ----------
    format, decoder : str
        How they were stored, and what turned bytes into pixels.
    target : str
        What they became: NumPy's uint8 arrays, or float32 tensors of a framework.
    batch_size, size : int
        Images in a mini-batch, pixels along both sides of each.
    stored_bytes : int
        Of the first mini-batch in storage.
    timed : TimedBatches
        The times, cold or warm.
    """

    format: str
    decoder: str
    target: str
    batch_size: int
    size: int
    stored_bytes: int
    timed: TimedBatches

    @property
    def median_seconds(self) -> float:
        """Median of a mini-batch."""
        return statistics.percentile(sorted(self.timed.seconds), 50)

    @property
    def interval_seconds(self) -> tuple[float, float] | None:
        """Its 95 % confidence interval; None for too few mini-batches."""
        if len(self.timed.seconds) < statistics.MIN_FOR_INTERVAL:
            return None
        return statistics.median_interval(self.timed.seconds)

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values, times in seconds."""
        interval = self.interval_seconds
        return {
            "format": self.format,
            "decoder": self.decoder,
            "target": self.target,
            "page_cache": self.timed.cache,
            "batch_size": self.batch_size,
            "size": self.size,
            "stored_bytes": self.stored_bytes,
            "samples": list(self.timed.seconds),
            "median": self.median_seconds,
            "median_interval": None if interval is None else list(interval),
            "pages_kept": self.timed.kept,
        }


def measure_latency(
    folder: Path | None = None,
    *,
    formats: Sequence[str] = (),
    frameworks: Sequence[str] = (),
    batch_size: int = 32,
    size: int = 224,
    repeats: int = 20,
    clock: Clock = time.perf_counter,
    note: Callable[[str], None] = lambda text: None,
) -> Iterator[Latency]:
    """Measure each format, cold and warm, to NumPy and to the tensors of frameworks on the CPU.

    Parameters
    ----------
    folder : Path or None
        On the storage that is measured; what is written there goes at the end. None for the cache folder.
    formats : sequence of str
        Of :data:`~benchmarker.data.latency.formats.FORMATS`; all without any.
    frameworks : sequence of str
        ``name`` or ``name==version``. They decode what is encoded by their own decoder; one that has none is left out
        of such formats, which ``note`` is told.
    batch_size, size : int
        Images in a mini-batch, pixels along both sides of each.
    repeats : int
        Mini-batches that are timed of each kind.
    clock : callable
        Returns seconds, of what is measured here.
    note : callable
        Told of what takes time.

    Yields
    ------
    Latency
        As soon as it is measured.

    Raises
    ------
    UsageError
        If there is no such format, framework or folder, the folder cannot be written, or scikit-learn or Pillow is
        not installed.
    BenchmarkerError
        If a worker did not come to its end.
    """
    pillow("the measurement's photographs")
    if folder is not None and not folder.is_dir():
        raise UsageError(f"images must be stored in a folder that exists, got '{folder}'")
    workers = [_worker(request, note) for request in frameworks]
    with stored_formats(folder or home(), formats, BATCHES * batch_size, size) as stored:
        for one in stored:
            note(f"measuring {one.name}")
            yield from _to_numpy(one, batch_size, repeats, clock)
        for plugin, interpreter in workers:
            note(f"measuring {plugin.name}")
            yield from _to_tensors(plugin, interpreter, stored, batch_size, repeats, note)


def _worker(request: str, note: Callable[[str], None]) -> tuple[FrameworkPlugin, Interpreter]:
    plugin, version = parse_framework(request)
    return plugin, resolve(plugin, choice="auto", version=version, progress=note)


def _to_numpy(stored: StoredFormat, batch_size: int, repeats: int, clock: Clock) -> Iterator[Latency]:
    name, batches = stored.name, stored.batches(batch_size)

    def read(numbers: Sequence[int]) -> object:
        return read_images(stored.folder, name, numbers, stored.size, _decode)

    def files(numbers: Sequence[int]) -> list[Path]:
        return stored_files(stored.folder, name, numbers)

    decoder = NUMPY if name in ARRAYS else pillow(f"format '{name}'")
    for timed in time_batches(read, files, batches, repeats, clock):
        size = stored.stored_bytes(batches[0])
        yield Latency(name, decoder, NUMPY, batch_size, stored.size, size, timed)


def _decode(content: bytes, size: int) -> Any:
    return decoded(content, "a photograph", size)


def _to_tensors(
    plugin: FrameworkPlugin,
    interpreter: Interpreter,
    stored: Sequence[StoredFormat],
    batch_size: int,
    repeats: int,
    note: Callable[[str], None],
) -> Iterator[Latency]:
    job = LatencyJob(
        framework=registry.find("frameworks", plugin.name).value,
        device=Device("cpu"),
        threads=default_threads(),
        seed=SEED,
        folders={one.name: str(one.folder) for one in stored},
        batches=stored[0].batches(batch_size),
        size=stored[0].size,
        repeats=repeats,
    )

    def sentence(failed: Failure) -> str:
        return (
            f"the measurement with {plugin.name} did not finish, in stage '{failed.stage}': {failed.message}"
        )

    result = run_isolated(job, plugin, interpreter, handler=check_groups).result(sentence)
    target = f"{plugin.name} {result['version']}"
    without = [one.name for one in stored if one.name not in {row["format"] for row in result["rows"]}]
    if without:
        note(f"{plugin.name} has no decoder of its own for {', '.join(without)}")
    sizes = {one.name: one.stored_bytes(job.batches[0]) for one in stored}
    others = [printable(row["format"]) for row in result["rows"] if row["format"] not in sizes]
    if others:
        raise ProtocolError(f"it timed formats that it was not given: {shortened(', '.join(others), 60)}")
    for row in result["rows"]:
        decoder = NUMPY if row["format"] in ARRAYS else target
        timed = TimedBatches(row["cache"], tuple(row["seconds"]), row["kept"])
        yield Latency(row["format"], decoder, target, batch_size, job.size, sizes[row["format"]], timed)
