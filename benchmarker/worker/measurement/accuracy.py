"""How well a trained program classifies: outside of the timed part, by a program for inference of its weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from benchmarker.api.program import Program
from benchmarker.data.batches import Batches
from benchmarker.graph.graph import Graph

EVALUATED_SAMPLES = 2000
"""More tell little more: at 2,000 the standard error of the accuracy is about one percent at most."""


def accuracy(
    graph: Graph, batches: Batches, parameters: Mapping[str, Any], build: Callable[[Graph, Any], Program]
) -> float | None:
    """Return the share of samples that are classified rightly, of the data set that was trained on.

    Parameters
    ----------
    graph : Graph
        With its labels.
    batches : Batches
        Of the data set; those of the first epoch are taken, up to :data:`EVALUATED_SAMPLES` samples.
    parameters : mapping
        After training.
    build : callable
        ``build(graph, parameters)`` returns a program for inference.

    Returns
    -------
    float or None
        None where the graph has no one output ``(N, classes)`` beside labels ``(N,)``.
    """
    labels = [i.name for i in graph.inputs if i.type.dtype == "int64"]
    shape = graph.types[graph.outputs[0]].shape
    if len(labels) != 1 or len(graph.outputs) != 1 or len(shape) != 2:
        return None
    inference = graph.without_loss()
    program = build(inference, {p.name: parameters[p.name] for p in inference.parameters})
    right = total = 0
    for number in range(min(batches.distinct, max(1, EVALUATED_SAMPLES // graph.batch_size))):
        batch = batches.batch(number)
        output = program.infer(program.load({i.name: batch[i.name] for i in inference.inputs}))
        program.synchronize(output)
        (scores,) = program.fetch(output)
        right += int((np.asarray(scores).argmax(axis=1) == batch[labels[0]]).sum())
        total += graph.batch_size
    return right / total
