"""Acceptance thresholds: whether what a record says is within the limits that were set."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from benchmarker.errors import did_you_mean
from benchmarker.quick_dataclass import dataclass


@dataclass(frozen=True)
class Metric:
    """A number of a record that can be given a limit.

    Parameters
    ----------
    path : str
        Where it is in the record.
    description : str
        What it is, with its unit.
    modes : tuple of str
        The modes that have it.
    needs_data, needs_recipe : bool
        Whether only a run with a data set, only a training by a recipe has it.
    absent : str
        What is said where there is no value.
    least, most : float
        Between which values it lies.
    """

    path: str
    description: str
    modes: tuple[str, ...] = ("inference", "training")
    needs_data: bool = False
    needs_recipe: bool = False
    absent: str = "is not known"
    least: float = 0.0
    most: float = math.inf

    @property
    def allowed(self) -> str:
        """Which limits make sense."""
        if math.isfinite(self.most):
            return f"a number from {self.least:g} to {self.most:g}"
        return (
            f"a finite number of at least {self.least:g}" if math.isfinite(self.least) else "a finite number"
        )


_MISSED = "is missing, as the target was not reached"

METRICS: Mapping[str, Metric] = {
    "throughput": Metric("metrics.throughput", "samples per second"),
    "step_seconds": Metric("timing.step_seconds.median", "median step, in seconds"),
    "batches_per_second": Metric(
        "metrics.batches_per_second", "mini-batches per second of inference", ("inference",)
    ),
    "training_seconds": Metric(
        "metrics.training_seconds", "seconds of all timed steps of training", ("training",)
    ),
    "compile_seconds": Metric("timing.compile_seconds", "seconds of the first step"),
    "memory_bytes": Metric("memory.peak_bytes", "largest resident size on the host, in bytes"),
    "loss": Metric("metrics.loss_last", "loss of the last timed step", ("training",), least=-math.inf),
    "accuracy": Metric(
        "metrics.accuracy", "share of samples classified correctly, from 0 to 1", needs_data=True, most=1.0
    ),
    "steps_to_target": Metric(
        "metrics.steps_to_target",
        "optimizer steps to the target of a recipe",
        ("training",),
        needs_recipe=True,
        absent=_MISSED,
    ),
    "seconds_to_target": Metric(
        "metrics.seconds_to_target",
        "seconds to the target of a recipe, evaluation left out",
        ("training",),
        needs_recipe=True,
        absent=_MISSED,
    ),
}
"""What can be given a limit, by name."""

LIMITS: Mapping[str, str] = {
    f"{bound}_{name}": f"{'At least' if bound == 'min' else 'At most'} this: {metric.description}."
    for name, metric in METRICS.items()
    for bound in ("min", "max")
}
"""Every threshold and what it means."""


def metric_of(limit: str) -> Metric:
    """Return the metric that a threshold of :data:`LIMITS` is about."""
    return METRICS[limit.partition("_")[2]]


def limit_faults(
    accept: Mapping[str, float], modes: Sequence[str], *, with_data: bool, with_recipe: bool
) -> Iterator[tuple[str, str]]:
    """Yield thresholds that make no sense for runs in some modes, each with why."""
    for name, limit in accept.items():
        if name not in LIMITS:
            yield name, f"unknown threshold '{name}'{did_you_mean(name, LIMITS)}"
            continue
        metric = metric_of(name)
        if not metric.least <= limit <= metric.most or math.isinf(limit):
            yield name, f"the threshold {name} must be {metric.allowed}, got {limit:g}"
        if not set(metric.modes) & set(modes):
            yield name, f"{name} is for {' and '.join(metric.modes)}, got {', '.join(modes)} only"
        if metric.needs_data and not with_data:
            yield name, f"{name} needs a data set; labels drawn from the seed mean nothing"
        if metric.needs_recipe and not with_recipe:
            yield name, f"{name} needs a recipe, which has a target"
    for name in METRICS:
        low, high = accept.get(f"min_{name}", -math.inf), accept.get(f"max_{name}", math.inf)
        if low > high:
            yield f"min_{name}", f"min_{name} must not be above max_{name}, got {low:g} and {high:g}"


def sentences(acceptance: Mapping[str, Any] | None) -> Iterable[str]:
    """Yield what was not accepted: the value, the limit and its name."""
    for limit in acceptance["limits"] if acceptance else ():
        if limit["passed"]:
            continue
        bound, _, metric = limit["name"].partition("_")
        value = metric_of(limit["name"]).absent if limit["value"] is None else f"is {limit['value']:.6g}"
        words = "at least" if bound == "min" else "at most"
        yield f"{metric} {value}, must be {words} {limit['limit']:g} ({limit['name']})"
