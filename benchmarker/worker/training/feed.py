"""The mini-batches of the steps, made where the run says, and how long the steps waited for them."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarker.data.batches import BatchFeeder
from benchmarker.data.feeding import TrainingFeed
from benchmarker.data.training_batches import TrainingBatches
from benchmarker.worker.training.curve import Curve

MIN_DEPTH, MAX_DEPTH = 2, 64
"""Mini-batches that are made ahead: those of a row of steps, which are taken one right after the other."""


def open_feed(
    feeder: BatchFeeder, batches: TrainingBatches, prefetch: str, row: int, most: int
) -> TrainingFeed:
    """Have the steps take mini-batches from a feed, which is to be closed.

    Parameters
    ----------
    feeder : BatchFeeder
        Yields them to the steps, and has yielded some.
    batches : TrainingBatches
        The same, for the feed alone.
    prefetch : {"none", "thread", "process"}
        Where they are made.
    row : int
        Mini-batches that are taken at a time at most.
    most : int
        Mini-batches at most, those that were yielded included.
    """
    depth = min(max(row, MIN_DEPTH), MAX_DEPTH)
    start = feeder.taken
    feed = TrainingFeed(batches, start=start, count=most - start, prefetch=prefetch, depth=depth)
    feeder.follow(lambda: next(feed).arrays)
    return feed


def feed_record(feed: TrainingFeed, curve: Curve) -> dict[str, Any]:
    """Return what the record says of a feed that has been closed.

    Parameters
    ----------
    feed : TrainingFeed
        Whose first mini-batch was not that of the first step.
    curve : Curve
        The evaluations, before each of which the steps had taken as many mini-batches as there were steps.
    """
    steps = [row.step for row in curve.rows]
    waits = np.concatenate([np.zeros(feed.start), feed.waits])
    bias = feed.bias
    return {
        "prefetch": feed.prefetch,
        "depth": feed.depth,
        "waits": [float(waits[first:last].sum()) for first, last in zip([0, *steps], steps)],
        "waited_seconds": float(sum(feed.waits)),
        "bias": {
            "given": list(bias.given),
            "available": list(bias.available),
            "total_variation": bias.total_variation,
        },
    }
