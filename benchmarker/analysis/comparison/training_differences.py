"""Which test tells whether two groups of trainings differ in the time to their target, and what it finds."""

from __future__ import annotations

from benchmarker.analysis.comparison.censored import least_paired_p, log_rank_p, paired_log_rank_p
from benchmarker.analysis.comparison.training_groups import Sample
from benchmarker.quick_dataclass import dataclass

SIGNIFICANCE = 0.05
MIN_FOR_VERDICT = 4
"""Of fewer runs each no difference of two groups can be shown at 5 %."""
PERMUTATION = "log-rank by permutation"
WITHIN_SEEDS = "log-rank by permutation within seeds"


@dataclass(frozen=True)
class Difference:
    """How probable so large a difference is without one, and the test that says so."""

    p: float
    test: str


def difference_between(first: Sample, second: Sample, *, tests: int = 1) -> Difference | None:
    """Test whether two samples differ; None with too few runs.

    Runs of the same seed start from the same weights and see the same data. Where both samples have the same seeds,
    labels are therefore exchanged within each, unless there are so few that this could show nothing. Seeds and the
    number of tests decide it, never the times.

    Parameters
    ----------
    first, second : Sample
        Of two groups.
    tests : int
        How many tests the result is corrected for.
    """
    if min(len(first.times), len(second.times)) < MIN_FOR_VERDICT:
        return None
    if _is_paired(first, second) and least_paired_p(len(first.seeds)) * tests < SIGNIFICANCE:
        ours, theirs = first.by_seed, second.by_seed
        return Difference(
            paired_log_rank_p(list(ours.values()), [theirs[seed] for seed in ours]), WITHIN_SEEDS
        )
    return Difference(log_rank_p(first.times, second.times), PERMUTATION)


def _is_paired(first: Sample, second: Sample) -> bool:
    """Tell whether each seed of one sample is one of the other, each once."""
    ours, theirs = set(first.seeds), set(second.seeds)
    return ours == theirs and len(ours) == len(first.seeds) == len(second.seeds)
