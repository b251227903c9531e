"""What an entry needs in order to count: each thing that is missing is a sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from benchmarker.analysis.comparison.pairs import has_trend
from benchmarker.analysis.list_site.contests import Contest, departures
from benchmarker.analysis.list_site.entries import Entry, Repository, count_of
from benchmarker.analysis.list_site.measures import MEASURES, measured, price_per_hour
from benchmarker.analysis.list_site.reruns import ENDING, Rerun, rerun_fault
from benchmarker.machine.trust import GRADES
from benchmarker.quick_dataclass import dataclass
from benchmarker.records.lookup import Record, value_at
from benchmarker.records.precision import excluded

MIN_UNDISTURBED = 5
"""Processes: with fewer, an interval between them is too wide to rank by."""


@dataclass(frozen=True)
class Judged:
    """An entry in a contest.

    Parameters
    ----------
    entry : Entry
        All of its processes.
    counted : tuple of record
        The undisturbed ones, which its numbers are of.
    reasons : tuple of str
        Why it does not count; none if it does.
    rerun : Rerun or None
        The verdict that shows that it is reproduced.
    """

    entry: Entry
    counted: tuple[Record, ...]
    reasons: tuple[str, ...]
    rerun: Rerun | None


def grades_of(contest: Contest) -> tuple[str, ...]:
    """Return the grades of trust that a contest takes."""
    return GRADES[: GRADES.index(contest.trust) + 1]


def judge_entry(entry: Entry, contest: Contest, repository: Repository) -> Judged:
    """Return whether an entry counts in a contest whose work it did."""
    counted = tuple(entry.undisturbed(grades_of(contest)))
    rerun, rerun_reason = _reproduced(entry, repository.records)
    reasons = [
        *_unverified(entry.processes),
        *_disturbed(entry, counted, contest),
        *_unsaid(entry.processes),
        *_unmeasured(counted, contest),
        *([rerun_reason] if rerun_reason else []),
    ]
    return Judged(entry, counted, tuple(dict.fromkeys(reasons)), rerun)


def contests_of(entry: Entry, contests: Sequence[Contest]) -> list[Contest]:
    """Return the contests whose work an entry did."""
    return [contest for contest in contests if not any(departures(contest, one) for one in entry.processes)]


def no_contest(entry: Entry, contests: Sequence[Contest]) -> list[str]:
    """Return what keeps an entry out of the contest that it is nearest to."""
    found = {
        contest.name: list(
            dict.fromkeys(text for record in entry.processes for text in departures(contest, record))
        )
        for contest in contests
    }
    nearest = min(found, key=lambda name: len(found[name]))
    return [f"it belongs to no contest; the nearest is '{nearest}', where {text}" for text in found[nearest]]


def reasons_against(entry: Entry, contests: Sequence[Contest], repository: Repository) -> list[str]:
    """Return why an entry does not count in the contests whose work it did; none if it counts in all of them."""
    found = contests_of(entry, contests)
    if not found:
        return no_contest(entry, contests)
    reasons = (judge_entry(entry, contest, repository).reasons for contest in found)
    return list(dict.fromkeys(reason for each in reasons for reason in each))


def _unverified(processes: Sequence[Record]) -> Iterator[str]:
    for record in processes:
        who = f"process {record['id']}"
        if record.get("imported"):
            yield f"{who} was imported from another program, which verified nothing"
        elif record["status"] != "ok":
            message = str(value_at(record, "error.message") or "").strip().partition("\n")[0]
            yield f"{who} ended as '{record['status']}': {message or 'no reason given'}"
        elif record["verification"]["status"] != "passed":
            yield f"{who} is not verified: its verification is '{record['verification']['status']}'"
        elif value_at(record, "verification.after_timing.status") != "passed":
            status = value_at(record, "verification.after_timing.status")
            yield f"{who} is not verified after its timed part: that check is '{status or 'not done'}'"


def _disturbed(entry: Entry, counted: Sequence[Record], contest: Contest) -> Iterator[str]:
    ended = [record for record in entry.processes if record["status"] == "ok"]
    if len(ended) < MIN_UNDISTURBED:
        yield f"at least {MIN_UNDISTURBED} processes must have succeeded, but only {len(ended)} did"
    elif len(counted) < MIN_UNDISTURBED:
        allowed = " or ".join(grades_of(contest))
        others = Counter(_disturbance(record) for record in ended if record not in counted)
        kinds = ", ".join(f"{count} {kind}" for kind, count in others.items())
        yield (
            f"at least {MIN_UNDISTURBED} processes must be undisturbed ({allowed}), "
            f"but only {len(counted)} of {count_of(ended)} are ({kinds})"
        )


def _disturbance(record: Record) -> str:
    if has_trend(record["timing"].get("steady_state") or {}):
        return "with a trend"
    return excluded(record) or value_at(record, "trust.grade") or "not graded"


def _unsaid(processes: Sequence[Record]) -> Iterator[str]:
    if any(not value_at(record, "platform.cpu.model") for record in processes):
        yield "its hardware is not stated: a record lacks the processor's model"
    if any(record["device"]["type"] != "cpu" and not record["device"]["name"] for record in processes):
        yield "its hardware is not stated: a record lacks the device's name"
    if any(price_per_hour(record) is None for record in processes if record["status"] == "ok"):
        yield "its price is not stated: measure with --price-per-hour"


def _unmeasured(counted: Sequence[Record], contest: Contest) -> Iterator[str]:
    measure = MEASURES[contest.ranked_by]
    lacking = [record["id"] for record in counted if measured(contest.ranked_by, record) is None]
    if lacking:
        yield f"process {lacking[0]} has no {measure.title} to rank by: {measure.needs}"


def _reproduced(entry: Entry, known: Mapping[str, Record]) -> tuple[Rerun | None, str | None]:
    """Return the verdict that shows that an entry is reproduced, or why none does."""
    reasons = list(entry.faults)
    for rerun in entry.reruns:
        fault = rerun_fault(rerun, entry.processes, known)
        if fault is None:
            return rerun, None
        reasons.append(f"'{rerun.file.name}' {fault}")
    if reasons:
        return None, f"it is not shown to be reproducible: {'; '.join(reasons)}"
    name = entry.files[0].with_suffix(ENDING).name
    return None, (
        f"it is not shown to be reproducible: there is no '{name}' next to it "
        "(benchmarker rerun RECORD --keep-verdict)"
    )
