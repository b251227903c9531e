"""Trainings by a recipe as pictures show them: those of one recipe, a group per framework, over its seeds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence

from benchmarker.analysis.charts.selection import Selection, gather, largest_group, split
from benchmarker.analysis.comparison.training_groups import TrainingGroup
from benchmarker.analysis.text.factors import trainer_label
from benchmarker.errors import plural
from benchmarker.quick_dataclass import dataclass
from benchmarker.records.lookup import Record


@dataclass(frozen=True)
class Trainings:
    """The trainings of one recipe.

    Parameters
    ----------
    selection : Selection
        All that is shown.
    groups : tuple of TrainingGroup
        One for each framework, in the order of all pictures.
    """

    selection: Selection
    groups: tuple[TrainingGroup, ...]

    @property
    def frameworks(self) -> list[str]:
        """The framework of each group."""
        return [str(group.records[0]["framework"]["name"]) for group in self.groups]

    @property
    def labels(self) -> tuple[str, ...]:
        """A name for each group: its framework, with the version where there are several of one."""
        frameworks = self.frameworks
        several = Counter(frameworks)
        return tuple(
            group.label if several[name] > 1 else name for name, group in zip(frameworks, self.groups)
        )

    @property
    def recipe(self) -> str:
        """The recipe's name."""
        return str(self.groups[0].records[0]["training"]["recipe"]["name"])

    @property
    def target(self) -> str:
        """The target in words."""
        target = self.groups[0].records[0]["training"]["target"]
        if target["metric"] == "accuracy":
            return f"{100 * target['value']:g} % of the {target['split']} split"
        return f"a loss of {target['value']:g} on the {target['split']} split"

    @property
    def seeds(self) -> str:
        """How many trainings there are of each, in words."""
        low, high = (end(len(group.well) for group in self.groups) for end in (min, max))
        return plural(high, "seed") if low == high else f"{low} to {plural(high, 'seed')}"


def coinciding(labels: Sequence[str], drawn: Sequence[Hashable]) -> str:
    """Say which lines over steps lie upon each other: those of which the same is drawn."""
    alike: dict[Hashable, list[str]] = {}
    for name, line in zip(labels, drawn):
        alike.setdefault(line, []).append(name)
    same = [names for names in alike.values() if len(names) > 1]
    return " ".join(f"The same over steps at every seed: {', '.join(names)}." for names in same)


def is_training(record: Record) -> bool:
    """Tell whether a record is of a training by a recipe."""
    return bool(record.get("training"))


def gather_trainings(
    records: Sequence[Record],
    needs: str = "runs of a recipe that ended well ('benchmarker train')",
    has: Callable[[Record], bool] = is_training,
    without: str = "of no recipe",
) -> Trainings:
    """Return the trainings of the recipe that has the most of them; the arguments are those of :func:`gather`.

    Raises
    ------
    UsageError
        If no such training ended well.
    """
    found = gather(records, needs, has, without, timed=False)
    of_one = largest_group(split(found, _recipe), lambda cell: _recipe(cell.first), id, "by other recipes")
    groups: dict[str, list[Record]] = {}
    for record in of_one.records:
        groups.setdefault(trainer_label(record), []).append(record)
    return Trainings(of_one, tuple(TrainingGroup(label, tuple(own)) for label, own in groups.items()))


def _recipe(record: Record) -> str:
    """Return what trainings that compare have in common."""
    return str(record["comparable"]["hash"])
