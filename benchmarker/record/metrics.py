"""What follows from what was measured: rates, shares of peaks, energy and cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from benchmarker.calibration import peaks_for
from benchmarker.energy import efficiency, total_joules
from benchmarker.graph.cost import GraphCost
from benchmarker.record.facts import RunFacts

SECONDS_AN_HOUR = 3600.0


def metrics_of(facts: RunFacts, cost: GraphCost, timing: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metrics of a run; what is not known is null."""
    spec, result = facts.spec, facts.event("result")
    total, steps, wall = timing["total_seconds"], timing["steps"], timing["wall_seconds"]
    throughput = spec.batch_size * steps / total if total else None
    per_epoch = spec.samples_per_epoch
    training = spec.mode == "training"
    return {
        "throughput": throughput,
        "flops_per_second": cost.flops * steps / total if total else None,
        "bytes_per_second": cost.bytes * steps / total if total else None,
        "arithmetic_intensity": cost.flops / cost.bytes if cost.bytes else None,
        "loss_first": result.get("loss_first"),
        "loss_last": result.get("loss_last"),
        "accuracy": result.get("accuracy"),
        "epoch_seconds": per_epoch / throughput if per_epoch and throughput else None,
        "training_seconds": wall if training else None,
        "batches_per_second": steps / wall if wall and not training else None,
        **_energy(facts, cost, steps),
        **_price(facts, throughput),
    }


def peaks_of(facts: RunFacts, device_name: str | None) -> tuple[dict[str, Any] | None, str | None]:
    """Return this machine's peaks for such a run, or why they are not known."""
    spec = facts.spec
    device = "cpu" if spec.device == "cpu" else device_name
    if device is None:
        return None, "the run ended before its device was known"
    found = peaks_for(device, spec.threads, spec.precision)
    if found is not None:
        return asdict(found), None
    threads = f", {spec.threads} thread{'' if spec.threads == 1 else 's'}" if device == "cpu" else ""
    return None, f"'calibrate' has not measured them for {device}{threads}, {spec.precision}"


def shares_of_peak(metrics: Mapping[str, Any], peaks: Mapping[str, Any] | None) -> dict[str, float | None]:
    """Return what share of the machine's peaks was reached: model FLOPs utilization, and the same of bytes."""

    def share(name: str) -> float | None:
        rate = metrics[name]
        return rate / peaks[name] if peaks and rate is not None else None

    return {
        "flops_share_of_peak": share("flops_per_second"),
        "bytes_share_of_peak": share("bytes_per_second"),
    }


def _energy(facts: RunFacts, cost: GraphCost, steps: int | None) -> dict[str, float | None]:
    """Return what the energy of the timed part, idle draw left out, was good for."""
    joules = total_joules(facts.monitors.get("energy"))
    taken = steps or 0
    return {"joules": joules, **efficiency(joules, facts.spec.batch_size * taken, cost.flops * taken)}


def _price(facts: RunFacts, throughput: float | None) -> dict[str, float | None]:
    """Return the cost in the currency of the price: of a million samples, and of the run from start to end."""
    price = facts.spec.price_per_hour
    if price is None:
        return {"cost_per_million_samples": None, "cost_of_run": None}
    ended = facts.ended_at or facts.started_at
    return {
        "cost_per_million_samples": price / SECONDS_AN_HOUR * 1e6 / throughput if throughput else None,
        "cost_of_run": price / SECONDS_AN_HOUR * (ended - facts.started_at).total_seconds(),
    }
