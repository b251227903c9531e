"""Training after it was timed: further steps, followed from the framework's own weights and optimizer state."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import cycle, islice
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.errors import UnsupportedError, plural
from benchmarker.worker.stages import Stages
from benchmarker.worker.verification import reference
from benchmarker.worker.verification.findings import (
    FAILED,
    PASSED,
    Check,
    check_of,
    compared,
    left_out,
)
from benchmarker.worker.verification.follower import Follower, Gradients, Step, norm_of
from benchmarker.worker.verification.further_steps import FurtherSteps, ProofSubject
from benchmarker.worker.verification.outputs_again import LAST_STEP, LastStep
from benchmarker.worker.verification.samples import NO_ERRORS, tensor_sample
from benchmarker.worker.verification.timing_again import UNSEEN_TIME, as_long, waited
from benchmarker.worker.verification.tolerances import Expected, Tolerance, with_first_loss
from benchmarker.worker.verification.update_rule import (
    Moment,
    distance,
    implied_gradient_limits,
    implied_gradients,
    own_gradient_limits,
    predicted,
    sampled,
    start,
    thinned,
    update_verdicts,
)
from benchmarker.worker.verification.verdicts import TensorVerdict, judge
from benchmarker.worker.verification.verified_start import batch_again, known_as_whole

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]
    Arrays = dict[str, Array]

MIN_FOLLOWED, MANY_FOLLOWED, MAX_FOLLOWED = 2, 8, 24
"""Steps that are followed: two at least, and as many more as the budget allows, to see what happens now and then."""
BATCHES = 3
"""The last one that was timed and two unseen ones take turns."""
MAX_GROWTH = 1e3
"""Of the gradients' norm over the steps that are followed."""
RESERVED_SHARE = 0.7
"""Of the budget, for what follows, once many steps have been made."""
FRESH_STEPS = 3
TRAVEL_MARGIN = 10.0
"""Steps may be that much longer, or cancel that much more, than those that are known."""
MAX_LOSS_SHARE = 0.5
"""Of a loss that an update may move for the loss before it to be known."""
FOLLOWED, TRAVEL, STATISTICS = "further steps", "weights' travel", "running statistics"
FRESH, FIRST_AGAIN = "freshly built program", "first step again"


class StepsAgain:
    """The checks of a program for training.

    Parameters
    ----------
    subject : ProofSubject
        The run.
    stages : Stages
        Tell what building a program takes.
    """

    def __init__(self, subject: ProofSubject, stages: Stages) -> None:
        self._job = subject.job
        self._optimizer = subject.job.optimizer
        self._prepared = subject.prepared
        self._follower = Follower(subject.steps, subject.prepared, self._optimizer)
        self._first_gradients = {
            e.name: thinned(e.tensor_sample.values) for e in subject.expected if e.kind == "gradient"
        }
        self._statistics = [e for e in subject.expected if e.kind == "statistic"]
        self._limits = with_first_loss(subject.limits, subject.expected)
        self._own_limits = own_gradient_limits(subject.limits, subject.job.precision)
        self._impossible = subject.impossible
        self._budget = subject.budget
        self._stages = stages
        self._expected_loss = next(
            float(e.tensor_sample.values[0]) for e in subject.expected if e.kind == "loss"
        )
        self._drops = "dropout" in subject.prepared.graph.operators
        self._made: list[Step] = []
        self._restarted: Step | None = None

    @property
    def restarted(self) -> bool:
        """Whether the last of the steps was made from the first weights again."""
        return self._restarted is not None

    def checks(self, last: LastStep, unseen: Sequence[Arrays], *, restart: bool) -> Iterator[Check]:
        """Make them all.

        Parameters
        ----------
        last : LastStep
            The last timed one.
        unseen : sequence of mappings
            Mini-batches that the timed steps have not taken.
        restart : bool
            Whether a step from the first weights, where that is possible, is to be one of those that are made: the
            reference knows its gradients, so that it costs no more than itself.
        """
        steps = self._made
        restart = restart and self._can_restart()
        needed = MIN_FOLLOWED - restart
        for batch in islice(cycle([last.batch, *unseen]), MAX_FOLLOWED):
            if len(steps) >= needed and not self._affords_another(steps):
                break
            steps.append(self._follower.step(batch))
        first_again = self._first_again() if restart else None
        if first_again is not None:
            yield first_again
        elif len(steps) < MIN_FOLLOWED:
            steps.append(self._follower.step(unseen[0]))
        yield self._followed(steps)
        yield self._last_loss(last, steps[0])
        yield self._travel(steps)
        if self._prepared.graph.statistics:
            yield self._statistics_moved(steps)
        if not self._follower.tells_state:
            yield from self._fresh(unseen)

    def _affords_another(self, steps: Sequence[Step]) -> bool:
        # The mini-batch that the training has seen may have next to no gradient, so the first of each are the measure.
        first = max(step.gradient_norm for step in steps[:BATCHES])
        if not steps[-1].gradient_norm <= MAX_GROWTH * first:
            return False  # the training flies apart, and would overflow before long
        reserved = RESERVED_SHARE * self._budget.seconds if len(steps) >= MANY_FOLLOWED else 0.0
        return self._budget.affords(reserved + 2 * steps[-1].seconds)

    def after_divergence(self) -> Iterator[Check]:
        """Make the first step again if nothing but the weights can have diverged."""
        alone = self._can_restart() and not self._optimizer.rule.state
        first_again = self._first_again() if alone else None
        if first_again is not None:
            yield first_again

    def timing(self, timed_seconds: float) -> Iterator[Check]:
        """Check the time of the steps that were followed: for steps so long that each can be told by itself."""
        seen, *unseen = (step.step_seconds for step in self._made)
        if unseen:
            yield as_long(min(unseen), seen, timed_seconds)
        else:
            yield left_out(UNSEEN_TIME, "steps take longer than this proof may last")
        yield waited([step.late_share for step in self._all_made()])

    def _all_made(self) -> list[Step]:
        return [*self._made, *([] if self._restarted is None else [self._restarted])]

    def _can_restart(self) -> bool:
        """Tell whether a step from the first weights proves the rule: with dropout or no state told it would not."""
        plain = not self._drops and self._job.micro_batch is None and self._optimizer.rule.is_elementwise
        return plain and self._follower.tells_state and known_as_whole(self._job)

    def _first_again(self) -> Check | None:
        """Make the first step again, from the first weights, whose gradients the reference knows; None if it cannot."""
        began = time.perf_counter()
        try:
            self._prepared.program.assign(self._prepared.parameters)
        except UnsupportedError:
            return None
        native = self._prepared.program.load(batch_again(self._job, self._prepared))
        gradients = self._first_gradients
        known = Gradients(self._expected_loss, gradients, norm_of(gradients.values()))
        step = self._follower.step_of(native, known, began)
        self._restarted = step
        statistics = [judge(e, step.statistics[e.name], self._limits[e.name]) for e in self._statistics]
        tensors = [
            self._loss(step.own_loss, step.loss),
            *self._updates(step, gradients, self._limits),
            *statistics,
        ]
        what = (
            f"{reference.NAME}, {self._job.verification_samples} samples: loss, and what their gradients do"
        )
        return compared(FIRST_AGAIN, what, tensors, self._impossible)

    def _followed(self, steps: Sequence[Step]) -> Check:
        """Check the losses that steps returned, and what they did to weights and state."""
        made = self._all_made()
        expected = list(map(self._expected, made))
        still = sorted({name for step, wanted in zip(made, expected) for name in _unmoved(step, wanted)})
        if still:
            return Check(FOLLOWED, FAILED, f"not every one of {len(made)} steps updated {', '.join(still)}")
        how, tensors = self._drops_followed(steps) if self._drops else self._all_followed(steps, expected)
        what = f"{plural(len(steps), 'step')}: {how}"
        if not tensors:
            return Check(FOLLOWED, PASSED, what)
        return compared(FOLLOWED, what, tensors, self._impossible)

    def _all_followed(
        self, steps: Sequence[Step], expected: Sequence[Moment]
    ) -> tuple[str, list[TensorVerdict]]:
        losses = [self._loss(step.own_loss, step.loss) for step in steps]
        if not self._follower.tells_state:
            return "the program's own loss, computed outside a step", losses
        limits = self._own_limits
        moved = [
            verdict
            for step, wanted in zip(steps, expected)
            for verdict in self._updates(step, step.gradients, limits, wanted)
        ]
        return "the optimizer's equations in float64 for the framework's own weights, state and gradients", [
            *losses,
            *moved,
        ]

    def _drops_followed(self, steps: Sequence[Step]) -> tuple[str, list[TensorVerdict]]:
        """Judge steps with dropout, whose gradients only the state tells: do weights and state belong together?"""
        implied = [implied_gradients(self._optimizer, step.before, step.after) for step in steps]
        limits = implied_gradient_limits(self._own_limits)
        pairs = [(step, given) for step, given in zip(steps, implied) if given is not None]
        tensors = [verdict for step, given in pairs for verdict in self._updates(step, given, limits)]
        if not tensors:
            return "every parameter moved; how far depends on the dropout masks", []
        return "the optimizer's equations in float64 for the gradients that its state implies", tensors

    def _updates(
        self,
        step: Step,
        gradients: Arrays,
        limits: Mapping[str, Tolerance],
        expected: Moment | None = None,
    ) -> list[TensorVerdict]:
        moments = (step.before, step.after)
        precision = self._job.precision
        return list(
            update_verdicts(self._optimizer, *moments, gradients, limits, precision, expected=expected)
        )

    def _expected(self, step: Step) -> Moment:
        """Return what a step's own gradients must make of the moment before it."""
        before = step.before
        state = before.state or start(self._optimizer, before.weights, before.where).state
        return predicted(self._optimizer, replace(before, state=state), step.gradients)

    def _loss(self, expected: float, found: float, allowed: float = 0.0) -> TensorVerdict:
        limit = self._limits["loss"]
        share = allowed / abs(expected) if expected else 0.0
        wider = Tolerance(limit.relative + share, limit.norm + share, limit.scale)
        wanted = Expected("loss", "loss", tensor_sample("loss", np.array([expected])), NO_ERRORS)
        return judge(wanted, np.array([found]), wider)

    def _last_loss(self, last: LastStep, now: Step) -> Check:
        """Check the loss of the last timed step: its mini-batch's can have moved by one update only."""
        if self._drops:
            return left_out(LAST_STEP, "its loss depends on the dropout masks")
        allowed = TRAVEL_MARGIN * now.gradient_norm * now.length * self._sampled_share()
        if not allowed <= MAX_LOSS_SHARE * abs(now.own_loss):
            return left_out(
                LAST_STEP, "an update moves its loss too far to tell what it was one update before"
            )
        tensor = self._loss(now.own_loss, float(last.arrays[0]), allowed)
        what = "the loss of the same mini-batch after one update, give or take what an update can do"
        return compared(LAST_STEP, what, [tensor], self._impossible)

    def _sampled_share(self) -> float:
        """Return the root of how many weights there are for each that is in a sample."""
        if not self._optimizer.rule.is_elementwise:
            return 1.0
        first = sampled(self._prepared.parameters, tuple(self._first_gradients))
        return float(
            np.sqrt(self._prepared.graph.parameter_count / sum(array.size for array in first.values()))
        )

    def _travel(self, steps: Sequence[Step]) -> Check:
        """Check that the weights are where so many updates can have taken them."""
        now = steps[0].before
        whole = now.is_whole
        first = sampled(self._prepared.parameters, tuple(self._first_gradients), whole=whole)
        travelled = distance(now.weights, first)
        lengths = [step.length for step in steps]
        if not whole:  # of the first gradients samples are known alone
            at_first = predicted(
                self._optimizer, start(self._optimizer, first, now.where), self._first_gradients
            )
            lengths.append(distance(at_first.weights, first))
        known = max(lengths)
        words = (
            f"{now.steps} steps moved the weights by {travelled:.3g}, and those followed by up to {known:.3g}"
        )
        possible = (
            min(step.length for step in steps) / TRAVEL_MARGIN
            <= travelled
            <= TRAVEL_MARGIN * now.steps * known
        )
        return check_of(TRAVEL, [] if possible else [words], words)

    def _statistics_moved(self, steps: Sequence[Step]) -> Check:
        """Check that they move at all; one of them may have arrived where every mini-batch leads it."""
        moving = self._prepared.graph.statistics
        all_stood = all(set(moving) == set(step.frozen_statistics) for step in steps)
        return check_of(STATISTICS, [f"{', '.join(moving)} did not move"] if all_stood else [], "they move")

    def _fresh(self, unseen: Sequence[Arrays]) -> Iterator[Check]:
        """Follow a program built anew from its first step, when its state is known: the timed one tells none."""
        if self._drops or self._job.micro_batch is not None:
            yield left_out(FRESH, "the framework does not expose the state of its optimizer")
            return
        dear = sum(self._stages.seconds.get(name, 0.0) for name in ("build", "compile"))
        if not self._budget.affords(dear):
            yield left_out(FRESH, f"building one takes about {dear:.2g} s, longer than this proof may last")
            return
        program = self._prepared.build(self._prepared.built)
        follower = Follower(FurtherSteps(program, "training", 0), self._prepared, self._optimizer)
        began = follower.moment(program.parameters())
        moment = start(self._optimizer, began.weights, began.where, is_whole=began.is_whole)
        tensors: list[TensorVerdict] = []
        for batch in islice(cycle(unseen), FRESH_STEPS):
            step = follower.step(batch)
            before = replace(moment, weights=step.before.weights)
            tensors += update_verdicts(
                self._optimizer,
                before,
                step.after,
                step.gradients,
                self._own_limits,
                self._job.precision,
                has_state=False,
            )
            moment = predicted(self._optimizer, before, step.gradients)
        what = (
            "the optimizer's equations in float64 from the first step on (the timed program exposes no state)"
        )
        yield compared(FRESH, what, tensors, self._impossible)


def _unmoved(step: Step, expected: Moment) -> list[str]:
    """Return which parameters did not move, although their gradients and the rate would move a float32."""
    wanted = expected.weights
    return [
        name
        for name, old in step.before.weights.items()
        if np.mean(wanted[name].astype(np.float32) != old.astype(np.float32)) > 0.5
        and not np.any(step.after.weights[name] != old)
    ]
