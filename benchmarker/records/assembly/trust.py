"""How far a record can be trusted: what disturbed the run, what it does to its own number, how well that is known."""

from __future__ import annotations

import statistics

from benchmarker.machine import trust
from benchmarker.machine.findings import findings
from benchmarker.records.assembly.facts import RunFacts
from benchmarker.records.precision import precision_of
from benchmarker.records.schema.timing import Timing
from benchmarker.records.schema.trust import Trust


def grade_run(facts: RunFacts, timing: Timing) -> Trust | None:
    """Return both grades with reasons, findings and evidence; None for a run that timed nothing."""
    result = facts.event("result")
    if not result:
        return None
    evidence = result["evidence"]
    if facts.spec.anonymous:
        evidence = trust.anonymous(evidence)
    overhead = result["overhead"]
    seen = {
        "threads": facts.spec.threads * facts.spec.ranks,
        "sample_seconds": statistics.median(result["samples_nanoseconds"]) / 1e9,
        "overhead_seconds": overhead["null_p50_seconds"] + overhead["synchronisation_seconds"],
        "compilations": timing.compilations,
        "steady_state": timing.steady_state.kind if timing.steady_state else None,
    }
    gpus = facts.platform.get("gpus") or () if facts.spec.device == "cuda" else ()
    step = timing.step_seconds
    return Trust(
        **trust.grade(evidence, seen["steady_state"], gpus, facts.speed, result["checkpoints"]),
        findings=findings(evidence, seen),  # type: ignore[arg-type]
        precision=precision_of(step.median, step.ci95) if step else None,
        speed=facts.speed,  # type: ignore[arg-type]
        evidence=evidence,
        checkpoints=result["checkpoints"],
        doctor=dict(facts.doctor or {}),
    )
