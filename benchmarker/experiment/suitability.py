"""Whether a problem suits the level and the modes of an experiment, and a framework what a run asks of it."""

from __future__ import annotations

import operator
from collections.abc import Sequence

from benchmarker import registry
from benchmarker.api.collective import Collective, of_problem
from benchmarker.api.problem import OPERATOR, Problem
from benchmarker.errors import UsageError
from benchmarker.execution.environments import resolve
from benchmarker.execution.environments.containers.reference import is_container
from benchmarker.experiment.collective_suitability import unsuited_collective
from benchmarker.experiment.load_suitability import unsuited_load
from benchmarker.experiment.rank_suitability import unsuited_ranks
from benchmarker.experiment.spec import RunSpec
from benchmarker.graph.graph import Graph


def wrong_level(level: str | None, problem: Problem) -> str | None:
    """Return why a problem does not belong to a level, None if it does."""
    operation = problem.task == OPERATOR or problem.collective is not None
    if level not in ("operator", "network") or operation == (level == "operator"):
        return None
    rule = "of operators alone" if level == "operator" else "of networks, not of operators"
    return f"the level {level} is {rule}; the task of problem '{problem.name}' is {problem.task}"


def wrong_modes(modes: Sequence[str], problem: Problem, *, are_given: bool = True) -> str | None:
    """Return why no mode of an experiment is one of a problem, None if one is; a collective needs none to be given."""
    if set(problem.modes) & set(modes) or (problem.collective and not are_given):
        return None
    if problem.collective:
        return (
            f"problem '{problem.name}' is a collective, which has the mode {problem.modes[0]} and trains nothing, got "
            f"{' and '.join(modes)}; leave out --mode"
        )
    return f"problem '{problem.name}' is for {' and '.join(problem.modes)} only, got {' and '.join(modes)}"


def missing_for_training(graph: Graph) -> str:
    """Return what a graph lacks for training, nothing if it can be trained."""
    if graph.loss is None:
        return "loss to train with"
    return "" if graph.trainable else "weights to train"


_DECISIVE = operator.attrgetter(
    "framework",
    "mode",
    "device",
    "precision",
    "fold_batch_norm",
    "start",
    "launcher",
    "compile_cache",
    "batch_size",
    "micro_batch",
    "ranks",
    "scheme",
    "exchange",
    "optimizer",
    "breakdown",
    "window",
    "data",
    "scenario",
    "sampling",
    "steps",
    "environment",
)
"""All that :func:`unsupported_reason` looks at, beside what the problem itself says."""


def unsupported_reasons(runs: Sequence[RunSpec]) -> list[str | None]:
    """Return the :func:`unsupported_reason` of each run, worked out once for those that have one in common."""
    problems = {which: registry.problem(which) for which in dict.fromkeys(run.problem for run in runs)}
    pairs = [(run, problems[run.problem]) for run in runs]
    keys = [(_DECISIVE(run), _collective(run, own), _unsuited_parts(run, own)) for run, own in pairs]
    found = {key: unsupported_reason(run) for key, run in dict(zip(keys, runs)).items()}
    return [found[key] for key in keys]


def _collective(run: RunSpec, problem: Problem) -> Collective | None:
    return of_problem(problem.collective, run.problem_parameters)


def unsupported_reason(run: RunSpec) -> str | None:
    """Return why the framework cannot do what the run asks, or None."""
    plugin = registry.framework(run.framework)
    if run.mode not in plugin.modes:
        return f"framework '{plugin.name}' cannot do {run.mode}, only {' and '.join(plugin.modes)}"
    refused = plugin.device_fault(run.device)
    if refused is not None:
        return refused
    able = plugin.precisions.get(run.device, ())
    if run.precision not in able:
        return (
            f"framework '{plugin.name}' has no {run.precision} on {run.device}; "
            f"it has {', '.join(able) or 'nothing there'}"
        )
    if run.precision == "int8" and (run.mode != "inference" or run.fold_batch_norm):
        return (
            "--precision=int8 is for --mode=inference, without --fold-batch-norm: scales are those of the weights as "
            f"they are, got {run.mode}" + (" with --fold-batch-norm" if run.fold_batch_norm else "")
        )
    if run.micro_batch is not None and run.batch_size % run.micro_batch:
        return (
            f"--micro-batch must divide the batch size, so that all parts weigh the same, got {run.micro_batch} "
            f"for a batch size of {run.batch_size}"
        )
    problem = registry.problem(run.problem)
    collective = _collective(run, problem)
    refused = _unsuited_parts(run, problem)
    if refused is not None:
        return refused
    refused = unsuited_collective(run, plugin, collective) if collective else None
    if refused is None and run.ranks > 1:
        refused = unsuited_ranks(run, plugin)
    refused = refused or unsuited_load(run)
    if refused is not None:
        return refused
    if run.start == "fork" and run.device != "cpu":
        return (
            f"--start=fork is for the cpu, not for {run.device}: a GPU's driver does not survive a fork, and "
            "not every framework leaves it alone while it is imported; use --start=spawn"
        )
    if run.start not in registry.launcher(run.launcher).starts:
        return f"launcher '{run.launcher}' cannot {run.start} a worker; use --start=spawn"
    if is_container(run.environment):
        return _unsuited_container(run)
    missing = plugin.missing_program() if run.launcher == "local" else None
    if missing is not None:
        return missing
    if run.start == "fork" and run.compile_cache == "cold" and plugin.compile_caches:
        return (
            "--compile-cache=cold is for --start=spawn, not for fork: a warm server's folders are set before its "
            "first worker, so a fresh one for each would take a new interpreter for each"
        )
    return None


def _unsuited_parts(run: RunSpec, problem: Problem) -> str | None:
    """Return why parts of a run's mini-batches cannot be trained, or None."""
    part = min(run.batch_size // run.ranks, run.micro_batch or run.batch_size)
    if run.mode != "training" or part == run.batch_size:
        return None
    fault = problem.fault_of_parts(run.problem_parameters)
    if fault is None:
        return None
    by = "--ranks" if run.ranks > 1 else "--micro-batch"
    return f"problem '{run.problem.name}' is trained by whole mini-batches, without {by}: {fault}"


def _unsuited_container(run: RunSpec) -> str | None:
    """Return why a run is none for a container, or None."""
    if run.ranks > 1 or run.start == "fork":
        what = "of several ranks" if run.ranks > 1 else "with --start=fork"
        return f"an environment 'container:...' is for single workers that are spawned, not for runs {what}"
    if not registry.launcher(run.launcher).encloses:
        return f"launcher '{run.launcher}' starts no workers in containers; use --launcher=local"
    return None


def without_interpreter(run: RunSpec) -> str | None:
    """Return why the interpreter that the run names cannot run its framework, or None."""
    if run.environment in ("auto", "managed"):
        return None  # may have to be made, which belongs to the run
    plugin, cuda = registry.framework(run.framework), run.device == "cuda"
    version, ranks = run.framework_version, run.ranks > 1
    try:
        resolve(plugin, choice=run.environment, version=version, cuda=cuda, ranks=ranks)
    except UsageError as error:
        return str(error)
    return None
