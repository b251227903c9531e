"""Which records a picture can show, joined to cells; what is left out is counted."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarker.errors import UsageError
from benchmarker.plots.palette import FRAMEWORKS
from benchmarker.report.asked import value_at
from benchmarker.report.cells import Cell, cells

Record = Mapping[str, Any]


@dataclass(frozen=True)
class Gathered:
    """What a picture shows.

    Parameters
    ----------
    cells : tuple of Cell
        Each the fresh processes of one configuration, all of which ended well.
    left_out : tuple of str
        What is not shown, in words, e.g. ``"2 runs that did not end well"``.
    """

    cells: tuple[Cell, ...]
    left_out: tuple[str, ...] = ()

    @property
    def records(self) -> tuple[Record, ...]:
        """The records of all cells."""
        return tuple(record for cell in self.cells for record in cell.records)


def gather(
    records: Sequence[Record], needs: str, has: Callable[[Record], Any] | None = None, without: str = ""
) -> Gathered:
    """Return the cells of the records that ended well and have what the picture needs.

    Parameters
    ----------
    records : sequence of dict
        Any.
    needs : str
        What the picture needs, for the message, e.g. ``"runs that ended well"``.
    has : callable, optional
        Tells whether a record has it.
    without : str
        What records are called that do not have it, e.g. ``"without a breakdown"``.

    Raises
    ------
    UsageError
        If there are no such records.
    """
    well = [r for r in records if r["status"] == "ok" and value_at(r, "timing.step_seconds.median")]
    fit = [record for record in well if has is None or has(record)]
    left_out = (
        *_counted(len(records) - len(well), "that did not end well"),
        *_counted(len(well) - len(fit), without),
    )
    if not fit:
        found = f"none of {len(records)} records has that" if len(records) else "there are no records"
        raise UsageError(f"such a picture needs {needs}, and {found}")
    return Gathered(tuple(sorted(cells(fit), key=_order)), left_out)


def _order(cell: Cell) -> tuple[Any, ...]:
    """Return the place of a cell among others: by problem, then by framework; a campaign's order is drawn."""
    record = cell.first
    name, framework = record["problem"]["name"], record["framework"]["name"]
    known = FRAMEWORKS.index(framework) if framework in FRAMEWORKS else len(FRAMEWORKS)
    threads = record["execution"]["threads"] or 0
    work = (name, str(record["mode"]), record["batch_size"] or 0)
    return (*work, known, framework, threads, record["started_at"])


def largest_group(
    gathered: Gathered, group: Callable[[Cell], Hashable], spread: Callable[[Cell], Hashable], others: str
) -> Gathered:
    """Keep the group of cells that has the most different values of something, then the most cells.

    Parameters
    ----------
    gathered : Gathered
        What there is.
    group : callable
        Which group a cell belongs to.
    spread : callable
        The value that should take many values in the group, e.g. the batch size.
    others : str
        What the other groups are, after "runs", e.g. ``"of other problems"``.
    """
    groups: dict[Hashable, list[Cell]] = {}
    for cell in gathered.cells:
        groups.setdefault(group(cell), []).append(cell)
    kept = max(groups.values(), key=lambda found: (len({spread(cell) for cell in found}), len(found)))
    return _keep(gathered, kept, others)


def first_groups(gathered: Gathered, group: Callable[[Cell], Hashable], most: int, others: str) -> Gathered:
    """Keep the cells of so many groups, those with the most cells."""
    count: dict[Hashable, int] = {}
    for cell in gathered.cells:
        count[group(cell)] = count.get(group(cell), 0) + 1
    chosen = set(sorted(count, key=lambda name: -count[name])[:most])
    return _keep(gathered, [cell for cell in gathered.cells if group(cell) in chosen], others)


def split(gathered: Gathered, by: Callable[[Record], Hashable]) -> Gathered:
    """Divide cells such that the records of each have the same value of something, e.g. the campaign."""
    parts: list[Cell] = []
    for cell in gathered.cells:
        groups: dict[Hashable, list[Record]] = {}
        for record in cell.records:
            groups.setdefault(by(record), []).append(record)
        parts += [Cell(tuple(group)) for group in groups.values()]
    return Gathered(tuple(parts), gathered.left_out)


def keep(gathered: Gathered, fits: Callable[[Cell], bool], others: str) -> Gathered:
    """Keep the cells that fit, which may be none."""
    return _keep(gathered, [cell for cell in gathered.cells if fits(cell)], others)


def _keep(gathered: Gathered, kept: Sequence[Cell], others: str) -> Gathered:
    dropped = len(gathered.records) - sum(len(cell.records) for cell in kept)
    return Gathered(tuple(kept), (*gathered.left_out, *_counted(dropped, others)))


def _counted(count: int, what: str) -> tuple[str, ...]:
    """Return e.g. ``"3 runs of other problems"``, nothing for none."""
    return (f"{'1 run' if count == 1 else f'{count} runs'} {what}",) if count else ()
