"""One record in a few lines, for the terminal."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchmarker.analysis.text import collectives, generations, profile, quality, ranks, scenarios, training
from benchmarker.analysis.text.factors import framework_label
from benchmarker.analysis.text.layout import labelled, labelled_path
from benchmarker.analysis.text.units import count, duration, significant, size
from benchmarker.errors import plural
from benchmarker.records.lookup import Record, value_at

_PHASES = (
    ("import", "import_seconds"),
    ("device", "device_seconds"),
    ("values", "initialise_seconds"),
    ("build", "build_seconds"),
    ("verify", "verify_seconds"),
    ("first step", "compile_seconds"),
    ("warm-up", "warmup_seconds"),
)
_LABEL_WIDTH = 14


def record_summary(
    record: Record,
    path: str | os.PathLike[str] | None = None,
    *,
    width: int = 80,
    processes: Sequence[Record] = (),
) -> str:
    """Return what ran where, how long its parts took and how far it can be believed.

    Parameters
    ----------
    record : dict
        A valid record; what it does not know is left out.
    path : path or None
        Where it was written.
    width : int
        Characters a line should have at most.
    processes : sequence of dict
        All processes of its number, as far as they are at hand.
    """
    heading = f"{_subject(record)}, on {framework_label(record)}"
    lines = [f"{heading}: {record['status'].replace('_', ' ')}"]
    rows = (*summary_lines(record), ("groups", _groups(processes)), *profile.lines(record))
    lines += labelled(rows, _LABEL_WIDTH, width)
    if path is not None:
        lines.append(labelled_path("record", os.fspath(path), _LABEL_WIDTH))
    trace = value_at(record, "profile.trace")
    if trace:
        lines.append(labelled_path("trace", f"{trace}, for ui.perfetto.dev", _LABEL_WIDTH))
    return "\n".join(lines)


def _groups(processes: Sequence[Record]) -> str:
    return (quality.groups(processes) or "") if processes else ""


def _subject(record: Record) -> str:
    """Return what was done: a recipe by its name, else a problem and its mode."""
    recipe = value_at(record, "specification.training")
    return f"recipe {recipe['name']}" if recipe else f"{record['problem']['name']}, {record['mode']}"


def summary_lines(record: Record) -> Iterator[tuple[str, str]]:
    """Yield each label with its text, empty where nothing is known."""
    yield "error", _error(record)
    yield "where", _where(record)
    yield "what", _what(record)
    yield "transformed", profile.transformations(record)
    yield "phases", _phases(record)
    yield "step", _step(record["timing"])
    yield "processes", quality.replication(record)
    yield "steadiness", quality.steadiness(record["timing"])
    yield "trust", quality.trust(record)
    yield "findings", quality.findings(record)
    yield from training.lines(record)
    yield from ranks.lines(record)
    yield from collectives.lines(record)
    yield from generations.lines(record)
    yield from scenarios.lines(record)
    yield "throughput", "" if collectives.is_collective(record) else _throughput(record)
    yield "in all", _in_all(record)
    yield "breakdown", quality.breakdown(record["timing"])
    yield from quality.efficiency(record)
    yield "verification", _verification(record["verification"])
    yield "after timing", _proof(record["verification"]["after_timing"])
    yield "exactness", _exactness(record.get("operator"))
    yield "memory", _memory(record)
    yield "acceptance", _acceptance(record.get("acceptance"))
    yield "imported", _imported(record.get("imported"))


def _error(record: Record) -> str:
    error = record["error"]
    if error is None:
        return ""
    stage = f"in stage '{error['stage']}': " if error["stage"] else ""
    return f"{stage}{error['message'].strip()}"


def _where(record: Record) -> str:
    device, threads = record["device"], record["execution"]["threads"]
    name = (
        device["name"]
        if device["type"] != "cpu"
        else value_at(record, "platform.cpu.model") or device["name"]
    )
    parts = [f"{device['type']} ({name})" if name else device["type"]]
    if threads:
        parts.append(plural(threads, "thread"))
    if record["environment"]["python"]:
        kind = record["environment"]["kind"]
        parts.append(f"Python {record['environment']['python']}" + (f" ({kind})" if kind else ""))
    return ", ".join(parts)


def _what(record: Record) -> str:
    problem = record["problem"]
    parts = [f"batch size {record['batch_size']}", record["precision"]]
    if problem["parameter_count"] is not None:
        parts.append(f"{problem['parameter_count']:,} parameters")
    if problem["flops_per_step"] is not None:
        parts.append(f"{count(problem['flops_per_step'], 'FLOP')} per step")
    return ", ".join(parts)


def _phases(record: Record) -> str:
    timing = record["timing"]
    parts = [
        f"{name} {duration(timing[key], 3)}{_compiled(record, key)}"
        for name, key in _PHASES
        if timing[key] is not None
    ]
    if timing["warmup_steps"] and timing["warmup_seconds"] is not None:
        parts[-1] += f" ({timing['warmup_steps']} steps)"
    return ", ".join(parts)


def _compiled(record: Record, key: str) -> str:
    """Return whether a phase compiled, and whether what earlier processes had compiled served for that."""
    state = value_at(record, "execution.compile_cache.state")
    if state is None:
        return ""
    # A framework that does not say when it compiles does so at the latest in its first step.
    compilations = value_at(record, "execution.compile_cache.compilations") or {"compile": 1}
    return f" (compiled, cache {state})" if key.removesuffix("_seconds") in compilations else ""


def _step(timing: Mapping[str, Any]) -> str:
    step = timing["step_seconds"]
    if step is None:
        return ""
    interval = (
        f"95 % interval [{duration(step['ci95'][0])}, {duration(step['ci95'][1])}] {step['ci95_level']}"
        if step["ci95"]
        else f"no interval ({step['ci95_reason']})"
    )
    return f"median {duration(step['median'])}, {interval}, {_samples(timing)}"


def _samples(timing: Mapping[str, Any]) -> str:
    """Return what the statistics are of: steps, or blocks of them, all or the steady ones."""
    taken, steady, block = (
        len(timing["samples_seconds"] or ()),
        timing["step_seconds"]["count"],
        timing.get("block_steps"),
    )
    what = f"blocks of {block} steps" if block and block > 1 else "steps"
    return f"{steady} {what}" if quality.all_steady(timing) else f"the last {steady} of {taken} {what}"


def _throughput(record: Record) -> str:
    """Return the rate of all timed steps, and why it is not that of the median where they differ."""
    metrics = record["metrics"]
    if metrics["throughput"] is None:
        return ""
    rate = metrics["flops_per_second"]
    text = f"{significant(metrics['throughput'])} samples/s" + (f", {count(rate, 'FLOP/s')}" if rate else "")
    said = [] if quality.all_steady(record["timing"]) else ["all steps"]
    note = quality.rate_note(record)
    if note:
        said.append(note)
    return f"{text} ({'; '.join(said)})" if said else text


def _in_all(record: Record) -> str:
    """Return what the run took as a whole: seconds of training, or mini-batches per second of inference."""
    metrics, timing = record["metrics"], record["timing"]
    steps = timing.get("steps") or len(timing["samples_seconds"] or ())
    if metrics.get("training_seconds") is not None:
        return f"{duration(metrics['training_seconds'])} for {steps} training steps"
    if metrics.get("batches_per_second") is None:
        return ""
    window = timing.get("window_seconds")
    requested = f", {window:g} s were asked for" if window else ""
    over = f" over {duration(timing['wall_seconds'])}" if timing.get("wall_seconds") is not None else ""
    unit = "exchanges" if collectives.is_collective(record) else "mini-batches"
    return f"{significant(metrics['batches_per_second'])} {unit}/s{over}{requested}"


def _acceptance(acceptance: Mapping[str, Any] | None) -> str:
    if acceptance is None:
        return ""
    failed = [limit["name"] for limit in acceptance["limits"] if not limit["passed"]]
    kept = (
        f"{len(acceptance['limits'])} limits kept" if len(acceptance["limits"]) > 1 else "the limit is kept"
    )
    return f"failed: {', '.join(failed)}" if failed else f"passed: {kept}"


def _imported(imported: Mapping[str, Any] | None) -> str:
    if imported is None:
        return ""
    return "; ".join([f"'{imported['file']}' of {imported['tool']}", *imported["notes"]])


def _verification(verification: Mapping[str, Any]) -> str:
    if verification["status"] is None:
        return ""
    text = str(verification["status"])
    if verification["status"] != "skipped" and verification["reference"]:
        text += f" against {verification['reference']}"
    worst = verification["worst"]
    if worst:
        text += f", worst {worst.get('kind') or 'tensor'} '{worst['name']}'"
        text += f": {_distance(worst)}"
    if verification["reason"] and (not worst or verification["status"] == "inconclusive"):
        text += f": {verification['reason']}"
    return text


def _proof(proof: Mapping[str, Any] | None) -> str:
    """Return how what was looked at after the timed part came out."""
    if proof is None:
        return ""
    made = [check for check in proof["checks"] if check["status"] != "left_out"]
    skipped = [check["name"] for check in proof["checks"] if check["status"] == "left_out"]
    text = f"{proof['status'].replace('_', ' ')}, {len(made)} checks in {proof['seconds']:.2g} s"
    if skipped:
        text += f"; left out: {', '.join(skipped)}"
    return text if proof["status"] == "passed" else f"{text}: {proof['reason']}"


def _exactness(operator: Mapping[str, Any] | None) -> str:
    """Return how far an operator is off in norm, and whether it gives the same bits again."""
    if operator is None:
        return ""
    error, reruns = operator["l2_relative"], operator["reruns"]
    parts = [] if error is None else [f"L2 error {error:.2g} of the norm against {operator['reference']}"]
    again = (
        "the same bits" if operator["bitwise_equal"] else f"{operator['varying_share']:.2g} of elements vary"
    )
    return ", ".join([*parts, f"{again} in {plural(reruns, 'rerun')}"])


def _distance(tensor: Mapping[str, Any]) -> str:
    """Return the one of a tensor's two errors that used more of its tolerance; one not finite used all."""
    pairs = [
        ("largest error", tensor.get("max_relative_error"), tensor.get("tolerance")),
        ("error of the norm", tensor.get("norm_error"), tensor.get("norm_tolerance")),
    ]

    def used(pair: tuple[str, Any, Any]) -> float:
        _, error, allowed = pair
        return math.inf if error is None or not allowed else float(error / allowed)

    name, error, allowed = max(pairs, key=used)
    return f"{name} {_ratio(error)}, allowed {_ratio(allowed)}"


def _ratio(value: float | None) -> str:
    return "not finite" if value is None else f"{value:.2g}"


def _memory(record: Record) -> str:
    memory = record["memory"]
    tree = quality.tree_memory(record)
    parts = [f"{size(memory['peak_bytes'])} peak on the host"] if memory["peak_bytes"] is not None else []
    parts += [f"{name} {size(value)}" for name, value in memory["framework"].items() if value is not None]
    parts += [tree] if tree else []
    return ", ".join(parts)
