"""Whether each step of training follows from the weights that it started from.

The reference makes every step from the framework's own weights. Two trainings drift apart: one rectifier
that rounding switches moves all that comes later. A single step has no time to.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.plugins.numpy.optimizers import make_update
from benchmarker.worker import reference
from benchmarker.worker.coarse import FRACTION_BITS
from benchmarker.worker.findings import Build, Findings, Question
from benchmarker.worker.verification import EPSILON, NO_ERRORS, Expected, excerpt

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

STORED = 2 * EPSILON["fp32"]
"""Roundings of a stored parameter, as a share of it: one where a step starts, one where it ends."""


@dataclass(frozen=True)
class Course:
    """What a training did.

    Parameters
    ----------
    losses : ndarray, shape (steps,)
        Of each step, before its update.
    states : mapping
        Name of a parameter or running statistic to its values before each step and after the last, of
        shape (steps + 1, ...).
    """

    losses: Array
    states: Mapping[str, Array]

    def before(self, step: int) -> dict[str, Array]:
        """Return the values that a step starts from."""
        return {name: values[step] for name, values in self.states.items()}


def train(question: Question, build: Build, probe: str) -> Course:
    """Train a framework some steps, on a mini-batch of its own each."""
    graph, parameters = question.training_graph, question.parameters()
    moving = sorted({p.name for p in graph.trainable}.union(*(node.statistics for node in graph.nodes)))
    program = build(graph, parameters, "training", question.optimizer(probe))
    states = [{name: parameters[name] for name in moving}]
    losses = []
    for step in range(question.steps):
        output = program.train_step(program.load(question.batch(probe, step)))
        program.synchronize(output)
        losses.append(float(program.fetch(output)[0]))
        after = program.parameters()
        states.append({name: after[name] for name in moving})
    return Course(np.array(losses), {name: np.stack([state[name] for state in states]) for name in moving})


def courses(question: Question, build: Build) -> dict[str, Course]:
    """Train with every optimizer that is asked for."""
    return {probe: train(question, build, probe) for probe in question.probes}


def changes(found: Mapping[str, Course]) -> list[Expected]:
    """Return losses and the change of each parameter in each step, in the form that is saved."""
    tensors = []
    for probe, course in found.items():
        tensors.append(Expected(_name(probe), probe, excerpt(_name(probe), course.losses), NO_ERRORS))
        for name, values in course.states.items():
            full = _name(probe, name)
            change = np.diff(values.astype(np.float64), axis=0)
            stored = STORED * float(np.linalg.norm(values[:-1].astype(np.float64)))
            tensors.append(Expected(full, probe, excerpt(full, change), NO_ERRORS, stored=stored))
    return tensors


def expected_changes(question: Question, found: Mapping[str, Course]) -> list[Expected]:
    """Return what the changes should have been: the reference's, from the framework's weights."""
    stored = {e.name: e.stored for e in changes(found)}
    exactly = replace(question, precision="fp32")
    single = "fp64" if question.precision in FRACTION_BITS else "fp32"
    expected = []
    for probe, course in found.items():
        exact = _followed(exactly, probe, course, "fp64")
        switched = _followed(exactly, probe, course, "fp64", reference.switching(question.precision))
        rounded = _followed(question, probe, course, single)
        expected += reference.with_errors(exact, rounded, switched)
    return [replace(e, stored=stored[e.name]) for e in expected]


def _followed(
    question: Question, probe: str, course: Course, precision: str, switched: float = 0.0
) -> Findings:
    """Make each step of a course again: gradients in ``precision``, what they do to weights in float64."""
    graph = question.training_graph
    program = reference.build(precision, switched)(
        graph, question.parameters(), "training", question.optimizer(probe)
    )
    weights = {p.name: course.states[p.name][0].astype(np.float64) for p in graph.trainable}
    update = make_update(question.optimizer(probe), weights)
    losses: list[float] = []
    steps: dict[str, list[Array]] = {name: [] for name in course.states}
    for step in range(question.steps):
        before = course.before(step)
        program.assign(question.rounded(before))
        loss, gradients = program.half_step(program.load(question.batch(probe, step)))
        for name, values in weights.items():
            values[...] = before[name]
        update({name: gradient.astype(np.float64) for name, gradient in gradients.items()})
        losses.append(float(loss))
        for name, values in before.items():
            after = weights[name] if name in weights else program.value(name).astype(np.float64)
            steps[name].append(after - values)
    findings: Findings = {_name(probe): (probe, np.array(losses))}
    findings.update({_name(probe, name): (probe, np.stack(made)) for name, made in steps.items()})
    return findings


def _name(probe: str, parameter: str = "losses") -> str:
    return f"{probe}: {parameter}"


def save_courses(path: Path, found: Mapping[str, Course]) -> None:
    """Write courses to a file."""
    arrays: dict[str, Any] = {}
    for probe, course in found.items():
        arrays[f"{probe}/losses"] = course.losses
        arrays.update({f"{probe}/states/{name}": values for name, values in course.states.items()})
    np.savez(path, **arrays)


def load_courses(path: Path, probes: Iterable[str]) -> dict[str, Course]:
    """Read what :func:`save_courses` wrote."""
    found = {}
    with np.load(path, allow_pickle=False) as archive:
        for probe in probes:
            start = f"{probe}/states/"
            states = {name[len(start) :]: archive[name] for name in archive.files if name.startswith(start)}
            found[probe] = Course(archive[f"{probe}/losses"], states)
    return found
