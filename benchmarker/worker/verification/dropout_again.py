"""Dropout in the program that was timed: its masks are the framework's own, so losses are compared in distribution."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from benchmarker.api.optimizer import Optimizer
from benchmarker.data import values
from benchmarker.errors import UnsupportedError
from benchmarker.graph.graph import Graph
from benchmarker.worker.verification import reference
from benchmarker.worker.verification.budget import Budget
from benchmarker.worker.verification.findings import Check, check_of, left_out
from benchmarker.worker.verification.further_steps import FurtherSteps
from benchmarker.worker.verification.reference_cost import BACKWARD, fits_memory, forward_seconds

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

DROPOUT, EQUAL_SAMPLES = "dropout", "dropout of equal samples"
MIN_DRAWS, MAX_DRAWS = 16, 400
"""Masks that are drawn for one mini-batch and the same weights: as many as the budget allows."""
MAX_EQUAL_DRAWS = 100
"""The same for equal samples, whose losses vary as many times as much as there are samples if they share a mask."""
BUDGET_SHARE = 0.5
"""Of what is left."""
MAX_DEVIATIONS = 5.0
"""Standard errors that the means of two right programs may be apart: once in a million comparisons they are further."""
MAX_VARIANCE_RATIO = 20.0
"""Of two variances of 16 normal draws; the quotient is beyond it either way less than once in a million times."""
VARIANCE_MARGIN = 1.25
"""Room over what draws of the tails that were seen give."""


def dropout_checks(
    graph: Graph, steps: FurtherSteps, batch: Mapping[str, Array], budget: Budget
) -> Iterator[Check]:
    """Compare the losses of one mini-batch under many masks with the reference's: their mean and their variance.

    Samples that share a mask show best where all are equal, which batch normalization would make zeros of.
    The program gets the same weights before each step, and is left with them moved by one.
    """
    yield _compared(DROPOUT, MAX_DRAWS, graph, steps, batch, budget)
    if graph.batch_size > 1 and not graph.operands and not graph.statistics:
        equal = values.repeated_samples(batch, 1, graph.batch_size, graph.counted)
        yield _compared(EQUAL_SAMPLES, MAX_EQUAL_DRAWS, graph, steps, equal, budget)


def _compared(
    name: str, most: int, graph: Graph, steps: FurtherSteps, batch: Mapping[str, Array], budget: Budget
) -> Check:
    each = BACKWARD * forward_seconds(graph)
    draws = min(most, int(BUDGET_SHARE * budget.left / each))
    if draws < MIN_DRAWS or not fits_memory(graph, backward=True):
        return left_out(name, f"the reference of {MIN_DRAWS} masks takes about {MIN_DRAWS * each:.2g} s")
    weights = steps.program.parameters()
    native = steps.load(batch)
    found = []
    try:
        for _ in range(draws):
            steps.program.assign(weights)
            found.append(float(steps.values(native)[0]))
    except UnsupportedError as reason:
        return left_out(name, str(reason))
    program = reference.build("fp64")(graph, weights, "training", Optimizer())
    given = program.load(batch)
    expected = [float(program.half_step(given)[0]) for _ in range(draws)]
    words = f"the loss of {draws} masks is {_words(found)}, in the reference {_words(expected)}"
    return check_of(name, [] if _agree(found, expected) else [words], words)


def _words(losses: Sequence[float]) -> str:
    return f"{statistics.fmean(losses):.4g} on average, with a deviation of {statistics.stdev(losses):.3g}"


def _agree(found: Sequence[float], expected: Sequence[float]) -> bool:
    if not all(map(math.isfinite, found)):
        return False
    ours, theirs = statistics.variance(found), statistics.variance(expected)
    if theirs == 0.0:
        return True
    apart = abs(statistics.fmean(found) - statistics.fmean(expected))
    error = math.sqrt((ours + theirs) / len(found))
    limit = _variance_limit(found, expected)
    return apart <= MAX_DEVIATIONS * error and 1 / limit <= ours / theirs <= limit


def _variance_limit(found: Sequence[float], expected: Sequence[float]) -> float:
    """Return the largest quotient of the variances of two right programs: the nearer to 1, the more draws there are."""
    # The logarithm of the variance of n draws has the variance (kurtosis - 1) / n, and somewhat more for few.
    spread = (_kurtosis(found) + _kurtosis(expected) - 2.0) / (len(found) - 5)
    return min(MAX_VARIANCE_RATIO, VARIANCE_MARGIN * math.exp(MAX_DEVIATIONS * math.sqrt(spread)))


def _kurtosis(losses: Sequence[float]) -> float:
    """Return how heavy the tails are: 3 for normal draws, and no less is believed."""
    mean, squares = statistics.fmean(losses), statistics.pvariance(losses)
    fourth = statistics.fmean((loss - mean) ** 4 for loss in losses)
    return max(3.0, fourth / squares**2) if squares > 0 else 3.0
