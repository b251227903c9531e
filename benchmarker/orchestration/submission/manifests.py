"""What Kubernetes and AWS Batch are given by the user's own client: the same parts, their records sent to a store.

Sources: Kubernetes, *Indexed Job for Parallel Processing with Static Work Assignment*; AWS Batch API reference,
``RegisterJobDefinition`` and ``SubmitJob``.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from benchmarker.errors import UsageError
from benchmarker.orchestration.submission.resources import Resources
from benchmarker.orchestration.submission.state import Submission

MAX_ARRAY_SIZE = 10_000
"""Children of one array job of AWS Batch."""
MAX_BLUEPRINT_BYTES = {"kubernetes": 2**19, "aws-batch": 2**14}
"""A ConfigMap may have 1 MiB, a job definition of AWS Batch 24 KiB in all."""
_DEFAULT_CORES = 2
_DEFAULT_MEMORY_GIB = 4
_MOUNT = "/blueprint"


def _checked(submission: Submission, results: str, text: str) -> None:
    name, path = submission.engine, submission.blueprint
    if not submission.resources.image:
        raise UsageError(f"--to={name} runs containers: name one that has benchmarker with --image")
    if "://" not in results:
        raise UsageError(
            f"--to={name} needs --results in an object store, e.g. s3://bucket/folder, got '{results}'"
        )
    if not path.endswith(".toml"):
        raise UsageError(
            f"--to={name} carries the blueprint as text, which must be a .toml file, got '{path}'"
        )
    limit = MAX_BLUEPRINT_BYTES[name]
    if len(text.encode()) > limit:
        raise UsageError(
            f"--to={name} carries a blueprint of at most {limit:,} bytes, got {len(text.encode()):,}"
        )
    # An image has the framework that its blueprint names; one machine's other files it has not.
    for wrong in ("exclusive", "queue", "account") if name == "kubernetes" else ("exclusive", "account"):
        if getattr(submission.resources, wrong):
            raise UsageError(f"--{wrong} does not apply to --to={name}")
    if submission.resources.nodes > 1:
        raise UsageError(f"--to={name} gives each job one node, got --nodes={submission.resources.nodes}")
    if submission.resources.options:
        raise UsageError(f"--option does not apply to --to={name}: change what is printed")


def _command(submission: Submission, results: str, path: str, index: str) -> str:
    """Return a shell's line that runs the part of an index from 0, and sends its records to the store."""
    words = ["python", "-m", "benchmarker", "run", path, *submission.options]
    target = f"{results.rstrip('/')}/{submission.id}"
    part = f'--part="$(({index} + 1))/{submission.parts}"' if submission.parts > 1 else "--part=1/1"
    return f"{shlex.join(words)} {part} --results={shlex.quote(target)} --resume --quiet"


def _cores(resources: Resources) -> int:
    return resources.cores or _DEFAULT_CORES


def _memory_gib(resources: Resources) -> int:
    return resources.memory_gib or _DEFAULT_MEMORY_GIB


def _container(resources: Resources, line: str) -> dict[str, Any]:
    limits = {"cpu": str(_cores(resources)), "memory": f"{_memory_gib(resources)}Gi"}
    if resources.gpus:
        limits["nvidia.com/gpu"] = str(resources.gpus)
    return {
        "name": "benchmarker",
        "image": resources.image,
        "command": ["/bin/sh", "-c", line],
        # Equal requests and limits, in whole cores: the class Guaranteed, which may own its cores.
        "resources": {"requests": dict(limits), "limits": limits},
        "volumeMounts": [{"name": "blueprint", "mountPath": _MOUNT, "readOnly": True}],
    }


def kubernetes(submission: Submission, results: str, text: str) -> dict[str, Any]:
    """Return a list of a ConfigMap with the blueprint and an Indexed Job, for ``kubectl apply -f -``.

    Parameters
    ----------
    submission : Submission
        Of the engine ``kubernetes``.
    results : str
        Address in an object store.
    text : str
        The blueprint.

    Raises
    ------
    UsageError
        If something is asked for that it cannot say.
    """
    _checked(submission, results, text)
    resources, name = submission.resources, f"benchmarker-{submission.id}"
    labels = {"app.kubernetes.io/name": "benchmarker", "app.kubernetes.io/instance": name}
    blueprint = Path(submission.blueprint).name
    line = _command(submission, results, f"{_MOUNT}/{blueprint}", "JOB_COMPLETION_INDEX")
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "labels": labels},
        "spec": {
            "completions": submission.parts,
            "parallelism": min(resources.parallel or submission.parts, submission.parts),
            "completionMode": "Indexed",
            "backoffLimit": 3,
            "activeDeadlineSeconds": resources.minutes * 60 * submission.parts,
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "restartPolicy": "Never",
                    "activeDeadlineSeconds": resources.minutes * 60,
                    "containers": [_container(resources, line)],
                    "volumes": [{"name": "blueprint", "configMap": {"name": name}}],
                },
            },
        },
    }
    config = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "labels": labels},
        "data": {blueprint: text},
    }
    return {"apiVersion": "v1", "kind": "List", "items": [config, job]}


def aws_batch(submission: Submission, results: str, text: str) -> dict[str, Any]:
    """Return the parameters of the two calls to AWS Batch, by the names that botocore gives them.

    Parameters
    ----------
    submission : Submission
        Of the engine ``aws-batch``.
    results : str
        Address in an object store.
    text : str
        The blueprint.

    Raises
    ------
    UsageError
        If something is asked for that it cannot say.
    """
    _checked(submission, results, text)
    resources, name = submission.resources, f"benchmarker-{submission.id}"
    if submission.parts > MAX_ARRAY_SIZE:
        raise UsageError(f"--to=aws-batch takes at most {MAX_ARRAY_SIZE:,} jobs, got {submission.parts:,}")
    if resources.parallel:
        raise UsageError(
            "--parallel does not apply to --to=aws-batch, whose compute environment has its own limit"
        )
    if not resources.queue:
        raise UsageError("--to=aws-batch needs the name of a job queue with --queue")
    path = f"/tmp/{Path(submission.blueprint).name}"
    line = _command(submission, results, path, "AWS_BATCH_JOB_ARRAY_INDEX")
    needs = [("VCPU", _cores(resources)), ("MEMORY", _memory_gib(resources) * 1024), ("GPU", resources.gpus)]
    definition = {
        "jobDefinitionName": name,
        "type": "container",
        "timeout": {"attemptDurationSeconds": resources.minutes * 60},
        "retryStrategy": {"attempts": 3},
        "containerProperties": {
            "image": resources.image,
            "command": ["/bin/sh", "-c", f'printf %s "$BLUEPRINT" >{shlex.quote(path)} && exec {line}'],
            "environment": [{"name": "BLUEPRINT", "value": text}],
            "resourceRequirements": [{"type": kind, "value": str(value)} for kind, value in needs if value],
        },
    }
    job: dict[str, Any] = {"jobName": name, "jobQueue": resources.queue, "jobDefinition": name}
    if submission.parts > 1:
        job["arrayProperties"] = {"size": submission.parts}
    return {"register_job_definition": definition, "submit_job": job}


MANIFESTS: Mapping[str, Callable[[Submission, str, str], dict[str, Any]]] = {
    "kubernetes": kubernetes,
    "aws-batch": aws_batch,
}
