"""From what was asked to the runs of an experiment, every default filled in and checked."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from benchmarker import registry
from benchmarker.api.framework import FrameworkPlugin
from benchmarker.api.modifiers import ALL, WEIGHTS
from benchmarker.api.optimizer import Optimizer, settings_of, typed
from benchmarker.api.options import parse_options
from benchmarker.api.problem import Problem
from benchmarker.api.scenario import SERVER
from benchmarker.api.scheme import label_of
from benchmarker.api.suite import Request
from benchmarker.errors import UsageError
from benchmarker.execution.environments.gpu_driver import driver_fault, gpu_count
from benchmarker.experiment.data_checks import check_data, check_trainings, prepared_dataset
from benchmarker.experiment.fault import ExperimentError, Fault
from benchmarker.experiment.faults import faults
from benchmarker.experiment.framework_version import parse_framework
from benchmarker.experiment.keys import canonical, likeness
from benchmarker.experiment.options import OPTIONS, RUN_OPTIONS
from benchmarker.experiment.settings import choices
from benchmarker.experiment.spec import Experiment, RunSpec
from benchmarker.experiment.suitability import unsupported_reasons, without_interpreter
from benchmarker.experiment.usual_sampling import usual_sampling
from benchmarker.machine.threads import default_threads, thread_fault, usable_cpus
from benchmarker.training.fields import to_json
from benchmarker.training.optimizers.advance import places


def plan(experiment: Experiment) -> list[RunSpec]:
    """Return every run of the experiment, repetitions of the matrix one after the other.

    Raises
    ------
    ExperimentError
        On an unknown name or a value that makes no sense.
    UsageError
        When no run of the matrix is possible.
    """
    for fault in itertools.chain(faults(experiment), _machine_faults(experiment)):
        raise ExperimentError(fault)
    runs = matrix(experiment)
    first = [run for run in runs if run.repetition == 0]
    _check_decay(first, experiment)
    check_data(first)
    check_trainings(first)
    # Most experiments can do their first run, and no more of them has to be looked at.
    if all(_impossible(first)):
        raise UsageError(next(filter(None, _impossible(first)), "there is nothing to run"))
    return runs


def _impossible(runs: Sequence[RunSpec]) -> Iterator[str | None]:
    return (refused or without_interpreter(run) for refused, run in zip(unsupported_reasons(runs), runs))


def _check_decay(runs: Iterable[RunSpec], experiment: Experiment) -> None:
    """Refuse patterns of weight decay that no parameter has."""
    distinct = {
        (run.problem, id(run.problem_parameters), run.optimizer): run
        for run in runs
        if run.mode == "training" and run.optimizer.modifiers.decay_of not in (ALL, WEIGHTS)
    }
    for run in distinct.values():
        graph = registry.problem(run.problem).graph(run.batch_size, **run.problem_parameters)
        try:
            places(graph, run.optimizer.modifiers.decay_of)
        except UsageError as error:
            given = ("decay_of",) if "decay_of" in experiment.hyperparameters else ()
            raise ExperimentError(Fault(("optimizer", *given), str(error))) from None


def matrix(experiment: Experiment) -> list[RunSpec]:
    """Return every run of an experiment in which nothing is wrong: of a profile, the fewest that there may be."""
    wanted = experiment.wanted_precision
    repeats = wanted.min_processes if wanted else experiment.repeats or 1
    first = [run for requested in experiment.problems for run in _runs(experiment, Request.of(requested))]
    further = [replace(run, repetition=number) for number in range(1, repeats) for run in first]
    return [*first, *further]


def _machine_faults(experiment: Experiment) -> Iterator[Fault]:
    usable = usable_cpus()
    unusable = sorted({cpu for cpus in experiment.affinity for cpu in cpus} - set(usable))
    if unusable:
        known = f"{usable[0]} to {usable[-1]}" if len(usable) > 1 else str(usable[0])
        yield Fault(("affinity",), f"CPU {unusable[0]} cannot be used; usable are {known}")
    crowded = (
        thread_fault(threads, cpus) for cpus in experiment.affinity or ((),) for threads in experiment.threads
    )
    yield from (Fault(("threads",), fault) for fault in crowded if fault and not unusable)
    if "cuda" in experiment.devices:
        yield from _gpu_faults(experiment)


def _gpu_faults(experiment: Experiment) -> Iterator[Fault]:
    absent = driver_fault("cuda")
    if absent is not None:
        yield Fault(("device",), absent)
        return
    there = gpu_count()
    if there is None:
        return
    missing = sorted({gpu for gpus in experiment.gpus for gpu in gpus if gpu >= there})
    if missing:
        known = f"0 to {there - 1}" if there > 1 else "only 0"
        yield Fault(("gpus",), f"GPU {missing[0]} cannot be used; available: {known}")


Cell = Mapping[str, Any]
"""One cell of the matrix: a value of each axis by the name of its option."""


def _cells(experiment: Experiment, problem: Problem) -> Iterator[Cell]:
    axes: dict[str, Sequence[Any]] = {
        # A collective is what it is in any mode.
        "mode": problem.modes if problem.collective else [m for m in experiment.modes if m in problem.modes],
        "batch_size": experiment.batch_sizes or (problem.batch_size,),
        "precision": experiment.precisions,
        "optimizer": _optimizers(experiment, problem),
    }
    for option in OPTIONS.values():
        if option.axis:
            unset = None if option.computed else option.default
            axes.setdefault(option.name, option.values_of(experiment) or (unset,))
    axes["framework"] = _frameworks(experiment)
    return (dict(zip(axes, values)) for values in itertools.product(*axes.values()))


def _frameworks(experiment: Experiment) -> list[tuple[FrameworkPlugin, str | None, Mapping[str, Any]]]:
    """Return each framework with its version and, complete, each choice of its options, no two alike."""
    found: dict[Hashable, tuple[FrameworkPlugin, str | None, Mapping[str, Any]]] = {}
    for request in map(Request.of, experiment.frameworks):
        plugin, version = parse_framework(request.name)
        for values in choices(request, experiment.settings, plugin.name, plugin.options):
            options = asdict(parse_options(plugin.options, values, f"framework '{plugin.name}'"))
            found.setdefault((plugin.name, version, canonical(options)), (plugin, version, options))
    return list(found.values())


def _parameters(experiment: Experiment, request: Request, problem: Problem) -> list[dict[str, Any]]:
    """Return, complete, each choice of the problem's parameters, no two alike."""
    chosen = choices(request, experiment.settings, problem.name, problem.parameters)
    return list({canonical(values): values for values in map(problem.configure, chosen)}.values())


def _optimizers(experiment: Experiment, problem: Problem) -> list[Optimizer]:
    """Return each optimizer with each choice of the constants that it has."""
    found = []
    for request in map(Request.of, experiment.optimizers or ("",)):
        kind = registry.update_rule(request.name or problem.optimizer.kind).name
        base = problem.optimizer if kind == problem.optimizer.kind else Optimizer.default(kind)
        settings = {**request.settings, **experiment.hyperparameters}
        names = [name for name in settings if name in settings_of(kind)]
        for values in itertools.product(*(settings[name] for name in names)):
            chosen = {name: typed(name, value) for name, value in zip(names, values)}
            found.append(base.with_constants(chosen))
            found[-1].rule  # noqa: B018 - refuses what does not fit together
    return list(dict.fromkeys(found))


def _runs(experiment: Experiment, request: Request) -> list[RunSpec]:
    problem = registry.problem(request.name)
    length, shared = _length(experiment), _shared(experiment)
    # Read from files of the kernel, which is slow and the same for all.
    threads = {cpus: default_threads(cpus) for cpus in experiment.affinity or ((),)}
    which = {"problem": registry.problem_reference(request.name), "training": _table(experiment)}
    runs: dict[Hashable, RunSpec] = {}
    for parameters in _parameters(experiment, request, problem):
        for cell in _cells(experiment, problem):
            problem_fields = {**which, "problem_parameters": parameters}
            run = _run(cell, problem_fields, problem.collective, shared, length, threads)
            # Several optimizers are one run of inference, and so are several numbers of steps in a window.
            runs.setdefault(likeness(run), run)
    return list(runs.values())


def _table(experiment: Experiment) -> dict[str, Any] | None:
    """Return the table of the experiment's recipe as a specification has it."""
    training = experiment.training
    return None if training is None else {"name": UNNAMED, **to_json(training)}


UNNAMED = "recipe"
"""The name of a recipe that stands in no file and says none."""


def _run(
    cell: Cell,
    problem: Mapping[str, Any],
    collective: str | None,
    shared: Mapping[str, Any],
    length: Mapping[str, Any],
    threads: Mapping[tuple[int, ...], int],
) -> RunSpec:
    """Return the run of a cell.

    Parameters
    ----------
    cell : mapping
        A value of each axis.
    problem : mapping
        What the problem is, with its parameters, and by which recipe it is trained.
    collective : str or None
        That the problem is, if it is one.
    shared : mapping
        The options that have one value for all runs.
    length : mapping
        How long the timed part lasts where no amount says it.
    threads : mapping
        How many threads there are by default on each choice of CPUs.
    """
    plugin, version, options = cell["framework"]
    values = {**shared, **{name: cell[name] for name in _AXES}}
    values.update(
        (option.name, option.default)
        for option in _OF_SOME_MODES
        if cell["mode"] not in option.modes and not (collective and option.group == "ranks")
    )
    values.update((o.name, o.default) for o in _OWNED if cell[o.owner] is None)
    values["steps"] = _steps(cell, shared["data_dir"]) if values["window"] is None else None
    values["gpus"] = (cell["gpus"] or (0,)) if cell["device"] == "cuda" else ()
    values.update(_exchanging(values, plugin, collective) if collective else _ranks(values, plugin))
    values["threads"] = cell["threads"] or max(1, threads[cell["affinity"]] // values["ranks"])
    values["sampling"] = cell["sampling"] or usual_sampling(cell["mode"], values["scenario"])
    if values["scenario"] != SERVER:
        values["latency_bound"] = None
    stated = values["steps"] is not None or values["window"] is not None
    return RunSpec(
        framework=plugin.name,
        framework_version=version,
        framework_options=options,
        optimizer=cell["optimizer"],
        **problem,
        **values,
        **(_USUAL_LENGTH if stated else length),
    )


def _ranks(values: Mapping[str, Any], plugin: FrameworkPlugin) -> dict[str, Any]:
    """Return what ranks exchange and by what means, and the mini-batch of all of them; nothing of a single one."""
    ranks = values["ranks"]
    if ranks == 1:
        return {name: RUN_OPTIONS[name].default for name in ("scheme", "exchange", "scaling", "network")}
    text = values["scheme"] or DEFAULT_SCHEME
    scheme = registry.scheme(text)
    native = "native" if scheme.label in plugin.schemes else "mpi"
    return {
        # By its own words, so that a constant that was left out and one that was given are one scheme.
        "scheme": label_of(text, scheme),
        "exchange": values["exchange"] or native,
        "batch_size": values["batch_size"] * (ranks if values["scaling"] == "weak" else 1),
    }


def _exchanging(values: Mapping[str, Any], plugin: FrameworkPlugin, collective: str) -> dict[str, Any]:
    """Return by what means ranks exchange in a collective, to which each gives a vector: no scheme has a say in it."""
    native = "native" if plugin.collectives and collective in plugin.collectives.means else "mpi"
    exchange = values["exchange"] or native
    return {"scheme": None, "exchange": exchange, "batch_size": values["ranks"]}


DEFAULT_SCHEME = "all-reduce"

_AXES = tuple(option.name for option in RUN_OPTIONS.values() if option.axis)
_OF_SOME_MODES = tuple(option for option in RUN_OPTIONS.values() if option.modes)
_OWNED = tuple(option for option in RUN_OPTIONS.values() if option.owner)
_USUAL_LENGTH = {"target_seconds": RunSpec.target_seconds, "minimum_samples": RunSpec.minimum_samples}


def _shared(experiment: Experiment) -> dict[str, Any]:
    """Return the options that have one value for all runs; how long these are depends on the cell."""
    return {
        option.name: getattr(experiment, option.keyword)
        for option in RUN_OPTIONS.values()
        if not option.axis and option.name not in _USUAL_LENGTH
    }


def _length(experiment: Experiment) -> dict[str, Any]:
    """Return how long the timed part lasts where no amount says it: as given, else by the profile."""
    wanted = experiment.wanted_precision
    usual = (wanted.min_steady_seconds, wanted.min_steps) if wanted else _USUAL_LENGTH.values()
    given = (experiment.seconds, experiment.min_samples)
    return {name: value or at_least for name, value, at_least in zip(_USUAL_LENGTH, given, usual)}


def _steps(cell: Cell, data_dir: str | None) -> int | None:
    """Return the number of steps; a problem size, or the data set's own, gives whole epochs of it."""
    size, epochs, steps = cell["samples_per_epoch"], cell["epochs"], cell["steps"]
    if size is None and (steps is not None or not cell["data"] or not epochs):
        return steps  # type: ignore[no-any-return]
    if size is None:
        size = prepared_dataset(cell["data"], data_dir).description["samples"]
    return int(size // cell["batch_size"] * (epochs or 1))
