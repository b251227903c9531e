"""What ties the members of a training to each other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmarker.records.schema.training import Training

Finding = tuple[str, str]
"""Where in a record, and what is wrong there."""
_RISING = ("step", "samples", "training_seconds", "loading_seconds", "evaluation_seconds")


def training_inconsistencies(training: Training) -> Iterator[Finding]:
    """Yield what does not fit together in a training that the decoder accepts."""
    yield from _curve(training)
    yield from _outcome(training)
    yield from _checkpoints(training)
    yield from _divergence(training)
    final = training.final
    if final is None:
        return
    if final.samples != training.evaluated_samples or final.correct > final.samples:
        yield "$.training.final", "must be of the evaluated samples, and no more of them may be right"
    if final.reference_samples > final.samples or final.reference_correct > final.reference_samples:
        yield "$.training.final.reference_samples", "must be among the evaluated samples"


def _checkpoints(training: Training) -> Iterator[Finding]:
    found = training.checkpoints
    if not found:
        return
    steps = [one.step for one in found.resumed]
    if steps != sorted(steps) or max(steps, default=0) > training.steps:
        yield "$.training.checkpoints.resumed", "must not go back, and not beyond training.steps"
    if (found.failed > 0) != (found.reason is not None):
        yield "$.training.checkpoints.reason", "must say why one failed when one did, and only then"
    for index, one in enumerate(found.resumed):
        if one.training_seconds > training.training_seconds:
            yield f"$.training.checkpoints.resumed[{index}]", "must be part of the clocks of the training"


def _divergence(training: Training) -> Iterator[Finding]:
    found = training.divergence
    if not found:
        return
    if found.step != sorted(set(found.step)) or max(found.step, default=1) > found.steps:
        yield "$.training.divergence.step", "must rise, up to the steps that were asked for at most"
    for index, one in enumerate(found.parameters):
        columns = (one.followed_l2, one.followed_max, one.free_l2, one.free_max)
        if {len(column) for column in columns} != {len(found.step)}:
            yield f"$.training.divergence.parameters[{index}]", "must have an item for each step"


def _curve(training: Training) -> Iterator[Finding]:
    curve = training.curve
    columns = {name: getattr(curve, name) for name in curve.__struct_fields__}
    if len({len(column) for column in columns.values()}) > 1:
        yield "$.training.curve", "must have as many items in each column"
    for name in _RISING:
        if sorted(columns[name]) != columns[name]:
            yield f"$.training.curve.{name}", "must not go down"
    if max(curve.correct, default=0) > training.evaluated_samples:
        yield (
            "$.training.curve.correct",
            f"must be at most {training.evaluated_samples}, the evaluated samples",
        )
    if max(curve.step, default=0) > training.steps or training.steps > training.most_steps:
        yield "$.training.steps", "must be at least the last of the curve, and at most most_steps"


def _outcome(training: Training) -> Iterator[Finding]:
    if training.reached != (training.hit is not None):
        yield "$.training.hit", "must be there when the target was reached, and only then"
    if training.hit is not None and training.hit.step not in training.curve.step:
        yield "$.training.hit.step", "must be that of an evaluation"
    if training.outcome == "target" and not training.reached:
        yield "$.training.outcome", "must not be 'target' when the target was not reached"
    if (training.outcome == "diverged") != (training.diverged is not None):
        yield (
            "$.training.diverged",
            "must say where it diverged when the outcome is 'diverged', and only then",
        )
