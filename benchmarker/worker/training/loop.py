"""The loop: load, step, evaluate, with a clock for each, until the target or a limit."""

from __future__ import annotations

import math
import time
from array import array
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Optional

from benchmarker.api.program import Program
from benchmarker.quick_dataclass import dataclass
from benchmarker.training.checkpoint import Place
from benchmarker.training.recipe import Training
from benchmarker.worker.training.curve import DIVERGED, EPOCHS, SECONDS, STEPS, Clocks, Curve, Row
from benchmarker.worker.training.evaluation import Evaluator
from benchmarker.worker.training.rates import Rates
from benchmarker.worker.training.together import Together

if TYPE_CHECKING:
    from benchmarker.data.batches import BatchFeeder

LOADED_BYTES = 64 << 20
"""Mini-batches that are loaded before the row of steps that takes them take no more than this together."""
Clock = Callable[[], int]
"""Nanoseconds, monotonic."""


@dataclass(frozen=True)
class Plan:
    """How long a training may be, in steps.

    Parameters
    ----------
    most : int
        Updates at most.
    every : int
        Between two evaluations.
    steps_per_epoch : int
        Whole mini-batches of an epoch.
    """

    most: int
    every: int
    steps_per_epoch: int

    @staticmethod
    def of(training: Training, batch_size: int, steps_per_epoch: int) -> Plan:
        """Return that of a recipe."""
        return Plan(
            training.limits.most_steps(steps_per_epoch),
            training.evaluation_steps(batch_size, steps_per_epoch),
            steps_per_epoch,
        )


class TrainingLoop:
    """A training as it goes on.

    Parameters
    ----------
    program : Program
        Built for training.
    feed : BatchFeeder
        Yields mini-batches as NumPy arrays, those of the steps in their order.
    evaluator : Evaluator
        Judges its weights.
    rates : Rates
        The constants of each step.
    training : Training
        The recipe's table.
    plan : Plan
        Its lengths.
    batch_size : int
        Samples of a step.
    curve : Curve
        Takes what evaluations find.
    tells_loss : bool
        Whether what an evaluation finds as loss is the problem's.
    clock : callable
        Nanoseconds, monotonic.
    together : Together
        Decides where several processes make the training.

    Attributes
    ----------
    evaluator, curve
        As given.
    clocks : Clocks
        Where the time went.
    step : int
        Updates so far.
    loss : float or None
        Of the last step, None if it is not finite.
    last_finite : int
        The last step whose loss was seen to be finite; 0 for none.
    outcome : str or None
        Why it has ended.
    output : object
        What the last step returned.
    row : int
        Mini-batches that are loaded at a time at most.
    samples : array of int
        Nanoseconds of each row of ``block`` timed steps.
    keep : callable
        Called after each evaluation that the training does not end with.
    """

    def __init__(
        self,
        program: Program,
        feed: BatchFeeder,
        evaluator: Evaluator,
        rates: Rates,
        training: Training,
        plan: Plan,
        batch_size: int,
        curve: Curve,
        tells_loss: bool,
        clock: Clock = time.perf_counter_ns,
        together: Together = Together(),
    ) -> None:
        self._program = program
        self._together = together
        self._feed = feed
        self.evaluator = evaluator
        self._rates = rates
        self._training = training
        self._plan = plan
        self._batch_size = batch_size
        self._clock = clock
        self.curve = curve
        self.row = max(1, LOADED_BYTES // max(1, feed.bytes_each))
        self._tells_loss = tells_loss
        self.clocks = Clocks()
        self.step = 0
        self.outcome: Optional[str] = None
        self.output: Any = None
        self.loss: Optional[float] = None
        self.last_finite: int = 0
        self.samples: array[int] = array("q")
        self._ready: list[tuple[Any, Any]] = []
        self.keep: Callable[[TrainingLoop], None] = lambda loop: None

    def resume_from(self, place: Place) -> None:
        """Be where a checkpoint was written, with its clocks on top of what was spent here."""
        for name, spent in place.clocks.items():
            setattr(self.clocks, name, getattr(self.clocks, name) + spent)
        for row in place.curve:
            self.curve.add(Row(**row))
        self.step, self.loss, self.last_finite = place.step, place.loss, place.last_finite

    def count_first_step(self, output: Any, nanoseconds: int) -> None:
        """Count the step that was verified, which was made elsewhere."""
        self.step, self.output = 1, output
        self.clocks.first_step += nanoseconds
        self._read_loss()

    def warm_up(self, last: int) -> array[int]:
        """Make steps up to ``last`` one by one; return their nanoseconds. The training does not end among them."""
        taken: array[int] = array("q")
        while self.step < last:
            taken.append(self.make_step())
        return taken

    def make_step(self) -> int:
        """Make one step, with the evaluation that is due after it; return its nanoseconds."""
        taken = self._train(1)
        self._read_loss()
        if self._is_due():
            self.evaluate()
            self._kept()
        return taken

    def _kept(self) -> None:
        start = self._clock()
        self.keep(self)
        self.clocks.checkpoints += self._clock() - start

    def run(self, block: int, pulse: Callable[[TrainingLoop], None]) -> int:
        """Train to the end; return the nanoseconds until then, evaluations included.

        Parameters
        ----------
        block : int
            Steps of a sample, the last of which may have fewer.
        pulse : callable
            Called between samples.
        """
        began = self._clock()
        taken = spent = 0
        while self.outcome is None:
            count = min(block - taken, self.steps_to_evaluation(), self._plan.most - self.step)
            spent += self._train(count)
            taken += count
            if taken == block:
                self.samples.append(spent)
                taken = spent = 0
            self.outcome = self._judged()
            pulse(self)
        if taken:
            self.samples.append(spent)
        return self._clock() - began

    def steps_to_evaluation(self) -> int:
        """Return how many steps there are until the next evaluation."""
        return self._plan.every - self.step % self._plan.every

    def _train(self, count: int) -> int:
        """Make some steps and return the nanoseconds that they took, loading left out."""
        program, clock = self._program, self._clock
        step, use = program.train_step, program.use_hyperparameters
        loading, index, end = 0, self.step, self.step + count
        start = clock()
        while index < end:
            if not self._ready:
                before = clock()
                self._ready = self._loaded(index, self._loaded_at_once(index, end))
                loading += clock() - before
            row, self._ready = self._ready[: end - index], self._ready[end - index :]
            # As in a timed run nothing stands between these steps: what loads would take their caches.
            for batch, constants in row:
                if constants is not None:
                    use(constants)
                output = step(batch)
            index += len(row)
        program.synchronize(output)
        spent = clock() - start - loading
        self.output = output
        self.step += count
        self.clocks.training += spent
        self.clocks.loading += loading
        return spent

    def _loaded_at_once(self, index: int, end: int) -> int:
        """Return how many mini-batches to load: those of all samples until the next evaluation.

        A limit of seconds may end the training after any sample, so then only those of one.
        """
        if self._training.limits.seconds is None:
            end = min(index + self._plan.every - index % self._plan.every, self._plan.most)
        return min(end - index, self.row)

    def _loaded(self, index: int, count: int) -> list[tuple[Any, Any]]:
        """Return the next mini-batches on the device, each with the constants of its step if they change there."""
        program, rates = self._program, self._rates
        return [
            (program.load(self._feed.host_batch()), rates.prepared(program, step))
            for step in range(index, index + count)
        ]

    def _is_due(self) -> bool:
        return self.step % self._plan.every == 0 or self.step == self._plan.most

    def _judged(self) -> Optional[str]:
        """Evaluate if it is time to, and return why the training ends here, if it does."""
        start = self._clock()
        self._read_loss()
        if self.loss is None:
            return DIVERGED
        late = self._is_late()
        ended = None
        if self._is_due() or late:
            self.evaluate(start)
            ended = self.curve.end()
            if ended is None and not late and self.step < self._plan.most:
                self._kept()
        if ended is None and self.step == self._plan.most:
            stated = (self._training.limits.steps, self._training.max_steps)
            return STEPS if self.step in stated else EPOCHS
        return SECONDS if late and ended is None else ended

    def _is_late(self) -> bool:
        limit = self._training.limits.seconds
        spent = (self.clocks.training + self.clocks.loading) / 1e9
        return limit is not None and self._together.decided(spent >= limit)

    def evaluate(self, start: Optional[int] = None) -> None:
        """Evaluate the weights as they are.

        Parameters
        ----------
        start : int, optional
            When the evaluation began by the clock; now without it.
        """
        start = self._clock() if start is None else start
        found = self._together.evaluation(self.evaluator)
        clocks = self.clocks
        clocks.evaluation += self._clock() - start
        self.curve.add(
            Row(
                self.step,
                self.step * self._batch_size,
                self.loss,
                found.loss if self._tells_loss and math.isfinite(found.loss) else None,
                found.correct,
                clocks.training / 1e9,
                clocks.loading / 1e9,
                clocks.evaluation / 1e9,
            )
        )

    def _read_loss(self) -> None:
        self._program.note_updates(self.step)
        value = self._together.loss(float(self._program.fetch(self.output)[0]))
        self.loss = value if math.isfinite(value) else None
        if self.loss is not None:
            self.last_finite = self.step
