"""Inference after it was timed: the last step's outputs, those of samples never seen, and every row of them.

The reference computes as many rows as the budget allows, the first and the last among them. Where it does not allow
one, the outputs that were verified before timing stand for it, their rows in other places.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import field
from itertools import count, cycle
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.data import values
from benchmarker.quick_dataclass import dataclass
from benchmarker.worker.loading import problem_graph
from benchmarker.worker.verification import reference
from benchmarker.worker.verification.calls_again import FURTHER, further_calls
from benchmarker.worker.verification.findings import FAILED, Check, compared, left_out
from benchmarker.worker.verification.further_steps import ProofSubject
from benchmarker.worker.verification.reference_cost import fits_memory, forward_seconds
from benchmarker.worker.verification.samples import NO_ERRORS, tensor_sample
from benchmarker.worker.verification.tolerances import Expected
from benchmarker.worker.verification.verdicts import TensorVerdict, judge

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]
    Arrays = dict[str, Array]

LAST_STEP, UNSEEN, MOVED_ROWS = "last timed step", "unseen mini-batch", "rows in other places"
FIRST_AGAIN = "first mini-batch again"
BUDGET_SHARE = 0.3
"""Of what is left, for the reference of one mini-batch."""


@dataclass(frozen=True)
class LastStep:
    """What the last timed step returned, fetched before anything else ran.

    Parameters
    ----------
    batch : mapping
        The mini-batch that it took.
    arrays : tuple of ndarray
        Its outputs, or its loss.
    gradients : mapping
        Of a mode that ends with them, if the framework exposes them.
    """

    batch: Arrays
    arrays: tuple[Array, ...]
    gradients: Mapping[str, Array] = field(default_factory=dict)


class OutputsAgain:
    """The checks of a program for inference.

    Parameters
    ----------
    subject : ProofSubject
        The run.
    """

    def __init__(self, subject: ProofSubject) -> None:
        self._job = subject.job
        self._prepared = subject.prepared
        self._steps = subject.steps
        self._expected = subject.expected
        self._names = [e.name for e in subject.expected]
        self._limits = subject.limits
        self._impossible = subject.impossible
        self._budget = subject.budget
        graph = subject.prepared.graph
        self._row_seconds = 2 * forward_seconds(graph) / graph.batch_size
        self._compared = False
        self._known_calls: Iterator[tuple[Arrays, tuple[Array, ...]]] | None = None
        self._call_seconds = 0.0

    def checks(self, last: LastStep, unseen: Arrays) -> Iterator[Check]:
        """Make them all."""
        yield self._against_reference(LAST_STEP, last.batch, last.arrays)
        # The next call may write to the same memory.
        found = tuple(np.array(array) for array in self._infer(unseen))
        yield self._against_reference(UNSEEN, unseen, found)
        yield self._moved_rows(unseen, found)
        if not self._compared:
            yield self._first_again()
        if len(found) == self._count:
            self._known_calls = self._known(last, unseen, found)

    def further(self) -> Check:
        """Check that no call among many gives anything else, wherever the rows stand; to be made last of all."""
        if self._known_calls is None:
            return left_out(FURTHER, "there are no outputs to compare them with")
        impossible, budget = self._impossible, self._budget
        return further_calls(
            self._known_calls, self._names, self._once, self._judged, budget, self._call_seconds, impossible
        )

    def _once(self, batch: Arrays) -> tuple[Array, ...]:
        return self._steps.values(self._steps.load(batch))

    def _infer(self, batch: Arrays) -> tuple[Array, ...]:
        """Return what a step gives that is made twice if there is time: the first may have changed its mini-batch."""
        began, native = time.perf_counter(), self._steps.load(batch)
        found = self._steps.values(native)
        self._call_seconds = time.perf_counter() - began
        return self._steps.values(native) if self._budget.affords(self._call_seconds) else found

    def _against_reference(self, name: str, batch: Arrays, found: tuple[Array, ...]) -> Check:
        if len(found) != self._count:
            return self._miscounted(name, found)
        rows = self._rows(name)
        if rows is None:
            return left_out(name, "one sample takes the float64 reference longer than this proof may last")
        whole = len(rows) == self._prepared.graph.batch_size
        graph = self._prepared.graph if whole else problem_graph(self._job, len(rows))
        chosen = self._reference_inputs(batch, found)
        chosen = chosen if whole else values.samples_at(chosen, rows, graph.counted)
        began = time.perf_counter()
        exact = reference.results(graph, self._prepared.parameters, chosen, "inference", "fp64")
        self._row_seconds = (time.perf_counter() - began) / len(rows)
        self._compared = True
        own = found if whole else tuple(array[rows] for array in found)
        tensors = self._all_judged({output: exact[output][1] for output in self._names}, own)
        count = "all samples" if whole else f"{len(rows)} of {len(found[0])} samples, drawn at random"
        return compared(name, f"{reference.NAME}, {count}", tensors, self._impossible)

    def _miscounted(self, name: str, found: tuple[Array, ...]) -> Check:
        return Check(
            name, FAILED, f"the graph has {self._count} outputs, the framework returned {len(found)}"
        )

    @property
    def _count(self) -> int:
        """How many arrays a step returns."""
        return len(self._names)

    def _reference_inputs(self, batch: Arrays, found: tuple[Array, ...]) -> Arrays:
        """Return the mini-batch from which the reference computes what was found."""
        return batch

    def _all_judged(self, exact: Arrays, found: tuple[Array, ...]) -> list[TensorVerdict]:
        return [self._judged(name, exact[name], array) for name, array in zip(self._names, found)]

    def _judged(self, name: str, exact: Array, found: Array) -> TensorVerdict:
        wanted = Expected(name, "output", tensor_sample(name, exact), NO_ERRORS)
        return judge(wanted, found, self._limits[name])

    def _rows(self, name: str) -> Array | None:
        """Return which rows the reference computes: those at the ends, and others drawn at random."""
        graph = self._prepared.graph
        count = graph.batch_size
        affordable = int(BUDGET_SHARE * self._budget.left / self._row_seconds)
        if affordable < 1 or not fits_memory(graph, backward=False):
            return None
        if affordable >= count:
            return np.arange(count)
        drawn = values.draw_order(self._job.seed, f"rows/{name}", count)
        ends = [0, count - 1]
        others = [row for row in drawn.tolist() if row not in ends]
        return np.sort(np.array([*ends, *others][: max(1, affordable)]))

    def _first_again(self) -> Check:
        """Compare the first mini-batch again, its rows in other places: what they give is known since before timing."""
        graph, samples = self._prepared.graph, self._job.verification_samples
        shift = 0 if graph.operands else graph.batch_size // 2
        again = self._infer(self._moved(self._prepared.batch, shift))
        if len(again) != self._count:
            return self._miscounted(FIRST_AGAIN, again)
        found = [np.roll(array, -shift, axis=0) for array in again]
        if samples < graph.batch_size:
            found = [array[:samples] for array in found]
        tensors = [judge(e, array, self._limits[e.name]) for e, array in zip(self._expected, found)]
        what = f"{reference.NAME}, {samples} samples, in other positions than before"
        return compared(FIRST_AGAIN, what, tensors, self._impossible)

    def _moved(self, batch: Arrays, shift: int) -> Arrays:
        """Return a mini-batch whose samples are moved on; operands of one operator stay."""
        graph = self._prepared.graph
        return values.moved_samples(batch, shift, graph.batch_size, graph.counted) if shift else batch

    def _moved_rows(self, batch: Arrays, found: tuple[Array, ...]) -> Check:
        """Check that each row gives the same wherever it stands: what one place does wrong, another does not."""
        graph = self._prepared.graph
        count = graph.batch_size
        if graph.operands or count == 1:
            return left_out(MOVED_ROWS, "a mini-batch is one sample")
        shift = max(1, count // 2)
        again = self._once(self._moved(batch, shift))
        if len(again) != len(found):
            return self._miscounted(MOVED_ROWS, again)
        tensors = [
            self._judged(name, np.roll(array, shift, axis=0), moved)
            for name, array, moved in zip(self._names, found, again)
        ]
        what = f"the outputs of the {UNSEEN}, its samples moved on by {shift}"
        return compared(MOVED_ROWS, what, tensors, self._impossible)

    def _known(
        self, last: LastStep, unseen: Arrays, found: tuple[Array, ...]
    ) -> Iterator[tuple[Arrays, tuple[Array, ...]]]:
        """Yield mini-batches and what they give: the unseen one moved on, or it and the last one in turns."""
        graph = self._prepared.graph
        if graph.operands or graph.batch_size == 1:
            of_last = [(last.batch, last.arrays)] if len(last.arrays) == self._count else []
            yield from cycle([*of_last, (unseen, found)])
        for number in count():
            shift = number % graph.batch_size
            yield self._moved(unseen, shift), tuple(np.roll(array, shift, axis=0) for array in found)
