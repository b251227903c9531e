"""What slowdown a machine lets pairs show, in words."""

from __future__ import annotations

from collections.abc import Iterable

from benchmarker.records.precision import shown


def least_slowdown(effects: Iterable[float | None]) -> str:
    """Return what slowdown pairs show on this machine, which is said before any verdict; empty where that is unknown.

    Parameters
    ----------
    effects : iterable of float or None
        Of each row the ratio that 80 % of such comparisons show.
    """
    known = [effect - 1 for effect in effects if effect is not None]
    if not known:
        return ""
    low, high = shown(min(known)), shown(max(known))
    span = low if low == high else f"{low} to {high}, by row,"
    return f"With the noise of these pairs a slowdown of {span} or more is shown in 80 % of comparisons."
