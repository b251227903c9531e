"""The reference's results, computed once by an isolated NumPy run and kept in the cache folder."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarker.environments import home
from benchmarker.errors import UsageError
from benchmarker.problem_files import is_problem_file, python_files
from benchmarker.worker.coarse import FRACTION_BITS
from benchmarker.worker.job import Job

BUDGET_FLOPS = 120e9
"""The most that the reference computes forward: a few seconds of float64 on two cores."""
KEPT_BYTES = 2 << 30
"""Least recently used references beyond this are removed."""


def verification_samples(batch_size: int, flops_per_sample: float, micro_batch: int | None = None) -> int:
    """Return how many samples of the mini-batch are verified: all of them if the budget allows.

    Of micro-batches they are several whole ones, so that their mean is verified too.
    """
    affordable = max(2, int(BUDGET_FLOPS // max(flops_per_sample, 1.0)))
    if micro_batch is not None:
        affordable = max(2, affordable // micro_batch) * micro_batch
    return min(batch_size, affordable)


def reference_folder() -> Path:
    """Return the folder of the references, made if it is not there.

    Raises
    ------
    UsageError
        If it cannot be made.
    """
    folder = home() / "references"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"references are kept in a folder that can be written, got '{folder}' ({error.strerror}); "
            "choose another with BENCHMARKER_HOME, or use --no-verify"
        ) from None
    return folder


def reference_path(folder: Path, job: Job, packages: Mapping[str, str]) -> Path:
    """Return the file of the reference for ``job``: its name covers all that decides its content.

    Parameters
    ----------
    folder : Path
        The cache folder.
    job : Job
        The run to verify.
    packages : mapping
        Top-level package to the folder that holds it; the code of graph, problem and reference counts.
    """
    decisive = {
        "problem": job.problem,
        "parameters": job.problem_parameters,
        "mode": job.mode,
        "precision": job.precision if job.precision in FRACTION_BITS else None,
        "batch_size": job.batch_size,
        "samples": job.verification_samples,
        "micro_batch": job.micro_batch,
        "seed": job.seed,
        "data": Path(job.data).name if job.data else None,
        "code": _code_digest(job.problem, packages),
    }
    text = json.dumps(decisive, sort_keys=True)
    name = job.problem.partition(":")[0].rpartition(".")[2]
    return folder / f"{name}-{job.mode}-{hashlib.sha256(text.encode()).hexdigest()[:24]}.npz"


def _code_digest(problem: str, packages: Mapping[str, str]) -> str:
    own = Path(packages["benchmarker"]) / "benchmarker"
    files = [own / "framework.py", own / "problem.py", *_problem_files(problem, packages)]
    for folder in ("graph", "layers", "plugins/numpy", "worker"):
        files += sorted((own / folder).rglob("*.py"))
    digest = hashlib.sha256()
    for path in files:
        if path.is_file():
            digest.update(path.read_bytes())
    return digest.hexdigest()


def _problem_files(problem: str, packages: Mapping[str, str]) -> list[Path]:
    """Return the problem's module; of another distribution its whole package, helpers included.

    Of a Python file that file, and of an ONNX model the code that imports it: the value names its content.
    """
    if is_problem_file(problem):
        importing = Path(packages["benchmarker"], "benchmarker", "onnx_model")
        return python_files(problem) or sorted(importing.rglob("*.py"))
    module = problem.partition(":")[0].split(".")
    top = Path(packages[module[0]], module[0])
    if module[0] != "benchmarker" and top.is_dir():
        return sorted(top.rglob("*.py"))
    return [Path(packages[module[0]], *module).with_suffix(".py")]


def reference_job(job: Job, path: Path) -> dict[str, Any]:
    """Return the job that computes the reference of ``job`` into ``path``."""
    values = asdict(job)
    values.update(
        action="reference",
        framework="benchmarker.plugins.numpy",
        framework_options={},
        device={"type": "cpu", "index": 0},
        reference=str(path),
        breakdown=False,
        trace=None,
    )
    return values


def remove_least_recently_used(folder: Path, limit: int = KEPT_BYTES) -> None:
    """Keep the cache folder under ``limit`` bytes."""
    found = []
    for path in folder.glob("*.npz"):
        # Another process may remove it at the same time.
        with contextlib.suppress(FileNotFoundError):
            state = path.stat()
            found.append((state.st_mtime_ns, state.st_size, path))
    total = 0
    for _, size, path in sorted(found, reverse=True):
        total += size
        if total > limit:
            path.unlink(missing_ok=True)
