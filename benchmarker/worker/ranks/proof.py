"""What is proven of a rank: its function before timing, the exchange of its first steps, and both again afterwards."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarker.data import values
from benchmarker.errors import UnsupportedError
from benchmarker.worker.job import RankJob
from benchmarker.worker.measurement.timing_protocol import Measured
from benchmarker.worker.ranks.first_steps import FirstSteps
from benchmarker.worker.ranks.follow import Follower
from benchmarker.worker.ranks.given_masks import steps_with_given_masks
from benchmarker.worker.ranks.prepare import Rank
from benchmarker.worker.ranks.replayed import replay_check
from benchmarker.worker.stages import Stages
from benchmarker.worker.verification.after_timing import CLOCKS
from benchmarker.worker.verification.budget import Budget
from benchmarker.worker.verification.findings import (
    FAILED,
    PASSED,
    Check,
    Proof,
    check_of,
    compared,
    impossible_kinds,
    left_out,
    verdict,
)
from benchmarker.worker.verification.further_steps import updates_made
from benchmarker.worker.verification.verdicts import TensorVerdict, Verification
from benchmarker.worker.verification.verified_start import verified_gradients

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MIN_STEPS_AGAIN, MAX_STEPS_AGAIN = 2, 12
"""Further steps that are followed after the timed part: two at least, and as many more as the budget allows."""
BUDGET_SHARE = 0.5
"""Of what is left, for those further steps."""
SAME_START, SAME_WEIGHTS, STATISTICS, STEPS = (
    "weights at the start",
    "weights of all ranks",
    "running statistics of all ranks",
    "further steps of all ranks",
)
MASKS = "the framework draws its own dropout masks, so the gradients of a step are not those it reports"


class RankProof:
    """Looks at a rank before and after the timed part; all ranks make the same calls.

    Parameters
    ----------
    job : RankJob
        The run.
    rank : Rank
        Its program and the others.
    stages : Stages
        Of the worker.
    steps : FirstSteps
        Make the steps that are followed first.
    """

    def __init__(self, job: RankJob, rank: Rank, stages: Stages, steps: FirstSteps) -> None:
        self._job, self._rank, self._stages, self._steps = job, rank, stages, steps
        self._follower = Follower(rank, job.optimizer, job.precision)
        self._has_masks = "dropout" in rank.prepared.graph.operators

    def start(self) -> tuple[Any, Verification | None]:
        """Verify the program, make its first steps, and return what the first one returned."""
        job, prepared = self._job, self._rank.prepared
        if job.reference is None:
            return self._steps.first(), None
        with self._stages.stage("verify"):
            expected, tensors, sentence = verified_gradients(job, prepared, Path(job.reference))
            same = self._same_weights(SAME_START)
        first, followed = self._first_steps()
        impossible = impossible_kinds(expected, job.precision)
        status, reason = verdict([*tensors, *followed], impossible)
        if same.status == FAILED:
            status, reason = FAILED, same.detail
        status, reason = self._of_all(status, reason)
        name = f"NumPy, float64, the mini-batch of all {self._rank.group.size} ranks"
        both = (*tensors, *followed)
        return first, Verification(status, reason, name, job.verification_samples, sentence, both)

    def _of_all(self, status: str, reason: str) -> tuple[str, str]:
        """Return the worst of what all ranks found, with the rank named."""
        found = self._rank.group.gather("verdict", [status, reason])
        for worst in (FAILED, "inconclusive"):
            for number, (one, why) in enumerate(found):
                if one == worst:
                    is_joint = found == [[one, why]] * len(found)
                    return worst, why if is_joint else f"rank {number}: {why}"
        return status, reason

    def _first_steps(self) -> tuple[Any, list[TensorVerdict]]:
        """Make the first steps, each followed; the first of them is timed by itself."""
        if self._rank.scheme.is_replayed:
            return self._steps.first(), []
        if self._has_masks:
            with self._stages.stage("verify"):
                found = steps_with_given_masks(self._job, self._rank)
            return self._steps.first(), found
        prepared = self._rank.prepared
        outputs: list[Any] = []
        tensors: list[TensorVerdict] = []
        for number in range(self._rank.scheme.proof_steps):
            with self._stages.stage("verify_step"):
                self._follower.take(self._steps.constants(number))
                output, found = self._follower.step(
                    prepared.feed.batch_of(number), self._steps.further if number else self._steps.first
                )
            tensors += [replace(t, name=f"{t.name}, step {number + 1}") for t in found]
            outputs.append(output)
        # The first step itself was timed within.
        stages = self._stages.seconds
        stages["verify"] += max(0.0, stages.pop("verify_step", 0.0) - stages.get("compile", 0.0))
        return outputs[0], tensors

    def after_timing(self, measured: Measured, numbers: Mapping[str, float] | None = None) -> Proof:
        """Look again.

        Parameters
        ----------
        measured : Measured
            The timed part.
        numbers : mapping, optional
            What the optimizer's rule has kept of steps whose constants changed.
        """
        start = time.perf_counter()
        checks = [check_of(CLOCKS, measured.contradictions, "they agree")]
        if self._job.reference is not None:
            checks += self._checks_again(numbers)
        elif self._rank.scheme.is_replayed:
            self._rank.end()  # As the replay does, before all else.
        found = self._rank.group.gather(
            "checks", [[check.name, check.status, check.detail] for check in checks]
        )
        return Proof(time.perf_counter() - start, tuple(_checks_of_all(checks, found)))

    def _checks_again(self, numbers: Mapping[str, float] | None) -> Iterator[Check]:
        scheme = self._rank.scheme
        if scheme.is_consistent:
            yield self._same_weights(SAME_WEIGHTS)
        statistics = self._rank.prepared.graph.statistics
        if statistics:
            yield self._same_statistics(statistics)
        if scheme.is_replayed:
            yield replay_check(self._job, self._rank)
        elif self._has_masks:
            yield left_out(STEPS, MASKS)
        else:
            yield from self._steps_again(numbers)

    def _same_weights(self, name: str) -> Check:
        trained = {p.name for p in self._rank.prepared.graph.trainable}
        parameters = self._rank.view.parameters()
        digest = values.digest({name: parameters[name] for name in trained})
        digests = self._rank.group.gather("weights", digest)
        others = [number for number, other in enumerate(digests) if other != digests[0]]
        words = [f"rank {', '.join(map(str, others))} has different weights from rank 0"] if others else []
        return check_of(name, words, f"the same bits on {len(digests)} ranks")

    def _same_statistics(self, names: tuple[str, ...]) -> Check:
        parameters = self._rank.view.parameters()
        digests = self._rank.group.gather(
            "statistics", values.digest({name: parameters[name] for name in names})
        )
        others = [number for number, other in enumerate(digests) if other != digests[0]]
        if not others:
            return Check(STATISTICS, PASSED, "the same bits on all ranks")
        if not self._job.global_statistics:
            return Check(STATISTICS, PASSED, "each rank has its own")
        words = f"rank {', '.join(map(str, others))} differs from rank 0, although all normalize the same mini-batch"
        return check_of(STATISTICS, [words], "")

    def _steps_again(self, numbers: Mapping[str, float] | None) -> Iterator[Check]:
        if not self._rank.scheme.is_mean_gradient or self._rank.is_served:
            yield left_out(STEPS, "by now the scheme has state of its own; its first steps were followed")
            return
        prepared = self._rank.prepared
        try:
            updates = updates_made(prepared.program, prepared.feed.taken)
            follower = Follower.resumed(
                self._rank, self._job.optimizer, self._job.precision, updates, numbers
            )
        except UnsupportedError as reason:
            yield left_out(STEPS, str(reason))
            return
        yield self._followed(follower)

    def _followed(self, follower: Follower) -> Check:
        """Follow further steps, as many on each rank; what is wrong now and then shows in one of them."""
        budget = Budget(sum(self._stages.seconds.values()))
        checks = [self._step_again(follower, 0)]
        affordable = int(BUDGET_SHARE * budget.left / budget.used)
        most = min(self._rank.group.gather("further steps", affordable))
        count = min(MAX_STEPS_AGAIN, max(MIN_STEPS_AGAIN, 1 + most))
        checks += [self._step_again(follower, number) for number in range(1, count)]
        tensors = tuple(tensor for check in checks for tensor in check.tensors)
        passed = Check(STEPS, PASSED, f"{count} steps: {self._rank.scheme.label} in float64", tensors)
        return next((check for check in checks if check.status != PASSED), passed)

    def _step_again(self, follower: Follower, number: int) -> Check:
        prepared = self._rank.prepared
        batch = prepared.feed.unseen(number)
        native = prepared.program.load(batch)
        _, tensors = follower.step(batch, partial(prepared.program.train_step, native))
        return compared(f"{STEPS}, {number + 1}", f"{self._rank.scheme.label} in float64", tensors)


def _checks_of_all(checks: list[Check], found: list[list[list[str]]]) -> Iterator[Check]:
    """Yield the checks; where that of a rank failed, its verdict with its name, the same on all ranks."""
    for number, check in enumerate(checks):
        failed = [
            (rank, outcomes[number]) for rank, outcomes in enumerate(found) if outcomes[number][1] == FAILED
        ]
        if not failed:
            yield check
            continue
        rank, (name, status, detail) = failed[0]
        is_joint = [outcomes[number][2] for outcomes in found] == [detail] * len(found)
        yield Check(name, status, detail if is_joint else f"rank {rank}: {detail}")
