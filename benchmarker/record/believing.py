"""How far a record can be trusted: what the machine did while steps were timed, and the grade that follows."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from typing import Any

from benchmarker import doctor, trust
from benchmarker.record.facts import RunFacts


def trust_of(facts: RunFacts, timing: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return grade, reasons and evidence; None for a run that timed nothing."""
    result = facts.event("result")
    if not result:
        return None
    evidence = result["evidence"]
    if facts.spec.anonymous:
        evidence = trust.anonymous(evidence)
    overhead = result["overhead"]
    seen = {
        "threads": facts.spec.threads,
        "sample_seconds": statistics.median(result["samples_nanoseconds"]) / 1e9,
        "overhead_seconds": overhead["null_p50_seconds"] + overhead["synchronisation_seconds"],
        "compilations": timing["compilations"],
        "steady_state": timing["steady_state"]["kind"] if timing["steady_state"] else None,
    }
    gpus = facts.platform.get("gpus") or () if facts.spec.device == "cuda" else ()
    return {
        **trust.grade(evidence, seen, gpus),
        "evidence": evidence,
        "checkpoints": result["checkpoints"],
        "doctor": doctor.summary(),
    }
