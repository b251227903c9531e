"""Who trains by which share of recipes within a multiple of the best time, and the ratios that this is made of."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from benchmarker.analysis.charts.caption import caption
from benchmarker.analysis.charts.palette import colours
from benchmarker.analysis.charts.selection import Selection, gather, largest_group, split
from benchmarker.analysis.charts.trainings import is_training
from benchmarker.analysis.comparison.performance_profiles import (
    LIMIT,
    Metric,
    Profile,
    Profiles,
    performance_profiles,
)
from benchmarker.analysis.text.factors import trainer_label
from benchmarker.analysis.text.trainings import disturbed_notes
from benchmarker.analysis.text.units import duration, significant
from benchmarker.api.chart import Axis, Chart, Heat, Panel, Series
from benchmarker.errors import UsageError
from benchmarker.records.lookup import Record

_WHAT = {"seconds": "seconds to the target", "steps": "steps to the target"}


def chart(
    records: Sequence[Record],
    *,
    by: Literal["framework", "optimizer"] = "framework",
    metric: Metric = "seconds",
    limit: float = LIMIT,
) -> Chart:
    """Return the profiles over all recipes that competitors have in common.

    Parameters
    ----------
    records : sequence of dict
        Any; those of no recipe are left out.
    by : {"framework", "optimizer"}
        What competes; optimizers of the framework with the most trainings.
    metric : {"seconds", "steps"}
        What of.
    limit : float
        The multiple of the best time up to which shares are drawn and scored.

    Raises
    ------
    UsageError
        If there are no two recipes that several were trained by, or the limit is not above 1.
    """
    if not 1.0 < limit < math.inf:
        raise UsageError(f"the limit of a performance profile is above 1, got {limit:g}")
    found = gather(
        records,
        "runs of recipes that ended well ('benchmarker train')",
        is_training,
        "of no recipe",
        timed=False,
    )
    if by == "optimizer":
        of_each = split(found, trainer_label)
        found = largest_group(of_each, lambda cell: trainer_label(cell.first), id, "of other frameworks")
    label = trainer_label if by == "framework" else _optimizer
    made = performance_profiles(found.records, label, by, metric)
    profiles = sorted(made.profiles, key=lambda profile: -profile.score(limit))
    return Chart(
        kind="performance_profile",
        title=f"Within a multiple of the best {_WHAT[metric]}, over {len(made.recipes)} recipes",
        caption=caption(
            found,
            f"Medians over seeds; a target that half of them missed is at no multiple. Score: the mean share from 1 "
            f"to {limit:g} (AlgoPerf), 1 for one that is best at each.",
            f"Left out: {', '.join(made.left_out)}." if made.left_out else "",
            *(disturbed_notes(made.groups) if metric == "seconds" else ()),
        ),
        panels=(_curves(profiles, found, by, limit), _table(made, profiles, by, metric)),
    )


def _optimizer(record: Record) -> str:
    return str(record["optimizer"]["kind"])


def _curves(profiles: Sequence[Profile], found: Selection, by: str, limit: float) -> Panel:
    frameworks = {trainer_label(record): str(record["framework"]["name"]) for record in found.records}
    places = (
        colours([frameworks[profile.label] for profile in profiles])
        if by == "framework"
        else tuple(range(len(profiles)))
    )
    series = [_steps(profile, limit, colour) for profile, colour in zip(profiles, places)]
    return Panel(
        Axis("multiple of the best", zero=False),
        Axis("share of recipes", "%", zero=True, most=100.0),
        series=tuple(series),
    )


def _steps(profile: Profile, limit: float, colour: int) -> Series:
    """Return the share at 1, at each multiple where it rises, and at the limit."""
    places = sorted({1.0, limit, *(ratio for ratio in profile.ratios if ratio <= limit)})
    shares = tuple(100 * profile.share(place) for place in places)
    name = f"{profile.label}, score {profile.score(limit):.2f}"
    return Series(name, "steps", tuple(places), shares, colour=colour)


def _table(made: Profiles, profiles: Sequence[Profile], by: str, metric: Metric) -> Panel:
    columns = tuple(profile.label for profile in profiles)
    values = tuple(
        tuple(ratio if math.isfinite(ratio) else None for ratio in row)
        for row in zip(*(profile.ratios for profile in profiles))
    )
    texts = tuple(
        tuple(_text(profile, index, metric) for profile in profiles) for index in range(len(made.recipes))
    )
    heat = Heat(made.recipes, columns, values, texts, "multiple of the best median", centre=1.0)
    return Panel(
        Axis(by, scale="category", categories=columns),
        Axis("recipe", scale="category", categories=made.recipes),
        heat=heat,
    )


def _text(profile: Profile, index: int, metric: Metric) -> str:
    time, ratio = profile.times[index], profile.ratios[index]
    if not math.isfinite(ratio):
        return "missed"
    time_text = duration(time, 3) if metric == "seconds" else f"{time:,.10g}"
    return f"{significant(ratio, 3)}\n{time_text}"
