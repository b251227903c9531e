"""The timing of a record: samples as they were taken, what is steady of them, and their statistics."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from benchmarker.machine import trust
from benchmarker.records.assembly.facts import RunFacts
from benchmarker.records.schema.scenario import Scenario, Server, Trial
from benchmarker.records.schema.timing import Generation, Segment, SteadyState, StepStatistics, Timing
from benchmarker.statistics import summarise
from benchmarker.worker.measurement.sampling import seconds_per_step

_STAGES = ("process_start", "import", "device", "initialise", "build", "verify", "compile", "warmup")


def timing_of(facts: RunFacts) -> Timing:
    """Return the timing of a run; what it does not know is null."""
    result = facts.event("result")
    seconds = result.get("seconds", {})
    block_steps = result.get("block_steps", 1)
    nanoseconds = array("q", result.get("samples_nanoseconds", []))
    samples = seconds_per_step(nanoseconds, result.get("steps", 0), block_steps)
    steady = _steady_state(samples, result)
    start = steady.start if steady else 0
    return Timing(
        clock=result.get("clock"),
        clock_resolution_seconds=result.get("clock_resolution_seconds"),
        **{f"{stage}_seconds": seconds.get(stage) for stage in _STAGES},
        warmup_steps=len(result["warmup_nanoseconds"]) if result else None,
        warmup_samples_seconds=[value / 1e9 for value in result.get("warmup_nanoseconds", [])],
        sampling=facts.spec.sampling,  # type: ignore[arg-type]
        steps=result.get("steps"),
        block_steps=result.get("block_steps"),
        samples_seconds=samples,
        steady_state=steady,
        step_seconds=statistics_of(samples[start:], block_steps),
        total_seconds=sum(nanoseconds) / 1e9 if samples else None,
        wall_seconds=result["wall_nanoseconds"] / 1e9 if result else None,
        window_seconds=facts.spec.window,
        compilations=result.get("compilations"),
        device_event_seconds=result.get("device_event_seconds"),
        windows=result.get("windows"),
        breakdown=result.get("breakdown"),
        overhead=result.get("overhead"),
        generation=_generation(result.get("generation")),
        scenario=_scenario(result.get("scenario")),
    )


def _steady_state(samples: Sequence[float], result: Mapping[str, Any]) -> SteadyState | None:
    if not samples:
        return None
    # Imported here: NumPy takes a tenth of a second, and only a run has samples.
    from benchmarker.records.steady_state import detect

    checkpoints, block_steps = result.get("checkpoints") or {}, result["block_steps"]

    def disturbed(start: int, end: int) -> bool:
        return trust.disturbed(checkpoints, start * block_steps, end * block_steps)

    found = detect(samples, disturbed=disturbed)
    segments = [Segment(start=s.start, end=s.end, median_seconds=s.median) for s in found.segments]
    return SteadyState(kind=found.kind, start=found.start, segments=segments, reason=found.reason)  # type: ignore[arg-type]


def _generation(generation: Mapping[str, Any] | None) -> Generation | None:
    return Generation(**generation) if generation else None


def _scenario(scenario: Mapping[str, Any] | None) -> Scenario | None:
    if not scenario:
        return None
    found = scenario["server"]
    server = found and Server(**{**found, "trials": [Trial(**trial) for trial in found["trials"]]})
    return Scenario(**{**scenario, "server": server})


def statistics_of(samples: Sequence[float], block_steps: int) -> StepStatistics | None:
    """Return the statistics of a run's steady samples; None if there are none."""
    if not samples:
        return None
    summary = asdict(summarise(samples, block_steps=block_steps))
    return StepStatistics(**{**summary, "ci95": list(summary["ci95"]) if summary["ci95"] else None})
