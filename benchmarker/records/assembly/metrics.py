"""What follows from what was measured: rates, shares of peaks, energy and cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarker.errors import plural
from benchmarker.graph.cost import GraphCost
from benchmarker.machine.energy import efficiency, total_joules
from benchmarker.records.assembly.collective import bandwidths
from benchmarker.records.assembly.facts import RunFacts
from benchmarker.records.schema.metrics import Metrics, Peaks
from benchmarker.records.schema.timing import Timing
from benchmarker.statistics import percentile

SECONDS_PER_HOUR = 3600.0


def metrics_of(facts: RunFacts, cost: GraphCost, timing: Timing, peaks: Peaks | None) -> Metrics:
    """Return the metrics of a run; what is not known is null.

    Parameters
    ----------
    facts : RunFacts
        What is known of the run.
    cost : GraphCost
        Of one step.
    timing : Timing
        Of its steps.
    peaks : Peaks or None
        Those of the machine.
    """
    spec, result = facts.spec, facts.event("result")
    total, steps, wall = timing.total_seconds, timing.steps or 0, timing.wall_seconds
    throughput = spec.batch_size * steps / total if total else None
    per_epoch = spec.samples_per_epoch
    training = spec.mode == "training"
    flops = cost.flops * steps / total if total else None
    moved = cost.bytes * steps / total if total else None
    return Metrics(
        throughput=throughput,
        flops_per_second=flops,
        bytes_per_second=moved,
        arithmetic_intensity=cost.flops / cost.bytes if cost.bytes else None,
        loss_first=result.get("loss_first"),
        loss_last=result.get("loss_last"),
        accuracy=result.get("accuracy"),
        epoch_seconds=per_epoch / throughput if per_epoch and throughput else None,
        training_seconds=wall if training else None,
        **_to_target(result.get("training")),
        batches_per_second=steps / wall if wall and not training else None,
        flops_share_of_peak=flops / peaks.flops_per_second if peaks and flops is not None else None,
        bytes_share_of_peak=moved / peaks.bytes_per_second if peaks and moved is not None else None,
        **_of_tokens(facts, timing),
        **_of_load(timing),
        **_energy(facts, cost, steps),
        **_price(facts, throughput),
        **bandwidths(spec, timing),
    )


def _to_target(training: Mapping[str, Any] | None) -> dict[str, float | None]:
    """Return the steps and the seconds until a recipe's target; null if it was not reached."""
    hit = training["hit"] if training else None
    if training is None or hit is None:
        return {"steps_to_target": None, "seconds_to_target": None}
    seconds = training["first_step_seconds"] + hit["training_seconds"] + hit["loading_seconds"]
    return {"steps_to_target": float(hit["step"]), "seconds_to_target": seconds}


def _of_tokens(facts: RunFacts, timing: Timing) -> dict[str, float | None]:
    """Return what is known of a generation's tokens; null of anything else."""
    generation, spec = timing.generation, facts.spec
    if generation is None or not timing.total_seconds:
        return {}
    tokens = spec.batch_size * spec.output_length * (timing.steps or 0)
    return {
        "time_to_first_token": percentile(sorted(generation.first_token_seconds), 50),
        "time_per_output_token": percentile(sorted(generation.output_token_seconds), 50),
        "tokens_per_second": tokens / timing.total_seconds,
    }


def _of_load(timing: Timing) -> dict[str, float | None]:
    """Return the one number of a scenario; of load that is there all at once it is the throughput."""
    scenario = timing.scenario
    if scenario is None:
        return {}
    if scenario.server is not None:
        rate = scenario.server.rate
        return {"latency_bounded_throughput": None if rate is None else rate * scenario.query_samples}
    return {} if scenario.percentile is None else {"single_stream_latency": scenario.percentile_seconds}


def peaks_of(facts: RunFacts) -> tuple[Peaks | None, str | None]:
    """Return this machine's peaks for such a run, or why they are not known."""
    spec, device = facts.spec, facts.calibrated_device
    if facts.peaks is not None:
        return Peaks(**facts.peaks), None
    if device is None:
        return None, "the run ended before its device was known"
    threads = f", {plural(spec.threads, 'thread')}" if device == "cpu" else ""
    return None, f"'calibrate' has not measured them for {device}{threads}, {spec.precision}"


def _energy(facts: RunFacts, cost: GraphCost, steps: int) -> dict[str, float | None]:
    """Return what the energy of the timed part, idle draw left out, was good for."""
    joules = total_joules(facts.monitors.get("energy"))
    return {"joules": joules, **efficiency(joules, facts.spec.batch_size * steps, cost.flops * steps)}


def _price(facts: RunFacts, throughput: float | None) -> dict[str, float | None]:
    """Return the cost in the currency of the price: of a million samples, and of the run from start to end."""
    price = facts.spec.price_per_hour
    if price is None:
        return {"cost_per_million_samples": None, "cost_of_run": None}
    ended = facts.ended_at or facts.started_at
    return {
        "cost_per_million_samples": price / SECONDS_PER_HOUR * 1e6 / throughput if throughput else None,
        "cost_of_run": price / SECONDS_PER_HOUR * (ended - facts.started_at).total_seconds(),
    }
