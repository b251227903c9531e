"""A/A comparisons: the processes of one cell as pairs of it with itself."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarker.analysis.comparison.paired_test import paired
from benchmarker.analysis.comparison.pairs import Pairing, has_number, pair_of
from benchmarker.analysis.comparison.resolution import Resolution
from benchmarker.analysis.comparison.verdict import judge
from benchmarker.experiment.replication import order
from benchmarker.quick_dataclass import dataclass
from benchmarker.records.keys import machine_name
from benchmarker.records.lookup import Record


@dataclass(frozen=True)
class SelfComparison:
    """What a record compared with itself says of the machine.

    Parameters
    ----------
    resolution : Resolution or None
        None without enough pairs.
    pairing : Pairing
        Its processes.
    kept : bool
        Whether it bounds the margin from now on.
    interrupted : bool
        Whether the user stopped it.
    troubles : sequence of str
        What became of each record that is not in the results folder, and of each run that left none.
    without_turns : str or None
        Why the processes of a pair did not take turns.
    """

    resolution: Resolution | None
    pairing: Pairing
    kept: bool
    interrupted: bool
    troubles: Sequence[str] = ()
    without_turns: str | None = None


def pairs_with_itself(records: Sequence[Record], *, include_contaminated: bool = False) -> Pairing:
    """Return neighbours in time as pairs; which of two is the first is drawn as the order of a round is.

    Parameters
    ----------
    records : sequence of mapping
        The processes of one cell of one campaign; two rounds are a pair if both ended well.
    include_contaminated : bool
        Whether processes count that the machine disturbed.
    """
    rounds = {record["replication"]["round"]: record for record in records if has_number(record)}
    pairs = []
    for index in sorted({number // 2 for number in rounds}):
        both = [rounds.get(2 * index + place) for place in order(2, index, 0)]
        if both[0] is not None and both[1] is not None:
            pairs.append(pair_of(both[0], both[1], include_contaminated=include_contaminated))
    return Pairing(tuple(pairs), 0)


def resolution_of(pairing: Pairing, margin: float) -> Resolution | None:
    """Return what the pairs of a thing with itself say of the machine; None if too few of them count."""
    counting = pairing.counting
    found = paired([1.0] * len(counting), [pair.ratio for pair in counting])
    if found is None or not pairing.fair:
        return None
    record = counting[-1].first
    return Resolution(
        machine=machine_name(record),
        work=record["comparable"]["hash"],
        framework=f"{record['framework']['name']} {record['framework']['version']}",
        problem=record["problem"]["name"],
        pairs=found.pairs,
        half_width=found.half_width,
        deviation=found.deviation,
        verdict=judge([found], [margin])[0].verdict,
        measured_at=max(str(pair.first["started_at"]) for pair in counting),
    )
