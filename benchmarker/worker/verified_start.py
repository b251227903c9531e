"""The first use of a program: verified before anything of it is timed more than once."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.framework import Optimizer, Program
from benchmarker.worker import reference, values
from benchmarker.worker.job import Job, problem_graph
from benchmarker.worker.stages import Stages
from benchmarker.worker.verification import (
    NO_ERRORS,
    Excerpt,
    Expected,
    TensorVerdict,
    Tolerance,
    Verification,
    excerpt,
    judge,
    judge_excerpt,
    tolerance_reason,
    tolerances,
    too_ill_conditioned,
    update_tolerance,
)

if TYPE_CHECKING:
    from benchmarker.worker.prepared import Prepared


FIRST_STEP: Mapping[str, Callable[[Optimizer], float]] = {
    "sgd": lambda optimizer: 1.0,
    "momentum": lambda optimizer: 1.0,
    "nesterov": lambda optimizer: 1.0 + optimizer.momentum,
}
"""Times the learning rate and the gradient, what the first step of an optimizer takes from a parameter."""


def verified_start(job: Job, prepared: Prepared, path: Path, stages: Stages) -> tuple[Any, Verification]:
    """Verify the program against the reference and run its first step, timed as ``compile``.

    Inference is verified by the outputs of that first step itself; training by loss and gradients
    before it, then by the loss it returns and by the update it makes.
    """
    with stages.stage("verify"):
        expected, digests = reference.load(path)
    if digests != _verified_digests(job, prepared):
        raise RuntimeError("the reference was computed from other weights or another mini-batch")
    limits = tolerances(expected, job.precision)
    if job.mode == "inference":
        return _inference(job, prepared, expected, limits, stages)
    if job.mode == "gradient":
        return _gradient(job, prepared, expected, limits, stages)
    return _training(job, prepared, expected, limits, stages)


def _verified_digests(job: Job, prepared: Prepared) -> dict[str, str]:
    if job.verification_samples == job.batch_size:
        return prepared.digests
    batch = values.first_samples(prepared.batch, job.verification_samples)
    return {**prepared.digests, "batch": values.digest(batch)}


def _verdict(job: Job, expected: list[Expected], tensors: list[TensorVerdict]) -> Verification:
    impossible = {
        kind: too_ill_conditioned([e for e in expected if e.kind == kind], job.precision)
        for kind in {e.kind for e in expected}
    }
    impossible["update"] = impossible.get("gradient")
    failed = [t for t in tensors if not t.passed and (impossible[t.kind] is None or math.isinf(t.norm_error))]
    reasons = [impossible[kind] for kind in sorted(impossible) if impossible[kind] is not None]
    status, reason = "passed", "every compared tensor is within its tolerance"
    if reasons:
        status, reason = "inconclusive", str(reasons[0])
    if failed:
        status = "failed"
        worst = max(failed, key=lambda t: t.used)
        reason = (
            f"{worst.kind} '{worst.name}' differs by {worst.max_relative_error:.3g} of the largest element "
            f"and {worst.norm_error:.3g} of the norm, allowed are {worst.tolerance:.3g} and "
            f"{worst.norm_tolerance:.3g} ({len(failed)} of {len(tensors)} tensors differ)"
        )
    return Verification(
        status,
        reason,
        reference.NAME,
        job.verification_samples,
        tolerance_reason(job.precision),
        tuple(tensors),
    )


def _first_step(prepared: Prepared, stages: Stages) -> Any:
    with stages.stage("compile"):
        output = prepared.step(prepared.feed())
        prepared.program.synchronize(output)
    return output


def _inference(
    job: Job, prepared: Prepared, expected: list[Expected], limits: dict[str, Tolerance], stages: Stages
) -> tuple[Any, Verification]:
    output = _first_step(prepared, stages)
    with stages.stage("verify"):
        arrays = prepared.program.fetch(output)
        if len(arrays) != len(expected):
            raise RuntimeError(f"the graph has {len(expected)} outputs, the framework returned {len(arrays)}")
        if job.verification_samples != job.batch_size:
            arrays = tuple(array[: job.verification_samples] for array in arrays)
        tensors = [judge(e, array, limits[e.name]) for e, array in zip(expected, arrays)]
    return output, _verdict(job, expected, tensors)


def _gradient(
    job: Job, prepared: Prepared, expected: list[Expected], limits: dict[str, Tolerance], stages: Stages
) -> tuple[Any, Verification]:
    """Verify gradients before the first step, and what it computes forward after it."""
    with stages.stage("verify"):
        tensors = _judge_gradients(job, prepared, expected, limits)
    output = _first_step(prepared, stages)
    whole_batch = job.verification_samples == job.batch_size
    if whole_batch and "dropout" not in prepared.graph.operators:
        with stages.stage("verify_step"):
            forward = [e for e in expected if e.kind in ("output", "loss")]
            found = zip(forward, prepared.values(output))
            tensors += [
                replace(judge(e, array, limits[e.name]), name=f"{e.name} of the first step")
                for e, array in found
            ]
    stages.seconds["verify"] += stages.seconds.pop("verify_step", 0.0)
    return output, _verdict(job, expected, tensors)


def _training(
    job: Job, prepared: Prepared, expected: list[Expected], limits: dict[str, Tolerance], stages: Stages
) -> tuple[Any, Verification]:
    whole_batch = job.verification_samples == job.batch_size
    with stages.stage("verify"):
        tensors = _judge_gradients(job, prepared, expected, limits)
        before = prepared.program.parameters() if whole_batch else {}
    output = _first_step(prepared, stages)
    if whole_batch and "dropout" not in prepared.graph.operators:
        with stages.stage("verify_step"):
            by_name = {e.name: e for e in expected}
            loss = prepared.program.fetch(output)[0]
            first = judge(by_name["loss"], loss, limits["loss"])
            tensors.append(replace(first, name="loss of the first step"))
            tensors += _judge_updates(job, prepared.program, before, by_name, limits)
    stages.seconds["verify"] += stages.seconds.pop("verify_step", 0.0)
    return output, _verdict(job, expected, tensors)


def comparable(job: Job, prepared: Prepared) -> tuple[Program, Any]:
    """Return a program and a loaded mini-batch of the size that the reference was computed for."""
    program = prepared.program
    if job.verification_samples == job.batch_size:
        return program, prepared.native_batch
    if job.micro_batch is None:
        program = prepared.build(problem_graph(job, job.verification_samples))
    return program, program.load(values.first_samples(prepared.batch, job.verification_samples))


def _judge_gradients(
    job: Job, prepared: Prepared, expected: list[Expected], limits: dict[str, Tolerance]
) -> list[TensorVerdict]:
    program, batch = comparable(job, prepared)
    loss, gradients = program.gradients(batch)
    found: dict[str, Any] = {**gradients, "loss": np.asarray(loss)}
    backward = [e for e in expected if e.kind != "output"]
    missing = [e.name for e in backward if e.name not in found]
    if missing:
        raise RuntimeError(f"the framework returned no gradient of {', '.join(missing)}")
    return [judge(e, found[e.name], limits[e.name]) for e in backward]


def _judge_updates(
    job: Job,
    program: Program,
    before: dict[str, Any],
    expected: dict[str, Expected],
    limits: dict[str, Tolerance],
) -> list[TensorVerdict]:
    """Check that the timed step moved each parameter as the optimizer's equations say.

    The first update of those in :data:`FIRST_STEP` follows from the gradient alone. The others' is nearly
    its sign, which rounding may flip where the gradient is almost zero, so they are compared by the
    conformance suite and by ``verify`` instead.
    """
    if job.optimizer.kind not in FIRST_STEP:
        return []
    after = program.parameters()
    verdicts = []
    for name, old in before.items():
        if name not in expected:
            continue
        start = excerpt(name, old)
        change = _first_change(job.optimizer, expected[name].excerpt, start)
        moved = excerpt(name, after[name].astype(np.float64) - old.astype(np.float64))
        if job.optimizer.weight_decay:
            moved = _by_itself(moved.values)
        limit = update_tolerance(limits[name], start, change, _rate(job.optimizer))
        verdicts.append(judge_excerpt(Expected(name, "update", change, NO_ERRORS), moved, limit))
    return verdicts


def _rate(optimizer: Optimizer) -> float:
    """Return what the first step adds to a parameter, over its gradient."""
    return -optimizer.learning_rate * FIRST_STEP[optimizer.kind](optimizer)


def _first_change(optimizer: Optimizer, gradient: Excerpt, old: Excerpt) -> Excerpt:
    rate = _rate(optimizer)
    if not optimizer.weight_decay:
        return Excerpt(gradient.elements, rate * gradient.values, abs(rate) * gradient.norm)
    return _by_itself(rate * (gradient.values + optimizer.weight_decay * old.values))


def _by_itself(values: Any) -> Excerpt:
    """Return an excerpt that stands for itself: a sum's norm does not follow from those of its terms."""
    return Excerpt(values.size, values, float(np.linalg.norm(values)))
