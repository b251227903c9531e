"""The record of a run: everything that was asked, found and measured, as one JSON object."""

from __future__ import annotations

import uuid
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from benchmarker import __version__, registry
from benchmarker.anonymity import without_names
from benchmarker.environments.home import home
from benchmarker.errors import BenchmarkerError
from benchmarker.experiment import specification
from benchmarker.graph.cost import GraphCost
from benchmarker.outcomes import Failure
from benchmarker.problem_files import file_of
from benchmarker.record.believing import trust_of
from benchmarker.record.command import rerun_command
from benchmarker.record.comparable import comparable
from benchmarker.record.cost import step_cost
from benchmarker.record.facts import FinishedRun, RunFacts
from benchmarker.record.metrics import metrics_of, peaks_of, shares_of_peak
from benchmarker.record.timing import timing_of
from benchmarker.record.transformations import transformations_of
from benchmarker.worker_environment import recorded

__all__ = ["PATHS", "SCHEMA_VERSION", "FinishedRun", "RunFacts", "make_record", "rerun_command", "step_cost"]

SCHEMA_VERSION = "1.4"
PATHS = ("environment", "data_dir")
"""Members of a specification that may hold a path, and in it a name."""
OWN_FOLDER = "$BENCHMARKER_HOME"
"""Stands in an anonymous record for the folder of managed environments and compilation caches."""
_PATH_OPTIONS = ("--env=", "--data-dir=")


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
    timing = timing_of(facts)
    device_name = _device_name(facts)
    metrics, (peaks, peaks_reason) = metrics_of(facts, cost, timing), peaks_of(facts, device_name)
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
        "problem": _problem(facts, cost),
        "optimizer": asdict(spec.optimizer) if spec.mode == "training" else None,
        "device": {"type": spec.device, "name": device_name, "count": max(1, len(spec.gpus))},
        "execution": _execution(facts),
        "platform": dict(facts.platform),
        "collectors": dict(facts.collectors),
        "environment": _environment(facts),
        "digests": facts.event("prepared").get("digests", {"parameters": None, "batch": None}),
        "inputs": _inputs(facts),
        "timing": timing,
        "metrics": {**metrics, **shares_of_peak(metrics, peaks)},
        "peaks": peaks,
        "peaks_reason": peaks_reason,
        "learning": facts.event("result").get("learning"),
        "operator": facts.event("result").get("operator"),
        "profile": facts.event("result").get("profile"),
        "transformations": transformations_of(spec, cost),
        "memory": _memory(facts, cost),
        "monitors": dict(facts.monitors),
        "trust": trust_of(facts, timing),
        "comparable": comparable(spec, facts.data),
        "replication": None,
        "acceptance": None,
        "verification": _verification(facts),
        "log": None,
    }
    return _anonymised(record, file_of(spec.problem)) if spec.anonymous else record


def _anonymised(record: dict[str, Any], problem: Path | None) -> dict[str, Any]:
    """Return the record without host and user names in what may hold paths."""
    execution, command, asked = record["execution"], record["command"], record["specification"]
    # Where benchmarker keeps its own files says who somebody is, or how the machine is laid out.
    own = {n: v.replace(str(home()), OWN_FOLDER) for n, v in execution["environment_variables"].items()}
    variables = without_names(own)
    return {
        **record,
        "error": without_names(record["error"], problem),
        "execution": {**execution, "environment_variables": variables},
        "specification": {**asked, **{name: without_names(asked[name]) for name in PATHS}},
        "command": [without_names(part) if part.startswith(_PATH_OPTIONS) else part for part in command],
    }


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


def _problem(facts: RunFacts, cost: GraphCost) -> dict[str, Any]:
    spec = facts.spec
    problem = registry.problem(spec.problem)
    return {
        "name": problem.name,
        "task": problem.task,
        "source": problem.source,
        "distribution": registry.find("problems", spec.problem).origin,
        "parameters": dict(spec.problem_parameters),
        "parameter_count": cost.parameter_count,
        "flops_per_step": cost.flops,
        "flops_per_sample": cost.forward_flops // spec.batch_size,
        "elementwise_flops_per_step": cost.elementwise_flops,
        "bytes_per_step": cost.bytes,
        "custom_operators": facts.event("prepared").get("custom_operators", {}),
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
        "start": spec.start,
        "worker_seconds": facts.worker_seconds,
        "shared": facts.event("forked").get("shared"),
        "threads": spec.threads,
        "affinity": list(spec.affinity),
        "timeout_seconds": spec.timeout,
        "compile_cache": _compile_cache(facts),
        "environment_variables": recorded(
            facts.environment_variables, facts.compile_cache.cache.folders if facts.compile_cache else ()
        ),
        "warmup_requested": spec.warmup,
        "steps_requested": spec.steps,
        "samples_per_epoch": spec.samples_per_epoch,
    }


def _compile_cache(facts: RunFacts) -> dict[str, Any]:
    used, result = facts.compile_cache, facts.event("result")
    compilations = result.get("stage_compilations")
    return {
        "kind": facts.spec.compile_cache,
        "files_before": used.files_before if used else None,
        "files_after": used.files_after if used else None,
        "state": used.state(compilations) if used and result else None,
        "compilations": compilations,
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
        "resident_bytes": found.get("resident_bytes"),
        "epoch_order_digests": found.get("epochs", []),
        "data": {name: data[name] for name in members} if data else None,
    }


def _memory(facts: RunFacts, cost: GraphCost) -> dict[str, Any]:
    """Return what was measured, and beside it what the graph predicts."""
    spec = facts.spec
    measured = facts.event("result").get("memory", {"peak_bytes": None, "framework": {}})
    return {**measured, "predicted": cost.memory(spec.optimizer if spec.mode == "training" else None)}


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
