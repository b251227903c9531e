"""Whether a problem suits the level and the modes of an experiment."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarker.api.problem import OPERATOR, Problem
from benchmarker.graph.graph import Graph


def wrong_level(level: str | None, problem: Problem) -> str | None:
    """Return why a problem does not belong to a level, None if it does."""
    if level not in ("operator", "network") or (problem.task == OPERATOR) == (level == "operator"):
        return None
    rule = "of operators alone" if level == "operator" else "of networks, no operators"
    return f"the level {level} is {rule}; the task of problem '{problem.name}' is {problem.task}"


def wrong_modes(modes: Sequence[str], problem: Problem) -> str | None:
    """Return why no mode of an experiment is one of a problem, None if one is."""
    if set(problem.modes) & set(modes):
        return None
    return f"problem '{problem.name}' is for {' and '.join(problem.modes)} only, got {' and '.join(modes)}"


def missing_for_training(graph: Graph) -> str:
    """Return what a graph lacks for training, nothing if it can be trained."""
    if graph.loss is None:
        return "loss to train with"
    return "" if graph.trainable else "weights to train"
