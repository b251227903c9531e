"""Trainings by a recipe, for the terminal: when each framework reached the target, and whether they differ."""

from __future__ import annotations

import itertools
import math
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from benchmarker.analysis.comparison.censored import (
    Time,
    median_interval,
    median_time,
    olympic_mean,
)
from benchmarker.analysis.comparison.recipe_rankings import RecipeRanking, recipe_rankings
from benchmarker.analysis.comparison.training_differences import (
    MIN_FOR_VERDICT,
    SIGNIFICANCE,
    WITHIN_SEEDS,
    difference_between,
)
from benchmarker.analysis.comparison.training_groups import TrainingGroup
from benchmarker.analysis.comparison.trainings import (
    Comparison,
    Row,
    by_recipe,
    convergence,
    reference_for,
)
from benchmarker.analysis.text.factors import trainer_label
from benchmarker.analysis.text.layout import Column, align_points, numeric_column, table
from benchmarker.analysis.text.units import duration, significant
from benchmarker.errors import plural
from benchmarker.records.lookup import Record
from benchmarker.records.precision import DISTURBED

_NONE = "-"
_MAX_NAMED = 8
_MISSED = "missed"
_MEDIAN = (
    "Seconds: by the clocks of training, loading and the first step; evaluation left out. A run that did not reach the "
    "target counts as slower than all that did."
)
_INTERVAL = "95 % interval: of the median over seeds, from the sign test; it needs six trainings."
_NOT_SHOWN = "not shown"
_VERDICTS = (
    "; which is the first is known only afterwards, so they are corrected for all pairs (Holm). Equal: as many steps "
    f"at every seed. {_NOT_SHOWN.capitalize()}: no difference is."
)
_OLYMPIC = "Olympic mean: without the fastest and the slowest run."
_SHARE = "Reached: with the exact 95 % interval of the share (Clopper-Pearson)."


def trainings_table(records: Sequence[Record], *, width: int = 80) -> str:
    """Return a table of trainings: for each recipe a row per framework, and what can be said of their differences.

    Parameters
    ----------
    records : sequence of dict
        All by recipes.
    width : int
        Characters a line should have at most.
    """
    return "\n\n".join(_recipe(group, width) for group in by_recipe(records))


def _recipe(records: Sequence[Record], width: int) -> str:
    groups = _groups(records)
    compared = [*_skipped(groups), *_steps_compared(groups), *_convergence(groups)]
    notes = [*_notes(groups), *disturbed_notes(groups), *_every_time(groups), *compared, *_failures(records)]
    return _block(records[0], "framework", groups, (), notes, width)


def _block(
    record: Record,
    title: str,
    groups: Sequence[TrainingGroup],
    more: Sequence[Column],
    notes: Sequence[str],
    width: int,
) -> str:
    """Return the heading of a recipe, a row per group, and notes."""
    training = record["specification"]["training"]
    target = training["target"]
    better = "at least" if target["metric"] == "accuracy" else "at most"
    heading = (
        f"{training['name']} ({training['division']}): {target['metric']} of {better} {target['value']:g} on the "
        f"{target['split']} split"
    )
    columns = [
        Column(title, tuple(group.label for group in groups), breaks="=._"),
        Column("reached", tuple(map(_reached, groups))),
        numeric_column("steps, median", [_steps(group) for group in groups]),
        Column("95 % interval", tuple(_interval(group.steps, _whole) for group in groups)),
        numeric_column("seconds, median", [_seconds(group) for group in groups]),
        Column("95 % interval", tuple(_interval(group.seconds, _rounded) for group in groups)),
        numeric_column("olympic mean", [_olympic(group) for group in groups]),
        numeric_column("median step", [_step(group) for group in groups]),
        *more,
    ]
    wrapped = [textwrap.fill(note, width, subsequent_indent="  ") for note in notes]
    return "\n".join([*textwrap.wrap(heading, width), "", table(columns, width), "", *wrapped])


RANKING_HEADINGS = ("recipe", "framework", "reached", "steps, median", "95 % interval",
             "seconds, median", "95 % interval", "verdict on steps", "verdict on seconds")  # fmt: skip
"""Headings of :func:`ranking_rows`."""


def ranking_rows(ranking: RecipeRanking) -> list[tuple[str, ...]]:
    """Return a row of texts for each framework of a recipe, the first at the target first."""
    first, *others = ranking.comparison.groups
    verdicts = [(_brief(row.steps_verdict), _brief(row.verdict)) for row in ranking.comparison.rows]
    rows = [(first, _NONE, "first"), *((group, *both) for group, both in zip(others, verdicts))]
    return [
        (ranking.recipe, group.label, _count(group), *_medians(group), steps, seconds)
        for group, steps, seconds in rows
    ]


def _medians(group: TrainingGroup) -> tuple[str, str, str, str]:
    """Return steps and seconds, each with its interval."""
    seconds = _rounded(median_time(group.seconds))
    return _steps(group), _interval(group.steps, _whole), seconds, _interval(group.seconds, _rounded)


def _brief(verdict: str) -> str:
    return _NOT_SHOWN if verdict == "no difference shown" else verdict


def ranking_notes(found: Sequence[RecipeRanking]) -> list[str]:
    """Return what is to be known of :func:`ranking_rows`."""
    failed = [f"{name} ({ranking.recipe})" for ranking in found for name in ranking.failed]
    groups = [
        replace(group, label=f"{group.label} ({ranking.recipe})")
        for ranking in found
        for group in ranking.comparison.groups
    ]
    return [
        _MEDIAN,
        _INTERVAL,
        _verdicts(found),
        *disturbed_notes(groups),
        *([f"Without a training that ended well: {', '.join(failed)}."] if failed else []),
    ]


def _verdicts(found: Sequence[RecipeRanking]) -> str:
    """Return how verdicts are come by, with the tests that were made."""
    rows = [row for ranking in found for row in ranking.comparison.rows]
    made = {test for row in rows for test in (row.steps_test, row.seconds_test)} - {None}
    seeds = " within each seed"
    where = "" if made == {WITHIN_SEEDS} else ", where both frameworks have the same and enough"
    level = f"Verdicts: against the first of each recipe, at {100 * SIGNIFICANCE:g} % by the log-rank test"
    return f"{level} over permutations{f'{seeds}{where}' if WITHIN_SEEDS in made else ''}{_VERDICTS}"


def ranking_table(records: Sequence[Record], *, width: int = 80) -> str:
    """Return one table over several recipes: who is at the target of each first, and who is shown to be later.

    Parameters
    ----------
    records : sequence of dict
        Any; what is no training by a recipe is left out.
    width : int
        Characters a line should have at most.
    """
    found = recipe_rankings(records, trainer_label)
    blank = ("",) * (len(RANKING_HEADINGS) - 2)
    rows = [row for one in found for row in [(one.recipe, *blank), *_below(ranking_rows(one))]]
    columns = [
        Column(title, align_points(texts) if "median" in title else texts, numeric="median" in title)
        for title, texts in zip(RANKING_HEADINGS[1:], zip(*rows))
    ]
    notes = [textwrap.fill(note, width, subsequent_indent="  ") for note in ranking_notes(found)]
    return "\n".join([table(columns, width), "", *notes])


def _below(rows: Sequence[tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
    """Yield rows as they stand below the name of their recipe."""
    for _, label, *cells in rows:
        yield f"  {label}", *cells


def comparison_text(comparison: Comparison, *, width: int = 80) -> str:
    """Return what a comparison of trainings shows.

    Parameters
    ----------
    comparison : Comparison
        Of several sides by one recipe.
    width : int
        Characters a line should have at most.
    """
    groups = comparison.groups
    notes = [*_notes(groups), *disturbed_notes(groups)]
    if any(group.left_out or group.is_disturbed for group in groups):
        notes.append("--include-contaminated counts the seconds that the machine disturbed too.")
    notes += [*_every_time(groups), *_skipped(groups), *_steps_compared(groups), *_convergence(groups)]
    notes += [_difference_text(row, comparison.first) for row in comparison.rows]
    verdicts = [
        Column("verdict on steps", (_NONE, *(row.steps_verdict for row in comparison.rows))),
        Column("verdict on seconds", ("baseline", *(row.verdict for row in comparison.rows))),
    ]
    return _block(comparison.first.well[0], "side", groups, verdicts, notes, width)


def _difference_text(row: Row, first: TrainingGroup) -> str:
    """Return a difference in seconds as steps times seconds per step, with its probability."""
    sides = f"{row.group.label} against {first.label}"
    if row.seconds_ratio is None or row.steps_ratio is None or row.step_seconds_ratio is None:
        text = f"{sides}: no ratio, since half of the trainings and more missed the target"
    else:
        text = (
            f"{sides}: {row.seconds_ratio:.3g} times the seconds, "
            f"{row.steps_ratio:.3g} times the steps of {row.step_seconds_ratio:.3g} times the seconds each"
        )
    if row.seconds_p is not None:
        other = "" if row.steps_test == row.seconds_test else f" by {row.steps_test}"
        steps = f"of the steps {row.steps_p:.2g}{other}"
        return f"{text} ({row.seconds_test}, Holm: p = {row.seconds_p:.2g}; {steps})."
    steps = "" if row.steps_p is None else f" ({row.steps_test}: of the steps p = {row.steps_p:.2g})"
    return f"{text}; {_why_no_verdict(row.group, first)}{steps}."


def _why_no_verdict(*groups: TrainingGroup) -> str:
    """Return why there is no verdict on the seconds of two groups."""
    disturbed = [group.label for group in groups if group.is_disturbed]
    if disturbed:
        return f"no verdict on seconds, since all of {' and of '.join(disturbed)} are disturbed"
    which = "undisturbed trainings" if any(group.left_out for group in groups) else "trainings"
    return f"too few {which} for a verdict, {MIN_FOR_VERDICT} a side are needed"


def _groups(records: Sequence[Record]) -> list[TrainingGroup]:
    found: dict[str, list[Record]] = {}
    for record in records:
        found.setdefault(trainer_label(record), []).append(record)
    return [TrainingGroup(label, tuple(own)) for label, own in found.items()]


def _reached(group: TrainingGroup) -> str:
    if not group.well:
        return _NONE
    low, high = group.share_interval
    return f"{_count(group)} [{low:.2f}, {high:.2f}]"


def _count(group: TrainingGroup) -> str:
    return f"{group.reached} of {len(group.well)}"


def _value(number: float) -> str:
    return significant(number) if math.isfinite(number) else _MISSED


def _rounded(number: float) -> str:
    return significant(number, 3) if math.isfinite(number) else _MISSED


def _whole(number: float) -> str:
    return f"{number:,.10g}" if math.isfinite(number) else _MISSED


def _steps(group: TrainingGroup) -> str:
    return _whole(median_time(group.steps)) if group.well else _NONE


def _interval(times: Sequence[Time], text_of: Callable[[float], str]) -> str:
    found = median_interval(times)
    return f"[{text_of(found[0])}, {text_of(found[1])}]" if found else _NONE


def _seconds(group: TrainingGroup) -> str:
    return _value(median_time(group.seconds)) if group.well else _NONE


def _olympic(group: TrainingGroup) -> str:
    found = olympic_mean(group.seconds)
    return _NONE if found is None else _value(found)


def _step(group: TrainingGroup) -> str:
    medians = sorted(record["timing"]["step_seconds"]["median"] for record in group.timed)
    return duration(medians[len(medians) // 2]) if medians else _NONE


def _notes(groups: Sequence[TrainingGroup]) -> Iterator[str]:
    if any(group.well for group in groups):
        yield _SHARE
        yield _MEDIAN
        yield _INTERVAL
    if any(len(group.well) >= 3 for group in groups):
        yield _OLYMPIC


def disturbed_notes(groups: Sequence[TrainingGroup]) -> Iterator[str]:
    """Yield whose seconds are of some of the trainings only, and whose are all of disturbed ones."""
    some = [f"{group.left_out} of {len(group.well)} of {group.label}" for group in groups if group.left_out]
    if some:
        yield f"Left out of seconds, not of steps, as {DISTURBED}: {_few(some)}."
    every = [group.label for group in groups if group.well and group.is_disturbed]
    if every:
        yield f"All seconds are of trainings that are {DISTURBED}, so they get no verdict: {_few(every)}."


def _few(texts: Sequence[str]) -> str:
    more = f" and {len(texts) - _MAX_NAMED} more" if len(texts) > _MAX_NAMED else ""
    return f"{'; '.join(texts[:_MAX_NAMED])}{more}"


def _every_time(groups: Sequence[TrainingGroup]) -> Iterator[str]:
    """Yield all times of each framework, by seed."""
    for group in groups:
        rows = zip(group.well, group.steps, group.every_seconds)
        seeds = sorted(rows, key=lambda row: int(row[0]["seed"]))
        if len(seeds) > 1:
            times = ", ".join(
                _both(steps, seconds, counts=group.counts(record)) for record, steps, seconds in seeds
            )
            yield f"{group.label}, steps in seconds of each seed: {times}."


def _skipped(groups: Sequence[TrainingGroup]) -> Iterator[str]:
    """Yield which groups have steps that made no update, which their numbers of steps include."""
    for group in groups:
        if any(group.skipped_steps):
            skipped = sum(steps or 0 for steps in group.skipped_steps)
            total = sum(record["training"]["steps"] for record in group.well)
            yield (
                f"{group.label}: {skipped:,} of {total:,} steps made no update, as gradients overflowed in fp16; they "
                "count as steps."
            )


def _both(steps: Time, seconds: Time, *, counts: bool) -> str:
    more = "" if steps.reached else "more than "
    disturbed = "" if counts else " (disturbed)"
    return f"{more}{steps.value:,.10g} in {significant(seconds.value, 3)}{disturbed}"


def _steps_compared(groups: Sequence[TrainingGroup]) -> Iterator[str]:
    """Yield which frameworks take as many steps at the same seeds, and what a test says of those that do not."""
    alike = _alike([group for group in groups if group.well])
    for same in alike:
        if len(same) > 1:
            seeds = plural(len(same[0].well), "seed")
            yield f"Equal in steps, at each of {seeds}: {', '.join(group.label for group in same)}."
    for first, second in itertools.combinations([same[0] for same in alike], 2):
        yield from _pair_compared(first, second)


def _convergence(groups: Sequence[TrainingGroup]) -> Iterator[str]:
    """Yield which groups of several trainings need other numbers of steps than the recipe's reference runs."""
    references = [(group, reference_for(group)) for group in groups]
    reference = next((runs for _, runs in references if runs is not None), None)
    if reference is None:
        return
    which = f"the {len(reference.runs)} reference runs ({reference.framework})"
    found = [(group, convergence(group, runs)) for group, runs in references if runs is not None]
    for group, against in found:
        if against.finding is not None:
            p = min(against.faster_p, against.slower_p)
            yield f"Suspicious: {group.label} takes {against.finding} steps than {which}, one-sided p = {p:.2g}."
    if all(against.finding is None for _, against in found):
        yield f"Nobody takes fewer or more steps than {which}, one-sided at {SIGNIFICANCE:g}."


def _alike(groups: Sequence[TrainingGroup]) -> list[list[TrainingGroup]]:
    """Return the groups in lists of those that took as many steps at each of the same seeds."""
    found: list[list[TrainingGroup]] = []
    for group in groups:
        own = group.by_seed
        known = next((same for same in found if same[0].by_seed == own), None)
        if known is None:
            found.append([group])
        else:
            known.append(group)
    return found


def _pair_compared(first: TrainingGroup, second: TrainingGroup) -> Iterator[str]:
    ours, theirs = first.by_seed, second.by_seed
    common = ours.keys() & theirs.keys()
    if not common:
        return
    unequal = [seed for seed in common if ours[seed] != theirs[seed]]
    pair, seeds = f"{first.label} and {second.label}", plural(len(common), "common seed")
    if not unequal:
        yield f"{pair} take as many steps at each of {seeds}."
        return
    text = f"{pair} differ in steps at {len(unequal)} of {seeds}"
    difference = difference_between(first.steps_sample, second.steps_sample)
    if difference is not None:
        text += f"; {difference.test}: p = {difference.p:.2g}"
    yield f"{text}."


def _failures(records: Sequence[Record]) -> Iterator[str]:
    for record in records:
        if record["error"]:
            yield f"{trainer_label(record)}, seed {record['seed']}: {record['error']['message'].splitlines()[0]}"
        elif record["training"]["diverged"]:
            at = record["training"]["diverged"]["step"]
            yield f"{trainer_label(record)}, seed {record['seed']}: the loss was no longer a number at step {at:,}."
