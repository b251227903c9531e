"""How far trainings are from the float64 reference, as pictures show it: by parameter and step, over the seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Literal

from benchmarker.analysis.charts.trainings import Trainings, gather_trainings
from benchmarker.analysis.comparison.training_groups import TrainingGroup
from benchmarker.records.lookup import Record, value_at

Norm = Literal["l2", "max"]
Kind = Literal["followed", "free"]
Course = Mapping[int, float]
"""A share by step; steps without one are left out."""

TITLES: Mapping[Kind, str] = {"followed": "followed", "free": "free-running"}
NORMS: Mapping[Norm, str] = {"l2": "norm of the difference", "max": "largest difference"}
SHARES: Mapping[Kind, str] = {"followed": "of the step", "free": "of the way so far"}
EXPLAINED = (
    "Followed: after each step from the framework's own weights and state, as a share of what the reference does in "
    "it. Free-running: of two trainings from the same start, as a share of how far the reference has travelled; "
    "rounding grows there as the network lets it."
)


def gather_divergences(records: Sequence[Record]) -> Trainings:
    """Return the trainings of the recipe of which most were told beside the reference.

    Raises
    ------
    UsageError
        If there is none.
    """
    return gather_trainings(
        records,
        "runs of a recipe alongside the reference ('benchmarker train --divergence')",
        lambda record: bool(value_at(record, "training.divergence.step")),
        "without a divergence",
    )


def courses(group: TrainingGroup, kind: Kind, norm: Norm) -> dict[str, Course]:
    """Return the shares of each parameter by step, medians over the seeds; a share of nothing is left out."""
    found: dict[str, dict[int, list[float]]] = {}
    for record in group.well:
        divergence = record["training"]["divergence"]
        for parameter in divergence["parameters"]:
            own = found.setdefault(parameter["name"], {})
            for step, share in zip(divergence["step"], parameter[f"{kind}_{norm}"]):
                if share:
                    own.setdefault(step, []).append(share)
    return {
        name: {step: median(shares) for step, shares in sorted(by_step.items())}
        for name, by_step in found.items()
    }


def worst(by_parameter: Mapping[str, Course]) -> Course:
    """Return the largest share of all parameters at each step."""
    found: dict[int, float] = {}
    for course in by_parameter.values():
        for step, share in course.items():
            found[step] = max(share, found.get(step, 0.0))
    return dict(sorted(found.items()))
