"""What makes no sense in an experiment, each fault with the field it belongs to."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

from benchmarker import registry
from benchmarker.acceptance import limit_faults
from benchmarker.environments.requirements import wanted
from benchmarker.errors import BenchmarkerError, UsageError, did_you_mean
from benchmarker.experiment import LEVELS, Experiment, Request
from benchmarker.framework import MODES, OPTIMIZERS, PRECISIONS, FrameworkPlugin
from benchmarker.hyperparameters import constant_faults
from benchmarker.layers.rules import LARGEST_COUNT
from benchmarker.options import option_types, parse_options
from benchmarker.problem import Problem
from benchmarker.replication import PROFILES, Precision
from benchmarker.settings import choices
from benchmarker.suitability import lacking, wrong_level, wrong_modes

DEVICES = ("cpu", "cuda")
DATA = ("digits", "mnist", "cifar10", "imdb", "npy")
INPUTS = ("resident", "fed")
STARTS = ("spawn", "fork")
COMPILE_CACHES = ("kept", "cold")
SAMPLINGS = ("latency", "throughput")
LARGEST_SEED = 2**32 - 1
"""NumPy's generator, which Chainer draws from, takes no larger one."""
MOST_PROCESSES = 10_000
LARGEST_PRICE = 1_000_000_000
_LARGEST = {
    "seed": LARGEST_SEED,
    **dict.fromkeys(("repeats", "min_processes", "max_processes"), MOST_PROCESSES),
}


class Fault(NamedTuple):
    """Something wrong with an experiment.

    Parameters
    ----------
    where : tuple
        The field of a blueprint; for a problem, framework or optimizer then its position, the name of
        a setting and the position of a value, as far as they matter.
    message : str
        The rule, the value received and what would be right.
    """

    where: tuple[str | int, ...]
    message: str


def parse_framework(request: str) -> tuple[FrameworkPlugin, str | None]:
    """Return the framework plugin and the version of ``name`` or ``name==version``."""
    name, separator, version = request.partition("==")
    if separator and not version.strip():
        raise UsageError(f"'{request}' names no version; write for example {name}==1.2.3")
    plugin = registry.framework(name.strip())
    if separator:
        wanted(plugin, version.strip(), cuda=False)  # refuses what is no version
    return plugin, version.strip() or None


def faults(experiment: Experiment) -> Iterator[Fault]:
    """Yield what is wrong with an experiment, whatever the machine."""
    yield from _names(experiment)
    yield from _numbers(experiment)
    yield from _unknown(experiment)
    yield from _data(experiment)
    wrong_values = [*_requests(experiment), *_settings(experiment)]
    yield from wrong_values
    yield from _optimizers(experiment)
    yield from _amounts(experiment)
    yield from _replication(experiment)
    if not wrong_values:
        yield from _graphs(experiment)
    for name, message in limit_faults(experiment.accept, experiment.modes, with_data=bool(experiment.data)):
        yield Fault(("accept", name), message)


# --- the plugins that can be loaded ----------------------------------------------------------------


def _frameworks(experiment: Experiment) -> dict[int, FrameworkPlugin]:
    found = {}
    for index, asked in enumerate(experiment.frameworks):
        try:
            found[index] = parse_framework(Request.of(asked).name)[0]
        except BenchmarkerError:
            continue
    return found


def _problems(experiment: Experiment) -> dict[int, Problem]:
    found = {}
    for index, asked in enumerate(experiment.problems):
        try:
            found[index] = registry.problem(Request.of(asked).name)
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
        yield from _twice(name, values)
    yield from _twice("mode", experiment.modes)
    yield from _one_of("mode", experiment.modes, MODES)
    yield from _one_of("level", _given_names(experiment.level), LEVELS)
    yield from _one_of("precision", experiment.precisions, PRECISIONS)
    yield from _one_of("device", experiment.devices, DEVICES)
    yield from _one_of("launcher", experiment.launchers, _known("launchers"))
    yield from _one_of("start", experiment.starts, STARTS)
    yield from _one_of("compile_cache", experiment.compile_caches, COMPILE_CACHES, "kind of compile cache")
    yield from _one_of("monitors", experiment.monitors or (), _known("collectors"), "monitor")
    for index, asked in enumerate(experiment.optimizers):
        for fault in _one_of("optimizer", filter(None, [Request.of(asked).name]), OPTIMIZERS):
            yield Fault(("optimizer", index), fault.message)


def _known(kind: str) -> list[str]:
    return [entry.name for entry in registry.entries() if entry.kind == kind]


def _twice(name: str, values: Sequence[Any]) -> Iterator[Fault]:
    for index, value in enumerate(values):
        if value in values[:index]:
            shown = value.name if isinstance(value, Request) else value
            message = f"{name} '{shown}' is named twice; --repeats runs it in several processes"
            yield Fault((name, index) if name in ("framework", "problem") else (name,), message)


def _one_of(field: str, values: Iterable[str], known: Sequence[str], name: str = "") -> Iterator[Fault]:
    for value in values:
        if value not in known:
            yield Fault((field,), f"unknown {name or field} '{value}'{did_you_mean(value, known)}")


def _numbers(experiment: Experiment) -> Iterator[Fault]:
    whole: tuple[tuple[str, str, Iterable[int], int], ...] = (
        ("batch_size", "batch size", experiment.batch_sizes, 1),
        ("threads", "number of threads", experiment.threads, 1),
        ("seed", "seed", experiment.seeds, 0),
        ("gpus", "index of the GPU", [gpu for gpus in experiment.gpus for gpu in gpus], 0),
        ("steps", "number of steps", experiment.steps, 1),
        ("warmup", "number of warm-up steps", experiment.warmup, 0),
        ("repeats", "number of repeats", _given(experiment.repeats), 1),
        ("min_processes", "least number of processes", _given(experiment.min_processes), 1),
        ("max_processes", "largest number of processes", _given(experiment.max_processes), 1),
        ("min_samples", "least number of samples", _given(experiment.min_samples), 1),
        ("epochs", "number of epochs", experiment.epochs, 1),
        ("problem_size", "problem size", experiment.samples_per_epoch, 1),
    )
    for field, name, values, least in whole:
        most = _LARGEST.get(field, LARGEST_COUNT)
        for value in values:
            if value < least:
                yield Fault((field,), f"the {name} must be at least {least}, got {value}")
            if value > most:
                yield Fault((field,), f"the {name} must be at most {most}, got {value}")
    for name, durations in (
        ("timeout", _given(experiment.timeout)),
        ("window", experiment.windows),
        ("budget", _given(experiment.budget)),
        ("seconds", _given(experiment.seconds)),
    ):
        words = "time of the timed part" if name == "seconds" else name
        for seconds in durations:
            if not 0 < seconds < math.inf:
                yield Fault((name,), f"the {words} must be more than 0 seconds and finite, got {seconds:g}")
    for half_width in _given(experiment.half_width):
        if not 0 < half_width < 1:
            yield Fault(
                ("half_width",), f"the half-width must be between 0 and 1, e.g. 0.02, got {half_width:g}"
            )
    for price in _given(experiment.price_per_hour):
        if not 0 <= price <= LARGEST_PRICE:
            yield Fault(("price_per_hour",), f"the price must be from 0 to {LARGEST_PRICE}, got {price:g}")
    yield from _gpus(experiment)
    yield from _affinity(experiment)


_Number = TypeVar("_Number", int, float)


def _given(value: _Number | None) -> tuple[_Number, ...]:
    return () if value is None else (value,)


def _gpus(experiment: Experiment) -> Iterator[Fault]:
    for gpus in experiment.gpus:
        if len(gpus) > 1:
            yield Fault(("gpus",), f"a run uses one GPU, got --gpus={','.join(map(str, gpus))}")
        elif gpus and "cuda" not in experiment.devices:
            device = experiment.devices[0] if experiment.devices else "none"
            yield Fault(("gpus",), f"--gpus={gpus[0]} needs --device=cuda, got --device={device}")


def _affinity(experiment: Experiment) -> Iterator[Fault]:
    for cpus in experiment.affinity:
        twice = next((cpu for cpu in cpus if cpus.count(cpu) > 1), None)
        if twice is not None:
            message = f"CPU {twice} is named twice, got --affinity={','.join(map(str, cpus))}"
            yield Fault(("affinity",), message)


def _unknown(experiment: Experiment) -> Iterator[Fault]:
    for index, asked in enumerate(experiment.frameworks):
        try:
            parse_framework(Request.of(asked).name)
        except BenchmarkerError as error:
            yield Fault(("framework", index), str(error))
    for index, asked in enumerate(experiment.problems):
        try:
            registry.problem(Request.of(asked).name)
        except BenchmarkerError as error:
            yield Fault(("problem", index), str(error))


def _data(experiment: Experiment) -> Iterator[Fault]:
    yield from _one_of("data", experiment.data, DATA, "data set")
    yield from _one_of("inputs", experiment.inputs, INPUTS)
    if experiment.data_dir is not None and not experiment.data:
        yield Fault(("data_dir",), f"the folder '{experiment.data_dir}' needs the name of a data set")


# --- settings and optimizers -----------------------------------------------------------------------


def _requests(experiment: Experiment) -> Iterator[Fault]:
    for index, framework in _frameworks(experiment).items():
        owner = f"framework '{framework.name}'"
        settings = Request.of(experiment.frameworks[index]).settings
        for where, message in _values(settings, framework.options, owner):
            yield Fault(("framework", index, *where), message)
    for index, problem in _problems(experiment).items():
        settings = Request.of(experiment.problems[index]).settings
        for where, message in _values(settings, problem.parameters, f"problem '{problem.name}'"):
            yield Fault(("problem", index, *where), message)


def _values(
    settings: Mapping[str, tuple[Any, ...]], options: type[Any], owner: str
) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield the settings that ``owner`` does not have and the values that are not of their type."""
    kinds = option_types(options)
    for name, values in settings.items():
        if name not in kinds:
            yield (name,), f"{owner} has no parameter '{name}'{did_you_mean(name, kinds)}"
            continue
        for position, value in enumerate(values):
            try:
                parse_options(options, {name: value}, owner)
            except UsageError as error:
                yield (name, position), str(error)


def _settings(experiment: Experiment) -> Iterator[Fault]:
    frameworks, problems = _frameworks(experiment), _problems(experiment)
    owned = [(p.name, p.parameters, f"problem '{p.name}'") for p in problems.values()]
    owned += [(f.name, f.options, f"framework '{f.name}'") for f in frameworks.values()]
    if len(problems) < len(experiment.problems) or len(frameworks) < len(experiment.frameworks):
        return  # whose settings these are is not known
    for name, values in experiment.settings.items():
        own = name.rpartition(".")[2]
        takers = [
            (options, owner)
            for plugin, options, owner in owned
            if own in option_types(options) and name in (own, f"{plugin}.{own}")
        ]
        if not takers:
            yield Fault(("set", name), _nobodys(name, [(plugin, options) for plugin, options, _ in owned]))
        for options, owner in takers:
            for where, message in _values({own: values}, options, owner):
                yield Fault(("set", name, *where[1:]), message)


def _nobodys(name: str, plugins: Sequence[tuple[str, type[Any]]]) -> str:
    known = {option for _, options in plugins for option in option_types(options)}
    known |= {f"{plugin}.{option}" for plugin, options in plugins for option in option_types(options)}
    named = ", ".join(dict.fromkeys(f"'{plugin}'" for plugin, _ in plugins))
    return f"none of {named} has a parameter '{name}'{did_you_mean(name, known)}"


def _optimizers(experiment: Experiment) -> Iterator[Fault]:
    yield from _optimizers_of_nothing(experiment)
    own = tuple(problem.optimizer.kind for problem in _problems(experiment).values())
    every: set[str] = set()
    for index, asked in enumerate(experiment.optimizers or ("",)):
        request = Request.of(asked)
        kinds = (request.name,) if request.name else own
        every.update(kinds)
        for name, values in request.settings.items():
            for message in constant_faults(name, values, kinds):
                yield Fault(("optimizer", index, name), message)
    for name, values in experiment.hyperparameters.items():
        for message in constant_faults(name, values, sorted(every)):
            yield Fault(("optimizer", name), message)


def _optimizers_of_nothing(experiment: Experiment) -> Iterator[Fault]:
    if "training" in experiment.modes:
        return
    modes = ", ".join(experiment.modes)
    for index, _ in enumerate(experiment.optimizers):
        yield Fault(("optimizer", index), f"an optimizer is for training, got {modes} only")
    for name in experiment.hyperparameters:
        yield Fault(("optimizer", name), f"the {name.replace('_', ' ')} is for training, got {modes} only")


# --- what fits together ----------------------------------------------------------------------------


def _replication(experiment: Experiment) -> Iterator[Fault]:
    yield from _one_of("profile", _given_names(experiment.profile), tuple(PROFILES))
    yield from _one_of("sampling", experiment.sampling, SAMPLINGS)
    if experiment.profile is None or experiment.profile in PROFILES:
        yield from _few_and_many(precision(experiment))
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


def precision(experiment: Experiment) -> Precision | None:
    """Return how well each number should be known, or None if a number of processes was asked for."""
    given: dict[str, Any] = {
        "half_width": experiment.half_width,
        "min_processes": experiment.min_processes,
        "max_processes": experiment.max_processes,
        "budget_seconds": experiment.budget,
    }
    asked = {name: value for name, value in given.items() if value is not None}
    if experiment.profile is None and not asked:
        return None
    base = PROFILES[experiment.profile or "standard"]
    return replace(base, profile=experiment.profile, **asked)


def _few_and_many(wanted: Precision | None) -> Iterator[Fault]:
    if wanted is not None and wanted.min_processes > wanted.max_processes:
        message = (
            f"the least number of processes must not be above the largest, got {wanted.min_processes} "
            f"and {wanted.max_processes}"
        )
        yield Fault(("min_processes",), message)


def _given_names(name: str | None) -> tuple[str, ...]:
    return () if name is None else (name,)


def _amounts(experiment: Experiment) -> Iterator[Fault]:
    sizes = experiment.samples_per_epoch
    if max(experiment.epochs, default=1) > 1 and not sizes and not experiment.data:
        epochs = max(experiment.epochs)
        yield Fault(
            ("epochs",),
            f"{epochs} epochs need a problem size, the number of samples of an epoch, or a data set",
        )
    if sizes and experiment.steps:
        yield Fault(("steps",), "give either a number of steps or a problem size, not both")
    if experiment.windows and "inference" not in experiment.modes:
        yield Fault(("window",), "a window is for inference; training takes a number of steps or epochs")
    if experiment.windows and experiment.steps and "training" not in experiment.modes:
        yield Fault(("window",), "give either a number of steps or a window, not both")
    yield from _lengths(experiment)
    for problem in _problems(experiment).values():
        yield from _epochs(experiment, problem)


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


def _graphs(experiment: Experiment) -> Iterator[Fault]:
    """Yield the first impossible size of each problem, and what cannot be trained."""
    for index, problem in _problems(experiment).items():
        request = Request.of(experiment.problems[index])
        other = wrong_level(experiment.level, problem)
        if other:
            yield Fault(("problem", index), other)
        try:
            lacked = [
                lacking(problem.graph(size, **values))
                for values in choices(request, experiment.settings, problem.name, problem.parameters)
                for size in _batch_sizes(experiment, problem)
            ]
        except UsageError as error:
            yield Fault(("problem", index), str(error))
            continue
        unable = wrong_modes(experiment.modes, problem)
        if unable:
            yield Fault(("mode",), unable)
            continue
        missing = next(filter(None, lacked), "")
        if missing and "training" in experiment.modes:
            yield Fault(
                ("mode",), f"problem '{problem.name}' has no {missing}; choose the mode inference alone"
            )
