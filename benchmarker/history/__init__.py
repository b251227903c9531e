"""How a number changed over time: the records of one problem, framework and machine, in the order of time.

Points of different days are no pairs: nothing here says that one is slower than another, only at which level
a history was when, where the level changed, and what else did.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarker.history.facts import Facts, differences, facts_of
from benchmarker.report.asked import value_at
from benchmarker.results.moments import from_record
from benchmarker.schema import Record
from benchmarker.statistics import across_processes, geometric_mean


@dataclass(frozen=True)
class Point:
    """One measurement: the processes of a campaign, or a run by itself.

    Parameters
    ----------
    time : float
        When its first run started, in seconds since 1970 (UTC).
    centre_seconds : float
        Seconds a step: the geometric mean of the processes' medians.
    ci95_seconds : tuple of float or None
        95 % interval of it: between processes if there are at least three, within the process if there is one.
    processes : int
        How many there are.
    grade : str or None
        The worst grade of trust among them.
    facts : Facts
        What stood around it.
    changed : tuple of str
        What of that was different at the point before.
    """

    time: float
    centre_seconds: float
    ci95_seconds: tuple[float, float] | None
    processes: int
    grade: str | None
    facts: Facts
    changed: tuple[str, ...] = ()


@dataclass(frozen=True)
class Change:
    """A place where the level changed.

    Parameters
    ----------
    point : int
        The first point of the new level.
    ratio : float
        Step time of the new level over that before: above 1 a step takes longer.
    changed : tuple of str
        What was different at that point and at the one before.
    """

    point: int
    ratio: float
    changed: tuple[str, ...]


@dataclass(frozen=True)
class History:
    """What one problem took on one machine with one framework, whatever its version.

    Parameters
    ----------
    record : dict
        One of its records; in what makes a history they are all alike.
    points : tuple of Point
        In the order of time.
    changes : tuple of Change
        Where the level changed.
    too_short : str or None
        Why no change could be looked for.
    """

    record: Record
    points: tuple[Point, ...]
    changes: tuple[Change, ...]
    too_short: str | None

    @property
    def levels(self) -> tuple[tuple[int, int, float], ...]:
        """First point, point after the last one, and geometric mean in seconds of each level."""
        bounds = [0, *(change.point for change in self.changes), len(self.points)]
        return tuple((a, b, _level(self.points[a:b])) for a, b in zip(bounds, bounds[1:]))


def histories(records: Iterable[Record]) -> list[History]:
    """Return the histories among records, the longest first.

    Only records count that ended well and whose steps were timed. A history is what agrees in what makes records
    comparable, in machine (models of CPU and GPUs, cores), framework and its options, and in who measured.

    Parameters
    ----------
    records : iterable of dict
        In the shape of the newest version, in any order; they are not kept.
    """
    groups: dict[str, list[_Run]] = defaultdict(list)
    examples: dict[str, Record] = {}
    known: dict[Facts, Facts] = {}
    for record in records:
        if _is_timed(record):
            key = _key(record)
            facts = facts_of(record)
            groups[key].append(_run(record, known.setdefault(facts, facts)))
            examples.setdefault(key, record)
    found = [_history(examples[key], sorted(runs, key=lambda run: run.time)) for key, runs in groups.items()]
    return sorted(found, key=lambda history: -len(history.points))


@dataclass(frozen=True)
class _Run:
    """What a history keeps of a record."""

    campaign: str
    time: float
    median: float
    ci95: tuple[float, float] | None
    grade: str | None
    facts: Facts


def _is_timed(record: Record) -> bool:
    step = record["timing"]["step_seconds"]
    return record["status"] == "ok" and step is not None and step["median"] > 0


def _run(record: Record, facts: Facts) -> _Run:
    step = record["timing"]["step_seconds"]
    return _Run(
        campaign=(record["replication"] or {}).get("campaign") or record["id"],
        time=from_record(record["started_at"]).timestamp(),
        median=step["median"],
        ci95=tuple(step["ci95"]) if step["ci95"] else None,
        grade=record["trust"]["grade"] if record["trust"] else None,
        facts=facts,
    )


def machine_of(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return what makes a machine: models of CPU and GPUs and the cores that may be used."""
    gpus = value_at(record, "platform.gpus") or []
    return {
        "cpu": value_at(record, "platform.cpu.model"),
        "cores": value_at(record, "platform.cpu.usable_cores"),
        "gpus": [gpu.get("name") for gpu in gpus if isinstance(gpu, Mapping)],
    }


def _key(record: Record) -> str:
    framework = record["framework"]
    parts = [
        record["comparable"]["hash"],
        machine_of(record),
        record["device"]["name"],
        framework["name"],
        framework["options"],
        value_at(record, "imported.tool"),
    ]
    return json.dumps(parts, sort_keys=True)


def _history(example: Record, runs: Sequence[_Run]) -> History:
    from benchmarker.history.levels import FEWEST, find_changes

    campaigns: dict[str, list[_Run]] = defaultdict(list)
    for run in runs:
        campaigns[run.campaign].append(run)
    points: list[Point] = []
    for campaign in campaigns.values():
        points.append(_point(campaign, points[-1].facts if points else None))
    too_short = None
    if len(points) < FEWEST:
        too_short = f"a change of level needs at least {FEWEST} points to be seen, there {_are(len(points))}"
    places = find_changes([point.centre_seconds for point in points])
    return History(example, tuple(points), _changes(points, places), too_short)


def _are(count: int) -> str:
    return "is 1" if count == 1 else f"are {count}"


_GRADES = ("clean", "noisy", "contaminated")


def _point(runs: Sequence[_Run], before: Facts | None) -> Point:
    found = across_processes([run.median for run in runs])
    facts = runs[0].facts
    return Point(
        time=runs[0].time,
        centre_seconds=found.centre,
        ci95_seconds=runs[0].ci95 if len(runs) == 1 else found.ci95,
        processes=len(runs),
        grade=max((run.grade for run in runs if run.grade), key=_GRADES.index, default=None),
        facts=facts,
        changed=differences(before, facts) if before else (),
    )


def _changes(points: Sequence[Point], places: Sequence[int]) -> tuple[Change, ...]:
    bounds = [0, *places, len(points)]
    levels = [_level(points[a:b]) for a, b in zip(bounds, bounds[1:])]
    return tuple(
        Change(place, after / before, points[place].changed)
        for place, before, after in zip(places, levels, levels[1:])
    )


def _level(points: Sequence[Point]) -> float:
    return geometric_mean([point.centre_seconds for point in points])
