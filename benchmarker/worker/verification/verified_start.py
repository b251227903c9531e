"""The first use of a program: verified before anything of it is timed more than once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.api.program import Program
from benchmarker.data import values
from benchmarker.training.optimizers.advance import places
from benchmarker.worker.job import RunJob
from benchmarker.worker.loading import problem_graph
from benchmarker.worker.stages import Stages
from benchmarker.worker.verification import reference
from benchmarker.worker.verification.findings import impossible_kinds, verdict
from benchmarker.worker.verification.further_steps import require_gradients, step_gradients
from benchmarker.worker.verification.generations import Generation, verified_generation
from benchmarker.worker.verification.quantization_errors import quantization_errors
from benchmarker.worker.verification.samples import tensor_sample
from benchmarker.worker.verification.tolerances import (
    Expected,
    Tolerance,
    floor_of,
    tolerance_reason,
    tolerances,
)
from benchmarker.worker.verification.update_rule import (
    Moment,
    sampled,
    sampled_state,
    start,
    tells_state,
    thinned,
    update_verdicts,
)
from benchmarker.worker.verification.verdicts import TensorVerdict, Verification, judge, judge_scale

if TYPE_CHECKING:
    from benchmarker.worker.program import Prepared


def verified_start(job: RunJob, prepared: Prepared, path: Path, stages: Stages) -> tuple[Any, Verification]:
    """Verify the program against the reference and run its first step, timed as ``compile``.

    Inference is verified by the outputs of that first step itself; training by loss and gradients
    before it, then by the loss it returns and by the update it makes.
    """
    with stages.stage("verify"):
        expected, digests = reference.load(path)
    if digests != _verified_digests(job, prepared):
        raise RuntimeError("the reference was computed from other weights or another mini-batch")
    limits = tolerances(expected, job.precision, floor_of(prepared.graph.operators, job.device.type))
    if job.mode == "inference":
        return _inference(job, prepared, expected, limits, stages)
    if job.mode == "generation":
        return _generation(job, prepared, expected, limits, path, stages)
    if job.mode == "gradient":
        return _gradient(job, prepared, expected, limits, stages)
    return _training(job, prepared, expected, limits, stages)


def verified_gradients(
    job: RunJob, prepared: Prepared, path: Path
) -> tuple[list[Expected], list[TensorVerdict], str]:
    """Hold loss and gradients of a training's first mini-batch to the reference, and nothing else.

    Returns
    -------
    expected : list of Expected
        What the reference has.
    tensors : list of TensorVerdict
        How loss and gradients compare.
    reason : str
        Why tolerances are what they are.
    """
    expected, digests = reference.load(path)
    if digests != _verified_digests(job, prepared):
        raise RuntimeError("the reference was computed from other weights or another mini-batch")
    floor = floor_of(prepared.graph.operators, job.device.type)
    limits = tolerances(expected, job.precision, floor)
    return expected, _judge_gradients(job, prepared, expected, limits), tolerance_reason(job.precision, floor)


def _verified_digests(job: RunJob, prepared: Prepared) -> dict[str, str]:
    if job.verification_samples == job.batch_size:
        return prepared.digests
    batch = values.first_samples(prepared.batch, job.verification_samples)
    return {**prepared.digests, "batch": values.digest(batch)}


def _verdict(
    job: RunJob, prepared: Prepared, expected: list[Expected], tensors: list[TensorVerdict]
) -> Verification:
    status, reason = verdict(tensors, impossible_kinds(expected, job.precision))
    return Verification(
        status,
        reason,
        reference.NAME,
        job.verification_samples,
        tolerance_reason(job.precision, floor_of(prepared.graph.operators, job.device.type)),
        tuple(tensors),
    )


def _first_step(prepared: Prepared, stages: Stages) -> Any:
    with stages.stage("compile"):
        output = prepared.step(prepared.feed())
        prepared.program.synchronize(output)
    return output


def _inference(
    job: RunJob, prepared: Prepared, expected: list[Expected], limits: dict[str, Tolerance], stages: Stages
) -> tuple[Any, Verification]:
    output = _first_step(prepared, stages)
    with stages.stage("verify"):
        arrays = prepared.program.fetch(output)
        _require_outputs(len(expected), arrays)
        if job.verification_samples != job.batch_size:
            arrays = tuple(array[: job.verification_samples] for array in arrays)
        tensors = [judge(e, array, limits[e.name]) for e, array in zip(expected, arrays)]
        changed = quantization_errors(job, prepared, arrays) if job.precision == "int8" else None
    return output, replace(_verdict(job, prepared, expected, tensors), quantization=changed)


def _require_outputs(count: int, arrays: Sequence[Any]) -> None:
    if len(arrays) != count:
        raise RuntimeError(f"the graph has {count} outputs, the framework returned {len(arrays)}")


def _generation(
    job: RunJob,
    prepared: Prepared,
    expected: list[Expected],
    limits: dict[str, Tolerance],
    path: Path,
    stages: Stages,
) -> tuple[Any, Verification]:
    output = _first_step(prepared, stages)
    with stages.stage("verify"):
        scores, tokens = (array[: job.verification_samples] for array in prepared.program.fetch(output))
        first = Generation(values.first_samples(prepared.batch, job.verification_samples), scores, tokens)
        tensors, detail = verified_generation(
            job, prepared, first, expected[0], limits[expected[0].name], path
        )
    verification = _verdict(job, prepared, expected, tensors)
    return output, replace(verification, reason=f"{verification.reason}; {detail}")


def _gradient(
    job: RunJob, prepared: Prepared, expected: list[Expected], limits: dict[str, Tolerance], stages: Stages
) -> tuple[Any, Verification]:
    """Verify gradients before the first step, and what that returns after it."""
    with stages.stage("verify"):
        tensors = _judge_gradients(job, prepared, expected, limits)
    output = _first_step(prepared, stages)
    whole_batch = job.verification_samples == job.batch_size
    if whole_batch and "dropout" not in prepared.graph.operators:
        with stages.stage("verify_step"):
            forward = [e for e in expected if e.kind in ("output", "loss")]
            arrays = prepared.values(output)
            _require_outputs(len(forward), arrays)
            found = dict(zip((e.name for e in forward), arrays))
            gradients = step_gradients(prepared.program, job.mode, output)
            returned = expected if gradients is not None else forward
            found.update(gradients or {})
            require_gradients((e.name for e in returned), found)
            tensors += [
                replace(judge(e, found[e.name], limits[e.name]), name=f"{e.name} of the first step")
                for e in returned
            ]
    stages.seconds["verify"] += stages.seconds.pop("verify_step", 0.0)
    return output, _verdict(job, prepared, expected, tensors)


def _training(
    job: RunJob, prepared: Prepared, expected: list[Expected], limits: dict[str, Tolerance], stages: Stages
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
            after = prepared.program.parameters()
            tensors += _judge_updates(job, prepared, before, after, by_name, limits)
            statistics = [e for e in expected if e.kind == "statistic"]
            tensors += [judge(e, after[e.name], limits[e.name]) for e in statistics]
    stages.seconds["verify"] += stages.seconds.pop("verify_step", 0.0)
    return output, _verdict(job, prepared, expected, tensors)


def whole_or_part(job: RunJob, prepared: Prepared) -> tuple[Program, Any]:
    """Return what gradients are verified with: the program itself and a mini-batch that the reference stands for.

    Where the reference has computed some samples only, they fill the mini-batch, each as often, if the loss is a mean
    and there is no rest: loss and gradients are the same then, and every row shows.
    """
    count, size = job.verification_samples, job.batch_size
    if count < size and known_as_whole(job):
        return prepared.program, prepared.program.load(_repeated(prepared, count, size))
    return comparable(job, prepared)


def known_as_whole(job: RunJob) -> bool:
    """Tell whether the reference stands for a whole mini-batch: the first, or one that its samples fill."""
    count, size = job.verification_samples, job.batch_size
    fills = job.mode == "training" and count < size and not size % count
    return count == size or (fills and reference.has_mean_loss(Path(str(job.reference))))


def batch_again(job: RunJob, prepared: Prepared) -> dict[str, Any]:
    """Return the mini-batch of :func:`whole_or_part` as NumPy arrays, its rows in other places where that is the same.

    It is not where micro-batches have statistics of their own, and where what is compared has rows too.
    """
    count, size = job.verification_samples, job.batch_size
    if not known_as_whole(job):
        return values.first_samples(prepared.batch, count)
    batch = prepared.batch if count == size else _repeated(prepared, count, size)
    if prepared.graph.operands or prepared.graph.loss is None or job.micro_batch is not None:
        return batch
    return values.moved_samples(batch, 1, size, prepared.graph.counted)


def _repeated(prepared: Prepared, count: int, size: int) -> dict[str, Any]:
    return values.repeated_samples(prepared.batch, count, size, prepared.graph.counted)


def comparable(job: RunJob, prepared: Prepared) -> tuple[Program, Any]:
    """Return a program and a loaded mini-batch of the size that the reference was computed for."""
    program = prepared.program
    if job.verification_samples == job.batch_size:
        return program, prepared.native_batch
    if job.micro_batch is None:
        program = prepared.build(problem_graph(job, job.verification_samples))
    return program, program.load(values.first_samples(prepared.batch, job.verification_samples))


def _judge_gradients(
    job: RunJob, prepared: Prepared, expected: list[Expected], limits: dict[str, Tolerance]
) -> list[TensorVerdict]:
    program, batch = whole_or_part(job, prepared)
    loss, gradients = program.gradients(batch)
    found: dict[str, Any] = {**gradients, "loss": np.asarray(loss)}
    backward = [e for e in expected if e.kind in ("loss", "gradient")]
    require_gradients((e.name for e in backward), found)
    tensors = [judge(e, found[e.name], limits[e.name]) for e in backward]
    tried = [e for e in expected if e.kind == "gradient" and e.trials]
    samples = {e.name: tensor_sample(e.name, found[e.name]) for e in tried}
    return [*tensors, *judge_scale(tried, samples, job.precision)]


def _judge_updates(
    job: RunJob,
    prepared: Prepared,
    before: dict[str, Any],
    after: dict[str, Any],
    expected: dict[str, Expected],
    limits: dict[str, Tolerance],
) -> list[TensorVerdict]:
    """Check that the timed step moved parameters and state as the optimizer's equations say.

    Those that see whole tensors are checked after timing: the reference's gradients are samples.
    """
    if not job.optimizer.rule.is_elementwise:
        return []
    gradients = {
        name: thinned(e.tensor_sample.values) for name, e in expected.items() if e.kind == "gradient"
    }
    has_state = tells_state(prepared.program, job.optimizer)
    state = sampled_state(prepared.program, job.optimizer, gradients) if has_state else {}
    moved = Moment(1, sampled(after, gradients), state)
    where = tuple(places(prepared.graph, job.optimizer.modifiers.decay_of).values())
    moment = start(job.optimizer, sampled(before, gradients), where)
    return list(
        update_verdicts(job.optimizer, moment, moved, gradients, limits, job.precision, has_state=has_state)
    )
