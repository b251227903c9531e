"""Valid records for tests."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import pickle
import uuid
from collections.abc import Sequence
from typing import Any

from msgspec.structs import asdict

from benchmarker import __version__
from benchmarker.api.optimizer import Optimizer
from benchmarker.api.problem_scheme import ProblemReference
from benchmarker.experiment.spec import RunSpec, specification
from benchmarker.records.precision import precision_of
from benchmarker.records.schema import NEWEST
from benchmarker.statistics import describe, summarise

SAMPLES = tuple(round(0.0507 + 0.00003 * (37 * i % 61), 6) for i in range(60))
"""So many that all percentiles but the 99th are bounded."""
PRESSURE = {
    "kind": "cpu_pressure",
    "severity": "noisy",
    "text": "tasks on this machine waited for a core 11.0 % of the time",
    "value": 0.11,
    "limit": 0.05,
}
"""A reason of ``trust``."""


def set_at(record: dict[str, Any], path: str, value: Any) -> None:
    """Set the member at a dotted path."""
    *parents, last = path.split(".")
    for name in parents:
        record = record[name]
    record[last] = value


def make_record(
    samples: Sequence[float] = SAMPLES, *, block_steps: int = 1, steps: int | None = None, **changes: Any
) -> dict[str, Any]:
    """Return a valid record of a run that ended well, with consistent statistics and a new identifier.

    Parameters
    ----------
    samples : sequence of float
        Seconds per step of each timed sample; all that follows from them is derived.
    block_steps : int
        Steps of a sample; more than one is throughput sampling.
    steps : int, optional
        Timed steps, if the last sample has fewer than ``block_steps``.
    changes
        Values by dotted path with ``__`` for the dot, e.g. ``framework__name="mxnet"``.
    """
    record: dict[str, Any] = pickle.loads(_PICKLED)  # a copy, in a tenth of the time that deepcopy takes
    record["id"] = uuid.uuid4().hex
    record["timing"].update(
        sampling="throughput" if block_steps > 1 else "latency",
        steps=len(samples) * block_steps if steps is None else steps,
        block_steps=block_steps,
        steady_state=_steady_state(samples),
    )
    for path, value in changes.items():
        set_at(record, path.replace("__", "."), value)
    if "specification" not in changes:
        record["specification"] = json.loads(json.dumps(specification(_asked(record))))
    record["comparable"] = _comparable(_asked(record))
    _derive(record, samples)
    return record


def _asked(record: dict[str, Any]) -> RunSpec:
    """Return what the record's run would be asked for with."""
    execution = record["execution"]
    return RunSpec(
        framework=record["framework"]["name"],
        problem=ProblemReference(record["problem"]["name"]),
        framework_version=record["framework"]["requested_version"],
        problem_parameters=record["problem"]["parameters"],
        framework_options=record["framework"]["options"],
        mode=record["mode"],
        batch_size=record["batch_size"],
        precision=record["precision"],
        optimizer=Optimizer(**record["optimizer"] or {}),
        device=record["device"]["type"],
        threads=execution["threads"],
        affinity=execution["affinity"],
        seed=record["seed"],
        steps=execution["steps_requested"],
        warmup=execution["warmup_requested"],
        samples_per_epoch=execution["samples_per_epoch"],
        sampling=record["timing"]["sampling"],
        repetition=record["repetition"],
    )


def _comparable(run: RunSpec) -> dict[str, Any]:
    keys = {
        "problem": run.problem.name,
        "problem_semantics": 1,
        "problem_parameters": dict(run.problem_parameters),
        "mode": run.mode,
        "batch_size": run.batch_size,
        "precision": run.precision,
        "optimizer": dataclasses.asdict(run.optimizer) if run.mode == "training" else None,
        "device": run.device,
        "devices": 1,
        "threads": run.threads,
        "data": run.data,
        "inputs": run.inputs,
        "sampling": run.sampling,
    }
    text = json.dumps(keys, sort_keys=True)
    return {"hash": f"sha256:{hashlib.sha256(text.encode()).hexdigest()}", "keys": keys}


def _steady_state(samples: Sequence[float]) -> dict[str, Any]:
    median = describe(samples)["median"]
    return {
        "kind": "flat" if len(samples) >= 20 else None,
        "start": 0,
        "segments": [{"start": 0, "end": len(samples), "median_seconds": median}],
        "reason": f"one level, {len(samples)} samples",
    }


def _derive(record: dict[str, Any], samples: Sequence[float]) -> None:
    """Fill in what follows from the samples and the members that a test may have changed."""
    timing, metrics, problem = record["timing"], record["metrics"], record["problem"]
    steps, block = timing["steps"], timing["block_steps"]
    lengths = [block] * (len(samples) - 1) + [steps - block * (len(samples) - 1)]
    total = sum(seconds * length for seconds, length in zip(samples, lengths))
    kept = samples[timing["steady_state"]["start"] :]
    timing["samples_seconds"] = list(samples)
    timing["step_seconds"] = json.loads(json.dumps(dataclasses.asdict(summarise(kept, block_steps=block))))
    timing["total_seconds"] = total
    timing["wall_seconds"] = total * 1.01
    metrics["throughput"] = record["batch_size"] * steps / total
    metrics["batches_per_second"] = steps / timing["wall_seconds"]
    for name, count in (("flops", "flops_per_step"), ("bytes", "bytes_per_step")):
        metrics[f"{name}_per_second"] = problem[count] * steps / total
        metrics[f"{name}_share_of_peak"] = metrics[f"{name}_per_second"] / _PEAKS[f"{name}_per_second"]
    step = timing["step_seconds"]
    if record["trust"] is not None and record["trust"].get("precision", ...) is None:
        record["trust"]["precision"] = asdict(precision_of(step["median"], step["ci95"]))
    record["replication"]["centre_seconds"] = timing["step_seconds"]["median"]


def make_failed_record(status: str = "crashed", **changes: Any) -> dict[str, Any]:
    """Return a valid record of a run that ended before anything was known of its framework."""
    record = make_record(**changes)
    record["status"] = status
    record["error"] = {
        "stage": "import",
        "type": "SIGSEGV",
        "message": "the worker was ended by signal 11 (SIGSEGV)",
        "log_tail": "Segmentation fault",
    }
    for path in (
        "framework.version",
        "framework.full",
        "problem.parameter_count",
        "device.name",
        "digests.parameters",
        "digests.batch",
        "environment.packages",
        "memory.peak_bytes",
        "inputs.distinct_batches",
        "inputs.resident_bytes",
        "execution.process",
        "trust",
        "replication.centre_seconds",
        "verification.status",
        "verification.reference",
        "verification.worst",
        *(
            f"timing.{name}"
            for name in record["timing"]
            if name not in ("sampling", "warmup_samples_seconds")
        ),
        *(f"metrics.{name}" for name in record["metrics"]),
    ):
        set_at(record, path, None)
    record["timing"]["warmup_samples_seconds"] = []
    record["replication"]["processes"] = 0
    record["verification"]["tensors"] = []
    return record


def make_old_record(version: str = "1.0", **changes: Any) -> dict[str, Any]:
    """Return a valid record as an earlier release made it, with its own statistics.

    Parameters
    ----------
    version : {"1.0", "1.1"}
        Of the schema.
    changes
        As of :func:`make_record`.
    """
    record = make_record(**changes)
    record["schema_version"], record["benchmarker_version"] = version, "0.1.0"
    for path in _SINCE_1_2 + (_SINCE_1_1 if version == "1.0" else ()):
        *parents, last = path.split(".")
        holder = record
        for name in parents:
            holder = holder[name]
        del holder[last]
    # Ranks of the binomial distribution, for independent samples.
    ordered = sorted(SAMPLES)
    record["timing"]["step_seconds"] = {
        **describe(SAMPLES),
        "ci95": [ordered[21], ordered[38]],
        "ci95_reason": None,
        "ci95_level": "within one process",
        "ci95_coverage": 0.9724,
    }
    return record


_SINCE_1_2 = (
    "learning",
    "training",
    "metrics.steps_to_target",
    "metrics.seconds_to_target",
    "trust",
    "peaks",
    "peaks_reason",
    "replication",
    "comparable",
    "monitors",
    "execution.start",
    "execution.shared",
    "execution.worker_seconds",
    "execution.process",
    "execution.compile_cache",
    "inputs.resident_bytes",
    "timing.sampling",
    "timing.steps",
    "timing.block_steps",
    "timing.warmup_samples_seconds",
    "timing.steady_state",
    "timing.compilations",
    "timing.device_event_seconds",
    "timing.breakdown",
    "timing.windows",
    "timing.overhead",
    "memory.predicted",
    "collectors.utilization",
    "collectors.energy",
    "metrics.arithmetic_intensity",
    "metrics.bytes_per_second",
    "metrics.flops_share_of_peak",
    "metrics.bytes_share_of_peak",
    "metrics.joules",
    "metrics.joules_per_sample",
    "metrics.samples_per_joule",
    "metrics.flop_per_joule",
    "metrics.cost_per_million_samples",
    "metrics.cost_of_run",
)
_SINCE_1_1 = (
    "specification",
    "acceptance",
    "inputs",
    "timing.wall_seconds",
    "timing.window_seconds",
    "metrics.training_seconds",
    "metrics.batches_per_second",
    "metrics.accuracy",
)


_TENSOR = {
    "name": "fc3",
    "kind": "output",
    "elements": 40,
    "compared": 40,
    "max_absolute_error": 2.4e-7,
    "max_relative_error": 1.1e-6,
    "tolerance": 1e-4,
    "norm_error": 4.0e-7,
    "norm_tolerance": 1e-4,
    "passed": True,
}

_PEAKS = {
    "flops_per_second": 1.5e11,
    "flops_by": "pytorch 2.13.0+cpu",
    "bytes_per_second": 1.2e10,
    "bytes_by": "numpy 2.4.6",
    "measured_at": "2025-02-28T09:00:00.000000Z",
}

_EVIDENCE = {
    "seconds": 3.11,
    "cpus": 2,
    "steal_share": 0.0,
    "busy_cores": 2.01,
    "cpu_pressure_share": 0.01,
    "io_pressure_share": 0.0,
    "memory_pressure_share": 0.0,
    "own_cpu_seconds": 6.1,
    "threads_busy": 1.96,
    "threads_runnable": 1.97,
    "tasks": 3,
    "run_delay_seconds": 0.02,
    "run_delay_share": 0.003,
    "orchestrator_cores": 0.001,
    "foreign_cores": 0.05,
    "foreign_unnamed_cores": 0.01,
    "foreign": [{"name": "sshd", "pid": 812, "cores": 0.04}],
    "voluntary_switches": 12,
    "involuntary_switches": 31,
    "minor_faults": 8,
    "minor_faults_per_step": 0.13,
    "major_faults": 0,
    "throttled_periods": 0,
    "throttled_seconds": 0.0,
    "disk_read_bytes_by_others": 0,
    "disk_written_bytes_by_others": 4096,
    "wall_clock_jump_seconds": -1e-7,
    "clock_source": "tsc",
    "frequency_mhz": {"first": 2100.0, "last": 2090.5},
    "thermal_throttles": None,
}

_TRUST: dict[str, Any] = {
    "grade": "clean",
    "reasons": [],
    "evidence": _EVIDENCE,
    "checkpoints": {
        "cpus": 2,
        "step": [0, 30, 60],
        "seconds": [0.0, 1.55, 3.11],
        "run_delay_seconds": [0.4, 0.41, 0.42],
        "involuntary_switches": [100, 115, 131],
        "own_cpu_seconds": [2.0, 5.0, 8.1],
        "busy_seconds": [100.0, 103.1, 106.2],
        "stolen_seconds": [1.5, 1.5, None],
    },
    "doctor": {"warnings": ["virtual machine"], "unknown": ["governor"]},
    "findings": [],
    "precision": None,
    "speed": {
        "kernel": "sha256 of 16 KiB, Python 3.11.7; copy of 8 MiB",
        "probes": 17,
        "arithmetic_seconds": 1.1e-5,
        "arithmetic_slowest_seconds": 1.4e-5,
        "memory_seconds": 9e-4,
        "interpreter_seconds": 4.6e-4,
        "arithmetic_share": 0.97,
        "memory_share": 0.93,
        "share": 0.93,
    },
}

_BASE: dict[str, Any] = {
    "schema_version": NEWEST,
    "id": "",
    "status": "ok",
    "error": None,
    "started_at": "2025-03-01T12:00:00.000000Z",
    "ended_at": "2025-03-01T12:00:09.500000Z",
    "benchmarker_version": __version__,
    "specification": None,
    "command": ["python", "-m", "benchmarker", "--framework=pytorch", "--problem=mnist_mlp"],
    "mode": "inference",
    "batch_size": 4,
    "precision": "fp32",
    "seed": 42,
    "repetition": 0,
    "framework": {
        "name": "pytorch",
        "version": "2.13.0",
        "full": "pytorch-2.13.0+cpu",
        "requested_version": None,
        "distribution": "torch",
        "installed_version": "2.13.0+cpu",
        "options": {"compile": False},
        "libraries": {"mkl": "2024.2"},
        "composed_operators": [],
    },
    "problem": {
        "name": "mnist_mlp",
        "task": "image classification",
        "source": "Deuschle et al., Rysia, table 4",
        "distribution": "benchmarker",
        "parameters": {"inputs": 784, "hidden1": 128},
        "parameter_count": 109386,
        "flops_per_step": 872448,
        "flops_per_sample": 218112,
        "elementwise_flops_per_step": 1800,
        "bytes_per_step": 460000,
        "custom_operators": {},
    },
    "optimizer": None,
    "device": {"type": "cpu", "name": "Example CPU 3000", "count": 1},
    "execution": {
        "launcher": "local",
        "start": "spawn",
        "shared": None,
        "worker_seconds": 8.4,
        "process": {
            "resident_bytes": 400 << 20,
            "huge_page_bytes": 0,
            "cpus": [0, 1],
            "c_library": "glibc 2.36",
        },
        "compile_cache": {
            "kind": "kept",
            "files_before": 0,
            "files_after": 0,
            "state": None,
            "compilations": None,
        },
        "threads": 2,
        "affinity": [],
        "timeout_seconds": None,
        "environment_variables": {"OMP_NUM_THREADS": "2"},
        "warmup_requested": None,
        "steps_requested": None,
        "samples_per_epoch": None,
    },
    "platform": {
        "host": {"name": "example"},
        "cpu": {"model": "Example CPU 3000", "cores": 2, "flags": ["avx2", "fma"]},
        "gpus": [],
        "memory": {"total_bytes": 8589934592},
        "os": {"system": "Linux", "kernel": "6.1.0"},
    },
    "collectors": {
        "host": {"status": "ok", "reason": None},
        "cpu": {"status": "ok", "reason": None},
        "gpus": {"status": "absent", "reason": "no NVIDIA driver is loaded"},
        "memory": {"status": "ok", "reason": None},
        "os": {"status": "ok", "reason": None},
        "utilization": {"status": "ok", "reason": None},
        "energy": {"status": "ok", "reason": None},
    },
    "environment": {
        "kind": "managed",
        "key": "pytorch-0123456789ab",
        "python": "3.11.7",
        "build": "GCC 12.2.0, main, Dec 4 2023 18:10:11",
        "profile_guided": True,
        "implementation": "CPython",
        "packages": {"torch": "2.13.0+cpu", "numpy": "2.4.6"},
    },
    "digests": {"parameters": f"sha256:{'1' * 64}", "batch": f"sha256:{'2' * 64}"},
    "inputs": {
        "kind": "resident",
        "distinct_batches": 8,
        "resident_bytes": 100352,
        "epoch_order_digests": [],
        "data": None,
    },
    "timing": {
        "clock": "perf_counter_ns",
        "clock_resolution_seconds": 1e-9,
        "process_start_seconds": 0.031,
        "import_seconds": 1.62,
        "device_seconds": 0.0004,
        "initialise_seconds": 0.12,
        "build_seconds": 0.21,
        "verify_seconds": 0.35,
        "compile_seconds": 0.084,
        "warmup_seconds": 0.26,
        "warmup_steps": 5,
        "warmup_samples_seconds": [0.0701, 0.0533, 0.0512, 0.0515, 0.0511],
        "sampling": "latency",
        "steps": None,
        "block_steps": None,
        "samples_seconds": None,
        "steady_state": None,
        "step_seconds": None,
        "total_seconds": None,
        "wall_seconds": None,
        "window_seconds": None,
        "compilations": 0,
        "device_event_seconds": None,
        "windows": None,
        "breakdown": {
            "steps": 2,
            "parts": {
                "synchronisation": {"median_seconds": 2e-6, "samples_seconds": [2e-6, 2e-6]},
                "data": {"median_seconds": 9e-6, "samples_seconds": [8e-6, 1e-5]},
                "forward": {"median_seconds": 0.051, "samples_seconds": [0.0512, 0.0508]},
            },
            "reason": None,
        },
        "overhead": {
            "null_p50_seconds": 1.05e-7,
            "null_p99_seconds": 1.53e-7,
            "null_step_seconds": 3.7e-7,
            "clock_resolution_seconds": 7.3e-8,
            "synchronisation_seconds": 1.1e-7,
        },
    },
    "metrics": {
        "throughput": None,
        "flops_per_second": None,
        "bytes_per_second": None,
        "loss_first": None,
        "loss_last": None,
        "accuracy": None,
        "epoch_seconds": None,
        "training_seconds": None,
        "batches_per_second": None,
        "steps_to_target": None,
        "seconds_to_target": None,
        "joules": 62.0,
        "joules_per_sample": 0.258,
        "samples_per_joule": 3.87,
        "flop_per_joule": 844000.0,
        "cost_per_million_samples": 1.41,
        "cost_of_run": 0.00106,
        "arithmetic_intensity": None,
        "flops_share_of_peak": None,
        "bytes_share_of_peak": None,
    },
    "peaks": _PEAKS,
    "peaks_reason": None,
    "learning": None,
    "operator": None,
    "profile": None,
    "transformations": None,
    "training": None,
    "distributed": None,
    "memory": {
        "peak_bytes": 412000256,
        "framework": {},
        "predicted": {"parameters": 437544, "activations": 16640, "total": 454184},
    },
    "monitors": {
        "utilization": {"interval_seconds": 0.1, "points": 2, "columns": {"worker_cpu_cores": [1.98, 1.97]}},
        "energy": {"joules": 62.0, "method": "RAPL", "idle_watts": 11.2},
    },
    "trust": _TRUST,
    "comparable": None,
    "replication": {
        "campaign": "0123456789abcdef0123456789abcdef",
        "resumed": [],
        "profile": None,
        "round": 0,
        "position": 0,
        "cells": 1,
        "target_half_width": None,
        "min_processes": 1,
        "max_processes": 1,
        "budget_seconds": None,
        "processes": 1,
        "centre_seconds": None,
        "ci95": None,
        "half_width": None,
        "stop_reason": "max_processes",
        "not_met": [],
        "expected_processes": None,
        "expected_seconds": None,
    },
    "acceptance": None,
    "verification": {
        "status": "passed",
        "reason": None,
        "reference": "numpy fp64",
        "samples": 4,
        "tolerance_reason": "fp32 rounding over 784 terms",
        "worst": dict(_TENSOR),
        "tensors": [dict(_TENSOR)],
        "after_timing": {
            "status": "passed",
            "reason": "nothing contradicts what was verified",
            "seconds": 0.05,
            "checks": [
                {"name": "unseen mini-batch", "status": "passed", "detail": "numpy fp64, all samples"}
            ],
            "tensors": [dict(_TENSOR)],
        },
    },
    "log": None,
}
_PICKLED = pickle.dumps(_BASE)
