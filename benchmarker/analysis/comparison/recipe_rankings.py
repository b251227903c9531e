"""Frameworks over several recipes: who is at the target of each first, and who is shown to be later."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from benchmarker.analysis.comparison.censored import median_time
from benchmarker.analysis.comparison.training_groups import TrainingGroup
from benchmarker.analysis.comparison.trainings import (
    Comparison,
    by_recipe,
    compare_groups,
    recipe_names,
)
from benchmarker.quick_dataclass import dataclass
from benchmarker.records.lookup import Record


@dataclass(frozen=True)
class RecipeRanking:
    """The frameworks that were trained by a recipe.

    Parameters
    ----------
    recipe : str
        Its name.
    comparison : Comparison
        With the one that is at the target first, by its median seconds; the others in their order.
    failed : tuple of str
        Those without a training that ended well.
    """

    recipe: str
    comparison: Comparison
    failed: tuple[str, ...]


def recipe_rankings(records: Sequence[Record], label: Callable[[Record], str]) -> list[RecipeRanking]:
    """Return a ranking for each recipe with a training that ended well.

    Parameters
    ----------
    records : sequence of mapping
        Any; what is no training by a recipe is left out.
    label : callable
        Whose a training is.
    """
    recipes = [found for found in by_recipe(records) if any(record["training"] for record in found)]
    names = recipe_names([found[0] for found in recipes])
    return [_ranking(name, found, label) for name, found in zip(names, recipes)]


def _ranking(name: str, records: Sequence[Record], label: Callable[[Record], str]) -> RecipeRanking:
    found: dict[str, list[Record]] = {}
    for record in records:
        found.setdefault(label(record), []).append(record)
    groups = [TrainingGroup(title, tuple(own)) for title, own in found.items()]
    first, *others = sorted((group for group in groups if group.well), key=_place)
    failed = tuple(group.label for group in groups if not group.well)
    return RecipeRanking(name, compare_groups(first, others, chosen_afterwards=True), failed)


def _place(group: TrainingGroup) -> tuple[bool, float, float]:
    """Return by what groups are ordered: their median seconds, and where half missed the target, how many did.

    Disturbed seconds make nobody the first.
    """
    seconds = group.seconds
    missed = sum(not time.reached for time in seconds)
    return group.is_disturbed, median_time(seconds), missed / len(seconds)
