"""What makes no sense in an experiment, each fault with the field it belongs to."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from benchmarker import registry
from benchmarker.api.given_values import repeated
from benchmarker.api.optimizer import constant_faults
from benchmarker.api.suite import Request
from benchmarker.errors import BenchmarkerError, did_you_mean
from benchmarker.experiment.acceptance import limit_faults
from benchmarker.experiment.fault import Fault
from benchmarker.experiment.fitting_faults import fitting_faults, graph_faults
from benchmarker.experiment.framework_version import parse_framework
from benchmarker.experiment.options import OPTIONS
from benchmarker.experiment.requested_plugins import (
    requested_frameworks,
    requested_launchers,
    requested_problems,
)
from benchmarker.experiment.setting_faults import setting_faults, value_faults
from benchmarker.experiment.spec import Experiment


def faults(experiment: Experiment) -> Iterator[Fault]:
    """Yield what is wrong with an experiment, whatever the machine."""
    count = number_of_runs(experiment)
    if count > MAX_RUNS:
        message = f"an experiment may have {MAX_RUNS:,} runs, got {count:,}; give fewer values, or several experiments"
        yield Fault(("seed",) if len(experiment.seeds) > 1 else ("problem",), message)
        return  # to look at each of so many values would take long
    yield from _names(experiment)
    yield from _values_by_themselves(experiment)
    yield from _places(experiment)
    yield from _unknown(experiment)
    wrong_values = [*_requests(experiment), *_settings(experiment)]
    yield from wrong_values
    yield from _optimizers(experiment)
    yield from fitting_faults(experiment)
    if not wrong_values:
        yield from graph_faults(experiment)
    with_what = {"with_data": bool(experiment.data), "with_recipe": experiment.training is not None}
    for name, message in limit_faults(experiment.accept, experiment.modes, **with_what):
        yield Fault(("accept", name), message)


MAX_RUNS = 200_000
"""Planned in half a minute; each takes a second or more to run."""


def number_of_runs(experiment: Experiment) -> int:
    """Return how many runs the matrix has at most: some combinations are one run, and some settings are of a few."""
    axes = [len(option.values_of(experiment)) for option in OPTIONS.values() if option.axis]
    values = (*experiment.settings.values(), *experiment.hyperparameters.values())
    requests = [
        sum(math.prod(max(len(tried), 1) for tried in Request.of(one).settings.values()) for one in many)
        for many in (experiment.frameworks, experiment.problems, experiment.optimizers)
    ]
    requested = experiment.repeats or 1
    repeats = requested if OPTIONS["repeats"].rule.accepts(requested) else 1
    return math.prod(max(count, 1) for count in (*axes, *map(len, values), *requests, repeats))


# --- names and numbers by themselves ---------------------------------------------------------------


def _names(experiment: Experiment) -> Iterator[Fault]:
    for name, values in (
        ("framework", experiment.frameworks),
        ("problem", experiment.problems),
        ("precision", experiment.precisions),
        ("device", experiment.devices),
        ("seed", experiment.seeds),
    ):
        if not values:
            yield Fault((name,), f"there must be at least one {name}, got none")
    yield from _repeated_values(experiment)
    for index, requested in enumerate(experiment.optimizers):
        name = Request.of(requested).name
        try:
            _kind(name)
        except BenchmarkerError as error:
            yield Fault(("optimizer", index), str(error))


def _kind(name: str) -> str:
    """Return the kind of optimizer that a name means, known from now on; an empty one is the problem's own."""
    return registry.update_rule(name).name if name else name


def _kind_or_name(name: str) -> str:
    """Return the kind that a name means; that it means none is a fault of its own."""
    try:
        return _kind(name)
    except BenchmarkerError:
        return name


def _repeated_values(experiment: Experiment) -> Iterator[Fault]:
    yield from _twice("framework", experiment.frameworks)
    yield from _twice("problem", experiment.problems)
    yield from _twice("optimizer", experiment.optimizers)
    for option in OPTIONS.values():
        if option.axis:
            yield from _twice(option.key, option.values_of(experiment))
    for name, values in experiment.hyperparameters.items():
        yield from (Fault(("optimizer", name), fault.message) for fault in _twice(name, values))


def _twice(name: str, values: Sequence[Any]) -> Iterator[Fault]:
    for index in repeated(values):
        value = values[index]
        label = value.name if isinstance(value, Request) else value
        message = f"{name} '{label}' is named twice; --repeats runs it in several processes"
        yield Fault((name, index) if name in ("framework", "problem") else (name,), message)


def _values_by_themselves(experiment: Experiment) -> Iterator[Fault]:
    """Yield each value that its option's rule does not allow, or that names a plugin that there is not."""
    for option in OPTIONS.values():
        known = registry.names(option.plugins) if option.plugins else ()
        for value in option.values_of(experiment):
            yield from (Fault((option.key,), sentence) for sentence in option.faults(value))
            for name in (value if option.is_set else [value]) if option.plugins else ():
                if name not in known:
                    what = registry.noun(option.plugins)
                    yield Fault((option.key,), f"unknown {what} '{name}'{did_you_mean(name, known)}")


def _places(experiment: Experiment) -> Iterator[Fault]:
    for gpus in experiment.gpus:
        if len(gpus) > 1:
            yield Fault(("gpus",), f"a run uses one GPU, got --gpus={','.join(map(str, gpus))}")
        elif gpus and "cuda" not in experiment.devices:
            device = experiment.devices[0] if experiment.devices else "none"
            yield Fault(("gpus",), f"--gpus={gpus[0]} needs --device=cuda, got --device={device}")
    if experiment.data_dir is not None and not experiment.data:
        yield Fault(("data_dir",), f"the folder '{experiment.data_dir}' needs the name of a data set")


def _unknown(experiment: Experiment) -> Iterator[Fault]:
    for index, requested in enumerate(experiment.frameworks):
        try:
            parse_framework(Request.of(requested).name)
        except BenchmarkerError as error:
            yield Fault(("framework", index), str(error))
    for index, requested in enumerate(experiment.problems):
        try:
            registry.problem(Request.of(requested).name)
        except BenchmarkerError as error:
            yield Fault(("problem", index), str(error))


# --- settings and optimizers -----------------------------------------------------------------------


def _requests(experiment: Experiment) -> Iterator[Fault]:
    for index, framework in requested_frameworks(experiment).items():
        owner = f"framework '{framework.name}'"
        settings = Request.of(experiment.frameworks[index]).settings
        for where, message in value_faults(settings, framework.options, owner):
            yield Fault(("framework", index, *where), message)
    for index, problem in requested_problems(experiment).items():
        settings = Request.of(experiment.problems[index]).settings
        for where, message in value_faults(settings, problem.parameters, f"problem '{problem.name}'"):
            yield Fault(("problem", index, *where), message)


def _settings(experiment: Experiment) -> Iterator[Fault]:
    frameworks, problems = requested_frameworks(experiment), requested_problems(experiment)
    owned = [(p.name, p.parameters, f"problem '{p.name}'") for p in problems.values()]
    owned += [(f.name, f.options, f"framework '{f.name}'") for f in frameworks.values()]
    owned += [(one.name, one.options, f"launcher '{one.name}'") for one in requested_launchers(experiment)]
    if len(problems) < len(experiment.problems) or len(frameworks) < len(experiment.frameworks):
        return  # whose settings these are is not known
    yield from setting_faults(experiment.settings, owned)


def _optimizers(experiment: Experiment) -> Iterator[Fault]:
    yield from _optimizer_without_training(experiment)
    own = tuple(problem.optimizer.kind for problem in requested_problems(experiment).values())
    every: set[str] = set()
    for index, requested in enumerate(experiment.optimizers or ("",)):
        request = Request.of(requested)
        kinds = tuple(map(_kind_or_name, (request.name,) if request.name else own))
        every.update(kinds)
        for name, values in request.settings.items():
            for message in constant_faults(name, values, kinds):
                yield Fault(("optimizer", index, name), message)
    for name, values in experiment.hyperparameters.items():
        for message in constant_faults(name, values, sorted(every)):
            yield Fault(("optimizer", name), message)


def _optimizer_without_training(experiment: Experiment) -> Iterator[Fault]:
    if "training" in experiment.modes:
        return
    modes = ", ".join(experiment.modes)
    for index, _ in enumerate(experiment.optimizers):
        yield Fault(("optimizer", index), f"an optimizer is for training, got {modes} only")
    for name in experiment.hyperparameters:
        yield Fault(("optimizer", name), f"the {name.replace('_', ' ')} is for training, got {modes} only")
