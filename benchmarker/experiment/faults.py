"""What makes no sense in an experiment, each fault with the field it belongs to."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

from benchmarker import registry
from benchmarker.api.framework import FrameworkPlugin
from benchmarker.api.generation import WHOLE, Stage
from benchmarker.api.given_values import repeated
from benchmarker.api.launcher import Launcher
from benchmarker.api.optimizer import constant_faults
from benchmarker.api.options import NoOptions
from benchmarker.api.problem import Problem
from benchmarker.api.scenario import SERVER
from benchmarker.api.suite import Request
from benchmarker.errors import BenchmarkerError, UsageError, did_you_mean
from benchmarker.execution.emulated_links import parse_link
from benchmarker.execution.rank_networks import SHARED
from benchmarker.experiment.acceptance import limit_faults
from benchmarker.experiment.fault import Fault
from benchmarker.experiment.framework_version import parse_framework
from benchmarker.experiment.options import OPTIONS
from benchmarker.experiment.replication import PROFILES, Precision
from benchmarker.experiment.setting_faults import setting_faults, value_faults
from benchmarker.experiment.settings import choices
from benchmarker.experiment.spec import Experiment
from benchmarker.experiment.suitability import missing_for_training, wrong_level, wrong_modes


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
    yield from _ranks(experiment)
    yield from _amounts(experiment)
    yield from _replication(experiment)
    yield from _training(experiment)
    if not wrong_values:
        yield from _graphs(experiment)
    for name, message in limit_faults(experiment.accept, experiment.modes, with_data=bool(experiment.data)):
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
    asked = experiment.repeats or 1
    repeats = asked if OPTIONS["repeats"].rule.accepts(asked) else 1
    return math.prod(max(count, 1) for count in (*axes, *map(len, values), *requests, repeats))


# --- the plugins that can be loaded ----------------------------------------------------------------


def _frameworks(experiment: Experiment) -> dict[int, FrameworkPlugin]:
    found = {}
    for index, requested in enumerate(experiment.frameworks):
        try:
            found[index] = parse_framework(Request.of(requested).name)[0]
        except BenchmarkerError:
            continue
    return found


def _launchers(experiment: Experiment) -> list[Launcher]:
    """Return the launchers that have options; what is wrong with the others' names is told elsewhere."""
    known = set(registry.names("launchers"))
    found = [registry.launcher(name) for name in experiment.launchers if name in known]
    return [one for one in found if one.options is not NoOptions]


def _problems(experiment: Experiment) -> dict[int, Problem]:
    found = {}
    for index, requested in enumerate(experiment.problems):
        try:
            found[index] = registry.problem(Request.of(requested).name)
        except BenchmarkerError:
            continue
    return found


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
        told = value.name if isinstance(value, Request) else value
        message = f"{name} '{told}' is named twice; --repeats runs it in several processes"
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
    for index, framework in _frameworks(experiment).items():
        owner = f"framework '{framework.name}'"
        settings = Request.of(experiment.frameworks[index]).settings
        for where, message in value_faults(settings, framework.options, owner):
            yield Fault(("framework", index, *where), message)
    for index, problem in _problems(experiment).items():
        settings = Request.of(experiment.problems[index]).settings
        for where, message in value_faults(settings, problem.parameters, f"problem '{problem.name}'"):
            yield Fault(("problem", index, *where), message)


def _settings(experiment: Experiment) -> Iterator[Fault]:
    frameworks, problems = _frameworks(experiment), _problems(experiment)
    owned = [(p.name, p.parameters, f"problem '{p.name}'") for p in problems.values()]
    owned += [(f.name, f.options, f"framework '{f.name}'") for f in frameworks.values()]
    owned += [(one.name, one.options, f"launcher '{one.name}'") for one in _launchers(experiment)]
    if len(problems) < len(experiment.problems) or len(frameworks) < len(experiment.frameworks):
        return  # whose settings these are is not known
    yield from setting_faults(experiment.settings, owned)


def _optimizers(experiment: Experiment) -> Iterator[Fault]:
    yield from _optimizer_without_training(experiment)
    own = tuple(problem.optimizer.kind for problem in _problems(experiment).values())
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


# --- several ranks ---------------------------------------------------------------------------------


def _ranks(experiment: Experiment) -> Iterator[Fault]:
    """Yield schemes that there are not, and what is for several ranks where there is one."""
    for name in experiment.schemes:
        try:
            registry.scheme(name)
        except BenchmarkerError as error:
            yield Fault(("scheme",), str(error))
    for rate in experiment.networks:
        try:
            if rate != SHARED:
                parse_link(rate)
        except UsageError as error:
            yield Fault(("network",), f"{error}, or '{SHARED}'")
    problems = _problems(experiment).values()
    if problems and all(problem.collective for problem in problems):
        yield from _collectives(experiment)
    if all(ranks == 1 for ranks in experiment.ranks):
        for name in ("scheme", "exchange", "scaling", "network"):
            if OPTIONS[name].is_given(experiment):
                yield Fault((name,), f"{name} is for several ranks, got --ranks=1")


def _collectives(experiment: Experiment) -> Iterator[Fault]:
    """Yield what only trainings have, where there are collectives alone."""
    given = {
        "scheme": bool(experiment.schemes),
        "scaling": "weak" in experiment.scalings,
        # As many as there are ranks is what a record of one says.
        "batch_size": not set(experiment.batch_sizes) <= set(experiment.ranks),
    }
    for name in filter(given.get, given):
        yield Fault((name,), f"a collective has no {name.replace('_', ' ')}: each rank gives one vector")


# --- what fits together ----------------------------------------------------------------------------


def _replication(experiment: Experiment) -> Iterator[Fault]:
    if experiment.profile is None or experiment.profile in PROFILES:
        yield from _process_bounds(experiment.wanted_precision)
    if experiment.repeats is None:
        return
    for field, words in (
        ("profile", "profile"),
        ("half_width", "half-width"),
        ("min_processes", "least number of processes"),
        ("max_processes", "largest number of processes"),
        ("budget", "budget"),
    ):
        if getattr(experiment, field) is not None:
            yield Fault((field,), f"give either a number of repeats or a {words}, not both")


def _process_bounds(wanted: Precision | None) -> Iterator[Fault]:
    if wanted is not None and wanted.min_processes > wanted.max_processes:
        message = (
            f"the least number of processes must not be above the largest, got {wanted.min_processes} "
            f"and {wanted.max_processes}"
        )
        yield Fault(("min_processes",), message)


def _amounts(experiment: Experiment) -> Iterator[Fault]:
    sizes = experiment.samples_per_epoch
    if max(experiment.epochs, default=1) > 1 and not sizes and not experiment.data:
        needed = "a problem size, the number of samples of an epoch, or a data set"
        yield Fault(("epochs",), f"{max(experiment.epochs)} epochs need {needed}")
    if sizes and experiment.steps:
        yield Fault(("steps",), "give either a number of steps or a problem size, not both")
    yield from _modes(experiment)
    if experiment.windows and experiment.steps and "training" not in experiment.modes:
        yield Fault(("window",), "give either a number of steps or a window, not both")
    yield from _lengths(experiment)
    yield from _load(experiment)
    for problem in _problems(experiment).values():
        yield from _epochs(experiment, problem)


def _load(experiment: Experiment) -> Iterator[Fault]:
    """Yield a server without a bound, and a bound without a server."""
    if SERVER in experiment.scenarios and not experiment.latency_bounds:
        yield Fault(("scenario",), "the scenario server needs a latency_bound, in seconds, got none")
    if experiment.latency_bounds and SERVER not in experiment.scenarios:
        yield Fault(("latency_bound",), "latency_bound is for the scenario server; add scenario server")


def _modes(experiment: Experiment) -> Iterator[Fault]:
    """Yield each option that is given and is for none of the modes."""
    for option in OPTIONS.values():
        # A collective is of several ranks in any mode.
        exempt = option.group == "ranks" and any(p.collective for p in _problems(experiment).values())
        given = option.modes and not exempt and option.is_given(experiment)
        if given and not set(option.modes) & set(experiment.modes):
            wanted, modes = " and ".join(option.modes), ", ".join(experiment.modes)
            yield Fault((option.key,), f"{option.key} is for {wanted}, got the mode {modes}; add {wanted}")


def _lengths(experiment: Experiment) -> Iterator[Fault]:
    """Yield a length of the timed part beside an amount that says it already in every mode."""
    stated = (
        ("number of steps", experiment.steps),
        ("problem size", experiment.samples_per_epoch),
        ("number of epochs", experiment.epochs if experiment.data else ()),
        ("window", experiment.windows if "training" not in experiment.modes else ()),
    )
    said = next((words for words, values in stated if values), None)
    if said is None:
        return
    for field, words in (("seconds", "time of the timed part"), ("min_samples", "least number of samples")):
        if getattr(experiment, field) is not None:
            yield Fault((field,), f"give either a {said} or a {words}, not both")


def _training(experiment: Experiment) -> Iterator[Fault]:
    """Yield what makes no sense beside a recipe, or without one."""
    if experiment.training is None:
        for option in OPTIONS.values():
            if option.only_recipes and option.is_given(experiment):
                yield Fault(
                    (option.key,), f"{option.key} is for trainings by a recipe; use benchmarker train"
                )
        return
    if tuple(experiment.modes) != ("training",):
        yield Fault(("mode",), f"a recipe is for training, got the mode {', '.join(experiment.modes)}")
    if not experiment.data:
        yield Fault(("training",), "a recipe trains on a data set, and the field data names none")
    for option in OPTIONS.values():
        given = option.is_given(experiment)
        if given and not option.of_recipes and option.name not in ("mode", "data"):
            words = f"{option.key} is not for a recipe, which says itself how long it trains"
            yield Fault((option.key,), words)


def _batch_sizes(experiment: Experiment, problem: Problem) -> list[int]:
    return [size for size in experiment.batch_sizes or (problem.batch_size,) if size > 0]


def _epochs(experiment: Experiment, problem: Problem) -> Iterator[Fault]:
    for samples in experiment.samples_per_epoch:
        uneven = [size for size in _batch_sizes(experiment, problem) if samples > 0 and samples % size]
        if uneven:
            yield Fault(
                ("problem_size",),
                f"the problem size must be a multiple of the batch size, got {samples} samples in batches "
                f"of {uneven[0]}",
            )


def _generations(experiment: Experiment, request: Request, problem: Problem, index: int) -> Iterator[Fault]:
    """Yield the first impossible length of a generation."""
    if "generation" not in experiment.modes or problem.decode is None:
        return
    parameters = choices(request, experiment.settings, problem.name, problem.parameters)
    sizes = _batch_sizes(experiment, problem)
    lengths = itertools.product(experiment.prompt_lengths, experiment.output_lengths)
    try:
        for values, size, (prompt, output) in itertools.product(parameters, sizes, lengths):
            problem.stage(Stage(WHOLE, prompt, output), size, **values)
    except UsageError as error:
        yield Fault(("problem", index), str(error))


def _graphs(experiment: Experiment) -> Iterator[Fault]:
    """Yield the first impossible size of each problem, and what cannot be trained."""
    for index, problem in _problems(experiment).items():
        request = Request.of(experiment.problems[index])
        other = wrong_level(experiment.level, problem)
        if other:
            yield Fault(("problem", index), other)
        try:
            lacked = [
                missing_for_training(problem.graph(size, **values))
                for values in choices(request, experiment.settings, problem.name, problem.parameters)
                for size in _batch_sizes(experiment, problem)
            ]
        except UsageError as error:
            yield Fault(("problem", index), str(error))
            continue
        unable = wrong_modes(experiment.modes, problem, are_given=bool(experiment.modes_are_given))
        if unable:
            yield Fault(("mode",), unable)
            continue
        yield from _generations(experiment, request, problem, index)
        missing = "" if problem.collective else next(filter(None, lacked), "")
        if missing and "training" in experiment.modes:
            yield Fault(
                ("mode",), f"problem '{problem.name}' has no {missing}; choose the mode inference alone"
            )
