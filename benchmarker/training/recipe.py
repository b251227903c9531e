"""What a recipe says beside problem, optimizer and mini-batch: the ``[training]`` table of a blueprint."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Annotated, Any, Optional, Tuple

from benchmarker.api.rules import MAX_COUNT, Choice, Flag, Found, ListOf, Real, Text, Whole
from benchmarker.quick_dataclass import dataclass
from benchmarker.training.fields import Read, TableOf, tables_by_name
from benchmarker.training.schedules import Schedule

ACCURACY, LOSS = "accuracy", "loss"
METRICS: Mapping[str, bool] = {ACCURACY: True, LOSS: False}
"""What a target may be of, and whether more of it is better."""
PARTS = ("train", "validation", "test")
SCHEDULED = ("learning_rate", "momentum", "weight_decay")
"""The constants of an optimizer that may change over the steps."""
MAY_CHANGE = ("batch_size", "optimizer", "precision", "problem", "schedules", "limits", "augmentation")
"""What an open recipe may leave to who runs it."""

_COUNT = Whole(1, MAX_COUNT)
_SHARE = Real(least=0.0, most=1.0)


@dataclass(frozen=True)
class SplitShares:
    """Which share of the data set each part has: of every class the same, or of a text its pieces in their order.

    Parameters
    ----------
    train, validation, test : float
        Together 1.
    seed : int
        Of the split, not of a run: all runs have the same one.
    """

    train: Annotated[float, _SHARE] = 0.0
    validation: Annotated[float, _SHARE] = 0.0
    test: Annotated[float, _SHARE] = 0.0
    seed: Annotated[int, Whole(0, MAX_COUNT)] = 0

    @property
    def shares(self) -> dict[str, float]:
        """The share of each part that has one."""
        return {name: share for name in PARTS if (share := getattr(self, name))}

    @staticmethod
    def table_faults(values: Mapping[str, Any]) -> Iterator[Found]:
        """Yield what is wrong with the shares together."""
        total = sum(values.get(name, 0.0) for name in PARTS)
        if abs(total - 1.0) > 1e-9:
            yield (), f"must have shares that add up to 1, got {total:g}"
        elif not values.get("train"):
            yield (), "must give 'train' a share: nothing else is trained on"


@dataclass(frozen=True)
class Target:
    """The quality to reach.

    Parameters
    ----------
    metric : {"accuracy", "loss"}
        Share of samples that are classified rightly, or the mean loss, over a whole part.
    value : float
        At least this accuracy, or at most this loss.
    split : {"test", "validation"}
        The part that is evaluated.
    """

    value: Annotated[float, Real(least=0.0)]
    metric: Annotated[str, Choice(tuple(METRICS))] = ACCURACY
    split: Annotated[str, Choice(("validation", "test"))] = "test"

    @staticmethod
    def table_faults(values: Mapping[str, Any]) -> Iterator[Found]:
        """Yield an accuracy that none can be."""
        if values.get("metric", ACCURACY) == ACCURACY and not 0 < values["value"] <= 1:
            yield ("value",), f"must be above 0 and at most 1, as an accuracy is, got {values['value']:g}"

    def is_reached(self, value: float) -> bool:
        """Tell whether a value of the metric is good enough; one that is no number is not."""
        return value >= self.value if METRICS[self.metric] else value <= self.value


@dataclass(frozen=True)
class Limits:
    """When a training ends that has not reached its target, whichever comes first.

    Parameters
    ----------
    epochs : float or None
        Passes over the part that is trained on, whole mini-batches of it; may be a share of one.
    steps : int or None
        Updates.
    seconds : float or None
        By the clocks of training and loading together.
    loss : float or None
        Ends once an evaluation finds a loss of at most this.
    no_improvement : int or None
        Ends after as many evaluations without a better value of the target's metric.
    """

    epochs: Annotated[Optional[float], Real(above=0.0)] = None
    steps: Annotated[Optional[int], _COUNT] = None
    seconds: Annotated[Optional[float], Real(above=0.0)] = None
    loss: Annotated[Optional[float], Real(least=0.0)] = None
    no_improvement: Annotated[Optional[int], _COUNT] = None

    @staticmethod
    def table_faults(values: Mapping[str, Any]) -> Iterator[Found]:
        """Yield that the most steps are not known, for which schedules are computed."""
        if values.get("epochs") is None and values.get("steps") is None:
            yield (
                (),
                "needs 'epochs' or 'steps': schedules are computed for the largest possible number of steps",
            )

    def most_steps(self, steps_per_epoch: int) -> int:
        """Return the most steps that the training may take, at least one."""
        stated = [] if self.steps is None else [self.steps]
        if self.epochs is not None:
            stated.append(round(min(self.epochs * steps_per_epoch, MAX_COUNT)))
        return max(1, min(stated))


@dataclass(frozen=True)
class Training:
    """How a training goes, is judged and ends; a recipe is a blueprint with this table.

    Parameters
    ----------
    target : Target
        The quality to reach.
    limits : Limits
        When it ends otherwise.
    name : str or None
        Of the recipe; None for that of its file.
    division : {"closed", "open"}
        Whether the recipe is as it is, or ``may_change`` lists what may be another.
    may_change : tuple of str
        Of :data:`MAY_CHANGE`.
    split : SplitShares
        Which samples train, validate and test.
    sampler : str or mapping
        In which order those of an epoch come, by name, or a table with ``name`` and options (:mod:`benchmarker.data.
        samplers`). What does not fill a mini-batch is left out of the epoch.
    augmentation : tuple
        What is done to samples before, step by step, each as a sampler is given (:mod:`benchmarker.data.augmentation`).
    evaluate_every : int or None
        Samples between two evaluations, rounded up to whole mini-batches; None for an epoch of them.
    schedules : mapping of str to Schedule
        How constants of the optimizer change; one without a schedule is constant.
    early_stop : bool
        Whether it ends at the target.
    max_steps : int or None
        Updates after which it is left, as if it had the whole length; None for none.
    """

    target: Annotated[Target, TableOf(Target)]
    limits: Annotated[Limits, TableOf(Limits)]
    name: Annotated[Optional[str], Text("a name")] = None
    division: Annotated[str, Choice(("closed", "open"))] = "closed"
    may_change: Annotated[Tuple[str, ...], ListOf(Choice(MAY_CHANGE), 0)] = ()
    split: Annotated[SplitShares, TableOf(SplitShares)] = SplitShares(train=0.8, test=0.2)
    sampler: Annotated[
        Any, Read("the name of a sampler, or a table", "benchmarker.data.samplers:SamplerChoice")
    ] = "shuffled"
    augmentation: Annotated[
        Tuple[Any, ...], Read("a list of names or tables", "benchmarker.data.augmentation:Augmentation")
    ] = ()
    evaluate_every: Annotated[Optional[int], _COUNT] = None
    schedules: Annotated[Mapping[str, Schedule], tables_by_name(SCHEDULED, TableOf(Schedule))] = field(
        default_factory=dict
    )
    early_stop: Annotated[bool, Flag()] = True
    max_steps: Annotated[Optional[int], _COUNT] = None

    @staticmethod
    def table_faults(values: Mapping[str, Any]) -> Iterator[Found]:
        """Yield what does not fit together."""
        if values.get("may_change") and values.get("division", "closed") == "closed":
            yield (
                ("may_change",),
                "belongs to an open recipe, but this one is closed; write division = 'open'",
            )
        evaluated = values["target"].get("split", "test")
        if not values.get("split", {"test": 0.2}).get(evaluated):
            yield ("split",), f"must give '{evaluated}' a share: the target is evaluated on it"

    @property
    def sampler_table(self) -> dict[str, Any]:
        """The sampler as a table."""
        return {"name": self.sampler} if isinstance(self.sampler, str) else dict(self.sampler)

    @property
    def augmentation_tables(self) -> tuple[dict[str, Any], ...]:
        """Each step of the augmentation as a table."""
        return tuple({"name": s} if isinstance(s, str) else dict(s) for s in self.augmentation)

    def evaluation_steps(self, batch_size: int, steps_per_epoch: int) -> int:
        """Return the steps between two evaluations."""
        if self.evaluate_every is None:
            return steps_per_epoch
        return -(-self.evaluate_every // batch_size)
