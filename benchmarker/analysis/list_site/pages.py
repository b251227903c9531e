"""What each page of the site says, as plain values for its template; all of it is untrusted and escaped there."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchmarker.analysis.list_site.contests import HARDWARE, Contest
from benchmarker.analysis.list_site.entries import Entry, count_of
from benchmarker.analysis.list_site.measures import MEASURES, price_per_hour
from benchmarker.analysis.list_site.requirements import MIN_UNDISTURBED, Judged, grades_of
from benchmarker.analysis.list_site.reruns import ENDING
from benchmarker.analysis.list_site.standings import Holding, Placed, Standing
from benchmarker.analysis.text.tones import TONES
from benchmarker.analysis.text.units import duration, significant
from benchmarker.errors import shortened
from benchmarker.records.keys import machine_models, machine_name
from benchmarker.records.lookup import Record, value_at
from benchmarker.statistics import Estimate

_FIRST = 3
"""Entries of a contest that the list of contests shows."""
_MAX_TEXT = 400
RANKS_ARE = (
    "A rank is an interval: entries that cannot be told apart share it. All intervals of a contest hold at once with "
    "95 % confidence (pairwise Welch tests on the logarithms of independent processes, Holm’s correction)."
)
COUNTING_IS = (
    "An entry counts when every process is verified, at least "
    f"{MIN_UNDISTURBED} are undisturbed, its hardware and price are stated, and benchmarker rerun has reproduced it on "
    "the submitter’s machine. All of that is read from the records, which are here too."
)


def index_values(standings: Sequence[Standing]) -> list[dict[str, Any]]:
    """Return what the list of contests says of each."""
    return [
        {
            "name": one.contest.name,
            "title": one.contest.title,
            "division": one.contest.division,
            "measure": MEASURES[one.contest.ranked_by].title,
            "first": [_first(one.contest, place) for place in one.places[:_FIRST]],
            "more": f"all {len(one.places)} entries" if len(one.places) > _FIRST else "",
            "others": f"{_entries(len(one.others))} submitted that do not count" if one.others else "",
        }
        for one in standings
    ]


def _entries(count: int) -> str:
    return "1 entry" if count == 1 else f"{count:,} entries"


def _first(contest: Contest, place: Placed) -> dict[str, Any]:
    return {
        **_named(place.judged.entry),
        "rank": str(place.rank),
        "value": _centre(contest, contest.ranked_by, place),
    }


def _named(entry: Entry) -> dict[str, Any]:
    return {"key": entry.key, "label": entry.label, "machine": entry.machine, "date": entry.date}


def _centre(contest: Contest, name: str, place: Placed) -> str:
    estimate = place.estimates.get(name)
    return "" if estimate is None else _shown(name, estimate.centre, contest.currency)


def _shown(name: str, value: float, currency: str) -> str:
    measure = MEASURES[name]
    return f"{measure.shown(value)} {currency}" if measure.is_money else measure.shown(value)


def _interval(name: str, estimate: Estimate) -> str:
    if estimate.ci95 is None:
        return ""
    low, high = (MEASURES[name].shown(value) for value in estimate.ci95)
    return f"[{low}, {high}]"


# --- a contest ------------------------------------------------------------------------------------


def contest_values(standing: Standing) -> dict[str, Any]:
    """Return what the page of a contest says."""
    contest = standing.contest
    names = _columns(standing)
    counting = {place.judged.entry.key: _named(place.judged.entry) for place in standing.places}
    return {
        "contest": {
            "title": contest.title,
            "description": contest.description,
            "division": contest.division,
            "measure": MEASURES[contest.ranked_by].title,
            "currency": contest.currency,
        },
        "head": ["place", "entry", *(MEASURES[name].title for name in names), "price per hour", "measured"],
        "rows": [_row(contest, place, names) for place in standing.places],
        "others": [{**_named(one.entry), "reasons": one.reasons} for one in standing.others],
        "rules": list(_rules(contest)),
        "history": [
            {"place": place, "holdings": [_holding(one, counting) for one in reversed(holdings)]}
            for place, holdings in standing.history.items()
        ],
    }


def _holding(holding: Holding, counting: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    return {"since": holding.since, "holders": [counting[key] for key in holding.holders]}


def _columns(standing: Standing) -> list[str]:
    """Return the measures that are shown, what is ranked by first."""
    ranked_by = standing.contest.ranked_by
    step = "sample_seconds" if "batch_size" in standing.contest.may_change else "step_seconds"
    usual = [step, "seconds_to_target", "joules_per_sample", "cost_per_million_samples"]
    if any("cost_to_target" in place.estimates for place in standing.places):
        usual.append("cost_to_target")
    return list(dict.fromkeys([ranked_by, *usual]))


def _row(contest: Contest, place: Placed, names: Sequence[str]) -> dict[str, Any]:
    cells = []
    for name in names:
        estimate = place.estimates.get(name)
        cells.append(
            {
                "title": MEASURES[name].title,
                "text": _centre(contest, name, place),
                "interval": _interval(name, estimate) if estimate else "",
                "by": name == contest.ranked_by,
            }
        )
    price = _price(place.judged.counted, contest.currency)
    cells.append({"title": "price per hour", "text": price, "interval": "", "by": False})
    counted = count_of(place.judged.counted)
    return {**_named(place.judged.entry), "rank": str(place.rank), "cells": cells, "records": counted}


def _price(records: Sequence[Record], currency: str) -> str:
    prices = [price for price in map(price_per_hour, records) if price is not None]
    return f"{significant(sum(prices) / len(prices))} {currency}".strip() if prices else ""


def _rules(contest: Contest) -> Iterator[tuple[str, str]]:
    what = "the work is fixed" if contest.division == "closed" else "what may change is listed"
    yield "division", f"{contest.division}: {what}"
    yield "ranked by", f"{MEASURES[contest.ranked_by].title} ({contest.ranked_by}), lower is better"
    for name, value in contest.fixed.items():
        yield name, shortened(_text(value), _MAX_TEXT)
    if contest.may_change:
        yield "may change", ", ".join(contest.may_change)
    free = [name for name in HARDWARE if name not in contest.fixed]
    if free:
        yield "free to choose", f"{', '.join(free)}"
    yield "trust", " or ".join(grades_of(contest))
    yield "prices in", contest.currency


def _text(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_text(member)}" for name, member in value.items())
    return value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)


# --- an entry -------------------------------------------------------------------------------------


def entry_values(entry: Entry, standings: Sequence[Standing], known: Mapping[str, Record]) -> dict[str, Any]:
    """Return what the page of an entry says."""
    here = list(_places(entry, standings))
    judged = next((one for _, one, _ in here), Judged(entry, (), (), None))
    verdict = judged.rerun.file.name if judged.rerun else None
    return {
        "entry": {**_named(entry), "work": entry.work},
        "places": [
            {
                "name": standing.contest.name,
                "title": standing.contest.title,
                "count": len(standing.places),
                "rank": str(place.rank) if place else "",
                "reasons": one.reasons,
            }
            for standing, one, place in here
        ],
        "numbers": list(_numbers(here)),
        "facts": list(_facts(entry)),
        "command": shlex.join(map(str, entry.processes[0]["command"])),
        "records": list(_records(judged, known)),
        "verdict": verdict and f"{entry.key}{ENDING}",
    }


Here = tuple[Standing, Judged, "Placed | None"]


def _places(entry: Entry, standings: Sequence[Standing]) -> Iterator[Here]:
    for standing in standings:
        for place in standing.places:
            if place.judged.entry.key == entry.key:
                yield standing, place.judged, place
        for one in standing.others:
            if one.entry.key == entry.key:
                yield standing, one, None


def _numbers(here: Sequence[Here]) -> Iterator[tuple[str, str]]:
    place = next((place for _, _, place in here if place), None)
    if place is None:
        yield "numbers", "not published, because the entry does not count; its records are below"
        return
    contest = next(standing.contest for standing, _, found in here if found)
    for name, measure in MEASURES.items():
        if name in place.estimates:
            interval = _interval(name, place.estimates[name])
            yield measure.title, f"{_centre(contest, name, place)} {interval}".strip()
        elif name in ("seconds_to_target", "joules_per_sample"):
            yield measure.title, f"unknown: {measure.needs}"
    yield "price per hour", _price(place.judged.counted, contest.currency)
    left = len(place.judged.entry.processes) - len(place.judged.counted)
    more = f", {left} left out as disturbed" if left else ""
    yield "processes", f"{len(place.judged.counted)}{more}"


def _facts(entry: Entry) -> Iterator[tuple[str, str]]:
    record = entry.processes[0]
    models = machine_models(record)
    yield "framework", entry.label
    yield "options", _text(record["framework"]["options"] or {}) or "none"
    yield "machine", machine_name(record)
    yield "usable cores", _text(models["cores"])
    yield "GPUs", ", ".join(map(str, models["gpus"])) or "none"
    yield "device", str(record["device"]["name"] or record["device"]["type"])
    yield "threads", _text(record["execution"]["threads"])
    yield "mini-batch", f"{record['batch_size']:,}"
    yield "precision", str(record["precision"])
    yield "system", str(value_at(record, "platform.os.kernel") or "unknown")
    yield "Python", str(record["environment"]["python"] or "unknown")
    yield "Python build", str(value_at(record, "environment.build") or "unknown")
    yield "benchmarker", str(record["benchmarker_version"])


def _records(judged: Judged, known: Mapping[str, Record]) -> Iterator[dict[str, Any]]:
    counted = {record["id"] for record in judged.counted}
    for record in judged.entry.processes:
        yield _process(record, "yes" if record["id"] in counted else "no", "entry")
    if judged.rerun:
        for name in judged.rerun.new:
            yield _process(known[name], "", "rerun")


def _process(record: Record, counts: str, part: str) -> dict[str, Any]:
    grade = str(value_at(record, "trust.grade") or "not graded")
    step = value_at(record, "timing.step_seconds.median")
    return {
        "id": record["id"],
        "when": f"{str(record['started_at'])[:19].replace('T', ' ')} UTC",
        "step": duration(step) if step is not None else "",
        "trust": grade,
        "tone": TONES.get(grade, ""),
        "verified": str(record["verification"]["status"] or record["status"]),
        "counts": counts,
        "part": part,
    }
