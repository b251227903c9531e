"""Schedules: what a constant of the optimizer is at each step, a table that is computed once, in float64.

Every framework takes the numbers of this table at run time, so that none of its own schedulers, whose first index, end
and unit differ, has a say. The first update uses index 0.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Optional, Tuple

from benchmarker.api.rules import Choice, Flag, Found, Real
from benchmarker.errors import UsageError, plural
from benchmarker.quick_dataclass import dataclass
from benchmarker.training.fields import Numbers

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Table = npt.NDArray[np.float64]

STEPS, EPOCHS = "steps", "epochs"
_SHARE = Real(least=0.0)
_LENGTH = Real(above=0.0)

_OWN: Mapping[str, tuple[str, ...]] = {
    "constant": (),
    "step": ("at", "factor"),
    "exponential": ("factor", "every", "staircase"),
    "polynomial": ("length", "end", "power"),
    "cosine": ("length", "end"),
    "one_cycle": ("length", "start", "end", "rise"),
    "table": ("values",),
}
"""The fields that each kind has beside ``kind``, ``unit``, ``warmup`` and ``warmup_from``."""
_NEEDED: Mapping[str, tuple[str, ...]] = {
    "step": ("at",),
    "exponential": ("factor", "every"),
    "table": ("values",),
}
_COMMON = ("kind", "unit", "warmup", "warmup_from")


@dataclass(frozen=True)
class Schedule:
    """How a constant of the optimizer changes over the steps of a training.

    With ``i`` the index of a step from 0, ``w`` the steps of the warm-up, ``j = i - w``, ``n`` the length and
    ``base`` the constant itself:

    ``constant``: ``base``. ``step``: ``base * factor ** k``, ``k`` counting those of ``at`` that are not above ``i``.
    ``exponential``: ``base * factor ** (j / every)``, with ``staircase`` of the whole part of the exponent.
    ``polynomial``: ``base * (end + (1 - end) * (1 - j / n) ** power)``.
    ``cosine``: ``base * (end + (1 - end) * (1 + cos(pi * j / n)) / 2)`` (Loshchilov & Hutter 2016, arXiv 1608.03983).
    ``one_cycle``: a cosine from ``start`` to 1 over the first ``rise`` of the length, then one to ``end``, which the
    last step has (Smith & Topin 2017, arXiv 1708.07120, as PyTorch computes it). ``table``: ``values[i]``.

    In the warm-up it is ``base * (f + (1 - f) * i / w)``, so that index ``w`` is the first of the schedule itself.

    Parameters
    ----------
    kind : str
        One of those above.
    unit : {"steps", "epochs"}
        Of ``at``, ``every``, ``length`` and ``warmup``; an epoch's are rounded to whole steps.
    warmup : float
        Length of the linear warm-up before the schedule.
    warmup_from : float or None
        ``f``, the share of ``base`` that the first step has; None for ``1 / (w + 1)``, never zero unless it is given.
    at : tuple of float
        Where it is multiplied, counted from the first step of the training, warm-up included.
    factor : float
        What it is multiplied by.
    every : float
        In how many steps an exponential one is multiplied by ``factor`` once.
    staircase : bool
        Whether that happens at once.
    length : float or None
        Steps after the warm-up; None for all that there are.
    start, end : float or None
        Shares of ``base`` at the start of a cycle (by default 1 / 25) and at the end (0; of a cycle 4e-6).
    power : float
        Of a polynomial.
    rise : float
        Share of a cycle that rises.
    values : tuple of float
        Of a table, one per step; they are the numbers themselves.
    """

    kind: Annotated[str, Choice(tuple(_OWN))] = "constant"
    unit: Annotated[str, Choice((STEPS, EPOCHS))] = STEPS
    warmup: Annotated[float, Real(least=0.0)] = 0.0
    warmup_from: Annotated[Optional[float], Real(least=0.0, most=1.0)] = None
    at: Annotated[Tuple[float, ...], Numbers(_LENGTH)] = ()
    factor: Annotated[float, Real(above=0.0)] = 0.1
    every: Annotated[float, _LENGTH] = 1.0
    staircase: Annotated[bool, Flag()] = False
    length: Annotated[Optional[float], _LENGTH] = None
    start: Annotated[Optional[float], _SHARE] = None
    end: Annotated[Optional[float], _SHARE] = None
    power: Annotated[float, Real(above=0.0)] = 1.0
    rise: Annotated[float, Real(above=0.0, below=1.0)] = 0.3
    values: Annotated[Tuple[float, ...], Numbers(Real(least=0.0))] = ()

    @staticmethod
    def table_faults(values: Mapping[str, Any]) -> Iterator[Found]:
        """Yield the fields that are of another kind of schedule, and those that its kind needs."""
        kind = values.get("kind", "constant")
        for name in values:
            if name not in (*_COMMON, *_OWN[kind]):
                having = [other for other, own in _OWN.items() if name in own]
                yield (
                    (name,),
                    f"does not belong to a schedule of kind '{kind}', but of kind {', '.join(having)}",
                )
        for name in _NEEDED.get(kind, ()):
            if name not in values:
                yield (), f"of kind '{kind}' needs '{name}'"
        if kind == "table" and values.get("warmup"):
            yield ("warmup",), "does not belong to a table, which has a number for each step"

    @property
    def field_names(self) -> tuple[str, ...]:
        """The fields that its kind has."""
        return (*_COMMON, *_OWN[self.kind])


def table(schedule: Schedule, base: float, steps: int, steps_per_epoch: int, what: str) -> Table:
    """Return what a constant is at each step.

    Parameters
    ----------
    schedule : Schedule
        How it changes.
    base : float
        The constant.
    steps : int
        The most steps that the training may take.
    steps_per_epoch : int
        Steps of an epoch.
    what : str
        The constant's name, for the message.

    Returns
    -------
    ndarray, float64, shape ``(steps,)``
        The first update uses index 0.

    Raises
    ------
    UsageError
        If the schedule is shorter than the training, what it says lies beyond it, or it grows beyond all numbers.
    """
    import numpy as np  # who only reads recipes needs none

    if schedule.kind == "table":
        return _given(schedule, steps, what)
    scale = 1 if schedule.unit == STEPS else steps_per_epoch
    warmup = round(schedule.warmup * scale)
    if warmup >= steps:
        raise UsageError(
            f"the warm-up of the {what} takes {plural(warmup, 'step')}, but the training at most {steps}; "
            "shorten it, or train for longer"
        )
    share = _KINDS[schedule.kind](schedule, steps, warmup, scale, what)
    first = 1.0 / (warmup + 1) if schedule.warmup_from is None else schedule.warmup_from
    # One by one with Python's own arithmetic: libraries of vectors round differently.
    rising = (base * (first + (1.0 - first) * i / warmup) for i in range(warmup))
    following = (base * share(i) for i in range(warmup, steps))
    try:
        found = np.fromiter(itertools.chain(rising, following), np.float64, steps)
    except OverflowError:
        raise _not_finite(what) from None
    if not np.isfinite(found).all():
        raise _not_finite(what)
    return found


def _not_finite(what: str) -> UsageError:
    return UsageError(f"the schedule of the {what} grows beyond all numbers; choose a factor nearer to 1")


def table_digest(values: Table) -> str:
    """Return the SHA-256 of a table's bytes, little-endian."""
    return f"sha256:{hashlib.sha256(values.astype('<f8').tobytes()).hexdigest()}"


_Share = Callable[[int], float]
"""Returns the share of the constant at an index that is not below the warm-up."""


def _given(schedule: Schedule, steps: int, what: str) -> Table:
    import numpy as np

    if len(schedule.values) < steps:
        raise _too_short(what, len(schedule.values), steps)
    return np.array(schedule.values[:steps], np.float64)


def _too_short(what: str, length: int, steps: int) -> UsageError:
    return UsageError(
        f"the schedule of the {what} ends after {plural(length, 'step')}, but the training may take {steps}; "
        "lengthen it, or train for fewer steps"
    )


def _constant(schedule: Schedule, steps: int, warmup: int, scale: int, what: str) -> _Share:
    return lambda i: 1.0


def _step(schedule: Schedule, steps: int, warmup: int, scale: int, what: str) -> _Share:
    at = sorted(round(place * scale) for place in schedule.at)
    if at[-1] >= steps:
        raise UsageError(
            f"the schedule of the {what} changes at step {at[-1]}, beyond the {steps} that the training may take; "
            "leave that out, or train for longer"
        )
    return lambda i: schedule.factor ** sum(place <= i for place in at)


def _exponential(schedule: Schedule, steps: int, warmup: int, scale: int, what: str) -> _Share:
    every = schedule.every * scale

    def share(i: int) -> float:
        exponent = (i - warmup) / every
        return float(schedule.factor ** (math.floor(exponent) if schedule.staircase else exponent))

    return share


def _length(schedule: Schedule, steps: int, warmup: int, scale: int, what: str) -> int:
    """Return the steps after the warm-up."""
    if schedule.length is None:
        return steps - warmup
    length = round(schedule.length * scale)
    if warmup + length < steps:
        raise _too_short(what, warmup + length, steps)
    return length


def _polynomial(schedule: Schedule, steps: int, warmup: int, scale: int, what: str) -> _Share:
    length, end = _length(schedule, steps, warmup, scale, what), schedule.end or 0.0
    return lambda i: end + (1.0 - end) * (1.0 - (i - warmup) / length) ** schedule.power


def _cosine(schedule: Schedule, steps: int, warmup: int, scale: int, what: str) -> _Share:
    length, end = _length(schedule, steps, warmup, scale, what), schedule.end or 0.0
    return lambda i: _between(1.0, end, (i - warmup) / length)


def _one_cycle(schedule: Schedule, steps: int, warmup: int, scale: int, what: str) -> _Share:
    length = _length(schedule, steps, warmup, scale, what)
    start = 1 / 25 if schedule.start is None else schedule.start
    end = 4e-6 if schedule.end is None else schedule.end
    top, last = schedule.rise * length - 1, length - 1

    def share(i: int) -> float:
        j = i - warmup
        if top > 0 and j <= top:
            return _between(start, 1.0, j / top)
        return _between(1.0, end, (j - top) / (last - top))

    return share


def _between(first: float, last: float, part: float) -> float:
    """Return where half a cosine from one value to another is after a part of its length."""
    return last + (first - last) * (1.0 + math.cos(math.pi * part)) / 2.0


_KINDS: Mapping[str, Callable[[Schedule, int, int, int, str], _Share]] = {
    "constant": _constant,
    "step": _step,
    "exponential": _exponential,
    "polynomial": _polynomial,
    "cosine": _cosine,
    "one_cycle": _one_cycle,
}
