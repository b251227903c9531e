"""Loss and gradients after the timed part: of the program that was timed, for its weights as they are.

Where that takes the reference too long, the program gets its first weights and mini-batch again, whose gradients the
reference has.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.errors import UnsupportedError
from benchmarker.graph.graph import Graph
from benchmarker.worker.loading import problem_graph
from benchmarker.worker.verification import reference
from benchmarker.worker.verification.calls_again import FURTHER, further_calls
from benchmarker.worker.verification.findings import FAILED, Check, compared, impossible_kinds, left_out
from benchmarker.worker.verification.further_steps import ProofSubject
from benchmarker.worker.verification.outputs_again import LAST_STEP, LastStep
from benchmarker.worker.verification.reference_cost import BACKWARD, fits_memory, forward_seconds
from benchmarker.worker.verification.samples import NO_ERRORS, tensor_sample
from benchmarker.worker.verification.tolerances import (
    Expected,
    Tolerance,
    floor_of,
    tolerances,
    with_first_loss,
)
from benchmarker.worker.verification.verdicts import TensorVerdict, judge
from benchmarker.worker.verification.verified_start import batch_again, known_as_whole

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

GRADIENTS = "gradients of an unseen mini-batch"
GRADIENTS_REPEATED = "gradients of the first mini-batch again"
EVALUATIONS = 3
"""Exact, rounded, and with rectifiers switched."""


class GradientsAgain:
    """The checks of a program that goes backward.

    Parameters
    ----------
    subject : ProofSubject
        The run.
    """

    def __init__(self, subject: ProofSubject) -> None:
        self._job = subject.job
        self._prepared = subject.prepared
        self._program = subject.prepared.program
        self._steps = subject.steps
        self._expected = [e for e in subject.expected if e.kind in ("output", "loss", "gradient")]
        self._limits = subject.limits
        self._exposes = False
        self._budget = subject.budget

    def checks(self, unseen: Mapping[str, Array]) -> Iterator[Check]:
        """Make them; other weights are left behind."""
        if self.affordable:
            yield self._against_reference(self._reference_graph(), unseen)
        else:
            yield self.repeated()

    @property
    def affordable(self) -> bool:
        """Whether the reference of a whole mini-batch fits what the proof may still cost."""
        graph = self._reference_graph()
        parts = max(1, self._prepared.graph.batch_size // graph.batch_size)
        seconds = EVALUATIONS * BACKWARD * parts * forward_seconds(graph)
        return self._budget.affords(seconds) and fits_memory(graph, backward=True)

    def _reference_graph(self) -> Graph:
        graph = self._prepared.graph
        if self._job.micro_batch is not None and graph.is_another_in_parts:
            return problem_graph(self._job, self._job.micro_batch)
        return graph

    def _against_reference(self, graph: Graph, unseen: Mapping[str, Array]) -> Check:
        job, training = self._job, self._job.mode == "training"
        weights = self._program.parameters() if training else self._prepared.parameters
        batch = self._steps.load(unseen)
        loss, found = self._program.gradients(batch)
        own = {"loss": np.asarray(loss), **found}
        if training:
            self._steps.values(batch)
            after = self._program.parameters()
            own.update({name: after[name] for name in graph.statistics})
        expected = reference.compute(graph, dict(weights), dict(unseen), job.mode, job.precision)
        what = f"{reference.NAME}, all samples, for the weights as they were then"
        floor = floor_of(graph.operators, job.device.type)
        limits = with_first_loss(tolerances(expected, job.precision, floor), self._expected)
        stepped = None if training else self._stepped(batch)
        return self._judged(GRADIENTS, what, own, stepped, expected, limits)

    def repeated(self) -> Check:
        """Check loss and gradients of the first weights and the first mini-batch, its rows in other places."""
        job, training = self._job, self._job.mode == "training"
        if not known_as_whole(job) and job.micro_batch is None:
            return left_out(
                GRADIENTS_REPEATED,
                "the float64 reference of a whole mini-batch takes longer than this proof may",
            )
        if training:
            try:
                self._program.assign(self._prepared.parameters)
            except UnsupportedError as reason:
                return left_out(GRADIENTS_REPEATED, str(reason))
        batch = self._steps.load(batch_again(job, self._prepared))
        loss, found = self._program.gradients(batch)
        own = {"loss": np.asarray(loss), **found}
        stepped = None if training else self._stepped(batch)
        what = (
            f"{reference.NAME}, {job.verification_samples} samples, for the first weights, given to it again"
        )
        return self._judged(GRADIENTS_REPEATED, what, own, stepped, self._expected, self._limits)

    def last(self, last: LastStep) -> Check:
        """Check what the last timed step returned: its weights are still there, so its mini-batch gives it again."""
        again = self._stepped(self._steps.load(last.batch))
        if again is None:
            return left_out(LAST_STEP, "its values depend on the dropout masks")
        kinds = {e.name: e.kind for e in self._expected}
        expected = [
            Expected(name, kinds[name], tensor_sample(name, array), NO_ERRORS)
            for name, array in again.items()
        ]
        returned = {**self._forward(last.arrays), **last.gradients}
        what = "what the same mini-batch gives once more"
        return self._judged(LAST_STEP, what, {}, returned, expected, self._limits)

    def further(self, batches: Sequence[dict[str, Array]], seconds: float) -> Check:
        """Check that no step among many gives anything else than the first one of its mini-batch; to be made last."""
        if not self._budget.affords((len(batches) + 1) * seconds):
            return left_out(FURTHER, "steps take longer than this proof may last")
        known = [(batch, self._stepped(self._steps.load(batch))) for batch in batches]
        # The next step may write to the same memory.
        given = [(batch, tuple(map(np.array, found.values()))) for batch, found in known if found is not None]
        if not given:
            return left_out(FURTHER, "its values depend on the dropout masks")
        names = tuple(known[0][1] or ())
        impossible = impossible_kinds(self._expected, self._job.precision)
        return further_calls(cycle(given), names, self._again, self._same, self._budget, seconds, impossible)

    def _again(self, batch: dict[str, Array]) -> tuple[Array, ...]:
        return tuple((self._stepped(self._steps.load(batch)) or {}).values())

    def _same(self, name: str, wanted: Array, found: Array) -> TensorVerdict:
        kind = next(e.kind for e in self._expected if e.name == name)
        return judge(Expected(name, kind, tensor_sample(name, wanted), NO_ERRORS), found, self._limits[name])

    def _stepped(self, batch: Any) -> dict[str, Array] | None:
        """Return what a step of a loaded mini-batch returns, by name; None where masks of dropout are part of it."""
        if "dropout" in self._prepared.graph.operators:
            return None
        output = self._steps.step(batch)
        self._program.synchronize(output)
        gradients = self._steps.gradients(output)
        self._exposes = gradients is not None
        kept = {name: np.array(array) for name, array in (gradients or {}).items()}
        return {**self._forward(self._steps.fetch(output)), **kept}

    def _forward(self, arrays: Sequence[Array]) -> dict[str, Array]:
        graph = self._prepared.graph
        return dict(zip(graph.outputs if graph.loss is None else ("loss",), arrays))

    def _judged(
        self,
        name: str,
        what: str,
        own: Mapping[str, Any],
        stepped: Mapping[str, Any] | None,
        expected: Sequence[Expected],
        allowed: Mapping[str, Tolerance],
    ) -> Check:
        """Judge what the program tells beside its steps (nothing is left out there), and what a step returned."""
        returned = ("loss", "output", *(["gradient"] if self._exposes else []))
        wanted = [(e, e.name, own) for e in expected if own and e.kind != "output"]
        if stepped is not None:
            wanted += [(e, f"{e.name} of a step", stepped) for e in expected if e.kind in returned]
        missing = [words for e, words, found in wanted if e.name not in found]
        if missing:
            return Check(name, FAILED, f"the framework returned nothing for {', '.join(missing)}")
        tensors = [
            replace(judge(e, found[e.name], allowed[e.name]), name=words) for e, words, found in wanted
        ]
        known = expected if own else self._expected
        return compared(name, what, tensors, impossible_kinds(known, self._job.precision))
