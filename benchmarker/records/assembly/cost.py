"""What a step of a run computes, moves and keeps, from the graph alone."""

from __future__ import annotations

from dataclasses import replace

from benchmarker import registry
from benchmarker.api.generation import PROMPT, STEP, Stage
from benchmarker.experiment.spec import RunSpec
from benchmarker.graph.cost import GraphCost, graph_cost


def step_cost(spec: RunSpec) -> GraphCost:
    if spec.mode == "generation":
        return _generation_cost(spec)
    graph = registry.problem(spec.problem).graph(spec.batch_size, **spec.problem_parameters)
    if spec.mode == "inference":
        return graph_cost(graph.without_loss(), precision=spec.precision)
    return graph_cost(graph.for_gradient(), training=True, precision=spec.precision)


def _generation_cost(spec: RunSpec) -> GraphCost:
    """Return the cost of the prompt and of all steps after it."""
    problem = registry.problem(spec.problem)
    prompt, step = (
        graph_cost(
            problem.stage(
                Stage(kind, spec.prompt_length, spec.output_length),
                spec.batch_size,
                **spec.problem_parameters,
            ),
            precision=spec.precision,
        )
        for kind in (PROMPT, STEP)
    )
    return replace(
        prompt,
        nodes=(*prompt.nodes, *step.nodes * (spec.output_length - 1)),
        activation_bytes=max(prompt.activation_bytes, step.activation_bytes),
    )
