"""What a run does to its own number: its settings, its clock, the course of its steps; nothing of it is from outside.

A finding says what to change. Some make a number one that must not be compared with others.

====================  ==========================================================  ============  ===============
kind                  value                                                       told above    excludes above
====================  ==========================================================  ============  ===============
threads               cores used, over the threads asked for                      1.1           1.1
compilation           compilations among timed steps                              0             0
oversubscribed        share of the time its threads waited for one another        5 %
timer                 clock and synchronisation, as a share of a sample           0.1 %         10 %
slowdown              the steady state's verdict                                  always
no_steady_state       the steady state's verdict                                  always
====================  ==========================================================  ============  ===============

The kinds of what an imported record is wrong about are beside these.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from typing import Any

from benchmarker.machine.trust import (
    MIN_RUN_DELAY_SECONDS,
    MIN_TICK_SECONDS,
    others_seconds,
    percent,
    times,
    waiting_for_others,
)
from benchmarker.quick_dataclass import dataclass


@dataclass(frozen=True)
class Limit:
    """Above which value a kind is told, and above which it excludes a number from comparisons."""

    reported: float
    excludes: float = math.inf


LIMITS: Mapping[str, Limit] = {
    "threads": Limit(1.1, 1.1),
    "compilation": Limit(0, 0),
    "oversubscribed": Limit(0.05),
    "timer": Limit(0.001, 0.1),
}
_STEADY_STATES: Mapping[str, tuple[str, str]] = {
    "slowdown": (
        "steps became slower over the timed part",
        "a longer --warmup, or look for heat and growing memory",
    ),
    "no_steady_state": ("step times did not settle", "a longer --warmup, more --steps, or several --repeats"),
}


@dataclass(frozen=True)
class Finding:
    """One thing that a run does to its own number.

    Parameters
    ----------
    kind : str
        As in the table above.
    text : str
        What it is.
    advice : str or None
        What to change.
    excludes : bool
        Whether the number must not be compared with others.
    value, limit : float or None
        What was found, and above what it is told; ``None`` where there is no number.
    """

    kind: str
    text: str
    advice: str | None = None
    excludes: bool = False
    value: float | None = None
    limit: float | None = None


def findings(evidence: Mapping[str, Any], timing: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return what a run does to its own number, what excludes it first.

    Parameters
    ----------
    evidence : mapping
        As of :func:`benchmarker.machine.trust.grade`.
    timing : mapping
        ``threads`` that were asked for, ``sample_seconds`` (median of what was timed in one piece),
        ``overhead_seconds`` (clock and synchronisation in it), ``compilations`` among the timed steps and
        ``steady_state`` (its kind); each may be missing or ``None``.
    """
    found = [finding for find in _FINDERS for finding in find(evidence, timing)]
    return [asdict(finding) for finding in sorted(found, key=lambda finding: not finding.excludes)]


Found = Iterator[Finding]
_Finder = Callable[[Mapping[str, Any], Mapping[str, Any]], Found]


def _above(kind: str, value: float | None, text: str, advice: str) -> Found:
    limit = LIMITS[kind]
    if value is not None and value > limit.reported:
        yield Finding(kind, text, advice, value > limit.excludes, value, limit.reported)


def _threads(evidence: Mapping[str, Any], timing: Mapping[str, Any]) -> Found:
    requested = timing.get("threads")
    busy = evidence.get("threads_busy")
    if not requested or busy is None or (busy - requested) * evidence["seconds"] < MIN_TICK_SECONDS:
        return
    threads = "1 thread was" if requested == 1 else f"{requested} threads were"
    text = f"{threads} asked for, {busy:.2f} were busy"
    yield from _above("threads", busy / requested, text, f"--threads={math.ceil(busy)} says what it uses")


def _compilation(evidence: Mapping[str, Any], timing: Mapping[str, Any]) -> Found:
    count = timing.get("compilations")
    text = f"the framework compiled {times(count or 0)} among the timed steps"
    yield from _above("compilation", count, text, "a longer --warmup")


def oversubscribed(evidence: Mapping[str, Any], timing: Mapping[str, Any]) -> Found:
    """Yield that threads of the run waited for one another, which is a property of its settings."""
    waited, seconds = evidence.get("run_delay_seconds"), evidence["seconds"]
    if waited is None or waited <= MIN_RUN_DELAY_SECONDS:
        return
    own = evidence["own_cpu_seconds"]
    by_others = waiting_for_others(waited, own, others_seconds(evidence), seconds)
    share = (evidence.get("run_delay_share") or 0.0) * (1 - by_others / waited)
    runnable = evidence.get("threads_runnable") or 0.0
    text = (
        f"its threads spent {percent(share)} of the time waiting for a core that another of them used "
        f"(on average, {runnable:.1f} wanted to run at once)"
    )
    yield from _above("oversubscribed", share, text, "fewer --threads, or --affinity")


def _timer(evidence: Mapping[str, Any], timing: Mapping[str, Any]) -> Found:
    sample, overhead = timing.get("sample_seconds"), timing.get("overhead_seconds")
    if not sample or overhead is None:
        return
    share = overhead / sample
    text = f"reading the clock and synchronizing take {percent(share)} of each timed sample"
    yield from _above("timer", share, text, "--sampling=throughput, or a larger --batch-size")


def _steady_state(evidence: Mapping[str, Any], timing: Mapping[str, Any]) -> Found:
    said = _STEADY_STATES.get(timing.get("steady_state") or "")
    if said:
        yield Finding(str(timing["steady_state"]), *said)


_FINDERS: tuple[_Finder, ...] = (_threads, _compilation, oversubscribed, _timer, _steady_state)


def trust_since_1_5(
    trust: Mapping[str, Any], evidence: Mapping[str, Any] | None
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the reasons and the findings that the one list of an older record amounts to.

    Parameters
    ----------
    trust : mapping
        With ``reasons`` of disturbances and of all else.
    evidence : mapping or None
        What the machine did; without it there is no telling whose waiting it was.
    """
    from benchmarker.machine.trust import DISTURBANCES, waiting

    reasons, found = [], []
    waits = ("run_delay", "cpu_pressure") if evidence else ()
    for reason in trust["reasons"]:
        if reason["kind"] in waits:
            continue
        if reason["kind"] in DISTURBANCES:
            reasons.append(dict(reason))
        else:
            excludes = reason["severity"] == "contaminated" and reason["kind"] not in _STEADY_STATES
            finding = Finding(
                reason["kind"], reason["text"], None, excludes, reason["value"], reason["limit"]
            )
            found.append(asdict(finding))
    if evidence:
        reasons += [asdict(reason) for reason in waiting(evidence)]
        found += [asdict(finding) for finding in oversubscribed(evidence, {})]
    return reasons, sorted(found, key=lambda finding: not finding["excludes"])
