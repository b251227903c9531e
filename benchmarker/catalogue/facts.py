"""A problem's task, size and cost.

Building every graph takes seconds, so the counts of the built-in problems are kept beside them in
``problems/catalogue.json``; a test holds them to what the problems say.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from benchmarker import registry

CATALOGUE = Path(__file__).resolve().parent.parent / "problems" / "catalogue.json"


@dataclass(frozen=True)
class ProblemFacts:
    """A problem at its default parameters.

    Parameters
    ----------
    name, task : str
        As the problem says.
    parameters : int
        Trainable values.
    flops_per_sample : int
        Of the forward pass: convolutions, matrix and recurrent products.
    batch_size : int
        The default mini-batch.
    trains : bool
        Whether it has a loss.
    """

    name: str
    task: str
    parameters: int
    flops_per_sample: int
    batch_size: int
    trains: bool


def compute_facts(name: str) -> ProblemFacts:
    """Build the problem's graph and count.

    Raises
    ------
    PluginError
        If the problem is broken.
    """
    from benchmarker.graph.cost import graph_cost

    problem = registry.problem(name)
    graph = problem.graph()
    cost = graph_cost(graph.without_loss())
    return ProblemFacts(
        name,
        problem.task,
        graph.parameter_count,
        cost.forward_flops // graph.batch_size,
        graph.batch_size,
        graph.loss is not None,
    )


@cache
def kept() -> dict[str, ProblemFacts]:
    try:
        rows = json.loads(CATALOGUE.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    return {row["name"]: ProblemFacts(**row) for row in rows}


def problem_facts(entry: registry.PluginEntry) -> ProblemFacts:
    """Return what is known of a problem: a built-in one's from the catalogue, another's by building it.

    Raises
    ------
    PluginError
        If the problem is broken or its name is claimed twice.
    """
    registry.find(entry.kind, entry.name)
    if entry.distribution == registry.OWN_DISTRIBUTION and entry.name in kept():
        return kept()[entry.name]
    return compute_facts(entry.name)
