"""How well a number is known, by its interval, and what it is therefore good for: one wording for all that shows it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from benchmarker.records.lookup import Record
from benchmarker.records.schema.trust import Precision
from benchmarker.statistics import WITHIN

BETWEEN: Literal["between processes"] = "between processes"
HIGH, MEDIUM = 0.02, 0.1
"""Half-widths up to which precision is high, and up to which it is medium."""
CONTAMINATED = "contaminated"
DISTURBED = "disturbed or otherwise not to be ranked"
"""What runs are that :func:`excluded` keeps out."""


def precision_of(centre: float, interval: Sequence[float] | None, level: str = WITHIN) -> Precision:
    """Return how well a number is known.

    The interval is taken as one of the logarithm, as that between processes is. Two numbers that are known equally
    well differ visibly if the interval of their ratio, which is wider by the square root of two, leaves out 1.

    Parameters
    ----------
    centre : float
        The number, in seconds.
    interval : sequence of float or None
        Both ends of its 95 % interval, in seconds.
    level : {"within one process", "between processes"}
        What the interval speaks of.
    """
    width = _log_half_width(centre, interval)
    return Precision(
        grade=_grade(width),
        level=level,  # type: ignore[arg-type]
        half_width=None if width is None else math.expm1(width),
        least_difference=None if width is None else math.expm1(math.sqrt(2) * width),
    )


_MAX_LOG = 20.0
"""Wider than this nothing is told; half-widths stay finite numbers."""
_MAX_DIFFERENCE = math.expm1(math.sqrt(2) * _MAX_LOG)


def _log_half_width(centre: float, interval: Sequence[float] | None) -> float | None:
    if not interval or centre <= 0:
        return None
    low, high = interval
    below = math.log(centre / low) if low > 0 else _MAX_LOG
    return min(max(math.log(high / centre) if high > 0 else 0.0, below, 0.0), _MAX_LOG)


def _grade(width: float | None) -> Literal["high", "medium", "low", "unknown"]:
    if width is None:
        return "unknown"
    half_width = math.expm1(width)
    if half_width <= HIGH:
        return "high"
    return "medium" if half_width <= MEDIUM else "low"


def excluded(record: Record, *, include_contaminated: bool = False) -> str | None:
    """Return the kind of what keeps a number out of comparisons and rankings; None if nothing does.

    Parameters
    ----------
    record : mapping
        Of the number.
    include_contaminated : bool
        Whether those count that the machine disturbed.
    """
    trust = record.get("trust") or {}
    if trust.get("grade") == CONTAMINATED:
        return None if include_contaminated else CONTAMINATED
    kinds = (finding["kind"] for finding in trust.get("findings") or () if finding["excludes"])
    return next(kinds, None)


def usable_for(precision: Precision | Mapping[str, Any] | None, excluding: Iterable[str | None] = ()) -> str:
    """Return what a number is good for, in a sentence.

    Parameters
    ----------
    precision : Precision or mapping or None
        Of the number.
    excluding : iterable of str or None
        What keeps it out of comparisons, as :func:`excluded` tells.
    """
    why = next(filter(None, excluding), None)
    if why is not None:
        return f"not usable for comparisons ({why.replace('_', ' ')})"
    members = precision if isinstance(precision, Mapping) else _precision_members(precision)
    difference = members["least_difference"]
    if difference is None or difference > _MAX_DIFFERENCE:
        return "usable for orders of magnitude: it has no interval"
    within = " within this process; how processes differ is not known" if members["level"] == WITHIN else ""
    return f"usable for differences above {shown(difference)}{within}"


def shown(share: float) -> str:
    """Write a share as percent, with two digits and not below what it is."""
    percent = 100 * share
    if percent <= 0:
        return "0 %"
    unit = 10.0 ** (math.floor(math.log10(percent)) - 1)
    rounded = math.ceil(round(percent / unit, 6)) * unit
    return f"{rounded:.0f} %" if unit >= 1 else f"{rounded:.{round(-math.log10(unit))}f} %"


def _precision_members(precision: Precision | None) -> Mapping[str, Any]:
    if precision is None:
        return {"least_difference": None, "level": WITHIN}
    return {"least_difference": precision.least_difference, "level": precision.level}
