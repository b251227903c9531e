"""Train by a recipe to its target, with several frameworks and seeds; each training leaves a record of its own."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from benchmarker.cli.run import run_blueprint
from benchmarker.cli.run_options import add_recipe_arguments
from benchmarker.errors import UsageError

if TYPE_CHECKING:
    from benchmarker.experiment.blueprint.loading import Blueprint

__all__ = ["add_arguments", "main"]

add_arguments = add_recipe_arguments


def main(arguments: argparse.Namespace) -> int:
    """Train and print what came of it, or the records as JSON lines."""
    if arguments.seeds is not None:
        if arguments.seed is not None:
            raise UsageError("give either --seeds, how many there are, or --seed, which they are")
        arguments.seed = tuple(range(arguments.seeds))
    return run_blueprint(arguments, _recipe(arguments))


def _recipe(arguments: argparse.Namespace) -> Blueprint:
    """Return the recipe's blueprint; trained to its limits if the command says so."""
    from benchmarker.experiment.recipes import left_after, recipe, without_early_stop

    blueprint = recipe(arguments.recipe)
    values = blueprint.converted.values
    if not arguments.framework and "frameworks" not in values:
        raise UsageError(
            "--framework required, e.g. --framework=numpy,pytorch (see benchmarker train --help)"
        )
    if arguments.no_early_stop:
        values["training"] = without_early_stop(values["training"])
    if arguments.max_steps is not None:
        values["training"] = left_after(values["training"], arguments.max_steps)
    return blueprint
