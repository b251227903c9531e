"""What a result file of the earlier tool says, whichever of its forms it has."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from benchmarker.quick_dataclass import dataclass
from benchmarker.records.reading import MAX_FILE_BYTES

_PART = re.compile(r"([A-Za-z][A-Za-z0-9.]*?)[-_](\d\S*)")
_MOMENT = re.compile(r"\d\d\.\d\d\.\d\d_\d\d\.\d\d\.\d\d")
_COUNTS = {"name", "size", "cnt_samples", "cnt_samples_per_epoch", "cnt_batches_per_epoch", "bytes_x_train"}
_PRECISIONS = {"precision", "numerics"}
_SHAPES = {"shape_x_train", "sample_shape"}
_TAKEN = {
    "batch_size", "device", "framework", "framework_full", "gpus", "hostname", "linux", "mode", "nb_epoch",
    "nb_gpus", "platform", "power", "preheat", "problem", "random_seed", "samples_per_second",
    "shape_x_train", "start_time", "time", "time_batch", "time_epoch", "time_sample", "time_total",
    "backend", "batch_size_per_device",
}  # fmt: skip


class NotEarlierError(ValueError):
    """A file holds no result of the earlier tool, or too little of one; the text goes on from the file's name."""


@dataclass(frozen=True)
class Version:
    """A framework's name and version, and the libraries under it: ``Keras-2.0.2/theano_0.9.0``."""

    name: str
    version: str | None
    libraries: Mapping[str, str]


@dataclass(frozen=True)
class LegacyRun:
    """A run of the earlier tool; ``None`` is what its file does not tell.

    Attributes
    ----------
    form : str
        ``"poster"``: the problem is a text; ``"time"``: the time of an epoch alone; ``"total"``: the newest,
        with the time of all epochs.
    digest : str
        SHA-256 of the content, whatever its layout.
    steps, total_seconds : int, float
        What was timed together.
    stated_rate : float or None
        Samples per second, as the file says.
    ended_at, dated_by : datetime, str
        When the run ended, and what tells that: ``"start_time"``, ``"file name"`` or ``"file"``.
    parameters : mapping
        What else the file says of the problem.
    dropped : tuple of str
        Members that no record has a place for.
    """

    file: str
    form: str
    digest: str
    framework: Version
    problem: str
    parameters: Mapping[str, Any]
    sample_shape: tuple[int, ...] | None
    mode: str | None
    batch_size: int | None
    epochs: int | None
    samples_per_epoch: int | None
    steps: int
    total_seconds: float
    stated_rate: float | None
    precision: str | None
    seed: int | None
    gpu_count: int
    device: str | None
    backend: str | None
    preheat: bool | None
    platform: Mapping[str, Any]
    energy: Mapping[str, float]
    ended_at: datetime
    dated_by: str
    dropped: tuple[str, ...]


def read(path: Path) -> LegacyRun:
    """Return the run that a file tells of.

    Raises
    ------
    NotEarlierError
        If it is no result of the earlier tool.
    OSError
        If it cannot be read.
    """
    if not path.is_file() or path.stat().st_size > MAX_FILE_BYTES:
        raise NotEarlierError("is not a file, or larger than any result")
    try:
        # It wrote NaN where a power meter had no reading; that is not known here.
        content = json.loads(path.read_bytes().decode("utf-8"), parse_constant=lambda _: None)
    except (ValueError, RecursionError):
        raise NotEarlierError("is not JSON") from None
    if isinstance(content, dict) and "schema_version" in content:
        raise NotEarlierError("is a record already: results merge takes it")
    if not isinstance(content, dict) or not _text(content.get("framework")) or "problem" not in content:
        raise NotEarlierError("has no framework and problem, so it is not a result of the earlier tool")
    moment = datetime.fromtimestamp(path.stat().st_mtime, timezone.utc)
    return _run(content, path.name, moment)


def _run(content: Mapping[str, Any], file: str, changed: datetime) -> LegacyRun:
    problem = content["problem"] if isinstance(content["problem"], Mapping) else {"name": content["problem"]}
    name = _text(problem.get("name"))
    if name is None:
        raise NotEarlierError("has a problem without a name")
    batch_size, epochs = _whole(content.get("batch_size")), _whole(content.get("nb_epoch"))
    shape, samples = _shape_and_samples(content, problem)
    form, steps, seconds = _timed(content, _batches(problem, samples, batch_size), epochs)
    ended_at, dated_by = _moment(content, file, changed)
    seed = content.get("random_seed")
    return LegacyRun(
        file=file,
        form=form,
        digest=_digest(content),
        framework=_framework(content),
        problem=name,
        parameters=_parameters(problem),
        sample_shape=shape,
        mode=_text(content.get("mode")),
        batch_size=batch_size,
        epochs=epochs,
        samples_per_epoch=samples,
        steps=steps,
        total_seconds=seconds,
        stated_rate=_positive(content.get("samples_per_second")),
        precision=_precision(problem),
        seed=int(seed) if isinstance(seed, (int, str)) and str(seed).isdecimal() else None,
        gpu_count=_whole(content.get("nb_gpus")) or 0,
        device=_text(content.get("device")),
        backend=_text(content.get("backend")),
        preheat=content.get("preheat") if isinstance(content.get("preheat"), bool) else None,
        platform=_platform(content),
        energy=_energy(content.get("power")),
        ended_at=ended_at,
        dated_by=dated_by,
        dropped=tuple(sorted(set(content) - _TAKEN)),
    )


def _digest(content: Mapping[str, Any]) -> str:
    plain = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(plain.encode("utf-8", "backslashreplace")).hexdigest()


# --- what was timed -------------------------------------------------------------------------------


def _timed(content: Mapping[str, Any], batches: int | None, epochs: int | None) -> tuple[str, int, float]:
    """Return the form of the file, and the steps that were timed together with their seconds.

    Of the time of an epoch, which is the mean of several, one epoch is all that can be said.
    """
    if batches is None and _positive(content.get("time_total")) and epochs:
        batches = 1  # matrix products, an epoch is one of them
    if batches is None:
        raise NotEarlierError("does not tell how many mini-batches were timed")
    total = _positive(content.get("time_total"))
    if total and epochs:
        return "total", batches * epochs, total
    epoch = _positive(content.get("time_epoch")) or _positive(content.get("time")) or total
    if not epoch:
        raise NotEarlierError("has no time")
    return ("time" if isinstance(content["problem"], Mapping) else "poster"), batches, epoch


def _batches(problem: Mapping[str, Any], samples: int | None, batch_size: int | None) -> int | None:
    stated = _whole(problem.get("cnt_batches_per_epoch"))
    if stated or not samples or not batch_size:
        return stated
    return -(-samples // batch_size)


def _shape_and_samples(
    content: Mapping[str, Any], problem: Mapping[str, Any]
) -> tuple[tuple[int, ...] | None, int | None]:
    """Return the shape of a sample and the number of samples of an epoch."""
    whole = _shape(problem.get("shape_x_train") or content.get("shape_x_train") or problem.get("size"))
    shape = _shape(problem.get("sample_shape")) or (whole[1:] if whole else None) or None
    named = _whole(problem.get("cnt_samples_per_epoch")) or _whole(problem.get("cnt_samples"))
    return shape, named or (whole[0] if whole else _whole(problem.get("size")))


def _shape(value: Any) -> tuple[int, ...] | None:
    if not isinstance(value, list) or not value or len(value) > 16:
        return None
    sizes = tuple(map(_whole, value))
    return tuple(size for size in sizes if size) if all(sizes) else None


# --- what ran, and where --------------------------------------------------------------------------


def _framework(content: Mapping[str, Any]) -> Version:
    """Return the framework; its full name may tell of several, each with its version."""
    stated = str(content["framework"])
    full = _text(content.get("framework_full")) or stated
    parts = {
        name.lower(): version
        for name, version in (m.groups() for m in map(_PART.fullmatch, full.split("/")) if m)
    }
    # Named with its version it is the first of them, as in the poster.
    name = next(iter(parts), stated) if _PART.fullmatch(stated.split("/")[0]) else stated.lower()
    version = parts.pop(name, None)
    return Version(name, version, parts)


def _parameters(problem: Mapping[str, Any]) -> dict[str, Any]:
    known = _COUNTS | _PRECISIONS | _SHAPES
    return {
        name: value
        for name, value in problem.items()
        if name not in known
        and not name.startswith(("gflop_", "flop_"))
        and isinstance(value, (bool, int, float, str))
    }


def _precision(problem: Mapping[str, Any]) -> str | None:
    """Return the number format; of PyTorch's two settings the second, where it is not the plain one, too."""
    numerics, precision = (_text(problem.get(name)) for name in ("numerics", "precision"))
    if numerics is None:
        return precision.lower() if precision else None
    plain = precision is None or precision.lower() == "highest" or numerics.lower() != "fp32"
    return numerics.lower() if plain else f"{numerics.lower()} ({precision})"


def _platform(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is known of the machine, under the names that records have for it."""
    stated = _members(content.get("platform"))
    cpu, ram = _members(stated.get("cpu")), _members(stated.get("ram"))
    listed = stated.get("gpus")
    gpus = [_text(_members(gpu).get("brand")) for gpu in (listed if isinstance(listed, list) else [])]
    host = _text(stated.get("host")) or _text(content.get("hostname"))
    system = _text(stated.get("os")) or _text(content.get("linux"))
    model, cores = _text(cpu.get("brand")), _whole(cpu.get("physical_cores"))
    total = _whole(ram.get("total"))
    return {
        "host": {"name": host} if host else None,
        "cpu": {"model": model, "cores": cores} if model or cores else None,
        "gpus": [{"name": name} for name in gpus] if "gpus" in stated else None,
        "memory": {"total_bytes": total} if total else None,
        "os": {"system": system.partition("-")[0], "kernel": system.partition("-")[2]} if system else None,
    }


def _energy(power: Any) -> dict[str, float]:
    """Return joules and watts as the file has them; 0 there is what was not measured."""
    found = {}
    for name, value in _members(power).items():
        number = _positive(value)
        if number and name.startswith(("joules_", "avg_watt_")):
            kind, _, part = name.rpartition("_")
            found[f"earlier_{'joules' if kind == 'joules' else 'watts'}_{part.lower()}"] = number
    return found


def _moment(content: Mapping[str, Any], file: str, changed: datetime) -> tuple[datetime, str]:
    """Return when the run ended, which is when the tool took its ``start_time`` and named its file."""
    named = _MOMENT.search(file)
    for text, dated_by in (
        (_text(content.get("start_time")), "start_time"),
        (named and named[0], "file name"),
    ):
        try:
            moment = datetime.strptime(text or "", "%y.%m.%d_%H.%M.%S").replace(tzinfo=timezone.utc)
        except ValueError:
            continue
        return moment, dated_by
    return changed, "file"


def started(run: LegacyRun) -> datetime:
    """Return when the timed part began, at the latest."""
    return run.ended_at - timedelta(seconds=run.total_seconds)


# --- values of a file that nobody has checked -----------------------------------------------------


def _members(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _positive(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if 0 < value < 1e18 and math.isfinite(value) else None


def _whole(value: Any) -> int | None:
    """Return a whole number of at least 1, also where Python 2's division has made a float of it."""
    number = _positive(value)
    return int(number) if number and number == int(number) else None
