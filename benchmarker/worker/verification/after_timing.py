"""The proof that reaches to the last timed step: what was verified before timing is looked at again after it.

A program may be right in the step that was verified and wrong later: updates that stop, results that are kept, clocks
that are slowed. So the program that was timed makes further steps, on mini-batches that it has never seen.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarker.worker.job import RunJob
from benchmarker.worker.measurement.timing_protocol import Measured
from benchmarker.worker.stages import Stages
from benchmarker.worker.verification import reference
from benchmarker.worker.verification.budget import Budget
from benchmarker.worker.verification.dropout_again import dropout_checks
from benchmarker.worker.verification.findings import FAILED, Check, Proof, check_of, left_out
from benchmarker.worker.verification.further_steps import FurtherSteps, ProofSubject, step_gradients
from benchmarker.worker.verification.generations import GenerationsAgain
from benchmarker.worker.verification.gradients_again import GradientsAgain
from benchmarker.worker.verification.outputs_again import LastStep, OutputsAgain
from benchmarker.worker.verification.steps_again import StepsAgain
from benchmarker.worker.verification.timing_again import (
    LATE_SECONDS,
    UNSEEN_TIME,
    timing_checks,
    unseen_check,
    waiting_check,
)
from benchmarker.worker.verification.tolerances import floor_of, tolerances

if TYPE_CHECKING:
    import numpy.typing as npt

    from benchmarker.worker.program import Prepared

    Array = npt.NDArray[np.generic]

CLOCKS = "clocks"


def last_step(prepared: Prepared, measured: Measured) -> LastStep:
    """Fetch what the last timed step returned; to be called before anything else runs."""
    output = measured.samples.output
    found = step_gradients(prepared.program, prepared.mode, output) or {}
    # The next step may write to the same memory.
    kept = {name: np.array(array) for name, array in found.items()}
    return LastStep(prepared.feed.batch_of(prepared.feed.taken - 1), prepared.values(output), kept)


def prove(job: RunJob, prepared: Prepared, measured: Measured, last: LastStep, stages: Stages) -> Proof:
    """Look again, for a tenth of the run so far or a second.

    Parameters
    ----------
    job, prepared
        The run.
    measured : Measured
        The timed part.
    last : LastStep
        Its last step.
    stages : Stages
        Tell how long the run has taken.
    """
    budget = Budget(sum(stages.seconds.values()))
    checks = [check_of(CLOCKS, measured.contradictions, "they agree")]
    if job.reference is not None:
        checks += _steps(job, prepared, measured, last, stages, budget)
    return Proof(budget.used, tuple(checks))


def _steps(
    job: RunJob, prepared: Prepared, measured: Measured, last: LastStep, stages: Stages, budget: Budget
) -> Iterator[Check]:
    expected, _ = reference.load(Path(str(job.reference)))
    limits = tolerances(expected, job.precision, floor_of(prepared.graph.operators, job.device.type))
    steps = FurtherSteps(prepared.program, job.mode, prepared.feed.taken)
    numbers = itertools.count()

    def further() -> dict[str, Array]:
        return prepared.feed.unseen(next(numbers))

    unseen = [further(), further()]
    seconds = measured.samples.median_seconds
    subject = ProofSubject(job, prepared, steps, expected, limits, budget)
    gradients = GradientsAgain(subject)
    outputs = (GenerationsAgain if job.mode == "generation" else OutputsAgain)(subject)
    if job.mode in ("inference", "generation"):
        yield from outputs.checks(last, unseen[0])
    elif job.mode == "gradient":
        yield from gradients.checks(unseen[0])
        yield gradients.last(last)
    elif _finite(prepared):
        again = StepsAgain(subject, stages)
        yield from again.checks(last, unseen, restart=not gradients.affordable)
        if seconds >= LATE_SECONDS:
            yield from _confirmed(again.timing(seconds), steps, further, seconds, budget)
        if not again.restarted:
            yield from gradients.checks(unseen[-1])
        if "dropout" in prepared.graph.operators:
            yield from dropout_checks(prepared.graph, steps, unseen[-1], budget)
    else:
        yield left_out("further steps", "the training has diverged: its weights are no longer finite")
        yield from StepsAgain(subject, stages).after_divergence()
        yield gradients.repeated()
    if job.mode != "training" or seconds < LATE_SECONDS:
        in_blocks = measured.samples.block_steps > 1 and job.mode != "training"
        yield from timing_checks(steps, further, seconds, budget, in_blocks=in_blocks)
    if job.mode == "gradient":
        yield gradients.further([last.batch, unseen[0]], seconds)
    elif job.mode != "training":
        yield outputs.further()


def _confirmed(
    checks: Iterable[Check],
    steps: FurtherSteps,
    unseen: Callable[[], dict[str, Array]],
    seconds: float,
    budget: Budget,
) -> Iterator[Check]:
    """Yield checks of single steps; one that failed is made anew with more of them: a machine may be busy."""
    for check in checks:
        if check.status != FAILED:
            yield check
        elif check.name == UNSEEN_TIME:
            yield unseen_check(steps, unseen, seconds, budget)
        else:
            yield waiting_check(steps, steps.load(unseen()))


def _finite(prepared: Prepared) -> bool:
    return all(math.isfinite(float(np.sum(array))) for array in prepared.program.parameters().values())
