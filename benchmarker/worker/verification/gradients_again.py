"""Loss and gradients after the timed part: of the program that was timed, for its weights as they are.

Where that takes the reference too long, the program gets its first weights and mini-batch again, whose gradients the
reference has.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.errors import UnsupportedError
from benchmarker.graph.graph import Graph
from benchmarker.worker.job import problem_graph
from benchmarker.worker.measurement.micro_batching import has_statistics
from benchmarker.worker.verification import reference
from benchmarker.worker.verification.findings import Check, compared, impossible_kinds, left_out
from benchmarker.worker.verification.further_steps import ProofSubject
from benchmarker.worker.verification.reference_cost import BACKWARD, fits_memory, forward_seconds
from benchmarker.worker.verification.tolerances import (
    Expected,
    Tolerance,
    floor_of,
    tolerances,
    with_first_loss,
)
from benchmarker.worker.verification.verdicts import judge
from benchmarker.worker.verification.verified_start import whole_or_part

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
        self._expected = [e for e in subject.expected if e.kind in ("loss", "gradient")]
        self._limits = subject.limits
        self._budget = subject.budget

    def checks(self, unseen: Mapping[str, Array]) -> Iterator[Check]:
        """Make them; other weights are left behind."""
        if self.affordable:
            yield self._against_reference(self._reference_graph(), unseen)
        else:
            yield self._repeated()

    @property
    def affordable(self) -> bool:
        """Whether the reference of a whole mini-batch fits what the proof may still cost."""
        graph = self._reference_graph()
        parts = max(1, self._prepared.graph.batch_size // graph.batch_size)
        seconds = EVALUATIONS * BACKWARD * parts * forward_seconds(graph)
        return self._budget.affords(seconds) and fits_memory(graph, backward=True)

    def _reference_graph(self) -> Graph:
        graph = self._prepared.graph
        if self._job.micro_batch is not None and has_statistics(graph):
            return problem_graph(self._job, self._job.micro_batch)
        return graph

    def _against_reference(self, graph: Graph, unseen: Mapping[str, Array]) -> Check:
        job, training = self._job, self._job.mode == "training"
        weights = self._program.parameters() if training else self._prepared.parameters
        batch = self._steps.load(unseen)
        loss, found = self._program.gradients(batch)
        forward = self._steps.values(batch)
        if training:
            after = self._program.parameters()
            found = {**found, **{name: after[name] for name in graph.statistics}}
        elif self._prepared.graph.loss is None:
            found = {**found, **dict(zip(self._prepared.graph.outputs, forward))}
        expected = reference.compute(graph, dict(weights), dict(unseen), job.mode, job.precision)
        what = f"{reference.NAME}, all samples, for the weights as they were then"
        floor = floor_of(graph.operators, job.device.type)
        limits = with_first_loss(tolerances(expected, job.precision, floor), self._expected)
        return self._judged(GRADIENTS, what, {**found, "loss": np.asarray(loss)}, expected, limits)

    def _repeated(self) -> Check:
        program, batch = whole_or_part(self._job, self._prepared)
        if program is not self._program:
            return left_out(
                GRADIENTS_REPEATED,
                "the float64 reference of a whole mini-batch takes longer than this proof may",
            )
        if self._job.mode == "training":
            try:
                self._program.assign(self._prepared.parameters)
            except UnsupportedError as reason:
                return left_out(GRADIENTS_REPEATED, str(reason))
        loss, found = self._program.gradients(batch)
        what = f"{reference.NAME}, {self._job.verification_samples} samples, for the first weights, given to it again"
        return self._judged(
            GRADIENTS_REPEATED, what, {**found, "loss": np.asarray(loss)}, self._expected, self._limits
        )

    def _judged(
        self,
        name: str,
        what: str,
        found: Mapping[str, Any],
        expected: list[Expected],
        allowed: Mapping[str, Tolerance],
    ) -> Check:
        tensors = [judge(e, found[e.name], allowed[e.name]) for e in expected if e.name in found]
        return compared(name, what, tensors, impossible_kinds(expected, self._job.precision))
