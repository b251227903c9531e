"""The reference's results, computed once by an isolated NumPy run and kept in the cache folder."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from benchmarker.api.framework import Device
from benchmarker.cache import explain_unwritable, home, key
from benchmarker.problems.files import is_problem_file, module_of
from benchmarker.worker.job import RankJob, ReferenceJob, RunJob

REFERENCE = "numpy"
"""The framework that computes references, in float64."""
BUDGET_FLOPS = 120e9
"""The most that the reference computes forward: a few seconds of float64 on two cores."""
MAX_REFERENCE_BYTES = 2 << 30
"""Least recently used references beyond this are removed."""


def verification_samples(job: RunJob, flops_per_sample: float) -> int:
    """Return how many samples of a job's mini-batch are verified: all of them if the budget allows.

    Of micro-batches they are several whole ones, so that their mean is verified too. Those of training fill the
    mini-batch without a rest where there is such a number, so that it is verified with all of its rows.
    """
    unit = job.micro_batch or 1
    affordable = max(2, int(BUDGET_FLOPS // max(flops_per_sample, 1.0)))
    if job.micro_batch is not None:
        affordable = max(2, affordable // unit) * unit
    if affordable >= job.batch_size:
        return job.batch_size
    if job.mode != "training":
        return affordable
    filling = (n for n in range(affordable, 1, -1) if not job.batch_size % n and not n % unit)
    return next(filling, affordable)


def in_parts(job: RunJob) -> RunJob:
    """Return the job of one process that computes the same: ranks are to it what micro-batches are.

    What looks at several samples at once looks at those of one rank then, unless that is of all.
    """
    if not isinstance(job, RankJob) or job.global_statistics:
        return job
    return replace(job, micro_batch=job.micro_batch or job.rank_rows)


def reference_folder() -> Path:
    """Return the folder of the references, made if it is not there.

    Raises
    ------
    UsageError
        If it cannot be made.
    """
    folder = home() / "references"
    with explain_unwritable(folder, "references", ", or use --no-verify"):
        folder.mkdir(parents=True, exist_ok=True)
    return folder


def reference_path(folder: Path, job: RunJob, packages: Mapping[str, str]) -> Path:
    """Return the file of the reference for ``job``: its name covers all that decides its content.

    Parameters
    ----------
    folder : Path
        The cache folder.
    job : RunJob
        The run to verify.
    packages : mapping
        Top-level package to the folder that holds it; the code of graph, problem and reference counts.
    """
    decisive = {
        "problem": job.problem,
        "parameters": job.problem_parameters,
        "mode": job.mode,
        "precision": job.precision,
        "batch_size": job.batch_size,
        "samples": job.verification_samples,
        "micro_batch": job.micro_batch,
        "seed": job.seed,
        "generated": list(job.generated) if job.mode == "generation" else None,
        "data": Path(job.data).name if job.data else None,
        "training": {name: job.training.get(name) for name in _OF_BATCHES} if job.training else None,
        "code": _code_digest(job.problem, packages),
    }
    return folder / f"{_short_name(job.problem)}-{job.mode}-{key(decisive, 24)}.npz"


_OF_BATCHES = ("split", "sampler", "augmentation")
"""Members of a recipe that decide which mini-batches there are."""


def _short_name(problem: str) -> str:
    """Return what an entry's value is called in a folder of references: the object's name, or the module's."""
    if is_problem_file(problem):
        return module_of(problem).rpartition(".")[2]
    return re.split(r"[.:]", problem)[-1].lower()


_DECISIVE_FOLDERS = (
    "api",
    "data",
    "graph",
    "plugins/common",
    "plugins/numpy",
    "problems/layers",
    "training",
    "worker",
)
"""Whose code decides what the reference computes."""


def _code_digest(problem: str, packages: Mapping[str, str]) -> str:
    own = Path(packages["benchmarker"]) / "benchmarker"
    files = _problem_files(problem, packages)
    for folder in _DECISIVE_FOLDERS:
        files += _python_files(own / folder)
    digest = hashlib.sha256()
    for path in files:
        with open(path, "rb", buffering=0) as file:
            digest.update(file.read())
    return digest.hexdigest()


def _python_files(folder: Path) -> list[str]:
    """Return the modules below a folder, which must have some: a renamed one would serve stale references."""
    # Not by pathlib, which takes longer than the reading: each run asks.
    walked = ((inner, names) for inner, _, names in os.walk(folder))
    found = sorted(f"{inner}/{name}" for inner, names in walked for name in names if name.endswith(".py"))
    if not found:
        raise FileNotFoundError(f"there are no modules below '{folder}', on which references depend")
    return found


def _problem_files(problem: str, packages: Mapping[str, str]) -> list[str]:
    """Return the problem's module; of another distribution its whole package, helpers included.

    Of a problem that is a file the module that makes it: the value names the file's content.
    """
    module = module_of(problem).split(".")
    top = Path(packages[module[0]], module[0])
    if module[0] != "benchmarker" and top.is_dir():
        return sorted(map(str, top.rglob("*.py")))
    return [str(Path(packages[module[0]], *module).with_suffix(".py"))]


def reference_job(job: RunJob, path: Path) -> ReferenceJob:
    """Return the job that computes the reference of ``job`` into ``path``."""
    return ReferenceJob(
        framework="benchmarker.plugins.numpy",
        device=Device("cpu"),
        threads=job.threads,
        seed=job.seed,
        problem=job.problem,
        problem_parameters=job.problem_parameters,
        mode=job.mode,
        batch_size=job.batch_size,
        precision=job.precision,
        path=str(path),
        samples=job.verification_samples,
        data=job.data,
        micro_batch=job.micro_batch,
        training=job.training,
        prompt_length=job.prompt_length,
        output_length=job.output_length,
    )
