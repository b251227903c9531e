"""Checks of generation: outputs of a step become inputs of the next, and no step changes what was kept."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarker.api.generation import PROMPT, STEP, WHOLE, Stage
from benchmarker.api.problem import Problem
from benchmarker.api.program import Program
from benchmarker.graph.graph import Graph
from benchmarker.worker.conformance.result import (
    NETWORK_TOLERANCE,
    CheckFailed,
    Measurement,
    Skipped,
    compare,
)
from benchmarker.worker.conformance.subject import (
    Check,
    Subject,
    draw_batch,
    draw_parameters,
    reference_program,
)
from benchmarker.worker.generation import GenerationProgram, completed

LENGTHS = (5, 4)
SAMPLES = 2


def generation_checks(problems: tuple[Problem, ...]) -> tuple[Check, ...]:
    """Return one check for each problem that generates."""
    return tuple(
        Check(f"generation/{problem.name}", partial(_generates, problem))
        for problem in problems
        if problem.decode is not None
    )


def _generates(problem: Problem, subject: Subject) -> Measurement:
    if "generation" not in subject.plugin.modes:
        raise Skipped("the plugin does not declare the mode 'generation'")

    def program_of(kind: str) -> Program:
        graph = _graph(problem, kind)
        return subject.program(graph, draw_parameters(graph, subject.seed), "inference")

    program = GenerationProgram(program_of(PROMPT), program_of(STEP), LENGTHS)
    whole = _graph(problem, WHOLE)
    batch = draw_batch(whole, subject.seed)
    scores, tokens = program.fetch(program.infer(program.load(batch)))
    exact = reference_program(whole, draw_parameters(whole, subject.seed), "inference")
    (expected,) = exact.fetch(exact.infer(exact.load(completed(batch, tokens))))
    own: Any = np.take_along_axis(expected, tokens[..., None], axis=-1)[..., 0]
    missed = float((expected.max(axis=-1) - own).max() / np.abs(expected).max())
    if not missed <= 2 * NETWORK_TOLERANCE:
        raise CheckFailed(
            f"a token does not have the highest score: its score is lower by {missed:.2g} of the largest"
        )
    return compare({"scores": scores}, {"scores": expected}, NETWORK_TOLERANCE)


def _graph(problem: Problem, kind: str) -> Graph:
    return problem.stage(Stage(kind, *LENGTHS), SAMPLES, **problem.reduced)
