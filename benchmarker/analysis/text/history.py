"""Histories for people and as JSON: what each point was, where the level changed, and what else did there."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from typing import Any

from benchmarker.analysis.history.points import Change, History, Point
from benchmarker.analysis.text.factors import specification_factors
from benchmarker.analysis.text.layout import Column, numeric_column, table
from benchmarker.analysis.text.units import duration, significant, time_unit
from benchmarker.errors import plural, printable
from benchmarker.records.keys import machine_models
from benchmarker.records.lookup import specification_of, value_at
from benchmarker.records.precision import DISTURBED

MAX_WHOLE = 3
"""Histories that are shown point by point; of more there is a row each."""
NEWEST = 30
"""Points of one that are shown."""
NOTE = (
    "Points of different days are not pairs: a change of level says when and alongside what, not what caused it, and "
    "is not a verdict. 'benchmarker compare --run' makes pairs, which can give one."
)
INTERVALS = (
    "n: fresh processes of a point. 95 % interval: between them from three on, of one alone within it."
)
_NONE = "-"
_MAX_NAMED = 3


def histories_text(histories: Sequence[History], *, width: int = 80) -> str:
    """Return few histories point by point, or a table with a row for each of many.

    Those of a single point are only counted, unless there are no others.
    """
    shown = [history for history in histories if len(history.points) > 1] or histories
    notes = [] if len(shown) == len(histories) else [_single(len(histories) - len(shown))]
    if len(shown) > MAX_WHOLE:
        blocks = [_overview(shown, width)]
    else:
        blocks = [_whole(history, width) for history in shown]
        notes.append(INTERVALS)
    notes += _disturbed(shown)
    lines = [line for note in (*notes, NOTE) for line in _wrapped(note, width)]
    return "\n\n".join([*blocks, "\n".join(lines)])


def _wrapped(note: str, width: int) -> list[str]:
    return textwrap.wrap(note, width, break_on_hyphens=False)


def _single(count: int) -> str:
    what = "1 more number has" if count == 1 else f"{count} more numbers have"
    return f"{what} a single point, which is no history yet (--json has all)."


def _disturbed(histories: Sequence[History]) -> Iterator[str]:
    """Yield how many runs are in no point, and where every run would have to be left out."""
    left_out = sum(history.left_out for history in histories)
    if left_out:
        yield (
            f"Left out: {plural(left_out, 'run')} {DISTURBED}; --include-contaminated counts what the machine "
            "disturbed too."
        )
    of_none = sum(history.disturbed for history in histories)
    if of_none:
        which = f"of {of_none} of {len(histories)} histories" if len(histories) > 1 else "of this history"
        yield f"Every run {which} is {DISTURBED}, so its points and levels are those of disturbed runs."


def histories_json(histories: Sequence[History]) -> dict[str, Any]:
    """Return histories with all of their points as JSON values."""
    return {"histories": [_as_json(history) for history in histories], "note": NOTE}


# --- one history -----------------------------------------------------------------------------------


def title(history: History) -> str:
    """Return what a history is of, e.g. ``"resnet50, training, batch size 16, fp32, 2 threads, on pytorch"``."""
    keys, record = history.record["comparable"]["keys"], history.record
    threads, tool = keys.get("threads"), value_at(record, "imported.tool")
    said = {factor.title: factor.caption for factor in specification_factors([specification_of(record)])}
    parts = [
        record["problem"]["name"],
        said["parameters"],
        record["mode"],
        f"batch size {record['batch_size']}",
        record["precision"],
        "" if threads is None else plural(threads, "thread"),
        f"on {record['framework']['name']} {said['options']}".rstrip(),
        f"measured by {tool}" if tool else "",
    ]
    return printable(", ".join(str(part) for part in parts if part))


def machine_text(history: History) -> str:
    """Return the machine of a history, e.g. ``"Example CPU 3000, 2 cores"``."""
    machine = machine_models(history.record)
    cores = machine["cores"]
    parts = [machine["cpu"] or "processor not known"]
    parts += [] if cores is None else [plural(cores, "core")]
    return printable(
        ", ".join(" ".join(str(part).split()) for part in (*parts, *filter(None, machine["gpus"])))
    )


def _whole(history: History, width: int) -> str:
    lines = [*textwrap.wrap(title(history), width), *textwrap.wrap(machine_text(history), width), ""]
    first = max(0, len(history.points) - NEWEST)
    if first:
        lines.append(f"the newest {NEWEST} of {len(history.points)} points (--json has all)")
    lines += [_points_table(history, first, width), ""]
    for sentence in _findings(history):
        lines += textwrap.wrap(sentence, width, subsequent_indent="  ", break_on_hyphens=False)
    return "\n".join(lines)


def _points_table(history: History, first: int, width: int) -> str:
    points = history.points[first:]
    unit = time_unit(point.centre_seconds for point in points)
    name = f" [{unit[1]}]" if unit else ""
    changes = {change.point: change for change in history.changes}
    columns = [
        Column("since (UTC)", tuple(moment(point.time) for point in points), key=True),
        numeric_column(f"step{name}", [_time(point.centre_seconds, unit) for point in points]),
        Column(f"95 % interval{name}", tuple(_interval(point, unit) for point in points)),
        Column("n", tuple(str(point.processes) for point in points), numeric=True),
        Column("version", tuple(_version(history, point) for point in points), breaks="+"),
        Column("trust", tuple(point.grade or _NONE for point in points)),
        Column("level", tuple(_step(changes.get(first + index)) for index in range(len(points)))),
        Column("changed", tuple(_named(point.changed, "") for point in points)),
    ]
    quiet = {"trust": {"clean", _NONE}, "level": {""}, "changed": {""}}
    return table([c for c in columns if not set(c.cells) <= quiet.get(c.title, set())], width)


def _version(history: History, point: Point) -> str:
    return printable(dict(point.facts.known).get(history.record["framework"]["name"], _NONE))


def _time(seconds: float, unit: tuple[float, str] | None) -> str:
    return significant(seconds / unit[0]) if unit else duration(seconds)


def _interval(point: Point, unit: tuple[float, str] | None) -> str:
    if point.ci95_seconds is None:
        return _NONE
    low, high = (_time(end, unit) for end in point.ci95_seconds)
    return f"{low} to {high}"


def _step(change: Change | None) -> str:
    return "" if change is None else _percent(change.ratio)


def _percent(ratio: float) -> str:
    return f"{100 * (ratio - 1):+.3g} %"


def _named(changed: Sequence[str], nothing: str) -> str:
    """Return what changed, the first few by name."""
    more = f" and {len(changed) - _MAX_NAMED} more" if len(changed) > _MAX_NAMED else ""
    return printable(", ".join(changed[:_MAX_NAMED])) + more if changed else nothing


def moment(seconds: float) -> str:
    """Return a time since 1970 as date and time in UTC."""
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%d %H:%M")


def _findings(history: History) -> Iterator[str]:
    if history.too_short:
        yield f"Too few points: {history.too_short}."
        return
    if not history.changes:
        level = duration(history.levels[0][2])
        yield f"One level of {level} over all {len(history.points)} points: no change is shown."
    yield from (f"{change_text(history, change)}." for change in history.changes)


def change_text(history: History, change: Change) -> str:
    """Return where a level changed, by how much, and what else did there."""
    when = moment(history.points[change.point].time)
    what = _named(change.changed, "nothing else that records know of changed there")
    return f"Level changed by {_percent(change.ratio)} at {when}: {what}"


def change_label(change: Change) -> str:
    """Return by how much a level changed and the first thing that else did, e.g. ``"+8 %: pytorch 2.12 -> 2.13"``."""
    return printable(": ".join([_percent(change.ratio), *change.changed[:1]]))


# --- many histories --------------------------------------------------------------------------------


def _overview(histories: Sequence[History], width: int) -> str:
    factors = specification_factors([specification_of(history.record) for history in histories])
    problem = Column("problem", tuple(printable(h.record["problem"]["name"]) for h in histories), breaks="_")
    framework = Column("framework", tuple(printable(h.record["framework"]["name"]) for h in histories))
    machines = tuple(map(machine_text, histories))
    columns = [
        Column("history", tuple(str(i + 1) for i in range(len(histories))), numeric=True, key=True),
        problem,
        framework,
        *(
            Column(a.title, tuple(map(printable, a.texts)))
            for a in factors
            if a.varies and a.title != "problem"
        ),
        *([Column("machine", machines)] if len(set(machines)) > 1 else []),
        Column("points", tuple(map(_count, histories)), numeric=True),
        Column("first", tuple(moment(h.points[0].time)[:10] for h in histories)),
        Column("last", tuple(moment(h.points[-1].time)[:10] for h in histories)),
        Column("level now", tuple(duration(h.levels[-1][2]) for h in histories), numeric=True),
        Column("level changes", tuple(map(_changes, histories))),
    ]
    caption = [] if len(set(machines)) > 1 else [machines[0], ""]
    return "\n".join([*caption, table(columns, width)])


def _count(history: History) -> str:
    return f"{len(history.points)}{' disturbed' if history.disturbed else ''}"


def _changes(history: History) -> str:
    if history.too_short:
        return "too few points"
    changes = (f"{_percent(c.ratio)} at {moment(history.points[c.point].time)[:10]}" for c in history.changes)
    return ", ".join(changes) or "none"


# --- JSON ------------------------------------------------------------------------------------------


def _as_json(history: History) -> dict[str, Any]:
    record = history.record
    return {
        "comparable": record["comparable"],
        "framework": {"name": record["framework"]["name"], "options": record["framework"]["options"]},
        "machine": machine_models(record),
        "points": [_point_json(point) for point in history.points],
        "levels": [
            {"from_point": first, "to_point": end - 1, "centre_seconds": centre}
            for first, end, centre in history.levels
        ],
        "changes": [
            {
                "point": change.point,
                "time": _iso(history.points[change.point].time),
                "ratio": change.ratio,
                "changed": list(change.changed),
            }
            for change in history.changes
        ],
        "too_short": history.too_short,
        "left_out": history.left_out,
        "disturbed": history.disturbed,
    }


def _point_json(point: Point) -> dict[str, Any]:
    return {
        "time": _iso(point.time),
        "centre_seconds": point.centre_seconds,
        "ci95_seconds": point.ci95_seconds,
        "ci95_level": _level_of_interval(point),
        "processes": point.processes,
        "trust": point.grade,
        "facts": dict(point.facts.known),
        "changed": list(point.changed),
    }


def _level_of_interval(point: Point) -> str | None:
    if point.ci95_seconds is None:
        return None
    return "within one process" if point.processes == 1 else "between processes"


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat().replace("+00:00", "Z")
