"""The accuracy that is told, computed again by the float64 reference from the weights that the framework ended with."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.api.optimizer import Optimizer
from benchmarker.api.program import Program
from benchmarker.errors import UnsupportedError
from benchmarker.graph.graph import Graph
from benchmarker.plugins.numpy.equations import evaluated
from benchmarker.quick_dataclass import dataclass
from benchmarker.training.optimizers.advance import places
from benchmarker.worker.training.evaluation import Evaluator
from benchmarker.worker.verification import reference
from benchmarker.worker.verification.findings import Check, check_of, left_out
from benchmarker.worker.verification.tolerances import EPSILON

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

NAME, EVALUATED = "final accuracy", "evaluated weights"
MIN_SECONDS, RUN_SHARE = 20.0, 0.25
"""How long it may take: so many seconds, or this share of the training, whichever is more."""
STORED_ROUNDINGS = 4.0
"""Units of roundoff that weights may be off by that went through the framework's number format once more."""
MIN_MARGIN, MARGIN_ROUNDINGS = 1e-4, 8.0
"""Two classes whose scores are nearer than this, as a share of the largest score, are for rounding to decide."""


@dataclass(frozen=True)
class Recomputed:
    """What the reference makes of the final weights.

    Parameters
    ----------
    correct, samples : int
        Samples that the framework classifies rightly, of those that it evaluated.
    reference_correct, reference_samples : int
        The same of the reference, which may have had no time for all of them.
    undecided : int
        Samples of which the reference's two largest scores are so near that rounding may decide.
    differing : int
        Samples that the two classify differently although they are decided.
    """

    correct: int
    samples: int
    reference_correct: int
    reference_samples: int
    undecided: int
    differing: int

    def to_json(self) -> dict[str, int]:
        return asdict(self)


def margin(precision: str) -> float:
    """Return how near two scores may be for rounding to decide between them, as a share of the largest."""
    return max(MIN_MARGIN, MARGIN_ROUNDINGS * EPSILON[precision])


def recomputed(
    graph: Graph, weights: Mapping[str, Array], evaluator: Evaluator, precision: str, seconds: float
) -> Recomputed:
    """Evaluate weights by the reference, and compare sample by sample.

    Parameters
    ----------
    graph : Graph
        With its loss.
    weights : mapping
        All parameters and running statistics, as the framework told them.
    evaluator : Evaluator
        Of the framework, which has taken these weights.
    precision : str
        Of that program.
    seconds : float
        After which the reference begins no further mini-batch.
    """
    inference = graph.without_loss()
    own = {p.name: weights[p.name] for p in inference.parameters}
    program = reference.build("fp64")(inference, own, "inference", Optimizer())
    deadline = time.monotonic() + seconds
    counts = np.zeros(6, np.int64)
    for number, batch in enumerate(evaluator.batches):
        labels = batch.labels[: batch.count]
        predicted = np.asarray(evaluator.scores(number))[: batch.count].argmax(axis=1)
        counts[:2] += np.array([np.count_nonzero(predicted == labels), batch.count])
        if number and time.monotonic() > deadline:
            continue
        arrays = {i.name: batch.arrays[i.name] for i in inference.inputs}
        exact = program.fetch(program.infer(program.load(arrays)))[0][: batch.count]
        found, undecided = exact.argmax(axis=1), _undecided(exact, margin(precision))
        right, differing = found == labels, (found != predicted) & ~undecided
        counts[2:] += np.array([right.sum(), batch.count, undecided.sum(), differing.sum()])
    return Recomputed(*map(int, counts))


def _undecided(scores: Array, share: float) -> Array:
    ordered = np.sort(scores, axis=1)
    near: Array = ordered[:, -1] - ordered[:, -2] <= share * np.abs(scores).max(axis=1)
    return near


def evaluated_check(
    program: Program, optimizer: Optimizer, graph: Graph, weights: Mapping[str, Array], precision: str
) -> Check:
    """Return whether the weights that are evaluated are those that the rule means, of what the program holds.

    Parameters
    ----------
    program : Program
        That was trained.
    optimizer : Optimizer
        By which.
    graph : Graph
        With its loss.
    weights : mapping
        What the program tells to evaluate.
    precision : str
        Of the run.
    """
    rule = optimizer.rule
    try:
        state = {} if rule.evaluates_weights else program.optimizer_state()
    except UnsupportedError as reason:
        return left_out(EVALUATED, str(reason))
    held = program.parameters()
    expected = {**held, **evaluated(rule, tuple(places(graph).values()), held, state)}
    unit = EPSILON["fp64" if precision == "fp64" else "fp32"]
    wrong = [
        name for name, array in expected.items() if _distance(weights[name], array) > STORED_ROUNDINGS * unit
    ]
    faults = (
        [f"{', '.join(wrong)} are not those that optimizer '{optimizer.kind}' evaluates"] if wrong else []
    )
    return check_of(EVALUATED, faults, "as the optimizer's equations give them from its weights and state")


def _distance(found: Array, expected: Array) -> float:
    """Return how far two arrays are from each other, as a share of the second."""
    size = float(np.linalg.norm(expected)) or 1.0
    return float(np.linalg.norm(np.asarray(found, np.float64) - expected)) / size


def check(found: Recomputed | None, stated: int | None) -> Check:
    """Return the verdict.

    Parameters
    ----------
    found : Recomputed or None
        None where the weights are not finite.
    stated : int or None
        What the last evaluation counted, if it was of these weights.
    """
    if found is None:
        return left_out(NAME, "the training has diverged: its weights are not finite")
    if not found.reference_samples:
        return left_out(NAME, "no time was left for the reference")
    faults = []
    if stated is not None and stated != found.correct:
        faults.append(
            f"the last evaluation counted {stated} correct samples, evaluating again counts {found.correct}"
        )
    if found.differing:
        faults.append(
            f"the reference, {reference.NAME}, puts {found.differing} of {found.reference_samples} samples into "
            "another class, which rounding does not explain"
        )
    agreed = (
        f"{found.correct} of {found.samples} samples are correct, by {reference.NAME} {found.reference_correct} of "
        f"{found.reference_samples}"
    )
    near = f"; {found.undecided} are for rounding to decide" if found.undecided else ""
    return check_of(NAME, faults, agreed + near)
