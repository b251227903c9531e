"""A contest's entries in their places, and who held each place when."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarker.analysis.list_site.contests import Contest
from benchmarker.analysis.list_site.entries import Repository
from benchmarker.analysis.list_site.measures import MEASURES, measured
from benchmarker.analysis.list_site.ranks import Pairs, Rank
from benchmarker.analysis.list_site.requirements import Judged, contests_of, judge_entry
from benchmarker.quick_dataclass import dataclass
from benchmarker.records.lookup import Record
from benchmarker.statistics import Estimate, across_processes

MAX_ENTRIES = 500
"""Of one contest; all pairs of them are compared after each that came."""


@dataclass(frozen=True)
class Placed:
    """An entry in its place.

    Parameters
    ----------
    judged : Judged
        The entry.
    rank : Rank
        Its place.
    estimates : mapping of str to Estimate
        Of what was measured, by the names of the measures.
    """

    judged: Judged
    rank: Rank
    estimates: dict[str, Estimate]


@dataclass(frozen=True)
class Holding:
    """Who has held a place from a day on, until the next one."""

    since: str
    holders: tuple[str, ...]
    """Keys of entries, those in front first."""


@dataclass(frozen=True)
class Standing:
    """A contest and what became of it.

    Parameters
    ----------
    contest : Contest
        Its rules.
    places : tuple of Placed
        Those that count, the first first.
    others : tuple of Judged
        Those that do not, with their reasons.
    history : mapping of int to tuple of Holding
        By place, the best rank that an entry may have; holdings in order of time.
    """

    contest: Contest
    places: tuple[Placed, ...]
    others: tuple[Judged, ...]
    history: dict[int, tuple[Holding, ...]]


def standings(contests: Sequence[Contest], repository: Repository) -> list[Standing]:
    """Return the standing of each contest."""
    of = [(entry, {contest.name for contest in contests_of(entry, contests)}) for entry in repository.entries]
    return [
        standing(
            contest,
            [judge_entry(entry, contest, repository) for entry, names in of if contest.name in names],
        )
        for contest in contests
    ]


def standing(contest: Contest, judged: Sequence[Judged]) -> Standing:
    """Return the standing of one contest, of whose work all entries are, in order of time."""
    counting = [one for one in judged if not one.reasons]
    # What is over the limit is told, not lost: the newest count.
    counting, over = counting[-MAX_ENTRIES:], counting[:-MAX_ENTRIES]
    late = f"the contest has more than {MAX_ENTRIES} entries that count, and newer ones are ranked"
    others = [*(one for one in judged if one.reasons), *(_with_reason(one, late) for one in over)]
    values = [[_value(contest, record) for record in one.counted] for one in counting]
    pairs = Pairs(values)
    ranks = pairs.ranks(range(len(counting)))
    places = [Placed(one, rank, _estimates(one.counted)) for one, rank in zip(counting, ranks)]
    places.sort(key=lambda place: (place.rank, place.estimates[contest.ranked_by].centre))
    return Standing(contest, tuple(places), tuple(others), _history(contest, counting, pairs))


def _with_reason(judged: Judged, reason: str) -> Judged:
    return Judged(judged.entry, judged.counted, (reason,), judged.rerun)


def _value(contest: Contest, record: Record) -> float:
    found = measured(contest.ranked_by, record)
    assert found is not None  # an entry without it does not count
    return found


def _estimates(records: Sequence[Record]) -> dict[str, Estimate]:
    found = {}
    for name in MEASURES:
        values = [measured(name, record) for record in records]
        known = [value for value in values if value is not None]
        if known and len(known) == len(values):
            found[name] = across_processes(known)
    return found


def _history(contest: Contest, counting: Sequence[Judged], pairs: Pairs) -> dict[int, tuple[Holding, ...]]:
    """Return who held each place, with the entries that there were on each day."""
    dates = [one.entry.date for one in counting]
    centres = [_estimates(one.counted)[contest.ranked_by].centre for one in counting]
    found: dict[int, list[Holding]] = {}
    for date in sorted(set(dates)):
        present = [index for index, day in enumerate(dates) if day <= date]
        held: dict[int, list[int]] = {}
        for index, rank in sorted(zip(present, pairs.ranks(present)), key=lambda pair: centres[pair[0]]):
            held.setdefault(rank.best, []).append(index)
        for place in sorted({*found, *held}):
            holders = tuple(counting[index].entry.key for index in held.get(place, ()))
            past = found.setdefault(place, [])
            if not past or past[-1].holders != holders:
                past.append(Holding(date, holders))
    return {place: tuple(past) for place, past in sorted(found.items())}
