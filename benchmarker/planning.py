"""From what was asked on the command line to the runs of an experiment, every default filled in and checked."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from benchmarker import registry
from benchmarker.environments import resolve
from benchmarker.environments.requirements import wanted
from benchmarker.errors import UsageError, did_you_mean
from benchmarker.experiment import RunSpec
from benchmarker.framework import MODES, OPTIMIZERS, PRECISIONS, FrameworkPlugin, Optimizer
from benchmarker.options import option_types, parse_options
from benchmarker.problem import Problem
from benchmarker.worker_environment import default_threads, usable_cpus

DEVICES = ("cpu", "cuda")


@dataclass(frozen=True)
class Experiment:
    """What was asked for: lists make a matrix, ``None`` takes the default.

    Parameters
    ----------
    frameworks : tuple of str
        ``name`` or ``name==version``.
    problems : tuple of str
        Names.
    settings : mapping
        ``--set``: name (or ``owner.name``) to the values to try, as text.
    Other fields
        As in :class:`~benchmarker.experiment.RunSpec`.
    """

    frameworks: tuple[str, ...]
    problems: tuple[str, ...]
    settings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    modes: tuple[str, ...] = ("training",)
    batch_sizes: tuple[int, ...] = ()
    precisions: tuple[str, ...] = ("fp32",)
    optimizers: tuple[str, ...] = ()
    learning_rate: float | None = None
    devices: tuple[str, ...] = ("cpu",)
    gpus: tuple[int, ...] = ()
    threads: tuple[int, ...] = ()
    affinity: tuple[int, ...] = ()
    seeds: tuple[int, ...] = (42,)
    steps: int | None = None
    warmup: int | None = None
    samples_per_epoch: int | None = None
    epochs: int = 1
    repeats: int = 1
    verify: bool = True
    timeout: float | None = None
    environment: str = "auto"
    launcher: str = "local"
    anonymous: bool = False


def plan(experiment: Experiment) -> list[RunSpec]:
    """Return every run of the experiment, repetitions of the matrix one after the other.

    Raises
    ------
    UsageError
        On an unknown name, a value that makes no sense, or when no run of the matrix is possible.
    """
    _check(experiment)
    frameworks = [parse_framework(request) for request in experiment.frameworks]
    problems = [registry.problem(name) for name in experiment.problems]
    _check_settings(experiment.settings, [f for f, _ in frameworks], problems)
    runs = [
        run
        for repetition in range(experiment.repeats)
        for problem in problems
        for values in _choices(experiment.settings, problem.name, problem.parameters)
        for run in _runs(experiment, frameworks, problem, values, repetition)
    ]
    refusals = [refusal(run) or _without_interpreter(run) for run in runs]
    if all(refusals):
        raise UsageError(next(filter(None, refusals), "there is nothing to run"))
    return runs


def refusal(run: RunSpec) -> str | None:
    """Return why the framework cannot do what the run asks, or None."""
    plugin = registry.framework(run.framework)
    if run.mode not in plugin.modes:
        return f"framework '{plugin.name}' cannot do {run.mode}, only {', '.join(plugin.modes)}"
    if run.device not in plugin.devices:
        return f"framework '{plugin.name}' does not run on {run.device}, only on {', '.join(plugin.devices)}"
    able = plugin.precisions.get(run.device, ())
    if run.precision not in able:
        return (
            f"framework '{plugin.name}' has no {run.precision} on {run.device}; "
            f"it has {', '.join(able) or 'nothing there'}"
        )
    return None


def _without_interpreter(run: RunSpec) -> str | None:
    """Return why the interpreter that the run names cannot run its framework, or None."""
    if run.environment in ("auto", "managed"):
        return None  # may have to be made, which belongs to the run
    plugin, cuda = registry.framework(run.framework), run.device == "cuda"
    try:
        resolve(plugin, choice=run.environment, version=run.framework_version, cuda=cuda)
    except UsageError as error:
        return str(error)
    return None


def _check(experiment: Experiment) -> None:
    _check_names(experiment)
    _check_numbers(experiment)
    _check_devices(experiment)


def _check_names(experiment: Experiment) -> None:
    for name, values in (
        ("framework", experiment.frameworks),
        ("problem", experiment.problems),
        ("mode", experiment.modes),
        ("precision", experiment.precisions),
        ("device", experiment.devices),
        ("seed", experiment.seeds),
    ):
        if not values:
            raise UsageError(f"there must be at least one {name}, got none")
        twice = [value for value in dict.fromkeys(values) if values.count(value) > 1]
        if twice:
            raise UsageError(f"{name} '{twice[0]}' is named twice; --repeats runs it in several processes")
    _one_of("mode", experiment.modes, MODES)
    _one_of("precision", experiment.precisions, PRECISIONS)
    _one_of("device", experiment.devices, DEVICES)
    _one_of("optimizer", experiment.optimizers, OPTIMIZERS)
    registry.find("launchers", experiment.launcher)


def _check_numbers(experiment: Experiment) -> None:
    _at_least("batch size", experiment.batch_sizes, 1)
    _at_least("number of threads", experiment.threads, 1)
    _at_least("seed", experiment.seeds, 0)
    _at_least("index of the GPU", experiment.gpus, 0)
    for name, value, least in (
        ("number of steps", experiment.steps, 1),
        ("number of warm-up steps", experiment.warmup, 0),
        ("number of repeats", experiment.repeats, 1),
        ("number of epochs", experiment.epochs, 1),
        ("problem size", experiment.samples_per_epoch, 1),
    ):
        if value is not None:
            _at_least(name, (value,), least)
    if experiment.epochs > 1 and experiment.samples_per_epoch is None:
        raise UsageError(f"{experiment.epochs} epochs need a problem size, the number of samples of an epoch")
    timeout, rate = experiment.timeout, experiment.learning_rate
    if timeout is not None and not 0 < timeout < math.inf:
        raise UsageError(f"the timeout must be more than 0 seconds and finite, got {timeout:g}")
    if rate is not None and not 0 <= rate < math.inf:
        raise UsageError(f"the learning rate must be at least 0 and finite, got {rate:g}")


def _check_devices(experiment: Experiment) -> None:
    if len(experiment.gpus) > 1:
        raise UsageError(f"a run uses one GPU, got --gpus={','.join(map(str, experiment.gpus))}")
    if experiment.gpus and "cuda" not in experiment.devices:
        raise UsageError(
            f"--gpus={experiment.gpus[0]} needs --device=cuda, got --device={experiment.devices[0]}"
        )
    unusable = sorted(set(experiment.affinity) - set(usable_cpus()))
    if unusable:
        raise UsageError(f"CPU {unusable[0]} cannot be used; usable are {_ranges(usable_cpus())}")
    if "cuda" in experiment.devices and not Path("/proc/driver/nvidia/version").exists():
        raise UsageError("device cuda was asked for, but no NVIDIA driver is loaded here; use --device=cpu")


def _ranges(cpus: Sequence[int]) -> str:
    return f"{cpus[0]} to {cpus[-1]}" if len(cpus) > 1 else str(cpus[0])


def _one_of(name: str, values: Iterable[str], known: Sequence[str]) -> None:
    for value in values:
        if value not in known:
            raise UsageError(f"unknown {name} '{value}'{did_you_mean(value, known)}")


def _at_least(name: str, values: Iterable[int], least: int) -> None:
    for value in values:
        if value < least:
            raise UsageError(f"the {name} must be at least {least}, got {value}")


def parse_framework(request: str) -> tuple[FrameworkPlugin, str | None]:
    """Return the framework plugin and the version of ``name`` or ``name==version``."""
    name, separator, version = request.partition("==")
    if separator and not version.strip():
        raise UsageError(f"'{request}' names no version; write for example {name}==1.2.3")
    plugin = registry.framework(name.strip())
    if separator:
        wanted(plugin, version.strip(), cuda=False)  # refuses what is no version
    return plugin, version.strip() or None


def _owned(
    settings: Mapping[str, tuple[str, ...]], owner: str, names: Iterable[str]
) -> dict[str, tuple[str, ...]]:
    """Return the settings that ``owner`` takes, ``owner.name`` going before ``name``."""
    return {
        name: settings.get(f"{owner}.{name}", settings.get(name, ()))
        for name in names
        if f"{owner}.{name}" in settings or name in settings
    }


def _choices(settings: Mapping[str, tuple[str, ...]], owner: str, options: type[Any]) -> list[dict[str, str]]:
    owned = _owned(settings, owner, option_types(options))
    return [dict(zip(owned, values)) for values in itertools.product(*owned.values())]


def _check_settings(
    settings: Mapping[str, tuple[str, ...]],
    frameworks: Sequence[FrameworkPlugin],
    problems: Sequence[Problem],
) -> None:
    known: set[str] = set()
    for owner, options in [(f.name, f.options) for f in frameworks] + [
        (p.name, p.parameters) for p in problems
    ]:
        names = option_types(options)
        known |= set(names) | {f"{owner}.{name}" for name in names}
    for name in settings:
        if name not in known:
            owners = ", ".join(
                f"'{owner}'" for owner in [*(p.name for p in problems), *(f.name for f in frameworks)]
            )
            raise UsageError(f"none of {owners} has a parameter '{name}'{did_you_mean(name, known)}")


@dataclass(frozen=True)
class _Cell:
    """One cell of the matrix, in the order of its axes."""

    mode: str
    batch_size: int
    precision: str
    optimizer: str
    device: str
    threads: int
    seed: int
    framework: tuple[FrameworkPlugin, str | None]


def _cells(
    experiment: Experiment, frameworks: Sequence[tuple[FrameworkPlugin, str | None]], problem: Problem
) -> list[_Cell]:
    optimizers = experiment.optimizers or (problem.optimizer.kind,)
    axes = itertools.product(
        experiment.modes,
        experiment.batch_sizes or (problem.batch_size,),
        experiment.precisions,
        optimizers,
        experiment.devices,
        experiment.threads or (default_threads(experiment.affinity),),
        experiment.seeds,
        frameworks,
    )
    cells = itertools.starmap(_Cell, axes)
    # Inference has no optimizer, so several of them are one run of it.
    return [cell for cell in cells if cell.mode == "training" or cell.optimizer == optimizers[0]]


def _runs(
    experiment: Experiment,
    frameworks: Sequence[tuple[FrameworkPlugin, str | None]],
    problem: Problem,
    values: Mapping[str, str],
    repetition: int,
) -> list[RunSpec]:
    parameters = problem.configure(values)
    for batch_size in experiment.batch_sizes or (problem.batch_size,):
        problem.graph(batch_size, **values)  # refuses sizes that are impossible
    runs = []
    for cell in _cells(experiment, frameworks, problem):
        plugin, version = cell.framework
        for options in _choices(experiment.settings, plugin.name, plugin.options):
            chosen = parse_options(plugin.options, options, f"framework '{plugin.name}'")
            spec = RunSpec(
                framework=plugin.name,
                framework_version=version,
                framework_options=asdict(chosen),
                problem=problem.name,
                problem_parameters=parameters,
                mode=cell.mode,
                batch_size=cell.batch_size,
                precision=cell.precision,
                optimizer=_optimizer(problem, cell.optimizer, experiment.learning_rate),
                device=cell.device,
                gpus=(experiment.gpus or (0,)) if cell.device == "cuda" else (),
                threads=cell.threads,
                seed=cell.seed,
                steps=_steps(experiment, cell.batch_size),
                repetition=repetition,
            )
            runs.append(replace(spec, **_common(experiment)))
    return runs


def _common(experiment: Experiment) -> dict[str, Any]:
    """Return what is the same for every run of the experiment."""
    names = (
        "affinity",
        "warmup",
        "samples_per_epoch",
        "verify",
        "timeout",
        "environment",
        "launcher",
        "anonymous",
    )
    return {name: getattr(experiment, name) for name in names}


def _optimizer(problem: Problem, kind: str, learning_rate: float | None) -> Optimizer:
    optimizer = problem.optimizer if kind == problem.optimizer.kind else Optimizer.default(kind)
    return optimizer if learning_rate is None else replace(optimizer, learning_rate=learning_rate)


def _steps(experiment: Experiment, batch_size: int) -> int | None:
    """Return the number of steps; a problem size gives whole epochs of it."""
    size = experiment.samples_per_epoch
    if size is None:
        return experiment.steps
    if size % batch_size:
        raise UsageError(
            f"the problem size must be a multiple of the batch size, got {size} samples in batches of {batch_size}"
        )
    if experiment.steps is not None:
        raise UsageError("give either a number of steps or a problem size, not both")
    return size // batch_size * experiment.epochs
