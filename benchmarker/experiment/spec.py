"""What to run: one run as a value, and an experiment as a matrix of them."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import field, fields, make_dataclass, replace
from typing import Any, Union

from benchmarker.api.collector import Run
from benchmarker.api.optimizer import Optimizer
from benchmarker.api.problem_scheme import ProblemReference
from benchmarker.api.suite import Request
from benchmarker.experiment.experiment_options import ExperimentOptions
from benchmarker.experiment.options import OPTIONS, RUN_OPTIONS, RunOptions
from benchmarker.experiment.precision import PROFILES, Precision
from benchmarker.quick_dataclass import dataclass
from benchmarker.training.recipe import Training


@dataclass(frozen=True)
class RunSpec(RunOptions):
    """One run, complete: everything that decides what is computed and how it is measured.

    Parameters
    ----------
    framework : str
        Name of the plugin.
    problem : ProblemReference
        An installed problem, or a file with the digest of its content.
    framework_version : str or None
        The version asked for with ``--framework=name==version``.
    problem_parameters, framework_options : mapping
        Complete, defaults included.
    training : mapping or None
        The table of the recipe that is trained by, complete, as JSON values; None for timed steps.
    repetition : int
        Which of the fresh processes of this cell, from 0.
    Other fields
        The options of :class:`~benchmarker.experiment.options.RunOptions`.
    """

    framework: str
    problem: ProblemReference
    framework_version: str | None = None
    problem_parameters: Mapping[str, Any] = field(default_factory=dict)
    framework_options: Mapping[str, Any] = field(default_factory=dict)
    optimizer: Optimizer = Optimizer()
    training: Mapping[str, Any] | None = None
    repetition: int = 0

    @property
    def shown(self) -> Run:
        """The run as collectors see it."""
        return Run(
            self.framework,
            self.problem.located_name,
            self.mode,
            self.device,
            self.gpus,
            self.threads,
            self.anonymous,
        )

    @property
    def label(self) -> str:
        """The run in a few words."""
        version = f"=={self.framework_version}" if self.framework_version else ""
        how = self.exchange if self.scheme is None else f"{self.scheme} ({self.exchange})"
        ranks = f", {self.ranks} ranks by {how}" if self.ranks > 1 else ""
        if self.training is not None:
            return f"{self.framework}{version} {self.training['name']}, seed {self.seed}{ranks}"
        what = f"{self.framework}{version} {self.problem.name}"
        if self.ranks > 1 and self.scheme is None:
            return f"{what} of {self.problem_parameters['size']:,} elements, {self.precision}{ranks}"
        return f"{what} {self.mode}, batch {self.batch_size}, {self.precision}{ranks}"


MODES_OF_LEVEL: Mapping[str | None, tuple[str, ...]] = {
    None: ("training",),
    "operator": ("inference", "gradient"),
    "network": ("inference", "gradient"),
    "training": ("training",),
}
"""The modes of an experiment that names none, by its level."""


def specification(run: RunSpec) -> dict[str, Any]:
    """Return what was asked, complete, as JSON values.

    Two runs with the same specification measure the same. The time limit and whether names are left out
    are not part of it, nor are the price and the folder of a problem that is a file: they change nothing in a run
    that ended well. Inference has no optimizer.
    """
    values = dict(zip(_OF_INFLUENCE, _values_of_influence(run)))
    values["optimizer"] = run.optimizer.to_json() if run.mode == "training" else None
    return {name: _plain(value) for name, value in values.items()}


_CHOICES = tuple(member.name for member in fields(RunSpec) if member.name not in RUN_OPTIONS)
_OF_INFLUENCE = (*_CHOICES, "problem_digest", *(n for n, option in RUN_OPTIONS.items() if option.specified))
_ATTRIBUTES = {"problem": "problem.name", "problem_digest": "problem.digest"}
_values_of_influence = operator.attrgetter(*(_ATTRIBUTES.get(name, name) for name in _OF_INFLUENCE))
_SCALARS = {str, int, float, bool, type(None)}


def _plain(value: Any) -> Any:
    if type(value) in _SCALARS:
        return value
    if isinstance(value, Mapping):
        return {str(name): _plain(member) for name, member in value.items()}
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value


UNSTATED: Mapping[str, Any] = specification(RunSpec("", ProblemReference("")))
"""What a specification means that lacks a member, because that was added since it was recorded: the default."""


Requested = Union[str, Request]


_AxesAndValues: Any = make_dataclass(
    "_AxesAndValues",
    [(option.keyword, Any, field(default=option.unset_value)) for option in OPTIONS.values()],
    frozen=True,
    kw_only=True,
)


@dataclass(frozen=True)
class Experiment(_AxesAndValues, ExperimentOptions):  # type: ignore[misc]
    """What was asked for: each tuple is an axis of the matrix, an empty one takes the default.

    Parameters
    ----------
    frameworks, problems, optimizers : tuple of str or Request
        Names, or names with settings of their own.
    settings : mapping
        ``--set``: name (or ``owner.name``) to the values to try, over those of the requests.
    hyperparameters : mapping
        Constants of every optimizer that has them, over those of the requests.
    training : Training or None
        The table of the recipe that is trained by.
    modes_are_given : bool, optional
        Whether the modes were asked for; those of the level, if not. By default it is told from the modes.
    accept : mapping
        ``min_`` or ``max_`` of a metric to its limit; see :mod:`benchmarker.experiment.acceptance`.
    Other fields
        Each option of :mod:`benchmarker.experiment.options` by its ``keyword``: those with an ``axis`` as a tuple of
        values, of which each run takes one, the others as one value for all runs.
    """

    frameworks: tuple[Requested, ...]
    problems: tuple[Requested, ...]
    settings: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    optimizers: tuple[Requested, ...] = ()
    hyperparameters: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    accept: Mapping[str, float] = field(default_factory=dict)
    training: Training | None = None
    modes_are_given: bool | None = None

    def __post_init__(self) -> None:
        if self.modes_are_given is None:
            object.__setattr__(self, "modes_are_given", bool(self.modes))
        if not self.modes:
            object.__setattr__(self, "modes", MODES_OF_LEVEL.get(self.level, MODES_OF_LEVEL[None]))
        if self.breakdown is None:
            object.__setattr__(self, "breakdown", self.level == "network")

    @property
    def wanted_precision(self) -> Precision | None:
        """How well each number should be known; None if a number of processes was asked for."""
        given: dict[str, Any] = {
            "half_width": self.half_width,
            "min_processes": self.min_processes,
            "max_processes": self.max_processes,
            "budget_seconds": self.budget,
        }
        chosen = {name: value for name, value in given.items() if value is not None}
        if self.profile is None and not chosen:
            return None
        return replace(PROFILES[self.profile or "standard"], profile=self.profile, **chosen)

    def replaced(self, **changes: Any) -> Experiment:
        """Return the experiment with other values of some fields."""
        return replace(self, **changes)
