"""The peaks of this machine, as calibrations measured them: kept, and looked up for the records of later runs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import asdict
from datetime import datetime
from pathlib import Path

from benchmarker.cache import home, key, store_json
from benchmarker.machine.kept_facts import is_amount, kept_in
from benchmarker.machine.memory import memory_sizes
from benchmarker.machine.procfs.files import ROOT, read_pairs
from benchmarker.quick_dataclass import dataclass


@dataclass(frozen=True)
class Machine:
    """What a calibration is valid for."""

    cpu: str
    logical_cores: int
    memory_gib: int


@dataclass(frozen=True)
class Calibration:
    """What one worker measured.

    Parameters
    ----------
    machine : Machine
        Where.
    device : str
        The GPU's name, or ``cpu``.
    framework, version : str
        With what.
    threads : int
        CPU threads.
    precision : str
        Of the product.
    flops_per_second : float
        The best of the medians over sizes, of products of two square matrices.
    size : int
        The size that was the best.
    bytes_per_second : float
        Of copying an array; bytes read and bytes written are counted, once each.
    copy_bytes : int
        The array's size.
    grade : str
        Whether the machine was quiet meanwhile; see :mod:`benchmarker.machine.trust`.
    reasons : tuple of str
        What disturbed it.
    measured_at : str
        UTC.
    """

    machine: Machine
    device: str
    framework: str
    version: str
    threads: int
    precision: str
    flops_per_second: float
    size: int
    bytes_per_second: float
    copy_bytes: int
    grade: str
    reasons: tuple[str, ...]
    measured_at: str


@dataclass(frozen=True)
class Peaks:
    """The most that was ever measured here, by which framework and when.

    Parameters
    ----------
    flops_per_second, bytes_per_second : float
        As in :class:`Calibration`.
    flops_by, bytes_by : str
        Framework and version.
    measured_at : str
        UTC, of the newest of both.
    """

    flops_per_second: float
    flops_by: str
    bytes_per_second: float
    bytes_by: str
    measured_at: str


def this_machine(root: Path = ROOT) -> Machine:
    """Return what this machine is."""
    block = read_pairs(root / "proc/cpuinfo", first_block=True)
    total = memory_sizes(root)["total_bytes"] or 0
    model = block.get("model name") or block.get("CPU part") or "unknown"
    return Machine(model, os.cpu_count() or 1, round(total / 2**30))


def folder() -> Path:
    """Return where calibrations are kept, a file each."""
    return home() / "calibrations"


def peaks_for(
    device: str, threads: int, precision: str, *, machine: Machine | None = None, where: Path | None = None
) -> Peaks | None:
    """Return the peaks of this machine for a kind of run; None if it was not calibrated for that undisturbed.

    The peak is the machine's, so the best of all frameworks counts.

    Parameters
    ----------
    device : str
        The GPU's name, or ``cpu``.
    threads : int
        CPU threads; without meaning on a GPU.
    precision : str
        Of the run.
    machine : Machine, optional
        Instead of this one.
    where : Path, optional
        Instead of :func:`folder`.
    """
    wanted = machine or this_machine()
    fitting = [
        kept
        for kept in _kept(where or folder())
        if (kept.machine, kept.device, kept.precision) == (wanted, device, precision)
        and (device != "cpu" or kept.threads == threads)
        and kept.grade != "contaminated"
    ]
    if not fitting:
        return None
    product = max(fitting, key=lambda kept: kept.flops_per_second)
    copy = max(fitting, key=lambda kept: kept.bytes_per_second)
    return Peaks(
        product.flops_per_second,
        f"{product.framework} {product.version}",
        copy.bytes_per_second,
        f"{copy.framework} {copy.version}",
        max(product.measured_at, copy.measured_at),
    )


def _kept(where: Path) -> Iterator[Calibration]:
    for kept in kept_in(where, Calibration):
        rates = (kept.flops_per_second, kept.bytes_per_second)
        if all(map(is_amount, rates)) and _is_moment(kept.measured_at):
            yield kept


def _is_moment(text: str) -> bool:
    try:
        datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ")
    except ValueError:
        return False
    return True


def keep(calibration: Calibration, where: Path) -> Path:
    """Write a calibration, in the place of an older one of the same kind."""
    kind = asdict(calibration)
    for name in (
        "flops_per_second",
        "size",
        "bytes_per_second",
        "copy_bytes",
        "grade",
        "reasons",
        "measured_at",
    ):
        del kind[name]
    path = where / f"{calibration.framework}-{calibration.precision}-{key(kind)}.json"
    store_json(path, asdict(calibration))
    return path
