"""Checks of small versions of the problems, in every mode, against the reference."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker import problems
from benchmarker.api.problem import Problem
from benchmarker.api.program import Program
from benchmarker.errors import BenchmarkerError, first_line
from benchmarker.graph.cost import graph_cost
from benchmarker.graph.graph import Graph
from benchmarker.quick_dataclass import dataclass
from benchmarker.worker.conformance.result import CheckFailed, Measurement, Skipped
from benchmarker.worker.conformance.subject import (
    Check,
    Subject,
    draw_batch,
    draw_parameters,
    fetch_outputs,
    require_same_parameters,
)
from benchmarker.worker.verification import reference
from benchmarker.worker.verification.stable_batches import most_stable_batch
from benchmarker.worker.verification.tolerances import Expected, floor_of, tolerances, too_ill_conditioned
from benchmarker.worker.verification.verdicts import judge

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


@dataclass(frozen=True)
class SmallProblem:
    """A problem at its reduced size, or with other parameters yet."""

    name: str
    problem: Problem
    values: Mapping[str, Any]

    def graph(self) -> Graph:
        return self.problem.graph(self.problem.reduced_batch_size, **self.values)


def builtin_problems() -> tuple[Problem, ...]:
    """Return every problem of the package, members of families too, in order of name."""
    found: dict[str, Problem] = {}
    for module_info in pkgutil.iter_modules(problems.__path__):
        module = importlib.import_module(f"{problems.__name__}.{module_info.name}")
        members = [value for value in vars(module).values() if isinstance(value, Problem)]
        if hasattr(module, "benchmarker_problem"):
            members.append(module.benchmarker_problem())
        found.update((problem.name, problem) for problem in members)
    return tuple(found[name] for name in sorted(found))


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
    return _verdict(subject, graph, reference.compute(graph, parameters, batch, "inference"), found)


WHOLE_TOLERANCE = 1.0
OTHER_BATCHES = 4
"""Mini-batches among which the most stable one is looked for where rounding may have switched a rectifier."""


def _training(small: SmallProblem, subject: Subject) -> Measurement:
    graph, optimizer = small.graph(), small.problem.optimizer
    parameters, batch = draw_parameters(graph, subject.seed), draw_batch(graph, subject.seed)
    program = subject.program(graph, parameters, "training", optimizer)
    require_same_parameters(program, graph, parameters)
    found, vanishing = _gradients_verdict(program, subject, graph, parameters, batch)
    if (found.error or 0.0) > WHOLE_TOLERANCE:
        # The reference alone says at which mini-batch a right framework cannot differ so far; that one counts.
        others = [draw_batch(graph, subject.seed + 1 + n) for n in range(OTHER_BATCHES)]
        batch = most_stable_batch(graph, parameters, optimizer, others)
        found, vanishing = _gradients_verdict(program, subject, graph, parameters, batch)
    (step_loss,) = program.fetch(program.train_step(program.load(batch)))
    if not np.isfinite(step_loss):
        raise CheckFailed(f"train_step returned the loss {step_loss}")
    _require_moved(graph, parameters, program.parameters(), vanishing)
    return found


def _gradients_verdict(
    program: Program, subject: Subject, graph: Graph, parameters: dict[str, Array], batch: dict[str, Array]
) -> tuple[Measurement, set[str]]:
    """Return the verdict on loss and gradients of a mini-batch, and the parameters whose gradients vanish."""
    loss, gradients = program.gradients(program.load(batch))
    computed = reference.compute(graph, parameters, batch, "training")
    expected = [e for e in computed if e.kind != "statistic"]  # of a step, which is checked elsewhere
    found = _verdict(subject, graph, expected, {"loss": np.asarray(loss), **gradients})
    return found, _vanishing(expected)


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
    return _verdict(
        subject, graph, reference.compute(graph, parameters, batch, "gradient"), {**outputs, **gradients}
    )


def _verdict(
    subject: Subject, graph: Graph, expected: list[Expected], found: dict[str, Array]
) -> Measurement:
    """Judge by the tolerances of a verified run: what rounding did to the reference, tensor by tensor."""
    impossible = too_ill_conditioned(expected)
    if impossible is not None:
        raise CheckFailed(impossible)
    missing = [e.name for e in expected if e.name not in found]
    if missing:
        raise CheckFailed(f"there must be values for {', '.join(missing)}")
    limits = tolerances(expected, "fp32", floor_of(graph.operators, subject.device.type))
    worst = max((judge(e, found[e.name], limits[e.name]) for e in expected), key=lambda v: v.used)
    detail = f"{worst.kind} '{worst.name}': norm {worst.norm_error:.2g}, allowed {worst.norm_tolerance:.2g}"
    return Measurement(worst.used, WHOLE_TOLERANCE, f"share of its tolerance that {detail}")


VANISHING = 1e-6
"""A gradient that is smaller than this beside the largest is zero but for rounding, as a bias' before a norm."""


def _vanishing(expected: list[Expected]) -> set[str]:
    norms = {e.name: e.tensor_sample.norm for e in expected if e.kind == "gradient"}
    return {name for name, norm in norms.items() if norm < VANISHING * max(norms.values())}


def _require_moved(
    graph: Graph, before: dict[str, Array], after: dict[str, Array], vanishing: set[str]
) -> None:
    """Refuse a step that leaves a parameter as it was, but one whose gradient is zero, or moves a constant."""
    moving = [p.name for p in graph.parameters if p.trainable or p.name in graph.statistics]
    still = [n for n in moving if n not in vanishing and np.array_equal(before[n], after[n])]
    if still:
        raise CheckFailed(f"train_step must change every parameter; it did not change {', '.join(still[:5])}")
    turned = [name for name in before if name not in moving and not np.array_equal(before[name], after[name])]
    if turned:
        raise CheckFailed(f"train_step must leave constants alone; it changed {', '.join(turned[:5])}")


class _Once:
    """A measurement of problems that are one graph at their reduced size, as members of a family may be: made once.

    Parameters
    ----------
    small : SmallProblem
        The first of them.
    measure : callable
        Measures it.
    """

    def __init__(self, small: SmallProblem, measure: Callable[[SmallProblem, Subject], Measurement]) -> None:
        self._small, self._measure = small, measure
        self._subject: Subject | None = None
        self._found = Measurement()

    def __call__(self, subject: Subject) -> Measurement:
        if self._subject is not subject:
            self._found = self._measure(self._small, subject)
            self._subject = subject
        return self._found

    def of_another(self, subject: Subject) -> Measurement:
        """Return the measurement for a problem of another name."""
        found = self(subject)
        return replace(found, detail=f"the same as '{self._small.name}' at this size: {found.detail}")


def problem_checks() -> tuple[Check, ...]:
    """Return checks of inference and training for each small problem; operators have gradients instead."""
    checks: list[Check] = []
    known: list[tuple[tuple[Any, ...], dict[str, _Once]]] = []
    for small in small_problems():
        graph = replace(small.graph(), name="")
        what = (graph, small.problem.optimizer, small.problem.modes)
        earlier = next((measured for other, measured in known if other == what), None)
        measured = earlier or {mode: _Once(small, measure) for mode, measure in _measures(small, graph)}
        if earlier is None:
            known.append((what, measured))
        for mode, once in measured.items():
            measure = once if earlier is None else once.of_another
            checks.append(Check(f"problem/{small.name}/{mode}", measure))
    return tuple(checks)


def _measures(
    small: SmallProblem, graph: Graph
) -> Iterator[tuple[str, Callable[[SmallProblem, Subject], Measurement]]]:
    yield "inference", _inference
    if graph.loss is not None:
        yield "training", _training
    elif "gradient" in small.problem.modes:
        yield "gradient", _gradient


MAX_FLOPS = 5e9
"""Of the forward pass of a problem without a reduced size: the float64 reference computes it several times."""


def installed_problem_checks(name: str, load: Callable[[], Problem]) -> tuple[Check, ...]:
    """Return checks of a problem that is not ours. What is wrong with it is no fault of the framework.

    Parameters
    ----------
    name : str
        Of its entry point.
    load : callable
        Imports it.
    """
    return tuple(
        Check(f"problem/{name}/{mode}", partial(_of_installed, load, mode))
        for mode in ("inference", "training")
    )


def _of_installed(load: Callable[[], Problem], mode: str, subject: Subject) -> Measurement:
    try:
        problem = load()
        small = SmallProblem(problem.name, problem, problem.reduced)
        graph = small.graph()
    except BenchmarkerError as error:
        raise Skipped(f"the problem is broken: {error}") from None
    except (Exception, SystemExit) as error:
        raise Skipped(f"the problem is broken: {first_line(error)}") from None
    flops = graph_cost(graph.without_loss()).forward_flops
    if flops > MAX_FLOPS and not problem.reduced:
        raise Skipped(f"the problem has no reduced size, and needs {flops:.1e} FLOP for a forward pass")
    if mode == "inference":
        return _inference(small, subject)
    if graph.loss is None:
        raise Skipped("the problem has no loss to train with")
    return _training(small, subject)
