"""Which processes are a pair: those of one round of one campaign, and which of the pairs count."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarker.comparison.paired import FEWEST_PAIRS

Record = Mapping[str, Any]
Place = tuple[str, int]
"""Campaign and round."""

NOT_RANKED = ("slowdown", "no_steady_state")
"""Kinds of a steady state that is none."""
MOST_LEFT_OUT = 0.2
"""The share of pairs that may be left out; with more, what is left is no fair sample."""
CONTAMINATED, UNSTEADY = "contaminated", "no steady state"
_STEP_SECONDS = (1e-12, 1e12)
"""Nothing beyond is a step time, whatever a record says; ratios and their intervals stay finite numbers."""


@dataclass(frozen=True)
class Pair:
    """Two processes of one round, and why they do not count; None if they do."""

    first: Record
    other: Record
    reason: str | None


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
        """The pairs that count."""
        return tuple(pair for pair in self.pairs if pair.reason is None)

    @property
    def left_out(self) -> Mapping[str, int]:
        """How many do not, by the reason."""
        return Counter(pair.reason for pair in self.pairs if pair.reason is not None)

    @property
    def fair(self) -> bool:
        """Whether enough count, and few enough are left out."""
        few = sum(self.left_out.values()) <= MOST_LEFT_OUT * len(self.pairs)
        return few and len(self.counting) >= FEWEST_PAIRS


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
    return next((found for found in newest_first if len(found) >= FEWEST_PAIRS), newest_first[0])


def pair_of(first: Record, other: Record, *, include_contaminated: bool = False) -> Pair:
    """Return two processes as a pair, with the reason why it does not count if there is one."""
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
    steady = record["timing"].get("steady_state") or {}
    if steady.get("kind") in NOT_RANKED:
        return UNSTEADY
    grade = (record.get("trust") or {}).get("grade")
    return CONTAMINATED if grade == "contaminated" and not include_contaminated else None
