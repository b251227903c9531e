"""Valid records for tests."""

from __future__ import annotations

import copy
import dataclasses
import json
import uuid
from typing import Any

from benchmarker.statistics import summarise

SAMPLES = (0.0512, 0.0508, 0.0521, 0.0509, 0.0515, 0.0530, 0.0507, 0.0511, 0.0510, 0.0519)


def set_at(record: dict[str, Any], path: str, value: Any) -> None:
    """Set the member at a dotted path."""
    *parents, last = path.split(".")
    for name in parents:
        record = record[name]
    record[last] = value


def make_record(samples: tuple[float, ...] = SAMPLES, **changes: Any) -> dict[str, Any]:
    """Return a valid record of a run that ended well, with consistent statistics and a new identifier.

    Parameters
    ----------
    samples : tuple of float
        Timed steps in seconds; all that follows from them is derived.
    changes
        Values by dotted path with ``__`` for the dot, e.g. ``framework__name="mxnet"``.
    """
    record = copy.deepcopy(_BASE)
    record["id"] = uuid.uuid4().hex
    for path, value in changes.items():
        set_at(record, path.replace("__", "."), value)
    total, flops = sum(samples), record["problem"]["flops_per_step"]
    record["timing"]["samples_seconds"] = list(samples)
    record["timing"]["step_seconds"] = json.loads(json.dumps(dataclasses.asdict(summarise(samples))))
    record["timing"]["total_seconds"] = total
    record["metrics"]["throughput"] = record["batch_size"] * len(samples) / total
    record["metrics"]["flops_per_second"] = flops * len(samples) / total
    return record


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
        "verification.status",
        "verification.reference",
        "verification.worst",
        *(f"timing.{name}" for name in record["timing"]),
        *(f"metrics.{name}" for name in record["metrics"]),
    ):
        set_at(record, path, None)
    record["verification"]["tensors"] = []
    return record


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

_BASE: dict[str, Any] = {
    "schema_version": "1.0",
    "id": "",
    "status": "ok",
    "error": None,
    "started_at": "2025-03-01T12:00:00.000000Z",
    "ended_at": "2025-03-01T12:00:09.500000Z",
    "benchmarker_version": "0.1.0",
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
    },
    "optimizer": None,
    "device": {"type": "cpu", "name": "Example CPU 3000", "count": 1},
    "execution": {
        "launcher": "local",
        "threads": 2,
        "affinity": [],
        "timeout_seconds": None,
        "environment_variables": {"OMP_NUM_THREADS": "2"},
        "warmup_requested": None,
        "steps_requested": 10,
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
    },
    "environment": {
        "kind": "managed",
        "key": "pytorch-0123456789ab",
        "python": "3.11.7",
        "implementation": "CPython",
        "packages": {"torch": "2.13.0+cpu", "numpy": "2.4.6"},
    },
    "digests": {"parameters": f"sha256:{'1' * 64}", "batch": f"sha256:{'2' * 64}"},
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
        "samples_seconds": None,
        "step_seconds": None,
        "total_seconds": None,
    },
    "metrics": {"throughput": None, "flops_per_second": None, "loss_first": None, "loss_last": None},
    "memory": {"peak_bytes": 412000256, "framework": {}},
    "verification": {
        "status": "passed",
        "reason": None,
        "reference": "numpy fp64",
        "samples": 4,
        "tolerance_reason": "fp32 rounding over 784 terms",
        "worst": dict(_TENSOR),
        "tensors": [dict(_TENSOR)],
    },
    "log": None,
}
