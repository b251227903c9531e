"""From what was asked to the runs of an experiment, every default filled in and checked."""

from __future__ import annotations

import itertools
import json
import operator
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarker import registry
from benchmarker.environments import resolve
from benchmarker.errors import UsageError
from benchmarker.experiment import Experiment, Request, RunSpec, identity
from benchmarker.experiment_faults import Fault, faults, parse_framework, precision
from benchmarker.framework import FrameworkPlugin, Optimizer
from benchmarker.hyperparameters import constants
from benchmarker.options import parse_options
from benchmarker.problem import Problem
from benchmarker.problem_files import located
from benchmarker.settings import choices
from benchmarker.worker_environment import default_threads, thread_fault, usable_cpus

if TYPE_CHECKING:
    from benchmarker.data.prepared import PreparedData


class ExperimentError(UsageError):
    """Something makes no sense in an experiment; ``fault`` says which field it is."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.message)
        self.fault = fault


def plan(experiment: Experiment) -> list[RunSpec]:
    """Return every run of the experiment, repetitions of the matrix one after the other.

    Raises
    ------
    ExperimentError
        On an unknown name or a value that makes no sense.
    UsageError
        When no run of the matrix is possible.
    """
    every = (faults(experiment), _transformation_faults(experiment), _machine_faults(experiment))
    for fault in itertools.chain(*every):
        raise ExperimentError(fault)
    runs = matrix(experiment)
    first = [run for run in runs if run.repetition == 0]
    _check_data(first)
    # Most experiments can do their first run, and no more of them has to be looked at.
    if all(_impossible(first)):
        raise UsageError(next(filter(None, _impossible(first)), "there is nothing to run"))
    return runs


def _impossible(runs: Sequence[RunSpec]) -> Iterator[str | None]:
    return (refused or without_interpreter(run) for refused, run in zip(refusals(runs), runs))


def matrix(experiment: Experiment) -> list[RunSpec]:
    """Return every run of an experiment in which nothing is wrong: of a profile, the fewest that there may be."""
    wanted = precision(experiment)
    repeats = wanted.min_processes if wanted else experiment.repeats or 1
    first = [run for asked in experiment.problems for run in _runs(experiment, Request.of(asked))]
    further = [replace(run, repetition=number) for number in range(1, repeats) for run in first]
    return [*first, *further]


_OF_REFUSAL = operator.attrgetter(
    "framework",
    "mode",
    "device",
    "precision",
    "start",
    "launcher",
    "compile_cache",
    "batch_size",
    "micro_batch",
)
"""All that :func:`refusal` looks at."""


def refusals(runs: Sequence[RunSpec]) -> list[str | None]:
    """Return the :func:`refusal` of each run, worked out once for those that have one in common."""
    keys = list(map(_OF_REFUSAL, runs))
    found = {key: refusal(run) for key, run in dict(zip(keys, runs)).items()}
    return [found[key] for key in keys]


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
    if run.micro_batch is not None and run.batch_size % run.micro_batch:
        return (
            f"--micro-batch must divide the batch size, so that all parts weigh the same, got {run.micro_batch} "
            f"for a batch size of {run.batch_size}"
        )
    if run.start == "fork" and run.device != "cpu":
        return (
            f"--start=fork is for the cpu, not for {run.device}: a GPU's driver does not outlive a fork, and "
            "not every framework leaves it alone while it is imported; use --start=spawn"
        )
    if run.start not in registry.launcher(run.launcher).starts:
        return f"launcher '{run.launcher}' cannot {run.start} a worker; use --start=spawn"
    if run.start == "fork" and run.compile_cache == "cold" and plugin.compile_caches:
        return (
            "--compile-cache=cold is for --start=spawn, not for fork: a warm server has its folders from before "
            "its first worker, so a fresh one for each would be a new interpreter for each"
        )
    return None


def prepared_data(run: RunSpec) -> PreparedData | None:
    """Return the data set of the run, read and kept for its worker; None for drawn mini-batches.

    Raises
    ------
    UsageError
        If it cannot be read.
    """
    return None if run.data is None else _dataset(run.data, run.data_dir)


def _dataset(name: str, folder: str | None) -> PreparedData:
    from benchmarker.data.prepared import prepare

    return prepare(name, Path(folder) if folder else None)


def _check_data(runs: Iterable[RunSpec]) -> None:
    # Runs of one choice of parameters share them as one object.
    asked = {
        (run.data, run.data_dir, run.problem, id(run.problem_parameters), run.batch_size): run
        for run in runs
        if run.data is not None
    }
    if not asked:
        return
    from benchmarker.data.prepared import check_fits

    for run in asked.values():
        try:
            data = prepared_data(run)
            if data is not None:
                graph = registry.problem(run.problem).graph(run.batch_size, **run.problem_parameters)
                check_fits(data.description, graph)
        except UsageError as error:
            raise ExperimentError(Fault(("data",), str(error))) from None


def without_interpreter(run: RunSpec) -> str | None:
    """Return why the interpreter that the run names cannot run its framework, or None."""
    if run.environment in ("auto", "managed"):
        return None  # may have to be made, which belongs to the run
    plugin, cuda = registry.framework(run.framework), run.device == "cuda"
    try:
        resolve(plugin, choice=run.environment, version=run.framework_version, cuda=cuda)
    except UsageError as error:
        return str(error)
    return None


def _transformation_faults(experiment: Experiment) -> Iterator[Fault]:
    modes = ", ".join(experiment.modes)
    if experiment.micro_batches and "training" not in experiment.modes:
        yield Fault(("micro_batch",), f"micro-batches are for training, got the mode {modes}; add training")
    if experiment.fold_batch_norm and "inference" not in experiment.modes:
        yield Fault(
            ("fold_batch_norm",),
            f"batch normalization is folded in inference, got the mode {modes}; in training its statistics move",
        )


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
    if "cuda" in experiment.devices and not Path("/proc/driver/nvidia/version").exists():
        yield Fault(
            ("device",),
            "device cuda was asked for, but no NVIDIA driver is loaded here; use --device=cpu",
        )


@dataclass(frozen=True)
class _Cell:
    """One cell of the matrix, in the order of its axes."""

    mode: str
    batch_size: int
    precision: str
    optimizer: Optimizer
    device: str
    gpus: tuple[int, ...]
    place: tuple[tuple[int, ...], int]
    seed: int
    steps: int | None
    samples_per_epoch: int | None
    epochs: int | None
    window: float | None
    warmup: int | None
    data: str | None
    inputs: str
    sampling: str | None
    environment: str
    launcher: str
    start: str
    compile_cache: str
    micro_batch: int | None
    framework: tuple[FrameworkPlugin, str | None, Mapping[str, Any]]


def _cells(experiment: Experiment, problem: Problem) -> Iterator[_Cell]:
    axes = itertools.product(
        [mode for mode in experiment.modes if mode in problem.modes],
        experiment.batch_sizes or (problem.batch_size,),
        experiment.precisions,
        _optimizers(experiment, problem),
        experiment.devices,
        experiment.gpus or ((),),
        _places(experiment),
        experiment.seeds,
        experiment.steps or (None,),
        experiment.samples_per_epoch or (None,),
        experiment.epochs or (None,),
        experiment.windows or (None,),
        experiment.warmup or (None,),
        experiment.data or (None,),
        experiment.inputs,
        experiment.sampling or (None,),
        experiment.environments,
        experiment.launchers,
        experiment.starts,
        experiment.compile_caches,
        experiment.micro_batches or (None,),
        _frameworks(experiment),
    )
    return itertools.starmap(_Cell, axes)


def _places(experiment: Experiment) -> list[tuple[tuple[int, ...], int]]:
    """Return each set of CPUs with each number of threads."""
    return [
        (cpus, threads)
        for cpus in experiment.affinity or ((),)
        for threads in experiment.threads or (default_threads(cpus),)
    ]


def _frameworks(experiment: Experiment) -> list[tuple[FrameworkPlugin, str | None, Mapping[str, Any]]]:
    """Return each framework with its version and, complete, each choice of its options, no two alike."""
    found: dict[Hashable, tuple[FrameworkPlugin, str | None, Mapping[str, Any]]] = {}
    for request in map(Request.of, experiment.frameworks):
        plugin, version = parse_framework(request.name)
        for values in choices(request, experiment.settings, plugin.name, plugin.options):
            options = asdict(parse_options(plugin.options, values, f"framework '{plugin.name}'"))
            found.setdefault((plugin.name, version, _as_text(options)), (plugin, version, options))
    return list(found.values())


def _parameters(experiment: Experiment, request: Request, problem: Problem) -> list[dict[str, Any]]:
    """Return, complete, each choice of the problem's parameters, no two alike."""
    asked = choices(request, experiment.settings, problem.name, problem.parameters)
    return list({_as_text(values): values for values in map(problem.configure, asked)}.values())


def _as_text(settings: Mapping[str, Any]) -> str:
    return json.dumps(settings, sort_keys=True)


def _optimizers(experiment: Experiment, problem: Problem) -> list[Optimizer]:
    """Return each optimizer with each choice of the constants that it has."""
    found = []
    for request in map(Request.of, experiment.optimizers or ("",)):
        kind = request.name or problem.optimizer.kind
        base = problem.optimizer if kind == problem.optimizer.kind else Optimizer.default(kind)
        settings = {**request.settings, **experiment.hyperparameters}
        names = [name for name in settings if name in constants(kind)]
        for values in itertools.product(*(settings[name] for name in names)):
            constant: dict[str, Any] = dict(zip(names, map(float, values)))
            found.append(replace(base, **constant))
    return list(dict.fromkeys(found))


_WITHOUT_SETTINGS = operator.attrgetter(
    *(
        member.name
        for member in fields(RunSpec)
        if member.name not in ("problem_parameters", "framework_options", "optimizer")
    )
)


def _likeness(run: RunSpec) -> Hashable:
    """Return what runs have in common that are the same; each choice of settings is one object in all of them."""
    optimizer = run.optimizer if run.mode == "training" else None
    return (_WITHOUT_SETTINGS(run), optimizer, id(run.problem_parameters), id(run.framework_options))


def _runs(experiment: Experiment, request: Request) -> list[RunSpec]:
    problem = registry.problem(request.name)
    length = _length(experiment)
    which = {"problem": located(request.name), "problem_digest": registry.problem_digest(request.name)}
    runs: dict[Hashable, RunSpec] = {}
    for parameters in _parameters(experiment, request, problem):
        for cell in _cells(experiment, problem):
            run = _run(experiment, cell, which, parameters, length)
            # Several optimizers are one run of inference, and so are several numbers of steps in a window.
            runs.setdefault(_likeness(run), run)
    return list(runs.values())


def _run(
    experiment: Experiment,
    cell: _Cell,
    problem: Mapping[str, Any],
    parameters: Mapping[str, Any],
    length: Mapping[str, Any],
) -> RunSpec:
    plugin, version, options = cell.framework
    affinity, threads = cell.place
    window = cell.window if cell.mode == "inference" else None
    steps = _steps(cell, experiment.data_dir) if window is None else None
    return RunSpec(
        framework=plugin.name,
        framework_version=version,
        framework_options=options,
        **problem,
        problem_parameters=parameters,
        mode=cell.mode,
        batch_size=cell.batch_size,
        precision=cell.precision,
        optimizer=cell.optimizer,
        device=cell.device,
        gpus=(cell.gpus or (0,)) if cell.device == "cuda" else (),
        threads=threads,
        affinity=affinity,
        seed=cell.seed,
        steps=steps,
        warmup=cell.warmup,
        window=window,
        samples_per_epoch=cell.samples_per_epoch,
        data=cell.data,
        data_dir=experiment.data_dir if cell.data else None,
        inputs=cell.inputs,
        sampling=cell.sampling or DEFAULT_SAMPLING[cell.mode],
        **(length if steps is None and window is None else {}),
        breakdown=bool(experiment.breakdown),
        micro_batch=cell.micro_batch if cell.mode == "training" else None,
        fold_batch_norm=experiment.fold_batch_norm and cell.mode == "inference",
        monitors=experiment.monitors,
        verify=experiment.verify,
        timeout=experiment.timeout,
        environment=cell.environment,
        launcher=cell.launcher,
        start=cell.start,
        compile_cache=cell.compile_cache,
        anonymous=experiment.anonymous,
        price_per_hour=experiment.price_per_hour,
    )


DEFAULT_SAMPLING = {"training": "throughput", "inference": "latency", "gradient": "latency"}
"""Who trains asks how many samples a second, who infers how long one takes."""


def _length(experiment: Experiment) -> dict[str, Any]:
    """Return how long the timed part lasts where no amount says it: as given, else by the profile."""
    wanted = precision(experiment)
    seconds = wanted.min_steady_seconds if wanted else RunSpec.target_seconds
    samples = wanted.min_steps if wanted else RunSpec.minimum_samples
    return {
        "target_seconds": experiment.seconds or seconds,
        "minimum_samples": experiment.min_samples or samples,
    }


def _steps(cell: _Cell, data_dir: str | None) -> int | None:
    """Return the number of steps; a problem size, or the data set's own, gives whole epochs of it."""
    if cell.samples_per_epoch is None and cell.data and cell.epochs and cell.steps is None:
        size: int = _dataset(cell.data, data_dir).description["samples"]
        return size // cell.batch_size * cell.epochs
    if cell.samples_per_epoch is None:
        return cell.steps
    return cell.samples_per_epoch // cell.batch_size * (cell.epochs or 1)


def early_stop_key(run: RunSpec) -> str:
    """Return what runs have in common that differ in batch size and process alone."""
    steps = None if run.samples_per_epoch else run.steps
    alike = replace(run, batch_size=1, steps=steps, repetition=0)
    return identity(alike)
