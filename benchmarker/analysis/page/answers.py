"""Which framework is fastest at each work, by how much, and whether that is shown: what a page says first."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any

from benchmarker.analysis.comparison.compare import Comparison, Row, compare
from benchmarker.analysis.comparison.matching import Side
from benchmarker.analysis.comparison.pairs import has_number, median_step, newest_number
from benchmarker.analysis.comparison.resolution import Resolution, resolution_for
from benchmarker.analysis.comparison.verdict import FASTER
from benchmarker.analysis.text.quality import worst_grade
from benchmarker.api.problem import OPERATOR
from benchmarker.errors import UsageError
from benchmarker.experiment.keys import canonical
from benchmarker.quick_dataclass import dataclass
from benchmarker.records.keys import MEASURING, comparison_factors, machine_name
from benchmarker.records.lookup import Record, value_at
from benchmarker.records.precision import excluded
from benchmarker.statistics import geometric_mean

_OF_A_CONTENDER = ("framework.", "environment.")
_APART = {"seed", *MEASURING}
"""What changes no step."""


@dataclass(frozen=True)
class Contender:
    """One framework, version and options at a work.

    Parameters
    ----------
    factors : mapping
        What tells it from others, as in a comparison.
    records : tuple of mapping
        All of its runs with a number.
    counted : tuple of mapping
        Those of its newest campaign that nothing keeps out of comparisons; none if all are.
    row : Row or None
        How it compares with the fastest; None of the fastest itself, or if they cannot be compared.
    """

    factors: Mapping[str, Any]
    records: tuple[Record, ...]
    counted: tuple[Record, ...]
    row: Row | None = None

    @property
    def cell(self) -> tuple[Record, ...]:
        """Its runs that were measured as the newest of those that count."""
        how = canonical(comparison_factors(self.counted[-1]))
        return tuple(record for record in self.records if canonical(comparison_factors(record)) == how)

    @property
    def seconds(self) -> float:
        """The median step, in seconds: the geometric mean of several processes."""
        return geometric_mean([median_step(record) for record in self.counted])

    @property
    def grade(self) -> str:
        """The worst grade of the processes that count."""
        return worst_grade(self.counted) or ""


@dataclass(frozen=True)
class Work:
    """What was computed, and where: all of one are compared with each other.

    Parameters
    ----------
    record : mapping
        One that speaks for all.
    telling : mapping
        What tells it from other works, by dotted name.
    """

    record: Record
    telling: Mapping[str, Any]

    @property
    def machine(self) -> str:
        return machine_name(self.record)

    @property
    def is_network(self) -> bool:
        """Whether it is a network, not an operator or an exchange by itself."""
        task = self.record["problem"]["task"]
        return task not in (OPERATOR, _COLLECTIVE) and not value_at(self.record, "distributed.collective")


_COLLECTIVE = "collective"


@dataclass(frozen=True)
class Answer:
    """Who is fastest at a work.

    Parameters
    ----------
    work : Work
        What was computed.
    ranked : tuple of Contender
        The fastest first; those after it by their ratio to it.
    left_out : tuple of Contender
        Those of which every process is kept out of comparisons.
    why_none : str
        Why nothing is compared; empty if it is.
    """

    work: Work
    ranked: tuple[Contender, ...]
    left_out: tuple[Contender, ...] = ()
    why_none: str = ""

    @property
    def grade(self) -> str:
        """The worst grade of the processes that are compared."""
        return worst_grade([record for one in self.ranked for record in one.counted]) or ""

    @property
    def records(self) -> tuple[Record, ...]:
        return tuple(record for one in (*self.ranked, *self.left_out) for record in one.records)


@dataclasses.dataclass
class _Gathered:
    record: Record
    factors: Mapping[str, Any]
    contenders: dict[str, list[Record]] = field(default_factory=dict)


def answers(records: Sequence[Record]) -> list[Answer]:
    """Return who is fastest at each work of some records, by the rules of ``benchmarker compare``.

    The fastest is chosen by the times that then show it, so verdicts are corrected for all pairs. Trainings by a
    recipe have a table of their own. Networks come before operators, works of one rank before those of several, what
    several frameworks did before what one did, and what pairs tell something of before the others.

    Parameters
    ----------
    records : sequence of mapping
        Valid ones, in any order.
    """
    works: dict[str, _Gathered] = {}
    once = {record["id"]: record for record in records}
    for record in sorted(once.values(), key=lambda record: str(record["started_at"])):
        if not has_number(record) or value_at(record, "specification.training") is not None:
            continue
        factors = comparison_factors(record)
        where = {name: value for name, value in factors.items() if _tells_works(name)}
        key = canonical([record["comparable"]["hash"], where])
        work = works.setdefault(key, _Gathered(record, where))
        work.contenders.setdefault(_contender_key(factors), []).append(record)
    resolution = _remembered(resolution_for)
    found = [_answer(work, resolution) for work in works.values()]
    return sorted(found, key=_place)


def _tells_works(name: str) -> bool:
    return not name.startswith(_OF_A_CONTENDER) and name not in _APART


def _contender_key(factors: Mapping[str, Any]) -> str:
    return canonical({name: value for name, value in factors.items() if name.startswith(_OF_A_CONTENDER)})


def _place(answer: Answer) -> tuple[Any, ...]:
    record = answer.work.record
    ranks = value_at(record, "distributed.ranks") or 1
    judged = any(one.row and one.row.verdict for one in answer.ranked[1:2])
    order = (not answer.work.is_network, ranks > 1, len(answer.ranked) < 2, not judged)
    name = (str(record["problem"]["name"]), str(record["mode"]), answer.work.machine)
    return (*order, *name, ranks, record["batch_size"] or 0, record["execution"]["threads"] or 0)


def _remembered(look_up: Callable[[Record], Resolution | None]) -> Callable[[Record], Resolution | None]:
    """Return the same, with each machine and work looked up once."""
    known: dict[tuple[str, str], Resolution | None] = {}

    def remembered(record: Record) -> Resolution | None:
        key = (machine_name(record), record["comparable"]["hash"])
        if key not in known:
            known[key] = look_up(record)
        return known[key]

    return remembered


def _answer(work: _Gathered, resolution: Callable[[Record], Resolution | None]) -> Answer:
    everyone = [_contender(records) for records in work.contenders.values()]
    fit = sorted((one for one in everyone if one.counted), key=lambda one: one.seconds)
    left_out = tuple(one for one in everyone if not one.counted)
    described = Work(work.record, {**work.record["comparable"]["keys"], **work.factors})
    if len(fit) < 2:
        return Answer(described, tuple(fit), left_out)
    try:
        return Answer(described, _ranked(fit, resolution), left_out)
    except UsageError as error:
        return Answer(described, tuple(fit), left_out, str(error))


def _contender(records: Sequence[Record]) -> Contender:
    usable = [record for record in records if not excluded(record)]
    counted = newest_number(usable) if usable else []
    return Contender(comparison_factors(records[-1]), tuple(records), tuple(counted))


def _ranked(
    fit: Sequence[Contender], resolution: Callable[[Record], Resolution | None]
) -> tuple[Contender, ...]:
    """Return contenders compared with the fastest, which pairs may show to be another than the medians do."""
    order = list(fit)
    for _ in fit:
        rows = _rows(order, resolution)
        ahead = [one for one, row in zip(order[1:], rows) if row.verdict and row.verdict.verdict == FASTER]
        if not ahead:
            break
        order = [ahead[0], *(one for one in order if one is not ahead[0])]
    first, *others = order
    compared = [Contender(one.factors, one.records, one.counted, row) for one, row in zip(others, rows)]
    return (first, *sorted(compared, key=lambda one: ratio_to(one, first)))


def ratio_to(one: Contender, first: Contender) -> float:
    """Return how many times as long a step takes: by pairs where they show it, else by the numbers that are told."""
    return one.row.ratio if one.row and one.row.verdict else one.seconds / first.seconds


def _rows(order: Sequence[Contender], resolution: Callable[[Record], Resolution | None]) -> list[Row]:
    """Return the row of each contender but the first, compared with it."""
    sides = [Side(str(place), one.cell) for place, one in enumerate(order)]
    found: Comparison = compare(sides, resolution=resolution, chosen_afterwards=True)
    by_side = {row.other.side: row for row in found.rows}
    return [by_side[side.name] for side in sides[1:]]
