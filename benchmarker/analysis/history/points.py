"""How a number changed over time: the records of one problem, framework and machine, in the order of time.

Points of different days are no pairs: nothing here says that one is slower than another, only at which level
a history was when, where the level changed, and what else did.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from benchmarker.analysis.comparison.pairs import has_number
from benchmarker.machine.trust import worst
from benchmarker.quick_dataclass import dataclass
from benchmarker.records.keys import history_key
from benchmarker.records.lookup import value_at
from benchmarker.records.precision import excluded
from benchmarker.records.schema import Record
from benchmarker.records.timestamps import from_record
from benchmarker.statistics import across_processes, are, geometric_mean
from benchmarker.version import OWN_DISTRIBUTIONS


@dataclass(frozen=True)
class Point:
    """One measurement: the processes of a campaign, or a run by itself.

    Parameters
    ----------
    time : float
        When its first run started, in seconds since 1970 (UTC).
    centre_seconds : float
        Seconds per step: the geometric mean of the processes' medians.
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
    left_out : int
        Runs that no point is of, because they were disturbed or a finding excludes them.
    disturbed : bool
        Whether all points are of such runs, since there are no others.
    """

    record: Record
    points: tuple[Point, ...]
    changes: tuple[Change, ...]
    too_short: str | None
    left_out: int = 0
    disturbed: bool = False

    @property
    def levels(self) -> tuple[tuple[int, int, float], ...]:
        """First point, point after the last one, and geometric mean in seconds of each level."""
        bounds = [0, *(change.point for change in self.changes), len(self.points)]
        return tuple((a, b, _level(self.points[a:b])) for a, b in zip(bounds, bounds[1:]))


def histories(records: Iterable[Record], *, include_contaminated: bool = False) -> list[History]:
    """Return the histories among records, the longest first.

    Only records count that ended well and whose steps were timed. A history is what agrees in what makes records
    comparable, in machine (models of CPU and GPUs, cores), framework and its options, and in who measured. What
    keeps a number out of comparisons keeps it out of a history too, unless that has no others.

    Parameters
    ----------
    records : iterable of dict
        In the shape of the newest version, in any order; they are not kept.
    include_contaminated : bool
        Whether runs count that the machine disturbed.
    """
    groups: dict[str, list[_Run]] = defaultdict(list)
    examples: dict[str, Record] = {}
    known: dict[Facts, Facts] = {}
    for record in records:
        if has_number(record):
            key = history_key(record)
            facts = facts_of(record)
            counts = excluded(record, include_contaminated=include_contaminated) is None
            groups[key].append(_run(record, known.setdefault(facts, facts), counts))
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
    counts: bool


def _run(record: Record, facts: Facts, counts: bool) -> _Run:
    step = record["timing"]["step_seconds"]
    return _Run(
        campaign=(record["replication"] or {}).get("campaign") or record["id"],
        time=from_record(record["started_at"]).timestamp(),
        median=step["median"],
        ci95=tuple(step["ci95"]) if step["ci95"] else None,
        grade=record["trust"]["grade"] if record["trust"] else None,
        facts=facts,
        counts=counts,
    )


def _history(example: Record, runs: Sequence[_Run]) -> History:
    from benchmarker.analysis.history.levels import MIN_POINTS, find_changes

    counting = [run for run in runs if run.counts]
    shown = counting or runs
    campaigns: dict[str, list[_Run]] = defaultdict(list)
    for run in shown:
        campaigns[run.campaign].append(run)
    points: list[Point] = []
    for campaign in campaigns.values():
        points.append(_point(campaign, points[-1].facts if points else None))
    too_short = None
    if len(points) < MIN_POINTS:
        too_short = (
            f"a change of level needs at least {MIN_POINTS} points to be seen, there {are(len(points))}"
        )
    places = find_changes([point.centre_seconds for point in points])
    return History(
        record=example,
        points=tuple(points),
        changes=_changes(points, places),
        too_short=too_short,
        left_out=len(runs) - len(shown),
        disturbed=not counting,
    )


def _point(runs: Sequence[_Run], before: Facts | None) -> Point:
    found = across_processes([run.median for run in runs])
    facts = runs[0].facts
    return Point(
        time=runs[0].time,
        centre_seconds=found.centre,
        ci95_seconds=runs[0].ci95 if len(runs) == 1 else found.ci95,
        processes=len(runs),
        grade=worst(run.grade for run in runs),
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


_PLAIN = {
    "Python": "environment.python",
    "Python build": "environment.build",
    "image": "environment.container.digest",
    "benchmarker": "benchmarker_version",
    "kernel": "platform.os.kernel",
    "C library": "platform.os.libc.version",
    "microcode": "platform.cpu.microcode",
    "governor": "platform.cpu.governor",
    "turbo": "platform.cpu.turbo",
    "host": "platform.host.name",
}
_COMMITS = {
    "commit": "platform.source_control.working_directory",
    "benchmarker commit": "platform.source_control.benchmarker",
}
_COMMIT_LENGTH = 10


@dataclass(frozen=True)
class Facts:
    """What may move a number.

    Parameters
    ----------
    known : tuple of (str, str)
        What a person calls it, and its value; what a record does not know is not there.
    packages : tuple of (str, str)
        Name and version of each Python package, but the framework's and benchmarker's own.
    """

    known: tuple[tuple[str, str], ...]
    packages: tuple[tuple[str, str], ...]


def facts_of(record: Record) -> Facts:
    """Return what a record knows."""
    framework = record["framework"]
    found = {framework["name"]: framework["version"]}
    found |= {name: value_at(record, path) for name, path in _PLAIN.items()}
    found |= {name: _commit(value_at(record, path)) for name, path in _COMMITS.items()}
    packages = record["environment"]["packages"] or {}
    skipped = {framework["distribution"], *OWN_DISTRIBUTIONS}
    return Facts(
        tuple((name, str(value)) for name, value in found.items() if value not in (None, "")),
        tuple((name, str(version)) for name, version in packages.items() if name not in skipped),
    )


def _commit(found: Any) -> str | None:
    if not isinstance(found, Mapping) or not found.get("commit"):
        return None
    return str(found["commit"])[:_COMMIT_LENGTH] + (" with changes" if found.get("dirty") else "")


def differences(before: Facts, after: Facts) -> tuple[str, ...]:
    """Return what changed, each in a few words, e.g. ``"kernel 6.1 -> 6.6"``; what one side does not know did not."""
    had, has = dict(before.packages), dict(after.packages)
    found = [*_changed(dict(before.known), dict(after.known)), *_changed(had, has)]
    if had and has:
        found += [f"{name} added" for name in sorted(has.keys() - had.keys())]
        found += [f"{name} removed" for name in sorted(had.keys() - has.keys())]
    return tuple(found)


def _changed(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    return [
        f"{name} {before[name]} -> {value}"
        for name, value in after.items()
        if name in before and before[name] != value
    ]
