"""The samples of one process: which are steady, when each was taken, and fewer of them where there are too many."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarker.plots.gathering import Record
from benchmarker.report.asked import value_at
from benchmarker.statistics import percentile


def has_course(record: Record) -> bool:
    """Tell whether a run has several samples; an imported record may have the mean of all alone."""
    return len(record["timing"]["samples_seconds"] or ()) > 1


def steady_samples(record: Record) -> list[float]:
    """Return the seconds a step of the timed samples from the steady state on."""
    samples: list[float] = record["timing"]["samples_seconds"]
    return samples[steady_start(record) :]


def steady_start(record: Record) -> int:
    """Return the number of the first sample that the statistics take."""
    return int(value_at(record, "timing.steady_state.start") or 0)


def block_steps(record: Record) -> int:
    """Return how many steps a sample is the mean of."""
    return int(value_at(record, "timing.block_steps") or 1)


def quantiles(samples: Sequence[float], most: int) -> list[float]:
    """Return the samples in ascending order, or so many evenly spaced quantiles if they are more."""
    ordered = sorted(samples)
    if len(ordered) <= most:
        return ordered
    return [percentile(ordered, 100 * place / (most - 1)) for place in range(most)]


def extremes(samples: Sequence[float], most: int) -> list[int]:
    """Return the places of all samples, or of the smallest and the largest of each of many stretches."""
    if len(samples) <= most:
        return list(range(len(samples)))
    stretches = most // 2
    edges = [len(samples) * i // stretches for i in range(stretches + 1)]
    chosen: set[int] = set()
    for begin, end in zip(edges, edges[1:]):
        places = range(begin, end)
        chosen.update((min(places, key=samples.__getitem__), max(places, key=samples.__getitem__)))
    return sorted(chosen)
