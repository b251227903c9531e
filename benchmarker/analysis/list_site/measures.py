"""What a contest may rank by: one value per process, less is better."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from benchmarker.analysis.text.units import duration, significant
from benchmarker.quick_dataclass import dataclass
from benchmarker.records.lookup import Record, value_at
from benchmarker.records.timestamps import from_record

MIN_PLAIN_AMOUNT = 1e-3
"""Less is told with an exponent, so that an interval fits a narrow screen."""
_SECONDS_PER_HOUR = 3600
MIN_VALUE, MAX_VALUE = 1e-12, 1e12
"""In any unit: beyond them is nothing that was measured, and intervals of what is far apart are not finite."""


@dataclass(frozen=True)
class Measure:
    """A quantity of a process.

    Parameters
    ----------
    title : str
        In words.
    value : callable
        From a record; None, or not positive, where it was not measured.
    shown : callable
        From a value to text with its unit, but for a currency.
    needs : str
        What was not done where there is no value.
    fixes : str or None
        What must be the same in all entries, so that values can be compared.
    is_money : bool
        Whether it is in the contest's currency.
    """

    title: str
    value: Callable[[Record], float | None]
    shown: Callable[[float], str]
    needs: str
    fixes: str | None = None
    is_money: bool = False


def money(value: float) -> str:
    """Return an amount, the zeros of a tiny one as an exponent."""
    return significant(value) if value == 0 or abs(value) >= MIN_PLAIN_AMOUNT else f"{value:.3e}"


def _at(path: str) -> Callable[[Record], float | None]:
    def value(record: Record) -> float | None:
        found: float | None = value_at(record, path)
        return found

    return value


_step = _at("timing.step_seconds.median")


def _sample(record: Record) -> float | None:
    step = _step(record)
    return None if step is None else step / record["batch_size"]


def price_per_hour(record: Record) -> float | None:
    """Return what the machine costs per hour, by the cost of the run; None if no price was given."""
    cost = value_at(record, "metrics.cost_of_run")
    if cost is None or not record["ended_at"]:
        return None
    seconds = (from_record(record["ended_at"]) - from_record(record["started_at"])).total_seconds()
    return cost * _SECONDS_PER_HOUR / seconds if seconds > 0 else None


def _cost_to_target(record: Record) -> float | None:
    price, seconds = price_per_hour(record), value_at(record, "metrics.seconds_to_target")
    return None if price is None or seconds is None else price * seconds / _SECONDS_PER_HOUR


_NO_TARGET, _NO_PRICE = (
    "no training by a recipe has reached its target",
    "no price was given (--price-per-hour)",
)
MEASURES: Mapping[str, Measure] = {
    "step_seconds": Measure("time per step", _step, duration, "no step was timed", fixes="batch_size"),
    "sample_seconds": Measure("time per sample", _sample, duration, "no step was timed"),
    "seconds_to_target": Measure("time to accuracy", _at("metrics.seconds_to_target"), duration, _NO_TARGET),
    "joules_per_sample": Measure(
        "energy per sample",
        _at("metrics.joules_per_sample"),
        lambda joules: f"{significant(joules)} J",
        "no energy was measured",
    ),
    "cost_per_million_samples": Measure(
        "cost per million samples",
        _at("metrics.cost_per_million_samples"),
        money,
        _NO_PRICE,
        is_money=True,
    ),
    "cost_to_target": Measure(
        "cost to accuracy", _cost_to_target, money, f"{_NO_TARGET}, or {_NO_PRICE}", is_money=True
    ),
}
"""By the name that a contest has for each."""


def measured(name: str, record: Record) -> float | None:
    """Return a quantity of a process, None where there is no positive one, or one that no process can have."""
    found = MEASURES[name].value(record)
    return found if found is not None and MIN_VALUE <= found <= MAX_VALUE else None
