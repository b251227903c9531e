"""Measuring the peaks of this machine, each in an isolated worker."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timezone

from benchmarker import registry
from benchmarker.api.framework import Device, FrameworkPlugin
from benchmarker.api.launcher import Event
from benchmarker.collectors import cpu
from benchmarker.errors import BenchmarkerError, UsageError
from benchmarker.execution.environments import Interpreter, resolve
from benchmarker.execution.environments.gpu_driver import driver_fault
from benchmarker.execution.isolated import run_isolated
from benchmarker.execution.outcomes import Failure
from benchmarker.execution.variables import ProcessSettings
from benchmarker.experiment.framework_version import parse_framework
from benchmarker.machine.findings import findings
from benchmarker.machine.memory import memory_sizes
from benchmarker.machine.peaks import Calibration, folder, keep, this_machine
from benchmarker.machine.threads import default_threads, thread_fault
from benchmarker.machine.trust import grade
from benchmarker.orchestration.events import check_groups
from benchmarker.records.precision import CONTAMINATED
from benchmarker.worker.other_jobs import CalibrateJob

SIZES = {"cpu": (512, 1024, 2048, 4096), "cuda": (1024, 2048, 4096, 8192, 16384)}
SEED = 42
ATTEMPTS = 3
SECONDS = 1.0
"""How long each size is measured."""
MIN_COPY_BYTES = 256 << 20
CACHES_PER_COPY = 4
"""A copied array is that many times as large as the last-level caches together, as STREAM asks."""
MAX_MEMORY_SHARE = 0.125


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
        Of :data:`benchmarker.api.framework.PRECISIONS`.
    device, threads, environment
        As in :class:`~benchmarker.experiment.spec.RunSpec`.
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
        job = CalibrateJob(
            framework=registry.find("frameworks", plugin.name).value,
            device=Device(device),
            threads=threads or default_threads(),
            seed=SEED,
            precision=precision,
            sizes=SIZES[device],
            copy_bytes=_copy_bytes(),
            seconds=seconds,
            orchestrator=os.getpid(),
        )
        calibration = _undisturbed(plugin, job, interpreter, note)
        keep(calibration, folder())
        yield calibration


def _undisturbed(
    plugin: FrameworkPlugin, job: CalibrateJob, interpreter: Interpreter, note: Callable[[str], None]
) -> Calibration:
    """Return a calibration that may be the machine's peak: one that was disturbed is made again.

    Raises
    ------
    BenchmarkerError
        If all were disturbed.
    """
    for attempt in range(ATTEMPTS):
        found = _calibration(plugin, job, _measured(job, plugin, interpreter))
        if found.grade != CONTAMINATED:
            return found
        if attempt + 1 < ATTEMPTS:
            note(f"it was disturbed, so it is repeated: {found.reasons[0]}")
    raise BenchmarkerError(
        f"the calibration in {job.precision} was disturbed {ATTEMPTS} times and is not kept: {found.reasons[0]}"
    )


def _check(plugin: FrameworkPlugin, precisions: Sequence[str], device: str, threads: int | None) -> None:
    fault = thread_fault(threads) if threads is not None else None
    fault = fault or plugin.device_fault(device) or driver_fault(device)
    if fault is not None:
        raise UsageError(fault)
    able = plugin.precisions.get(device, ())
    for precision in precisions:
        if precision == "int8":
            raise UsageError("int8 is for runs only: peaks are measured with products of real numbers")
        if precision not in able:
            raise UsageError(
                f"framework '{plugin.name}' has no {precision} on {device}; it has {', '.join(able) or 'nothing there'}"
            )


def _measured(job: CalibrateJob, plugin: FrameworkPlugin, interpreter: Interpreter) -> Event:
    def sentence(failed: Failure) -> str:
        return (
            f"the calibration in {job.precision} did not finish, in stage '{failed.stage}': {failed.message}"
        )

    settings = ProcessSettings(gpus=(0,) if job.device.type == "cuda" else ())
    answer = run_isolated(job, plugin, interpreter, settings=settings, handler=check_groups)
    return answer.result(sentence)


def _copy_bytes() -> int:
    facts = cpu.quick_facts()
    sizes, instances = facts["caches"] or {}, facts["cache_instances"] or {}
    caches = max((size * instances.get(name, 1) for name, size in sizes.items()), default=0)
    available = memory_sizes()["available_bytes"] or 8 * MIN_COPY_BYTES
    wanted = max(MIN_COPY_BYTES, CACHES_PER_COPY * caches)
    return min(wanted, int(available * MAX_MEMORY_SHARE)) // 8 * 8


def _calibration(plugin: FrameworkPlugin, job: CalibrateJob, result: Event) -> Calibration:
    best = max(result["products"], key=lambda row: row["flops_per_second"])
    evidence = result["evidence"]
    trust, found = grade(evidence), findings(evidence, {"threads": job.threads})
    more_threads = [finding for finding in found if finding["excludes"]]
    return Calibration(
        machine=this_machine(),
        device="cpu" if job.device.type == "cpu" else str(result["device_name"]),
        framework=plugin.name,
        version=str(result["version"]),
        threads=job.threads,
        precision=job.precision,
        flops_per_second=best["flops_per_second"],
        size=best["size"],
        bytes_per_second=result["bytes_per_second"],
        copy_bytes=result["copy_bytes"],
        grade=CONTAMINATED if more_threads else trust["grade"],
        reasons=tuple(one["text"] for one in (*more_threads, *trust["reasons"])),
        measured_at=datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
    )
