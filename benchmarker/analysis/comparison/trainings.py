"""Trainings by one recipe on several sides: who reaches its target sooner, by fewer steps or by quicker ones."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from benchmarker.analysis.comparison.censored import (
    Time,
    excess,
    log_rank_p,
    median_interval,
    median_time,
    olympic_mean,
)
from benchmarker.analysis.comparison.matching import Side
from benchmarker.analysis.comparison.training_differences import (
    MIN_FOR_VERDICT,
    SIGNIFICANCE,
    Difference,
    difference_between,
)
from benchmarker.analysis.comparison.training_groups import Sample, TrainingGroup
from benchmarker.errors import BenchmarkerError, UsageError, plural
from benchmarker.experiment.keys import canonical
from benchmarker.quick_dataclass import dataclass
from benchmarker.records.keys import differences
from benchmarker.records.lookup import Record, work_name
from benchmarker.statistics import holm
from benchmarker.training.reference_runs import ReferenceRuns


@dataclass(frozen=True)
class Row:
    """A side against the first one.

    Parameters
    ----------
    group : TrainingGroup
        The side.
    steps_ratio, seconds_ratio, step_seconds_ratio : float or None
        Medians over those of the first side: steps to the target, seconds, and seconds by steps; None where one of
        them is not known because half of the runs and more did not reach the target.
    equal_steps : bool
        Whether both took as many steps at every seed that they have in common.
    steps_p, seconds_p : float or None
        How probable so large a difference is without one, of all rows together (Holm); None with too few runs, and of
        seconds where all of one side are disturbed.
    steps_test, seconds_test : str or None
        The test that says so.
    takes_more, is_slower : bool
        Whether its steps, its seconds are more, those of a training that missed the target included.
    """

    group: TrainingGroup
    steps_ratio: float | None
    seconds_ratio: float | None
    step_seconds_ratio: float | None
    equal_steps: bool
    steps_p: float | None
    seconds_p: float | None
    steps_test: str | None
    seconds_test: str | None
    takes_more: bool
    is_slower: bool

    @property
    def verdict(self) -> str:
        """What is shown of the seconds to the target."""
        return _shown(self.seconds_p) or ("slower" if self.is_slower else "faster")

    @property
    def steps_verdict(self) -> str:
        """What is shown of the steps to the target; that they are equal at every seed needs no test."""
        if self.equal_steps:
            return "equal"
        return _shown(self.steps_p) or ("more" if self.takes_more else "fewer")


def _shown(probability: float | None) -> str:
    """Return why no difference is shown, nothing if one is."""
    if probability is None:
        return "inconclusive"
    return "no difference shown" if probability >= SIGNIFICANCE else ""


@dataclass(frozen=True)
class Comparison:
    """Trainings of several sides by one recipe.

    Parameters
    ----------
    first : TrainingGroup
        The baseline.
    rows : tuple of Row
        Every other side.
    """

    first: TrainingGroup
    rows: tuple[Row, ...]

    @property
    def groups(self) -> list[TrainingGroup]:
        """All sides."""
        return [self.first, *(row.group for row in self.rows)]

    def to_json(self) -> dict[str, Any]:
        """Return what is told as JSON values; times and ends of intervals are null where the target was not reached."""
        rows = [
            {
                "side": row.group.label,
                "verdict": row.verdict,
                "steps_verdict": row.steps_verdict,
                "steps_ratio": row.steps_ratio,
                "seconds_ratio": row.seconds_ratio,
                "step_seconds_ratio": row.step_seconds_ratio,
                "equal_steps": row.equal_steps,
                "steps_p": row.steps_p,
                "seconds_p": row.seconds_p,
                "steps_test": row.steps_test,
                "seconds_test": row.seconds_test,
            }
            for row in self.rows
        ]
        return {"baseline": self.first.label, "sides": list(map(_side_json, self.groups)), "rows": rows}


def _side_json(group: TrainingGroup) -> dict[str, Any]:
    return {
        "side": group.label,
        "seeds": [record["seed"] for record in group.well],
        "reached": group.reached,
        "reached_share_ci95": list(group.share_interval),
        "steps_to_target": [_finite(time.least) for time in group.steps],
        "seconds_to_target": [_finite(time.least) for time in group.every_seconds],
        "skipped_steps": group.skipped_steps,
        "steps": _times_json(group.steps),
        "seconds": _times_json(group.seconds),
        "seconds_left_out": group.left_out,
        "seconds_disturbed": group.is_disturbed,
        "against_reference_runs": _against_reference_json(group),
    }


def _times_json(times: Sequence[Time]) -> dict[str, Any]:
    interval = median_interval(times)
    return {
        "median": _finite(median_time(times)),
        "ci95": None if interval is None else list(map(_finite, interval)),
        "olympic_mean": _finite(olympic_mean(times)),
    }


def _against_reference_json(group: TrainingGroup) -> dict[str, Any] | None:
    reference = reference_for(group)
    if reference is None:
        return None
    against = convergence(group, reference)
    return {
        "framework": reference.framework,
        "runs": len(reference.runs),
        "fewer_steps_p": against.faster_p,
        "more_steps_p": against.slower_p,
        "finding": against.finding,
    }


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def are_by_recipes(records: Sequence[Record]) -> bool:
    """Tell whether there are records, and all of them of trainings by recipes, however they ended."""
    return bool(records) and all(map(_is_by_recipe, records))


def _is_by_recipe(record: Record) -> bool:
    return bool((record.get("specification") or {}).get("training"))


def by_recipe(records: Sequence[Record]) -> list[list[Record]]:
    """Return trainings by recipes, grouped by what was trained, in their order; others are left out.

    One by several ranks is of the same recipe as one by a single process: who is first is asked of both.
    """
    trained = [record for record in records if _is_by_recipe(record)]
    left_out = _rank_keys(trained)
    found: dict[str, list[Record]] = {}
    for record in trained:
        keys = record["comparable"]["keys"]
        found.setdefault(canonical({k: v for k, v in keys.items() if k not in left_out}), []).append(record)
    return list(found.values())


def _rank_keys(records: Sequence[Record]) -> tuple[str, ...]:
    """Return the keys in which several ranks differ from one."""
    if not any(record.get("distributed") for record in records):
        return ()
    alone = {record["execution"]["threads"] for record in records if not record.get("distributed")}
    return ("ranks", "scheme", "exchange", "network", *(() if len(alone) > 1 else ("threads",)))


def recipe_names(records: Sequence[Record]) -> tuple[str, ...]:
    """Return the recipes of records, one each; with what else tells them apart where several are called the same."""
    names = list(map(work_name, records))
    several = {name for name in names if names.count(name) > 1}
    return tuple(
        f"{name}, {plural(record['execution']['threads'] or 0, 'thread')} ({index + 1})"
        if name in several
        else name
        for index, (name, record) in enumerate(zip(names, records))
    )


def are_trainings(sides: Sequence[Side]) -> bool:
    """Tell whether every record of all sides is of a training by a recipe."""
    return are_by_recipes([record for side in sides for record in side.records])


def compare_trainings(sides: Sequence[Side], *, include_contaminated: bool = False) -> Comparison:
    """Compare the trainings of sides with those of the first.

    Parameters
    ----------
    sides : sequence of Side
        The first is the baseline.
    include_contaminated : bool
        Whether the seconds of trainings count that the machine disturbed.

    Raises
    ------
    UsageError
        If there is one side, one without a training that ended well, or they are not of one recipe.
    """
    groups = [TrainingGroup(side.name, tuple(side.records), include_contaminated) for side in sides]
    if len(groups) < 2:
        raise UsageError("a comparison needs two sides at least, got one")
    empty = next((group for group in groups if not group.well), None)
    if empty is not None:
        raise UsageError(f"'{empty.label}' has no training that ended well")
    _check_comparable([record for group in groups for record in group.well])
    first, *others = groups
    return compare_groups(first, others)


def compare_groups(
    first: TrainingGroup, others: Sequence[TrainingGroup], *, chosen_afterwards: bool = False
) -> Comparison:
    """Compare groups of trainings by one recipe with the first, each with one that ended well.

    Parameters
    ----------
    first : TrainingGroup
        The baseline.
    others : sequence of TrainingGroup
        Those that are told beside it.
    chosen_afterwards : bool
        Whether the first is the first because of its times: verdicts are then corrected for all pairs, of which any
        could have been looked at.
    """
    pairs = [(first, group) for group in others]
    if chosen_afterwards:
        pairs += itertools.combinations(others, 2)
    steps = _corrected(pairs, lambda group: group.steps_sample)
    seconds = _corrected(pairs, lambda group: group.seconds_sample)
    rows = zip(others, steps, seconds)
    return Comparison(first, tuple(_row(first, *row) for row in rows))


def _corrected(
    pairs: Sequence[tuple[TrainingGroup, TrainingGroup]], sample: Callable[[TrainingGroup], Sample]
) -> list[Difference | None]:
    """Return the difference of each pair after Holm's correction for all, None of those with too few runs."""
    found = [difference_between(sample(other), sample(one), tests=len(pairs)) for one, other in pairs]
    corrected = iter(holm([difference.p for difference in found if difference]))
    return [replace(difference, p=next(corrected)) if difference else None for difference in found]


def _check_comparable(records: Sequence[Record]) -> None:
    first, *others = records
    recipes = list(dict.fromkeys(map(work_name, records)))
    if len(recipes) > 1:
        raise UsageError(
            f"only trainings by the same recipe can be compared, got {', '.join(recipes)}: choose one on each side, "
            f"e.g. with specification.training.name={recipes[0]}"
        )
    for record in others:
        unequal = differences(first["comparable"], record["comparable"])
        if unequal:
            name, (ours, theirs) = next(iter(unequal.items()))
            raise UsageError(
                f"only trainings by a recipe that does the same work can be compared: {name} is {ours} and {theirs}"
            )


def _row(
    first: TrainingGroup,
    group: TrainingGroup,
    steps_differ: Difference | None,
    seconds_differ: Difference | None,
) -> Row:
    steps = _ratio(median_time(group.steps), median_time(first.steps))
    seconds = _ratio(median_time(group.seconds), median_time(first.seconds))
    ours, theirs = first.by_seed, group.by_seed
    common = ours.keys() & theirs.keys()
    return Row(
        group,
        steps,
        seconds,
        seconds / steps if steps and seconds is not None else None,
        bool(common) and all(ours[seed] == theirs[seed] for seed in common),
        steps_differ.p if steps_differ else None,
        seconds_differ.p if seconds_differ else None,
        steps_differ.test if steps_differ else None,
        seconds_differ.test if seconds_differ else None,
        excess(group.steps, first.steps) > 0.0,
        excess(group.seconds, first.seconds) > 0.0,
    )


@dataclass(frozen=True)
class Convergence:
    """Steps to the target against the reference runs of the recipe, one-sided either way (MLPerf's convergence points).

    Parameters
    ----------
    faster_p, slower_p : float
        How probable as few, or as many, steps are if they are of the reference's distribution.
    """

    faster_p: float
    slower_p: float

    @property
    def finding(self) -> str | None:
        """What is suspicious; None if nothing is. Too few steps are as suspicious as too many."""
        if self.faster_p < SIGNIFICANCE:
            return "fewer"
        return "more" if self.slower_p < SIGNIFICANCE else None


def reference_of(record: Record) -> ReferenceRuns | None:
    """Return the reference runs of a record's recipe if it is installed, has such, and is the very same one."""
    from benchmarker import registry  # who only reads records needs no plug-ins

    recipe = record["training"]["recipe"]
    if recipe["name"] not in registry.names("recipes"):
        return None
    path = registry.recipe(recipe["name"]).reference_runs
    # Trainings are told of without them, as are those that they are made of.
    if path is None or not path.is_file():
        return None
    runs = ReferenceRuns.read(path)
    return runs if runs.recipe == recipe["digest"] else None


def reference_for(group: TrainingGroup) -> ReferenceRuns | None:
    """Return the reference runs that a group is held to; None with too few runs, or where it is another method."""
    if len(group.well) < MIN_FOR_VERDICT or not _is_of_one_process(group):
        return None
    return reference_of(group.well[0])


def _is_of_one_process(group: TrainingGroup) -> bool:
    """Tell whether a group makes the training that one process makes: other schemes are other methods."""
    found = group.well[0].get("distributed")
    if not found:
        return True
    from benchmarker import registry  # as above

    try:
        return registry.scheme(found["scheme"]).is_mean_gradient
    except BenchmarkerError:
        return False  # one that is not installed here


def convergence(group: TrainingGroup, reference: ReferenceRuns) -> Convergence:
    """Compare steps to the target with those of the reference runs, of which those that missed it are censored."""
    most = float(group.well[0]["training"]["most_steps"])
    known = [
        Time(most if run.steps is None else float(run.steps), run.steps is not None) for run in reference.runs
    ]
    return Convergence(
        log_rank_p(group.steps, known, faster=True), log_rank_p(known, group.steps, faster=True)
    )


def _ratio(one: float, other: float) -> float | None:
    return one / other if math.isfinite(one) and math.isfinite(other) and other else None
