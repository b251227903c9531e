"""Whether each step of training follows from the weights that it started from.

The reference makes every step from the framework's own weights. Two trainings drift apart: one rectifier
that rounding switches moves all that comes later. A single step has no time to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.plugins.numpy.equations import Equations
from benchmarker.quick_dataclass import dataclass
from benchmarker.training.optimizers.advance import places
from benchmarker.worker.verification import reference
from benchmarker.worker.verification.archive import open_archive
from benchmarker.worker.verification.low_precision import FRACTION_BITS, MODELLED, rounding_trials
from benchmarker.worker.verification.probes import Build, ProbeResults, ProbeSpec
from benchmarker.worker.verification.samples import NO_ERRORS, tensor_sample
from benchmarker.worker.verification.tolerances import EPSILON, Expected

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

STORED_ROUNDINGS = 2
"""Of a stored parameter: one where a step starts, one where it ends."""


@dataclass(frozen=True)
class Trajectory:
    """What a training did in the steps that are followed.

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


def train(spec: ProbeSpec, build: Build, probe: str) -> Trajectory:
    """Train a framework some steps, on a mini-batch of its own each."""
    graph, parameters = spec.training_graph, spec.parameters()
    moving = sorted({p.name for p in graph.trainable}.union(graph.statistics))
    program = build(graph, parameters, "training", spec.optimizer(probe))
    followed = spec.followed(probe)
    for step in range(followed.start):
        program.synchronize(program.train_step(program.load(spec.batch(probe, step))))
    before = program.parameters() if followed.start else parameters
    states = [{name: before[name] for name in moving}]
    losses = []
    for step in followed:
        output = program.train_step(program.load(spec.batch(probe, step)))
        program.synchronize(output)
        losses.append(float(program.fetch(output)[0]))
        after = program.parameters()
        states.append({name: after[name] for name in moving})
    return Trajectory(
        np.array(losses), {name: np.stack([state[name] for state in states]) for name in moving}
    )


def trajectories(spec: ProbeSpec, build: Build) -> dict[str, Trajectory]:
    """Train with every optimizer that is asked for."""
    return {probe: train(spec, build, probe) for probe in spec.probes}


def changes(found: Mapping[str, Trajectory]) -> list[Expected]:
    """Return losses and the change of each parameter in each step, in the form that is saved."""
    tensors = []
    for probe, trajectory in found.items():
        tensors.append(
            Expected(_name(probe), probe, tensor_sample(_name(probe), trajectory.losses), NO_ERRORS)
        )
        for name, values in trajectory.states.items():
            full = _name(probe, name)
            change = np.diff(values.astype(np.float64), axis=0)
            kept = EPSILON["fp64" if values.dtype == np.float64 else "fp32"]
            stored = STORED_ROUNDINGS * kept * float(np.linalg.norm(values[:-1].astype(np.float64)))
            tensors.append(Expected(full, probe, tensor_sample(full, change), NO_ERRORS, stored=stored))
    return tensors


def expected_changes(spec: ProbeSpec, found: Mapping[str, Trajectory]) -> list[Expected]:
    """Return what the changes should have been: the reference's, from the framework's weights."""
    stored = {e.name: e.stored for e in changes(found)}
    exactly = replace(spec, precision="fp32")
    single = "fp64" if spec.precision in FRACTION_BITS else "fp32"
    expected = []
    for probe, trajectory in found.items():
        exact = _followed(exactly, probe, trajectory, "fp64")
        switched = _followed(exactly, probe, trajectory, "fp64", reference.switching(spec.precision))
        if spec.precision in MODELLED:
            trials = rounding_trials(spec.precision)
            tried = [_followed(spec, probe, trajectory, "fp32", rounded=trial) for trial in trials]
            expected += reference.with_trials(exact, tried, switched)
            continue
        rounded = _followed(spec, probe, trajectory, single)
        expected += reference.with_errors(exact, rounded, switched, spec.precision)
    return [replace(e, stored=stored[e.name]) for e in expected]


def _followed(
    spec: ProbeSpec,
    probe: str,
    trajectory: Trajectory,
    precision: str,
    switched: float = 0.0,
    rounded: Callable[[Array], Array] | None = None,
) -> ProbeResults:
    """Make each step of a course again: gradients in ``precision``, what they do to weights in float64."""
    graph = spec.training_graph
    program = reference.build(precision, switched, rounded)(
        graph, spec.parameters(), "training", spec.optimizer(probe)
    )
    weights = {p.name: trajectory.states[p.name][0].astype(np.float64) for p in graph.trainable}
    update = Equations(spec.optimizer(probe), weights, where=tuple(places(graph).values()))
    losses: list[float] = []
    steps: dict[str, list[Array]] = {name: [] for name in trajectory.states}
    for number, step in enumerate(spec.followed(probe)):
        before = trajectory.before(number)
        program.assign(spec.rounded(before))
        loss, gradients = program.half_step(program.load(spec.batch(probe, step)))
        for name, values in weights.items():
            values[...] = before[name]
        update({name: gradient.astype(np.float64) for name, gradient in gradients.items()})
        losses.append(float(loss))
        for name, values in before.items():
            after = weights[name] if name in weights else program.value(name).astype(np.float64)
            steps[name].append(after - values)
    results: ProbeResults = {_name(probe): (probe, np.array(losses))}
    results.update({_name(probe, name): (probe, np.stack(made)) for name, made in steps.items()})
    return results


def _name(probe: str, parameter: str = "losses") -> str:
    return f"{probe}: {parameter}"


def save_trajectories(path: Path, found: Mapping[str, Trajectory]) -> None:
    """Write courses to a file."""
    arrays: dict[str, Any] = {}
    for probe, trajectory in found.items():
        arrays[f"{probe}/losses"] = trajectory.losses
        arrays.update({f"{probe}/states/{name}": values for name, values in trajectory.states.items()})
    np.savez(path, **arrays)


def load_trajectories(path: Path, probes: Iterable[str]) -> dict[str, Trajectory]:
    """Read what :func:`save_trajectories` wrote."""
    found = {}
    with open_archive(path) as archive:
        for probe in probes:
            start = f"{probe}/states/"
            states = {name[len(start) :]: archive[name] for name in archive.files if name.startswith(start)}
            found[probe] = Trajectory(archive[f"{probe}/losses"], states)
    return found
