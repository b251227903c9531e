"""What of an experiment does not fit together, each fault with the field it belongs to."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from benchmarker import registry
from benchmarker.api.generation import WHOLE, Stage
from benchmarker.api.problem import Problem
from benchmarker.api.scenario import SERVER
from benchmarker.api.suite import Request
from benchmarker.errors import BenchmarkerError, UsageError
from benchmarker.execution.emulated_links import parse_link
from benchmarker.execution.rank_networks import SHARED
from benchmarker.experiment.fault import Fault
from benchmarker.experiment.options import OPTIONS
from benchmarker.experiment.precision import PROFILES, Precision
from benchmarker.experiment.requested_plugins import requested_problems
from benchmarker.experiment.settings import choices
from benchmarker.experiment.spec import Experiment
from benchmarker.experiment.suitability import missing_for_training, wrong_level, wrong_modes


def fitting_faults(experiment: Experiment) -> Iterator[Fault]:
    """Yield which values are not for each other, but for those of which no graph can be made."""
    yield from _ranks(experiment)
    yield from _amounts(experiment)
    yield from _replication(experiment)
    yield from _training(experiment)


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
    problems = requested_problems(experiment).values()
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
    for problem in requested_problems(experiment).values():
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
        exempt = option.group == "ranks" and any(
            p.collective for p in requested_problems(experiment).values()
        )
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


def graph_faults(experiment: Experiment) -> Iterator[Fault]:
    """Yield the first impossible size of each problem, and what cannot be trained."""
    for index, problem in requested_problems(experiment).items():
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
