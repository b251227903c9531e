"""A run of the earlier tool as a record: what its file does not tell is null."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from msgspec import structs

from benchmarker.analysis.legacy.known_defects import known_defects, mode_of, notes
from benchmarker.analysis.legacy.reading import LegacyRun, started
from benchmarker.experiment.spec import UNSTATED
from benchmarker.machine.findings import trust_since_1_5
from benchmarker.machine.trust import graded
from benchmarker.records.precision import precision_of
from benchmarker.records.schema import NEWEST, Record, load_schema
from benchmarker.records.schema.trust_inconsistencies import hash_of
from benchmarker.records.timestamps import as_written
from benchmarker.statistics import summarise
from benchmarker.version import __version__

TOOL = "benchmarker (Drozd & Matsuoka)"
IMPORTED = "imported-"
"""How the identifiers of imported records begin."""


def identifier(run: LegacyRun) -> str:
    """Return the identifier of a run's record; the same content has the same one."""
    return f"{IMPORTED}{run.digest[:32]}"


def as_record(run: LegacyRun) -> Record:
    """Return the record of a run of the earlier tool."""
    mode, batch_size = mode_of(run), run.batch_size or 1
    parameters = {**run.parameters, **({"sample_shape": list(run.sample_shape)} if run.sample_shape else {})}
    known = {
        "framework": run.framework.name,
        "problem": run.problem,
        "problem_parameters": parameters,
        "mode": mode,
        "batch_size": batch_size,
        "precision": run.precision or "unknown",
        "device": _device(run),
        "seed": run.seed,
    }
    return {
        "schema_version": NEWEST,
        "id": identifier(run),
        "status": "ok",
        "error": None,
        "started_at": as_written(started(run)),
        "ended_at": as_written(run.ended_at),
        "benchmarker_version": __version__,
        "specification": _specification(run, known),
        "command": ["python", "-m", "benchmarker", "results", "import", run.file],
        **{name: known[name] for name in ("mode", "batch_size", "precision", "seed")},
        "repetition": 0,
        "framework": _framework(run),
        "problem": {**_nulls("problem"), "name": run.problem, "parameters": parameters},
        "optimizer": None,
        "device": {"type": known["device"], "name": run.device, "count": run.gpu_count or 1},
        "execution": _execution(run),
        "platform": dict(run.platform),
        "collectors": {},
        "environment": _nulls("environment"),
        "digests": _nulls("digests"),
        "inputs": {**_nulls("inputs"), "kind": "resident", "epoch_order_digests": []},
        "timing": _timing(run),
        "metrics": _metrics(run, mode, batch_size),
        "learning": None,
        "operator": None,
        "profile": None,
        "transformations": None,
        "training": None,
        "distributed": None,
        "peaks": None,
        "peaks_reason": "imported: nothing is known of the machine's peaks",
        "memory": {"peak_bytes": None, "framework": {}, "predicted": {}},
        "monitors": {},
        "trust": _trust(run),
        "comparable": _comparable(run, known),
        "replication": None,
        "acceptance": None,
        "verification": _verification(),
        "imported": _imported(run),
        "log": None,
    }


def _specification(run: LegacyRun, known: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was asked as far as the file tells; a null keeps it apart from all that can be asked here."""
    return {
        **dict.fromkeys(UNSTATED),
        **known,
        "framework_options": _options(run),
        "gpus": [],
        "affinity": [],
        "monitors": [],
        "steps": run.steps,
        "sampling": "throughput",
        "samples_per_epoch": run.samples_per_epoch,
    }


def _options(run: LegacyRun) -> dict[str, Any]:
    return {"backend": run.backend} if run.backend else {}


def _nulls(group: str) -> dict[str, Any]:
    """Return a group of the record with all of its members, nothing known of them."""
    return dict.fromkeys(load_schema()["properties"][group]["properties"])


def _device(run: LegacyRun) -> str:
    if "TPU" in (run.device or ""):
        return "tpu"
    return "cuda" if run.gpu_count else "cpu"


def _framework(run: LegacyRun) -> dict[str, Any]:
    name, version = run.framework.name, run.framework.version
    below = ", ".join(f"{library} {number}" for library, number in run.framework.libraries.items())
    full = f"{name}-{version}{f' ({below})' if below else ''}" if version else None
    return {
        **_nulls("framework"),
        "name": name,
        "version": version,
        "full": full,
        "options": _options(run),
        "libraries": dict(run.framework.libraries),
        "composed_operators": [],
    }


def _execution(run: LegacyRun) -> dict[str, Any]:
    return {
        **_nulls("execution"),
        "launcher": "unknown",
        "start": "spawn",
        "compile_cache": {
            "kind": "kept",
            "files_before": None,
            "files_after": None,
            "state": None,
            "compilations": None,
        },
        "affinity": [],
        "environment_variables": {},
        "samples_per_epoch": run.samples_per_epoch,
    }


def _timing(run: LegacyRun) -> dict[str, Any]:
    """Return the one number as one sample: a block of all steps that were timed together."""
    step = run.total_seconds / run.steps
    return {
        **_nulls("timing"),
        "warmup_samples_seconds": [],
        "sampling": "throughput",
        "steps": run.steps,
        "block_steps": run.steps,
        "samples_seconds": [step],
        "steady_state": {
            "kind": None,
            "start": 0,
            "segments": [{"start": 0, "end": 1, "median_seconds": step}],
            "reason": "one number shows no course over time",
        },
        "step_seconds": asdict(summarise([step], block_steps=run.steps)),
        "total_seconds": run.total_seconds,
        "wall_seconds": run.total_seconds,
    }


def _metrics(run: LegacyRun, mode: str, batch_size: int) -> dict[str, Any]:
    rate = batch_size * run.steps / run.total_seconds
    return {
        **_nulls("metrics"),
        "throughput": rate,
        "epoch_seconds": run.samples_per_epoch / rate if run.samples_per_epoch else None,
        "training_seconds": run.total_seconds if mode == "training" else None,
        "batches_per_second": run.steps / run.total_seconds if mode == "inference" else None,
        **run.energy,
    }


def _trust(run: LegacyRun) -> dict[str, Any]:
    defects = {"reasons": [asdict(defect) for defect in known_defects(run)]}
    reasons, findings = trust_since_1_5(defects, None)
    return {
        **graded(reasons),
        "findings": findings,
        "precision": structs.asdict(precision_of(run.total_seconds / run.steps, None)),
        "speed": None,
        "evidence": None,
        "checkpoints": None,
        "doctor": {},
    }


def _verification() -> dict[str, Any]:
    return {
        **_nulls("verification"),
        "status": "skipped",
        "reason": "imported: the earlier tool compared nothing with a reference",
        "tensors": [],
    }


def _imported(run: LegacyRun) -> dict[str, Any]:
    return {
        "tool": TOOL,
        "form": run.form,
        "file": run.file,
        "digest": f"sha256:{run.digest}",
        "notes": notes(run),
    }


def _comparable(run: LegacyRun, known: Mapping[str, Any]) -> dict[str, Any]:
    """Return keys that runs of the earlier tool share with each other, and with nothing measured here."""
    keys = {
        "measured_by": TOOL,
        "warmed_up": bool(run.preheat),
        "devices": run.gpu_count or 1,
        **{name: known[name] for name in ("problem", "problem_parameters", "mode", "batch_size")},
        **{name: known[name] for name in ("precision", "device")},
    }
    return {"hash": hash_of(keys), "keys": keys}
