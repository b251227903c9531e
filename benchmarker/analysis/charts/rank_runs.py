"""Runs of several ranks as pictures show them: a panel for each thing that is not to be compared, in it the schemes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence

from benchmarker.analysis.charts.labels import framework_of
from benchmarker.analysis.charts.palette import LIGHT
from benchmarker.analysis.charts.selection import Selection, gather, keep, largest_group
from benchmarker.analysis.text.factors import framework_label
from benchmarker.analysis.text.ranks import network_name
from benchmarker.errors import plural
from benchmarker.records.cells import Cell
from benchmarker.records.keys import machine_name, scaling_key
from benchmarker.records.lookup import Record, value_at

IDEAL_COLOUR = 7
"""Black, which no framework has."""


def distributed(record: Record) -> Mapping[str, object]:
    """Return what a record says of its ranks; nothing of a single process."""
    found: Mapping[str, object] = record.get("distributed") or {}
    return found


def is_training(record: Record) -> bool:
    """Tell whether a record is of a training by one rank or several, and of no collective by itself."""
    return record["mode"] == "training" and not value_at(record, "distributed.collective")


def ranks_of(cell: Cell) -> int:
    return int(value_at(cell.first, "distributed.ranks") or 1)


def gather_ranks(
    records: Sequence[Record], needs: str, has: Callable[[Record], object], *, timed: bool = True
) -> Selection:
    """Return the runs of several ranks that ended well and have something, of the problem with the most of them.

    Raises
    ------
    UsageError
        If there are none.
    """
    found = gather(
        records,
        f"runs of several ranks {needs}",
        lambda record: is_training(record) and has(record),
        "of a single rank or without these numbers",
        timed=timed,
    )
    return of_one_problem(found)


def of_one_problem(found: Selection) -> Selection:
    return largest_group(found, lambda cell: scaling_key(cell.first), id, "of other problems")


def scaling(record: Record) -> str:
    """Return how the mini-batch of a run of several ranks grows with them, in words."""
    if value_at(record, "distributed.scaling") == "weak":
        return (
            f"weak scaling, {plural(record['batch_size'] // record['distributed']['ranks'], 'row')} per rank"
        )
    return f"strong scaling, {plural(record['batch_size'], 'row')}"


def emulation(cells: Iterable[Cell]) -> str:
    """Return the sentence that a caption has of emulated networks; nothing without one."""
    rates = {
        str(value_at(cell.first, "distributed.network.rate"))
        for cell in cells
        if value_at(cell.first, "distributed.network.kind") == "emulated"
    }
    if not rates:
        return ""
    return (
        f"Emulated: links of {' or '.join(sorted(rates))} between ranks on one machine, not a real network."
    )


def scheme_names(cells: Sequence[Cell]) -> tuple[str, ...]:
    """Return the scheme of each run, with who exchanged where both ways are shown."""
    ways = {value_at(cell.first, "distributed.exchange") for cell in cells}
    return tuple(
        f"{value_at(cell.first, 'distributed.scheme')}"
        + (f", {value_at(cell.first, 'distributed.exchange')}" if len(ways) > 1 else "")
        for cell in cells
    )


def machine(record: Record) -> str:
    """Return the machine in words, with its name where that is told."""
    host = value_at(record, "platform.host.name")
    return f"{host}: {machine_name(record)}" if host else machine_name(record)


_FACETS: Mapping[str, Callable[[Record], str]] = {
    "framework": framework_label,
    "network": network_name,
    "scaling": scaling,
    "machine": machine,
}


def panel_names(cells: Sequence[Cell], *, but: Collection[str] = ()) -> tuple[str, ...]:
    """Return the panel of each run: its framework, network, scaling and machine, as far as they differ.

    Parameters
    ----------
    cells : sequence of Cell
        Of several ranks.
    but : collection of {"framework", "network", "scaling", "machine"}
        What a panel shows beside each other.
    """
    columns = {
        name: [facet(cell.first) for cell in cells] for name, facet in _FACETS.items() if name not in but
    }
    bare = [framework_of(cell) for cell in cells]
    if len(set(bare)) == len(set(columns.get("framework", ()))):
        columns["framework"] = bare
    shown = [
        column
        for name, column in columns.items()
        if len(set(column)) > 1 or (name == "network" and column[0].startswith("emulated"))
    ]
    return tuple(", ".join(column[place] for column in shown) for place in range(len(cells)))


def most_frequent(found: Selection, name_of: Mapping[int, Hashable], most: int, others: str) -> Selection:
    """Keep the cells of so many names, those with the most cells; names are by the cells' identities."""
    count: dict[Hashable, int] = {}
    for cell in found.cells:
        name = name_of[id(cell)]
        count[name] = count.get(name, 0) + 1
    chosen = set(sorted(count, key=lambda name: -count[name])[:most])
    return keep(found, lambda cell: name_of[id(cell)] in chosen, others)


def scheme_colours(names: Iterable[str]) -> dict[str, int]:
    """Return a colour for each scheme, none of them that of what is ideal."""
    free = (place for place in range(3 * len(LIGHT)) if place % len(LIGHT) != IDEAL_COLOUR)
    return dict(zip(dict.fromkeys(names), free))
