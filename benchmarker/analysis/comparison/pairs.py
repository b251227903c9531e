"""Which processes are a pair: those of one round of one campaign, and which of the pairs count."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any

from benchmarker.analysis.comparison.paired_test import MIN_PAIRS
from benchmarker.quick_dataclass import dataclass
from benchmarker.records.lookup import Record
from benchmarker.records.precision import CONTAMINATED, excluded

Place = tuple[str, int]
"""Campaign and round."""

MIN_TREND_LEVELS = 3
"""So many levels, each slower or each faster than the one before, are a trend; two are a jump."""
MAX_SKIPPED_SHARE = 0.2
"""The share of pairs that may be left out; with more, what is left is no fair sample."""
UNSTEADY = "no steady state"
_STEP_SECONDS = (1e-12, 1e12)
"""Nothing beyond is a step time, whatever a record says; ratios and their intervals stay finite numbers."""


@dataclass(frozen=True)
class Pair:
    """Two processes of one round, and why they do not count; None if they do."""

    first: Record
    other: Record
    reason: str | None

    @property
    def ratio(self) -> float:
        """The other's step time over the first's: of neighbouring windows where they took turns, else of medians."""
        windows = window_ratios(self.first, self.other)
        return median(windows) if windows else median_step(self.other) / median_step(self.first)


def window_ratios(first: Record, other: Record) -> list[float]:
    """Return the ratio of each two neighbouring windows of processes that took turns; none of others."""
    ours, theirs = _windows(first), _windows(other)
    if not ours or not theirs or _overlap(ours, theirs):
        return []
    return [_window_step(other, b) / _window_step(first, a) for a, b in zip(ours, theirs)]


def _windows(record: Record) -> Sequence[Mapping[str, Any]]:
    return record["timing"].get("windows") or ()


def _overlap(ours: Sequence[Mapping[str, Any]], theirs: Sequence[Mapping[str, Any]]) -> bool:
    """Tell whether a window began before the one before it had ended, so that sides did not take turns."""
    spans = sorted((window["began_seconds"], window["ended_seconds"]) for window in (*ours, *theirs))
    return any(began < ended for (_, ended), (began, _) in zip(spans, spans[1:]))


def _window_step(record: Record, window: Mapping[str, Any]) -> float:
    return float(median(record["timing"]["samples_seconds"][window["start"] : window["end"]]))


@dataclass(frozen=True)
class Pairing:
    """The pairs of two cells, in the order of time.

    Parameters
    ----------
    pairs : tuple of Pair
        Of the newest campaign that has enough of them; of the newest where none has.
    elsewhere : int
        Pairs of other campaigns, which do not count: a comparison that is repeated until it shows something
        shows it by chance.
    """

    pairs: tuple[Pair, ...]
    elsewhere: int

    @property
    def counting(self) -> tuple[Pair, ...]:
        return tuple(pair for pair in self.pairs if pair.reason is None)

    @property
    def skipped(self) -> Mapping[str, int]:
        """How many do not, by the reason."""
        return Counter(pair.reason for pair in self.pairs if pair.reason is not None)

    @property
    def fair(self) -> bool:
        """Whether enough count, and few enough are left out."""
        few = sum(self.skipped.values()) <= MAX_SKIPPED_SHARE * len(self.pairs)
        return few and len(self.counting) >= MIN_PAIRS


def has_number(record: Record) -> bool:
    """Tell whether a run ended with a step time."""
    step = record["timing"]["step_seconds"]
    shortest, longest = _STEP_SECONDS
    return record["status"] == "ok" and step is not None and shortest <= step["median"] <= longest


def median_step(record: Record) -> float:
    """Return the median step of a process, in seconds."""
    return float(record["timing"]["step_seconds"]["median"])


def pairs_of(
    first: Sequence[Record], other: Sequence[Record], *, include_contaminated: bool = False
) -> Pairing:
    """Return the pairs of two cells.

    Parameters
    ----------
    first, other : sequence of mapping
        Records of each that ended well.
    include_contaminated : bool
        Whether processes count that the machine disturbed.
    """
    families = _families((*first, *other))
    ours, theirs = _by_round(first), _by_round(other)
    shared = [place for place in ours if place in theirs]
    if not shared:
        return Pairing((), 0)
    shared.sort(key=lambda place: str(ours[place]["started_at"]))
    chosen = _newest_enough([(families[place[0]], place) for place in shared])
    pairs = tuple(pair_of(ours[at], theirs[at], include_contaminated=include_contaminated) for at in chosen)
    return Pairing(pairs, len(shared) - len(chosen))


def _newest_enough(places: Sequence[tuple[str, Place]]) -> list[Place]:
    """Return the rounds of the newest family that has enough, else of the newest; rounds are in order of time."""
    grouped: dict[str, list[Place]] = {}
    for family, place in reversed(places):
        grouped.setdefault(family, []).insert(0, place)
    newest_first = list(grouped.values())
    return next((found for found in newest_first if len(found) >= MIN_PAIRS), newest_first[0])


def pair_of(first: Record, other: Record, *, include_contaminated: bool = False) -> Pair:
    """Return two processes as a pair, with the reason why it does not count if there is one.

    What the machine does falls on both alike where they took turns, and what is left of it is the spread of the
    pairs; there only a drift of the one against the other makes the ratio one of how long they ran.
    """
    windows = window_ratios(first, other)
    if windows:
        kinds = (excluded(record) for record in (first, other))
        found = next((kind for kind in kinds if kind not in (None, CONTAMINATED)), None)
        return Pair(first, other, found or (UNSTEADY if drifts(windows) else None))
    reasons = (_reason(record, include_contaminated) for record in (first, other))
    return Pair(first, other, next((reason for reason in reasons if reason), None))


def newest_number(records: Sequence[Record]) -> list[Record]:
    """Return the processes of the newest campaign, of a record without one itself; ``records`` are in order of time."""
    families = _families(records)
    newest = _family(records[-1], families)
    return [record for record in records if _family(record, families) == newest]


def _family(record: Record, families: Mapping[str, str]) -> str:
    replication = record.get("replication")
    return families[replication["campaign"]] if replication else str(record["id"])


def _by_round(records: Iterable[Record]) -> dict[Place, Record]:
    return {
        (record["replication"]["campaign"], record["replication"]["round"]): record
        for record in records
        if record.get("replication")
    }


def _families(records: Sequence[Record]) -> dict[str, str]:
    """Return, for each campaign, the name of all that were resumed from one another."""
    campaigns = {r["id"]: r["replication"]["campaign"] for r in records if r.get("replication")}
    families = {name: name for name in campaigns.values()}
    for record in records:
        if not record.get("replication"):
            continue
        for before in record["replication"]["resumed"]:
            if before in campaigns:
                old, new = families[campaigns[before]], families[campaigns[record["id"]]]
                families = {name: new if family == old else family for name, family in families.items()}
    return families


def _reason(record: Record, include_contaminated: bool) -> str | None:
    """Return why a process may not be ranked, by what was recorded beside its times."""
    if has_trend(record["timing"].get("steady_state") or {}):
        return UNSTEADY
    return excluded(record, include_contaminated=include_contaminated)


MAX_DRIFT = 3.3
"""Standard deviations of Kendall's statistic: one in a thousand that do not drift exceed it."""


def drifts(ratios: Sequence[float]) -> bool:
    """Tell whether ratios become ever larger or ever smaller, by Mann and Kendall's test."""
    count = len(ratios)
    rises = sum((b > a) - (b < a) for i, a in enumerate(ratios) for b in ratios[i + 1 :])
    return abs(rises) > MAX_DRIFT * math.sqrt(count * (count - 1) * (2 * count + 5) / 18)


def has_trend(steady: Mapping[str, Any]) -> bool:
    """Tell whether a process became ever slower or ever faster, so that its median depends on how long it ran.

    Without that, one that never settled is as noisy as it is, and its median one of many: leaving such processes
    out would leave the calm ones, which is another machine.
    """
    if steady.get("kind") == "slowdown":
        return True
    if steady.get("kind") != "no_steady_state":
        return False
    levels = [segment["median_seconds"] for segment in steady.get("segments") or ()]
    steps = [later - earlier for earlier, later in zip(levels, levels[1:])]
    one_way = all(step > 0 for step in steps) or all(step < 0 for step in steps)
    return len(levels) >= MIN_TREND_LEVELS and one_way
