"""Many calls in a row after the timed part, each compared: a program may be wrong only now and then."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from benchmarker.errors import plural
from benchmarker.worker.verification.budget import Budget
from benchmarker.worker.verification.findings import FAILED, Check, compared, left_out
from benchmarker.worker.verification.verdicts import TensorVerdict

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]
    Arrays = dict[str, Array]

FURTHER = "further calls"
MAX_FURTHER_CALLS = 24
"""Enough to meet what goes wrong in each twentieth call."""


def further_calls(
    known: Iterator[tuple[Arrays, tuple[Array, ...]]],
    names: Sequence[str],
    call: Callable[[Arrays], tuple[Array, ...]],
    judged: Callable[[str, Array, Array], TensorVerdict],
    budget: Budget,
    seconds: float,
    impossible: dict[str, str | None],
) -> Check:
    """Compare as many calls as the rest of the budget allows with what their mini-batches are known to give.

    Parameters
    ----------
    known : iterator of (mapping, tuple of ndarray)
        Mini-batches, and what each must give: as many as are asked for.
    names : sequence of str
        Of what a call returns.
    call : callable
        Makes one.
    judged : callable
        Judges what a call returned, by its name, and what it should have returned.
    budget : Budget
        What the proof may cost.
    seconds : float
        About what a call takes.
    impossible : dict
        As of :func:`compared`.
    """
    worst: dict[str, TensorVerdict] = {}
    calls = 0
    for batch, exact in islice(known, MAX_FURTHER_CALLS):
        if not budget.affords(seconds):
            break
        began = time.perf_counter()
        found = call(batch)
        calls, seconds = calls + 1, time.perf_counter() - began
        if len(found) != len(exact):
            what = f"the graph has {plural(len(exact), 'output')}, the framework returned {len(found)}"
            return Check(FURTHER, FAILED, f"call {calls}: {what}")
        for name, wanted, array in zip(names, exact, found):
            verdict = judged(name, wanted, array)
            worst[name] = max(worst.get(name, verdict), verdict, key=_distance)
    if not calls:
        return left_out(FURTHER, "a call takes longer than this proof may last")
    what = f"{plural(calls, 'call')} in a row, each with what its samples gave before"
    return compared(FURTHER, what, list(worst.values()), impossible)


def _distance(verdict: TensorVerdict) -> tuple[bool, float]:
    return not verdict.passed, verdict.used
