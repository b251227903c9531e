"""What a step of a run computes, moves and keeps, from the graph alone."""

from __future__ import annotations

from benchmarker import registry
from benchmarker.experiment.spec import RunSpec
from benchmarker.graph.cost import GraphCost, graph_cost


def step_cost(spec: RunSpec) -> GraphCost:
    graph = registry.problem(spec.problem).graph(spec.batch_size, **spec.problem_parameters)
    if spec.mode == "inference":
        return graph_cost(graph.without_loss(), precision=spec.precision)
    return graph_cost(graph.for_gradient(), training=True, precision=spec.precision)
