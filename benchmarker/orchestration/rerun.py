"""From a record to the experiment that runs it again, its problem's file looked for on this machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarker import registry
from benchmarker.api.optimizer import settings_of
from benchmarker.api.problem_scheme import ProblemReference
from benchmarker.api.suite import Request
from benchmarker.errors import UsageError
from benchmarker.experiment.options import RUN_OPTIONS
from benchmarker.experiment.run_option import RunOption
from benchmarker.experiment.spec import UNSTATED, Experiment, Requested
from benchmarker.training.fields import made
from benchmarker.training.recipe import Training

OF_RECIPES = ("mode", "data")
"""Options that a recipe gives itself."""
_SHOWN = len("sha256:") + 12


def experiment_from_record(record: Mapping[str, Any]) -> Experiment:
    """Return the experiment of one cell that has the specification of a record.

    Parameters
    ----------
    record : mapping
        A valid record with a ``specification`` (since 1.1).
    """
    specification = {**UNSTATED, **record["specification"]}
    if specification["scaling"] == "weak":
        # Of which planning makes that of all ranks again.
        specification["batch_size"] //= specification["ranks"]
    values = {
        option.keyword: _value(option, specification[name])
        for name, option in _SPECIFIED.items()
        if option.of_recipes or option.name in OF_RECIPES or specification["training"] is None
    }
    per_epoch, steps = specification["samples_per_epoch"], specification["steps"]
    if per_epoch:
        values["steps"] = ()
        values["epochs"] = (steps * specification["batch_size"] // per_epoch,) if steps else ()
    if steps is not None or specification["window"] is not None:
        values.update(seconds=None, min_samples=None)
    return Experiment(
        frameworks=(Request(specification["framework"], _single(specification["framework_options"])),),
        problems=(Request(specification["problem"], _single(specification["problem_parameters"])),),
        optimizers=_optimizers(specification["optimizer"]),
        timeout=record["execution"]["timeout_seconds"],
        anonymous="--anonymous" in record["command"],
        training=_training(specification["training"]),
        **values,
    )


_SPECIFIED = {name: option for name, option in RUN_OPTIONS.items() if option.specified}


def _value(option: RunOption, value: Any) -> Any:
    """Return a value of a specification as an experiment takes it."""
    if isinstance(value, list):
        value = tuple(value)
    if not option.axis:
        return value
    return () if value in (None, ()) else (value,)


def _single(settings: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
    return {name: (value,) for name, value in settings.items()}


def _optimizers(specification: Mapping[str, Any] | None) -> tuple[Request, ...]:
    if specification is None:
        return ()
    kind = registry.update_rule(specification["kind"]).name
    own = {name: specification[name] for name in settings_of(kind) if name in specification}
    return (Request(specification["kind"], _single(own)),)


def _training(table: Mapping[str, Any] | None) -> Training | None:
    return None if table is None else made(Training, table, "the record's recipe")


def with_interpreter(experiment: Experiment, version: str | None, choice: str) -> Experiment:
    """Return the experiment with its framework at a version, if one is given, in an interpreter.

    Parameters
    ----------
    experiment : Experiment
        Of one framework.
    version : str or None
        As the record has it; a local part like ``+cpu`` is left to the index.
    choice : str
        As for ``--env`` of a run.
    """
    request = Request.of(experiment.frameworks[0])
    name = request.name.partition("==")[0]
    pinned = f"{name}=={version.partition('+')[0]}" if version else name
    return experiment.replaced(frameworks=(replace(request, name=pinned),), environments=(choice,))


def interpreter_of(record: Mapping[str, Any], experiment: Experiment) -> str:
    """Return the interpreter that repeats a record's, as for ``--env`` of a run: its environment, made anew.

    Parameters
    ----------
    record : mapping
        A valid record.
    experiment : Experiment
        What it was asked for with.
    """
    choice = str(experiment.environments[0])
    named = {"managed": "managed", "recorded": "managed", "path": choice, "container": choice}
    return named.get(record["environment"]["kind"], "auto")


def fit_to_machine(
    experiment: Experiment, usable: Sequence[int], granted: Callable[[Sequence[int]], int]
) -> Experiment:
    """Return the experiment with as many of its CPUs and threads as there are here.

    Parameters
    ----------
    experiment : Experiment
        Of one cell.
    usable : sequence of int
        CPUs that may be used here.
    granted : callable
        How many threads may run at a time on CPUs, on all if there are none named.
    """
    affinity = tuple(cpus for cpus in experiment.affinity if set(cpus) <= set(usable))
    most = granted(affinity[0] if affinity else ())
    return experiment.replaced(
        affinity=affinity, threads=tuple(min(threads, most) for threads in experiment.threads)
    )


def with_problem_file(
    experiment: Experiment, record: Mapping[str, Any], given: Path | None = None
) -> Experiment:
    """Return the experiment of a record with the path of its problem's file, if that is one.

    Without ``given`` the file is looked for where the record's command has it, as long as that is below the working
    directory, and in the working directory: a record may come from anywhere, and is not followed elsewhere.

    Parameters
    ----------
    experiment : Experiment
        What was asked for with the record.
    record : mapping
        A valid record.
    given : Path or None
        The file, or its folder.

    Raises
    ------
    UsageError
        If there is no such file, or it has another content than the record says.
    """
    digest = (record.get("specification") or {}).get("problem_digest")
    problems = tuple(_located(requested, record, digest, given) for requested in experiment.problems)
    return replace(experiment, problems=problems)


def _located(
    requested: Requested, record: Mapping[str, Any], digest: str | None, given: Path | None
) -> Requested:
    request = Request.of(requested)
    problem = ProblemReference.parse(request.name)
    if problem.file is None:
        return requested
    name = problem.name
    if digest is None:
        raise UsageError(f"its problem '{name}' is a file, and the record does not hold the file's contents")
    path = _found(name, problem.file.name, record["command"], given)
    here = registry.with_digest(problem.at(path))
    if here.digest != digest:
        raise UsageError(
            f"its problem '{name}' must have the recorded contents, {digest[:_SHOWN]}, but '{path}' has "
            f"{str(here.digest)[:_SHOWN]}"
        )
    return replace(request, name=here.located_name)


def _found(name: str, file: str, command: list[str], given: Path | None) -> Path:
    if given is not None:
        places = [given / file if given.is_dir() else given]
    else:
        places = [*_below_here(name, command), Path.cwd() / file]
    path = next((place.absolute() for place in places if place.is_file()), None)
    if path is None:
        raise UsageError(
            f"its problem '{name}' is a file that must be in the working directory or be named with --problem, "
            f"but there is none at '{places[-1]}'"
        )
    return path


def _below_here(name: str, command: list[str]) -> list[Path]:
    """Return where the command has the file, if that is below the working directory."""
    here, option = Path.cwd(), "--problem="
    stated = [
        ProblemReference.parse(part.removeprefix(option)) for part in command if part.startswith(option)
    ]
    files = [problem.file for problem in stated if problem.file is not None and problem.name == name]
    return [file for file in files if here.resolve() in file.resolve().parents]
