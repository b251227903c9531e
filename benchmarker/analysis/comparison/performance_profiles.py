"""Performance profiles: on which share of recipes each framework or optimizer is within a multiple of the best time.

Dolan & Moré, Benchmarking optimization software with performance profiles, Mathematical Programming 91, 2002; AlgoPerf
(Dahl et al. 2023, arXiv 2306.07179, section 4) trains to targets and scores the area below a profile.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from benchmarker.analysis.comparison.censored import Time, median_time
from benchmarker.analysis.comparison.training_groups import TrainingGroup
from benchmarker.analysis.comparison.trainings import recipe_names
from benchmarker.errors import UsageError, plural
from benchmarker.experiment.keys import canonical
from benchmarker.quick_dataclass import dataclass
from benchmarker.records.lookup import Record

LIMIT = 4.0
"""The multiple of the best time up to which AlgoPerf's score counts."""
MIN_RECIPES = 2
_OF_OPTIMIZERS = ("name", "schedules", "early_stop", "division", "may_change")
"""Members of a recipe's table that may differ between optimizers for the same target."""
Groups = Mapping[str, Sequence[Record]]
"""The trainings by one recipe, by whose they are."""
By = Literal["framework", "optimizer"]
Metric = Literal["seconds", "steps"]
_TIMES: Mapping[Metric, Callable[[TrainingGroup], Sequence[Time]]] = {
    "seconds": lambda group: group.seconds,
    "steps": lambda group: group.steps,
}


@dataclass(frozen=True)
class Profile:
    """A framework or an optimizer over all recipes.

    Parameters
    ----------
    label : str
        Its name.
    times : tuple of float
        The median of the seeds for each recipe; infinite where half of them and more missed the target.
    ratios : tuple of float
        Each over the best median of that recipe.
    """

    label: str
    times: tuple[float, ...]
    ratios: tuple[float, ...]

    def share(self, multiple: float) -> float:
        """Return the share of recipes on which it takes at most so many times the best time."""
        return sum(ratio <= multiple for ratio in self.ratios) / len(self.ratios)

    def score(self, limit: float = LIMIT) -> float:
        """Return the mean share over all multiples from 1 to a limit: 1 for who is the best of each recipe."""
        return math.fsum(max(0.0, limit - ratio) for ratio in self.ratios) / (limit - 1.0) / len(self.ratios)


@dataclass(frozen=True)
class Profiles:
    """All profiles over the same recipes.

    Parameters
    ----------
    recipes : tuple of str
        Their names.
    profiles : tuple of Profile
        The best score first.
    left_out : tuple of str
        Who was not trained by each of the recipes, and recipes by which others were.
    groups : tuple of TrainingGroup
        The trainings that they are of.
    """

    recipes: tuple[str, ...]
    profiles: tuple[Profile, ...]
    left_out: tuple[str, ...]
    groups: tuple[TrainingGroup, ...]


def workload(record: Record, by: By) -> str:
    """Return what trainings have in common that compete for the same target: of optimizers, all but their constants."""
    keys = record["comparable"]["keys"]
    if by == "framework":
        return canonical(keys)
    same = {name: value for name, value in keys.items() if name not in ("optimizer", "recipe")}
    table = record["specification"]["training"]
    return canonical([same, {name: value for name, value in table.items() if name not in _OF_OPTIMIZERS}])


def performance_profiles(
    records: Sequence[Record],
    label: Callable[[Record], str],
    by: By = "framework",
    metric: Metric = "seconds",
) -> Profiles:
    """Return the profiles of trainings.

    Parameters
    ----------
    records : sequence of mapping
        Trainings that ended well, of one framework where they are told apart ``by`` their optimizers.
    label : callable
        Whose a training is.
    by : {"framework", "optimizer"}
        What competes.
    metric : {"seconds", "steps"}
        What of: time by the clocks of training, loading and the first step, or updates.

    Raises
    ------
    UsageError
        If fewer than two recipes have trainings of several of what competes.
    """
    found: dict[str, dict[str, list[Record]]] = {}
    for record in records:
        found.setdefault(workload(record, by), {}).setdefault(label(record), []).append(record)
    contested = {key: groups for key, groups in found.items() if len(groups) > 1}
    if len(contested) < MIN_RECIPES:
        raise UsageError(
            f"a performance profile needs at least {MIN_RECIPES} recipes that several {by}s were trained by, "
            f"got {len(contested)}"
        )
    shared = _most_shared(list(contested.values()))
    if len(shared) < MIN_RECIPES:
        raise UsageError(
            f"a performance profile needs two {by}s that were trained by the same {MIN_RECIPES} recipes, got none"
        )
    everyone = list(dict.fromkeys(name for groups in contested.values() for name in groups))
    complete = [name for name in everyone if all(name in groups for groups in shared)]
    of_each = [{name: TrainingGroup(name, tuple(groups[name])) for name in complete} for groups in shared]
    medians = [
        {name: median_time(_TIMES[metric](group)) for name, group in groups.items()} for groups in of_each
    ]
    made = [_profile(name, medians) for name in complete]
    others = [groups for groups in contested.values() if groups not in shared]
    return Profiles(
        recipe_names([next(iter(groups.values()))[0] for groups in shared]),
        tuple(sorted(made, key=lambda profile: -profile.score())),
        (
            *(
                f"{name} ({plural(sum(name in groups for groups in shared), 'recipe')} alone)"
                for name in everyone
                if name not in complete
            ),
            *recipe_names([next(iter(groups.values()))[0] for groups in others]),
        ),
        tuple(group for groups in of_each for group in groups.values()),
    )


def _most_shared(contested: Sequence[Groups]) -> list[Groups]:
    """Return the recipes of the two competitors that have the most in common."""
    everyone = sorted({name for groups in contested for name in groups})
    of_pairs = [
        [groups for groups in contested if first in groups and second in groups]
        for first, second in itertools.combinations(everyone, 2)
    ]
    return max(of_pairs, key=len)


def _profile(name: str, medians: Sequence[Mapping[str, float]]) -> Profile:
    times = tuple(found[name] for found in medians)
    return Profile(name, times, tuple(_ratio(found[name], min(found.values())) for found in medians))


def _ratio(time: float, best: float) -> float:
    """Return a time over the best one; of recipes whose target nobody reached there is none, so all missed it."""
    return time / best if math.isfinite(time) else math.inf
