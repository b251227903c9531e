"""Checks of small versions of the built-in problems, in every mode, against the reference."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker import problems
from benchmarker.graph.graph import Graph
from benchmarker.problem import Problem
from benchmarker.testing.result import CheckFailed, Measurement
from benchmarker.testing.subject import (
    Check,
    Subject,
    draw_batch,
    draw_parameters,
    fetch_outputs,
    require_same_parameters,
)
from benchmarker.worker import reference
from benchmarker.worker.verification import Expected, judge, tolerances, too_ill_conditioned

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


@dataclass(frozen=True)
class SmallProblem:
    """A built-in problem at its reduced size, or with other parameters yet."""

    name: str
    problem: Problem
    values: Mapping[str, Any]

    def graph(self) -> Graph:
        """Return its graph."""
        return self.problem.graph(self.problem.reduced_batch_size, **self.values)


def builtin_problems() -> tuple[Problem, ...]:
    """Return every problem of the package, in order of name."""
    modules = (
        importlib.import_module(f"{problems.__name__}.{module.name}")
        for module in pkgutil.iter_modules(problems.__path__)
    )
    return tuple(module.benchmarker_problem() for module in modules if hasattr(module, "benchmarker_problem"))


_VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "conv2d": {"groups": 2, "stride": 2, "dilation": 2, "bias": False},
}
"""Other parameters of a problem, checked besides its reduced size."""


def small_problems() -> tuple[SmallProblem, ...]:
    """Return every built-in problem at its reduced size, and some variants."""
    found = []
    for problem in builtin_problems():
        found.append(SmallProblem(problem.name, problem, problem.reduced))
        if problem.name in _VARIANTS:
            values = {**problem.reduced, **_VARIANTS[problem.name]}
            found.append(SmallProblem(f"{problem.name}-variant", problem, values))
    return tuple(found)


def _inference(small: SmallProblem, subject: Subject) -> Measurement:
    graph = small.graph().without_loss()
    parameters, batch = draw_parameters(graph, subject.seed), draw_batch(graph, subject.seed)
    program = subject.program(graph, parameters, "inference")
    require_same_parameters(program, graph, parameters)
    found = fetch_outputs(program, graph, program.load(batch))
    return _verdict(reference.compute(graph, parameters, batch, "inference"), found)


def _training(small: SmallProblem, subject: Subject) -> Measurement:
    graph = small.graph()
    parameters, batch = draw_parameters(graph, subject.seed), draw_batch(graph, subject.seed)
    program = subject.program(graph, parameters, "training", small.problem.optimizer)
    require_same_parameters(program, graph, parameters)
    loaded = program.load(batch)
    loss, gradients = program.gradients(loaded)
    expected = reference.compute(graph, parameters, batch, "training")
    found = _verdict(expected, {"loss": np.asarray(loss), **gradients})
    (step_loss,) = program.fetch(program.train_step(loaded))
    if not np.isfinite(step_loss):
        raise CheckFailed(f"train_step returned the loss {step_loss}")
    _require_moved(graph, parameters, program.parameters(), _vanishing(expected))
    return found


def _gradient(small: SmallProblem, subject: Subject) -> Measurement:
    graph = small.graph().for_gradient()
    parameters, batch = draw_parameters(graph, subject.seed), draw_batch(graph, subject.seed)
    program = subject.program(graph, parameters, "gradient")
    require_same_parameters(program, graph, parameters)
    loaded = program.load(batch)
    output = program.gradient_step(loaded)
    program.synchronize(output)
    outputs = dict(zip(graph.outputs, program.fetch(output[0])))
    _, gradients = program.gradients(loaded)
    return _verdict(reference.compute(graph, parameters, batch, "gradient"), {**outputs, **gradients})


def _verdict(expected: list[Expected], found: dict[str, Array]) -> Measurement:
    """Judge by the tolerances of a verified run: what rounding did to the reference, tensor by tensor."""
    impossible = too_ill_conditioned(expected)
    if impossible is not None:
        raise CheckFailed(impossible)
    missing = [e.name for e in expected if e.name not in found]
    if missing:
        raise CheckFailed(f"there must be values for {', '.join(missing)}")
    limits = tolerances(expected, "fp32")
    worst = max((judge(e, found[e.name], limits[e.name]) for e in expected), key=lambda v: v.used)
    detail = f"{worst.kind} '{worst.name}': norm {worst.norm_error:.2g}, allowed {worst.norm_tolerance:.2g}"
    return Measurement(worst.used, 1.0, f"share of its tolerance that {detail}")


VANISHING = 1e-6
"""A gradient that is smaller than this beside the largest is zero but for rounding, as a bias' before a norm."""


def _vanishing(expected: list[Expected]) -> set[str]:
    norms = {e.name: e.excerpt.norm for e in expected if e.kind == "gradient"}
    return {name for name, norm in norms.items() if norm < VANISHING * max(norms.values())}


def _require_moved(
    graph: Graph, before: dict[str, Array], after: dict[str, Array], vanishing: set[str]
) -> None:
    """Refuse a step that leaves a parameter as it was, but one whose gradient is zero, or moves a constant."""
    statistics = {name for node in graph.nodes for name in node.statistics}
    moving = [p.name for p in graph.parameters if p.trainable or p.name in statistics]
    still = [n for n in moving if n not in vanishing and np.array_equal(before[n], after[n])]
    if still:
        raise CheckFailed(f"train_step must move every parameter; did not move: {', '.join(still[:5])}")
    turned = [name for name in before if name not in moving and not np.array_equal(before[name], after[name])]
    if turned:
        raise CheckFailed(f"train_step must leave constants alone; it changed {', '.join(turned[:5])}")


def problem_checks() -> tuple[Check, ...]:
    """Return checks of inference and training for each small problem; operators have gradients instead."""
    checks = []
    for small in small_problems():
        checks.append(Check(f"problem/{small.name}/inference", partial(_inference, small)))
        if small.graph().loss is not None:
            checks.append(Check(f"problem/{small.name}/training", partial(_training, small)))
        elif "gradient" in small.problem.modes:
            checks.append(Check(f"problem/{small.name}/gradient", partial(_gradient, small)))
    return tuple(checks)
