"""What one training by a recipe came to, as lines of its record's summary."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from benchmarker.analysis.text.units import duration, significant
from benchmarker.records.lookup import Record, value_at

_ENDED = {
    "epochs": "at its limit of epochs",
    "steps": "at its limit of steps",
    "seconds": "at its limit of seconds",
    "loss": "at its limit of the loss",
    "no_improvement": "after evaluations without improvement",
}


def lines(record: Record) -> Iterator[tuple[str, str]]:
    """Yield each label with its text; nothing of a run without a recipe."""
    training = record.get("training")
    if not training:
        return
    yield "target", _target(training)
    yield "to target", _to_target(record, training)
    yield "clocks", _clocks(training)
    if training.get("skipped_steps"):
        yield "skipped", _skipped(training)
    classes = _classes(training)
    if classes:
        yield "classes", classes
    resumed = (training.get("checkpoints") or {}).get("resumed")
    if resumed:
        yield "resumed", "; ".join(map(_resumed, resumed))
    yield "quality", _quality(training)
    if training["divergence"]:
        yield "divergence", _divergence(training["divergence"])


def _target(training: Mapping[str, Any]) -> str:
    target = training["target"]
    better = "at least" if target["metric"] == "accuracy" else "at most"
    wanted = (
        f"{target['metric']} of {better} {target['value']:g} on {training['evaluated_samples']:,} samples"
    )
    division = training["recipe"]["division"]
    return f"{wanted} ({target['split']} split), {division} recipe"


def _to_target(record: Record, training: Mapping[str, Any]) -> str:
    hit, diverged = training["hit"], training["diverged"]
    if hit is not None:
        seconds = value_at(record, "metrics.seconds_to_target")
        within = "" if seconds is None else f" in {duration(seconds)}, evaluation left out"
        return f"{hit['step']:,} steps ({hit['samples']:,} samples){within}"
    steps = f"{training['steps']:,} steps"
    if diverged is not None:
        last = diverged["last_finite_step"]
        return f"diverged: the loss was no number at step {diverged['step']:,}, at step {last:,} it still was one"
    ended = _ENDED.get(training["outcome"])
    return f"not reached in {steps}" + (f"; it ended {ended}" if ended else "")


def _clocks(training: Mapping[str, Any]) -> str:
    names = ("training", "loading", "evaluation", "first_step")
    clocks = ", ".join(f"{n.replace('_', ' ')} {duration(training[f'{n}_seconds'], 3)}" for n in names)
    feed = training.get("feed")
    if not feed:
        return clocks
    made = {"none": "as they were taken"}.get(feed["prefetch"], f"ahead in a {feed['prefetch']}")
    return f"{clocks}; waited {duration(feed['waited_seconds'], 3)} for mini-batches, made {made}"


def _skipped(training: Mapping[str, Any]) -> str:
    return (
        f"{training['skipped_steps']:,} of {training['steps']:,} steps made no update, as gradients overflowed; they "
        "count as steps, and schedules went on"
    )


def _classes(training: Mapping[str, Any]) -> str:
    """Return how far the sampler was from the data set's own shares of classes; nothing where that was not counted."""
    bias = (training.get("feed") or {}).get("bias")
    if not bias or len(bias["available"]) < 2:
        return ""
    given = bias["given"]
    return (
        f"{min(given):,} to {max(given):,} samples given of each of {len(given)}; shares differ from the data set's by "
        f"{100 * bias['total_variation']:.2g} % (total variation)"
    )


def _resumed(row: Mapping[str, Any]) -> str:
    before = row["training_seconds"] + row["loading_seconds"] + row["first_step_seconds"]
    lost = f", {row['lost_steps']:,} steps after it were repeated" if row["lost_steps"] else ""
    return f"from step {row['step']:,}, written by {row['framework']} {row['version']} after {duration(before)}{lost}"


def _quality(training: Mapping[str, Any]) -> str:
    final, last, best = training["final"], training["last"], training["best"]
    parts = [] if last is None else [f"{training['target']['metric']} {significant(last)} at the end"]
    if best is not None and best != last:
        parts.append(f"best {significant(best)}")
    if final is not None:
        parts.append(
            f"final weights {final['correct']} of {final['samples']} right, by the float64 reference "
            f"{final['reference_correct']} of {final['reference_samples']}"
        )
    return ", ".join(parts)


def _divergence(found: Mapping[str, Any]) -> str:
    if not found["step"]:
        return "the first step's weights are not finite numbers"
    step, parameter = _largest(found, "followed_l2")
    free, travelled = _largest(found, "free_l2")
    return (
        f"a step is at most {step:.1e} of itself from the reference's ({parameter}), a free-running training "
        f"{free:.1e} of its way ({travelled}), in {found['step'][-1]:,} steps"
    )


def _largest(found: Mapping[str, Any], name: str) -> tuple[float, str]:
    """Return the largest share of all parameters and steps, and whose it is."""
    return max((max(filter(None, one[name]), default=0.0), one["name"]) for one in found["parameters"])
