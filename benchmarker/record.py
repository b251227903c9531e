"""The record of a run: everything that was asked, found and measured, as one JSON object."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from benchmarker import __version__, registry
from benchmarker.anonymity import without_names
from benchmarker.environments import Interpreter
from benchmarker.errors import BenchmarkerError
from benchmarker.experiment import RunSpec, specification
from benchmarker.graph.cost import GraphCost, graph_cost
from benchmarker.hyperparameters import constants
from benchmarker.launchers import Event
from benchmarker.options import as_text
from benchmarker.outcomes import Failure
from benchmarker.statistics import summarise
from benchmarker.worker_environment import recorded

SCHEMA_VERSION = "1.1"
PATHS = ("environment", "data_dir")
"""Members of a specification that may hold a path, and in it a name."""
_PATH_OPTIONS = ("--env=", "--data-dir=")
_PERCENTILES = ("p5", "p25", "p75", "p90", "p95", "p99")


@dataclass(frozen=True)
class FinishedRun:
    """A record and where it was written."""

    record: dict[str, Any]
    path: Path

    @property
    def interrupted(self) -> bool:
        """Whether the user ended it."""
        return bool(self.record["status"] == "interrupted")


@dataclass(frozen=True)
class RunFacts:
    """What the orchestrator knows of a run; a run that failed early knows less."""

    spec: RunSpec
    started_at: datetime
    ended_at: datetime | None = None
    interpreter: Interpreter | None = None
    environment_variables: Mapping[str, str] = field(default_factory=dict)
    events: Mapping[str, Event] = field(default_factory=dict)
    platform: Mapping[str, Any] = field(default_factory=dict)
    collectors: Mapping[str, Any] = field(default_factory=dict)
    data: Mapping[str, Any] | None = None

    @staticmethod
    def begin(spec: RunSpec) -> RunFacts:
        """Start the clock of a run."""
        return RunFacts(spec, datetime.now(timezone.utc))

    def event(self, kind: str) -> Event:
        """Return the worker's event of that kind, empty if it sent none."""
        return self.events.get(kind, {})


def make_record(facts: RunFacts, failed: Failure | None, log_tail: str = "") -> dict[str, Any]:
    """Return the record of a run.

    Parameters
    ----------
    facts : RunFacts
        What is known.
    failed : Failure or None
        Why it did not end well.
    log_tail : str
        The last lines of the worker's output, kept when it failed.
    """
    spec = facts.spec
    cost = step_cost(spec)
    timing = _timing(facts)
    record = {
        "schema_version": SCHEMA_VERSION,
        "id": uuid.uuid4().hex,
        "status": failed.status if failed else "ok",
        "error": _error(failed, log_tail),
        "started_at": _utc(facts.started_at),
        "ended_at": _utc(facts.ended_at or datetime.now(timezone.utc)),
        "benchmarker_version": __version__,
        "specification": specification(spec),
        "command": rerun_command(spec, facts.event("prepared").get("version")),
        "mode": spec.mode,
        "batch_size": spec.batch_size,
        "precision": spec.precision,
        "seed": spec.seed,
        "repetition": spec.repetition,
        "framework": _framework(facts),
        "problem": _problem(spec, cost),
        "optimizer": asdict(spec.optimizer) if spec.mode == "training" else None,
        "device": {
            "type": spec.device,
            "name": _device_name(facts),
            "count": max(1, len(spec.gpus)),
        },
        "execution": _execution(facts),
        "platform": dict(facts.platform),
        "collectors": dict(facts.collectors),
        "environment": _environment(facts),
        "digests": facts.event("prepared").get("digests", {"parameters": None, "batch": None}),
        "inputs": _inputs(facts),
        "timing": timing,
        "metrics": _metrics(facts, cost, timing),
        "memory": facts.event("result").get("memory", {"peak_bytes": None, "framework": {}}),
        "acceptance": None,
        "verification": _verification(facts),
        "log": None,
    }
    return _anonymised(record) if spec.anonymous else record


def _anonymised(record: dict[str, Any]) -> dict[str, Any]:
    """Return the record without host and user names in what may hold paths."""
    execution, command, asked = record["execution"], record["command"], record["specification"]
    variables = without_names(execution["environment_variables"])
    return {
        **record,
        "error": without_names(record["error"]),
        "execution": {**execution, "environment_variables": variables},
        "specification": {**asked, **{name: without_names(asked[name]) for name in PATHS}},
        "command": [without_names(part) if part.startswith(_PATH_OPTIONS) else part for part in command],
    }


def step_cost(spec: RunSpec) -> GraphCost:
    """Return what one step of the run computes."""
    graph = registry.problem(spec.problem).graph(spec.batch_size, **spec.problem_parameters)
    training = spec.mode == "training"
    return graph_cost(graph if training else graph.without_loss(), training=training)


def rerun_command(spec: RunSpec, version: str | None) -> list[str]:
    """Return the command that repeats the run: every default spelled out, the framework's version pinned.

    Parameters
    ----------
    spec : RunSpec
        The run.
    version : str or None
        The framework's version as it ran.
    """
    pinned = spec.framework_version or (version.partition("+")[0] if version else None)
    command = ["python", "-m", "benchmarker", "run"]
    command.append(f"--framework={spec.framework}{f'=={pinned}' if pinned else ''}")
    options: dict[str, Any] = {
        "problem": spec.problem,
        "mode": spec.mode,
        "batch-size": spec.batch_size,
        "precision": spec.precision,
        "device": spec.device,
        "threads": spec.threads,
        "seed": spec.seed,
        "gpus": ",".join(map(str, spec.gpus)) or None,
        "affinity": ",".join(map(str, spec.affinity)) or None,
        "steps": None if spec.samples_per_epoch else spec.steps,
        "warmup": spec.warmup,
        "window": spec.window,
        "problem-size": spec.samples_per_epoch,
        "data": spec.data,
        "data-dir": spec.data_dir,
        "inputs": None if spec.inputs == "resident" else spec.inputs,
        "monitors": None if spec.monitors is None else ",".join(spec.monitors) or "none",
        "timeout": spec.timeout,
        "env": None if spec.environment == "auto" else spec.environment,
        "launcher": None if spec.launcher == "local" else spec.launcher,
    }
    if spec.mode == "training":
        options["optimizer"] = spec.optimizer.kind
        for name in constants(spec.optimizer.kind):
            options[name.replace("_", "-")] = getattr(spec.optimizer, name)
    if spec.samples_per_epoch and spec.steps:
        options["epochs"] = spec.steps * spec.batch_size // spec.samples_per_epoch
    command += [f"--{name}={value}" for name, value in options.items() if value is not None]
    settings = {
        **{f"{spec.problem}.{name}": value for name, value in spec.problem_parameters.items()},
        **{f"{spec.framework}.{name}": value for name, value in spec.framework_options.items()},
    }
    command += [f"--set={name}={as_text(value)}" for name, value in settings.items()]
    return command + ([] if spec.verify else ["--no-verify"]) + (["--anonymous"] if spec.anonymous else [])


def _utc(moment: datetime) -> str:
    return moment.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _error(failed: Failure | None, log_tail: str) -> dict[str, Any] | None:
    if failed is None:
        return None
    return {
        "stage": failed.stage,
        "type": failed.type,
        "message": failed.message,
        "log_tail": log_tail or None,
    }


def _framework(facts: RunFacts) -> dict[str, Any]:
    spec, prepared = facts.spec, facts.event("prepared")
    version = prepared.get("version")
    try:
        distribution = registry.framework(spec.framework).distribution
    except BenchmarkerError:
        distribution = None
    return {
        "name": spec.framework,
        "version": version,
        "full": f"{spec.framework}-{version}" if version else None,
        "requested_version": spec.framework_version,
        "distribution": distribution,
        "options": dict(spec.framework_options),
        "libraries": facts.event("result").get("libraries", {}),
        "composed_operators": prepared.get("composed_operators", []),
    }


def _problem(spec: RunSpec, cost: GraphCost) -> dict[str, Any]:
    problem = registry.problem(spec.problem)
    return {
        "name": spec.problem,
        "task": problem.task,
        "source": problem.source,
        "distribution": registry.find("problems", spec.problem).origin,
        "parameters": dict(spec.problem_parameters),
        "parameter_count": cost.parameter_count,
        "flops_per_step": cost.flops,
        "flops_per_sample": cost.forward_flops // spec.batch_size,
        "elementwise_flops_per_step": cost.elementwise_flops,
        "bytes_per_step": cost.bytes,
    }


def _device_name(facts: RunFacts) -> str | None:
    """Return what the framework calls its device; for a CPU the model, which frameworks do not tell."""
    if facts.spec.device == "cpu":
        cpu = facts.platform.get("cpu")
        if isinstance(cpu, dict) and cpu.get("model"):
            return str(cpu["model"])
    name = facts.event("prepared").get("device_name")
    return str(name) if name else None


def _execution(facts: RunFacts) -> dict[str, Any]:
    spec = facts.spec
    return {
        "launcher": spec.launcher,
        "threads": spec.threads,
        "affinity": list(spec.affinity),
        "timeout_seconds": spec.timeout,
        "environment_variables": recorded(facts.environment_variables),
        "warmup_requested": spec.warmup,
        "steps_requested": spec.steps,
        "samples_per_epoch": spec.samples_per_epoch,
    }


def _environment(facts: RunFacts) -> dict[str, Any]:
    interpreter, result = facts.interpreter, facts.event("result")
    python = result.get("python", {})
    return {
        "kind": interpreter.kind if interpreter else None,
        "key": interpreter.key if interpreter else None,
        "python": python.get("version") or (interpreter.python_version if interpreter else None),
        "implementation": python.get("implementation"),
        "packages": result.get("packages", {}),
    }


def _inputs(facts: RunFacts) -> dict[str, Any]:
    found, data = facts.event("result").get("data", {}), facts.data
    members = ("name", "source", "digest", "samples", "sample_shape", "classes", "files")
    return {
        "kind": facts.spec.inputs,
        "distinct_batches": found.get("distinct_batches"),
        "epoch_order_digests": found.get("epochs", []),
        "data": {name: data[name] for name in members} if data else None,
    }


def _timing(facts: RunFacts) -> dict[str, Any]:
    result = facts.event("result")
    seconds = result.get("seconds", {})
    samples = [value / 1e9 for value in result.get("samples_nanoseconds", [])]
    return {
        "clock": result.get("clock"),
        "clock_resolution_seconds": result.get("clock_resolution_seconds"),
        **{
            f"{stage}_seconds": seconds.get(stage)
            for stage in (
                "process_start",
                "import",
                "device",
                "initialise",
                "build",
                "verify",
                "compile",
                "warmup",
            )
        },
        "warmup_steps": result.get("warmup_steps"),
        "samples_seconds": samples,
        "step_seconds": _step_seconds(samples),
        "total_seconds": sum(samples) if samples else None,
        "wall_seconds": _seconds(result.get("wall_nanoseconds")),
        "window_seconds": facts.spec.window,
    }


def _seconds(nanoseconds: int | None) -> float | None:
    return None if nanoseconds is None else nanoseconds / 1e9


def _step_seconds(samples: list[float]) -> dict[str, Any] | None:
    if not samples:
        return None
    summary = summarise(samples)
    row: dict[str, Any] = {
        "count": summary.count,
        "median": summary.median,
        "ci95": list(summary.ci95) if summary.ci95 else None,
        "ci95_reason": summary.ci95_reason,
        "ci95_coverage": summary.ci95_coverage,
        "ci95_level": "within one process",
        "mean": summary.mean,
        "std": summary.std,
        "min": summary.min,
        "max": summary.max,
    }
    return {**row, **{name: getattr(summary, name) for name in _PERCENTILES}}


def _metrics(facts: RunFacts, cost: GraphCost, timing: Mapping[str, Any]) -> dict[str, Any]:
    spec, result = facts.spec, facts.event("result")
    total, steps = timing["total_seconds"], len(timing["samples_seconds"])
    throughput = spec.batch_size * steps / total if total else None
    per_epoch, wall = spec.samples_per_epoch, timing["wall_seconds"]
    training = spec.mode == "training"
    return {
        "throughput": throughput,
        "flops_per_second": cost.flops * steps / total if total else None,
        "loss_first": result.get("loss_first"),
        "loss_last": result.get("loss_last"),
        "accuracy": result.get("accuracy"),
        "epoch_seconds": per_epoch / throughput if per_epoch and throughput else None,
        "training_seconds": wall if training else None,
        "batches_per_second": steps / wall if wall and not training else None,
    }


def _verification(facts: RunFacts) -> dict[str, Any]:
    found = facts.event("verification")
    if found:
        return {name: value for name, value in found.items() if name != "event"}
    reason = "switched off by --no-verify" if not facts.spec.verify else "the run ended before it"
    return {
        "status": "skipped",
        "reason": reason,
        "reference": None,
        "samples": 0,
        "tolerance_reason": None,
        "worst": None,
        "tensors": [],
    }
