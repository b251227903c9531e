"""The peaks of this machine: measured once when asked for, kept, and looked up for the records of later runs."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from benchmarker import registry
from benchmarker.collectors import cpu, memory
from benchmarker.environments import resolve
from benchmarker.environments.home import home
from benchmarker.errors import BenchmarkerError, UnsupportedError, UsageError
from benchmarker.experiment import RunSpec
from benchmarker.experiment_faults import parse_framework
from benchmarker.framework import Device, FrameworkPlugin
from benchmarker.launchers import Event, WorkerCommand
from benchmarker.outcomes import failure, log_tail
from benchmarker.packages import package_folders
from benchmarker.procfs.files import ROOT, read_pairs
from benchmarker.trust import grade
from benchmarker.worker.job import Job
from benchmarker.worker_environment import default_threads, thread_fault, worker_environment

SIZES = {"cpu": (512, 1024, 2048, 4096), "cuda": (1024, 2048, 4096, 8192, 16384)}
SECONDS = 1.0
"""How long each size is measured."""
SMALLEST_COPY_BYTES = 256 << 20
CACHES_A_COPY = 4
"""A copied array is that many times as large as the last-level caches together, as STREAM asks."""
LARGEST_MEMORY_SHARE = 0.125


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
        Whether the machine was quiet meanwhile; see :mod:`benchmarker.trust`.
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

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Calibration:
        """Read one from JSON values."""
        return Calibration(
            **{**data, "machine": Machine(**data["machine"]), "reasons": tuple(data["reasons"])}
        )


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
    total = memory.facts(root)["total_bytes"] or 0
    model = block.get("model name") or block.get("CPU part") or "unknown"
    return Machine(model, os.cpu_count() or 1, round(total / 2**30))


def folder() -> Path:
    """Return where calibrations are kept, a file each."""
    return home() / "calibrations"


def peaks_for(
    device: str, threads: int, precision: str, *, machine: Machine | None = None, where: Path | None = None
) -> Peaks | None:
    """Return the peaks of this machine for a kind of run; None if it was not calibrated for that.

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
    for path in sorted(where.glob("*.json")):
        try:
            yield Calibration.from_json(json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError, KeyError):
            continue  # of another version, or being removed


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
    digest = hashlib.sha256(json.dumps(kind, sort_keys=True).encode()).hexdigest()[:16]
    where.mkdir(parents=True, exist_ok=True)
    path = where / f"{calibration.framework}-{calibration.precision}-{digest}.json"
    temporary = path.with_suffix(f".{os.getpid()}.tmp")
    temporary.write_text(json.dumps(asdict(calibration), indent=2) + "\n", encoding="utf-8")
    temporary.replace(path)
    return path


def calibrate(
    request: str,
    precisions: Sequence[str] = ("fp32",),
    *,
    device: str = "cpu",
    threads: int | None = None,
    environment: str = "auto",
    seconds: float = SECONDS,
    note: Callable[[str], None] = lambda text: None,
) -> Iterator[Calibration]:
    """Measure the peaks in an isolated worker for each precision, and keep them.

    Parameters
    ----------
    request : str
        ``name`` or ``name==version`` of the framework that measures.
    precisions : sequence of str
        Of :data:`benchmarker.framework.PRECISIONS`.
    device, threads, environment
        As in :class:`~benchmarker.experiment.RunSpec`.
    seconds : float
        How long each size is measured.
    note : callable
        Told of what takes time.

    Raises
    ------
    UsageError
        If the framework cannot do what is asked.
    BenchmarkerError
        If a worker did not come to its end.
    """
    plugin, version = parse_framework(request)
    _check(plugin, precisions, device, threads)
    cuda = device == "cuda"
    interpreter = resolve(plugin, choice=environment, version=version, cuda=cuda, progress=note)
    for precision in precisions:
        note(f"measuring {precision} with {plugin.name}")
        spec = RunSpec(
            plugin.name,
            "",
            threads=threads or default_threads(),
            device=device,
            gpus=(0,) if cuda else (),
            precision=precision,
        )
        calibration = _calibration(spec, _measured(spec, plugin, interpreter.path, seconds))
        keep(calibration, folder())
        yield calibration


def _check(plugin: FrameworkPlugin, precisions: Sequence[str], device: str, threads: int | None) -> None:
    fault = thread_fault(threads) if threads is not None else None
    if fault is not None:
        raise UsageError(fault)
    able = plugin.precisions.get(device, ())
    if device not in plugin.devices or not able:
        raise UsageError(
            f"framework '{plugin.name}' does not run on {device}, only on {', '.join(plugin.devices)}"
        )
    for precision in precisions:
        if precision not in able:
            raise UsageError(
                f"framework '{plugin.name}' has no {precision} on {device}; it has {', '.join(able)}"
            )


def _measured(spec: RunSpec, plugin: FrameworkPlugin, interpreter: str, seconds: float) -> Event:
    events: dict[str, Event] = {}
    stages = ["start"]

    def handle(event: Event) -> None:
        events[event["event"]] = event
        if event["event"] == "stage":
            stages.append(str(event["name"]))

    job = Job(
        "calibrate",
        registry.find("frameworks", plugin.name).value,
        precision=spec.precision,
        device=Device(spec.device),
        threads=spec.threads,
        seed=spec.seed,
        orchestrator=os.getpid(),
        calibration={"sizes": SIZES[spec.device], "copy_bytes": _copy_bytes(), "seconds": seconds},
    )
    with tempfile.TemporaryDirectory(prefix="benchmarker-") as name:
        log = Path(name) / "run.log"
        command = WorkerCommand(
            interpreter,
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
        kind = UnsupportedError if failed.type == "UnsupportedError" else BenchmarkerError
        raise kind(
            f"the calibration in {spec.precision} did not end, in stage '{failed.stage}': {failed.message}"
        )
    return events["result"]


def _copy_bytes() -> int:
    facts = cpu.quick_facts()
    sizes, instances = facts["caches"] or {}, facts["cache_instances"] or {}
    caches = max((size * instances.get(name, 1) for name, size in sizes.items()), default=0)
    available = memory.facts()["available_bytes"] or 8 * SMALLEST_COPY_BYTES
    wanted = max(SMALLEST_COPY_BYTES, CACHES_A_COPY * caches)
    return min(wanted, int(available * LARGEST_MEMORY_SHARE)) // 8 * 8


def _calibration(spec: RunSpec, result: Event) -> Calibration:
    best = max(result["products"], key=lambda row: row["flops_per_second"])
    trust = grade(result["evidence"], {"threads": spec.threads})
    return Calibration(
        machine=this_machine(),
        device="cpu" if spec.device == "cpu" else str(result["device_name"]),
        framework=spec.framework,
        version=str(result["version"]),
        threads=spec.threads,
        precision=spec.precision,
        flops_per_second=best["flops_per_second"],
        size=best["size"],
        bytes_per_second=result["bytes_per_second"],
        copy_bytes=result["copy_bytes"],
        grade=trust["grade"],
        reasons=tuple(reason["text"] for reason in trust["reasons"]),
        measured_at=datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
    )
