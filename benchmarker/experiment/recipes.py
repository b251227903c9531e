"""Recipes by name or file, what of them may be changed, and by what a training is known to be of the same one."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarker import registry
from benchmarker.errors import UsageError
from benchmarker.experiment.keys import canonical
from benchmarker.experiment.spec import RunSpec, specification
from benchmarker.training.fields import made
from benchmarker.training.recipe import Training
from benchmarker.training.reference_runs import ReferenceRuns

if TYPE_CHECKING:
    from benchmarker.experiment.blueprint.loading import Blueprint

_SUFFIX = ".toml"
_DECIDING = (
    "problem",
    "problem_digest",
    "problem_parameters",
    "batch_size",
    "precision",
    "optimizer",
    "data",
)
"""What of a specification belongs to a recipe beside its table."""
_OF_RUNS = ("name", "early_stop", "max_steps")
"""Members of the table that change no step."""


def recipe(name: str) -> Blueprint:
    """Return the blueprint of a recipe that is installed, or of a file.

    Raises
    ------
    UsageError
        If there is none, it cannot be read, it is a blueprint without a training, or none of its reference runs
        reached its target.
    """
    from benchmarker.experiment.blueprint.loading import load

    is_file = "/" in name or name.endswith((_SUFFIX, ".py"))
    installed = None if is_file else registry.recipe(name)
    path = Path(name) if installed is None else installed.file
    blueprint = load(path)
    if "training" not in blueprint.values:
        raise UsageError(
            f"'{path}' has no [training] table, so it is not a recipe; benchmarker run takes other blueprints"
        )
    if installed is None:
        return blueprint
    training = blueprint.values["training"]
    if installed.reference_runs is not None:
        ReferenceRuns.read(installed.reference_runs).check(training.target, name)
    # A command that repeats the training finds it by this name, whatever its file is called.
    blueprint.converted.values["training"] = replace(training, name=name)
    return blueprint


def requested_blueprint(blueprint: Path | None, recipe_name: str | None) -> Blueprint | None:
    """Return what a blueprint or a recipe describes; None without either.

    Raises
    ------
    UsageError
        If both are given, or what is given cannot be read.
    """
    from benchmarker.experiment.blueprint.loading import load

    if recipe_name is None:
        return None if blueprint is None else load(blueprint)
    if blueprint is not None:
        raise UsageError(f"give either a blueprint or the recipe '{recipe_name}', which is one")
    return recipe(recipe_name)


def recipe_argument(training: Mapping[str, Any]) -> str:
    """Return how a command names the recipe of a specification: a file by its name in the working directory."""
    name = str(training["name"])
    return name if name in registry.names("recipes") else f"{name}{_SUFFIX}"


def recipe_digest(run: RunSpec) -> str:
    """Return the SHA-256 of all that decides which training a run is, but for its seed and its framework."""
    values = specification(run)
    table = {name: value for name, value in values["training"].items() if name not in _OF_RUNS}
    text = canonical([{name: values[name] for name in _DECIDING}, table])
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def check_division(planned: Sequence[RunSpec], requested: Sequence[RunSpec]) -> None:
    """Refuse runs that change what their recipe fixes.

    Parameters
    ----------
    planned, requested : sequence of RunSpec
        The runs of the recipe by itself, and those that were asked for over it.

    Raises
    ------
    UsageError
        With what is changed, and what may be.
    """
    first = next((run for run in planned if run.training is not None), None)
    for run in requested if first is not None else ():
        training = made(Training, run.training or {}, "the recipe")
        for name in _changes(first, run):
            if name in training.may_change:
                continue
            others = ", ".join(training.may_change) or "nothing"
            raise UsageError(
                f"recipe '{training.name}' fixes its {name.replace('_', ' ')}, and leaves {others} to change; train "
                "it as it is, or write a recipe of your own"
            )


def _changes(first: RunSpec | None, run: RunSpec) -> Iterator[str]:
    """Yield what a run has otherwise than the recipe."""
    if first is None:
        return
    ours, theirs = specification(first), specification(run)
    for name in _DECIDING:
        if ours[name] != theirs[name]:
            yield "problem" if name.startswith("problem") else name
    for name, value in theirs["training"].items():
        if name not in _OF_RUNS and ours["training"].get(name) != value:
            yield name


def without_early_stop(training: Training) -> Training:
    """Return the training as it goes on to its limits."""
    return replace(training, early_stop=False)


def left_after(training: Training, steps: int) -> Training:
    """Return the training as it is left after some updates, its schedules those of the whole one."""
    return replace(training, max_steps=steps)
