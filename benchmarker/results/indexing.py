"""A folder of many records: rows that are known come from the index, the others from their files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa

from benchmarker.results.arrow import joined
from benchmarker.results.chunks import open_chunk
from benchmarker.results.index import Index, load_index, save_index, settled
from benchmarker.results.listing import File, State, names_in
from benchmarker.results.parallel import read_chunks
from benchmarker.results.scanning import OnProgress

_EMPTY = Index({}, {}, pa.table({}))


def indexed(folder: Path, files: Sequence[File], on_progress: OnProgress | None = None) -> Index:
    """Return an up-to-date index of a folder, with rows in the order of its files; it is kept for the next time.

    Parameters
    ----------
    folder : Path
        The folder.
    files : sequence of File
        What is in it, in the order that is wanted.
    on_progress : callable or None
        Called with the number of files that are read and of those that must be.
    """
    names = names_in(folder, files)
    before = load_index(folder) or _EMPTY
    states = dict(zip(names, (file.state for file in files)))
    kept = {n: entry for n, entry in before.rows.items() if states.get(n) == entry[0]}
    damaged = {n: entry for n, entry in before.damaged.items() if states.get(n) == entry[0]}
    new = [place for place, name in enumerate(names) if name not in kept and name not in damaged]
    if not new and len(kept) == len(before.rows) and len(damaged) == len(before.damaged):
        return before
    tables = [before.table]
    total = len(before.table)
    known = dict(zip(new, settled([files[place] for place in new])))
    done = 0
    for count, data in read_chunks([files[place].path for place in new]):
        rows, faults = open_chunk(data)
        for offset, place in enumerate(new[done : done + count]):
            if offset in faults:
                damaged[names[place]] = (known[place], faults[offset])
            else:
                kept[names[place]] = (known[place], total)
                total += 1
        tables.append(rows)
        done += count
        if on_progress:
            on_progress(done, len(new))
    index = _in_order(names, kept, damaged, joined(tables))
    save_index(folder, index)
    return index


def _in_order(
    names: Sequence[str],
    rows: Mapping[str, tuple[State, int]],
    damaged: Mapping[str, tuple[State, str]],
    table: pa.Table,
) -> Index:
    """Return the index whose rows stand as the names do."""
    order = [name for name in names if name in rows]
    places = [rows[name][1] for name in order]
    if places != list(range(len(table))):
        table = table.take(pa.array(places, pa.int64()))
    return Index({name: (rows[name][0], row) for row, name in enumerate(order)}, damaged, table)
