"""Some files become columns of the flat table, and the others reasons why they are no records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarker.results.flattening import Cells, flatten
from benchmarker.results.reading import DamagedError
from benchmarker.results.rows import parse_row


@dataclass(frozen=True)
class Part:
    """A part of the table.

    Parameters
    ----------
    cells : dict of str to list
        Columns by name, which have no kinds yet.
    length : int
        Number of records.
    damaged : dict of int to str
        Which files (by position) are no records, and why.
    """

    cells: Cells
    length: int
    damaged: dict[int, str]


def read_part(paths: Sequence[str], read: Callable[[str], bytes]) -> Part:
    """Return the part of the table that some files make.

    Parameters
    ----------
    paths : sequence of str
        The files.
    read : callable
        Returns what is in a file, or raises ``DamagedError``.
    """
    rows, places, damaged = [], [], {}
    for place, path in enumerate(paths):
        try:
            rows.append(parse_row(read(path)))
            places.append(place)
        except DamagedError as error:
            damaged[place] = str(error)
    cells, faults = flatten(rows)
    damaged |= {places[row]: fault for row, fault in faults.items()}
    return Part(cells, len(paths) - len(damaged), dict(sorted(damaged.items())))


def below_each_other(parts: Sequence[Part]) -> Cells:
    """Return the columns of parts, one below the other."""
    names = dict.fromkeys(name for part in parts for name in part.cells)
    found: Cells = {name: [] for name in names}
    for part in parts:
        for name, cells in found.items():
            cells.extend(part.cells.get(name) or [None] * part.length)
    return found
