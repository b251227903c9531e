"""Records become columns: a name for each plain value, such as ``timing.step_seconds.median``."""

from __future__ import annotations

import functools
import shlex
from collections.abc import Mapping
from typing import Any

from benchmarker.results.fields import is_left_out
from benchmarker.results.reading import DamagedError

MOST_CELLS = 5000
"""Of a record; real ones have a tenth of it."""
_DEEPEST = 32


def encodable(text: str) -> str:
    """Return a text without half surrogate pairs, from a log in an unknown encoding: no table can hold them."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")


# Commands have most of their words in common.
_quoted = functools.lru_cache(4096)(shlex.quote)


class Columns:
    """Columns that grow by a record at a time.

    An interval becomes two columns ``.low`` and ``.high``; another list of plain values one text; the objects
    of a list are numbered. Samples, compared tensors, package lists and log tails are left out.

    Attributes
    ----------
    rows : int
        Records so far.
    """

    def __init__(self) -> None:
        self.rows = 0
        self._cells: dict[str, list[Any]] = {}
        self._root = _Place("", self._cells)
        self._room = 0

    def add(self, record: Mapping[str, Any]) -> None:
        """Add a record.

        Raises
        ------
        DamagedError
            If it is nested too deeply or has too many values to be a record; nothing of it is added.
        """
        self._room = MOST_CELLS
        try:
            self._add_members(self._root, record)
        except DamagedError:
            for cells in self._cells.values():
                del cells[self.rows :]
            raise
        self.rows += 1

    def finish(self) -> dict[str, list[Any]]:
        """Return the columns by name, all of the same length; None where a record has no such value."""
        for cells in self._cells.values():
            cells.extend([None] * (self.rows - len(cells)))
        return {name: cells for name, cells in self._cells.items() if any(c is not None for c in cells)}

    def _add_members(self, place: _Place, members: Mapping[str, Any]) -> None:
        # This is most of the time that reading takes, hence no calls for plain values.
        row, known = self.rows, place.below
        self._room -= len(members)
        if self._room < 0:
            raise DamagedError(f"has more than {MOST_CELLS} values, so it is no record")
        for name, value in members.items():
            if value is None:
                continue
            try:
                below = known[name]
            except KeyError:
                below = place.grow(name)
            cells, kind = below.cells, type(value)
            if cells is None:
                continue
            if kind is dict:
                self._add_members(below, value)
            elif kind is list:
                self._add_list(below, value)
            elif len(cells) == row:
                cells.append(value)
            else:
                self._put(cells, value)

    def _add_list(self, place: _Place, value: list[Any]) -> None:
        if place.is_interval and len(value) == 2:
            self._add_members(place, dict(zip(("low", "high"), value)))
            return
        try:
            text = ", ".join(value) if place.name != "command" else " ".join(map(_quoted, value))
        except TypeError:
            if not {dict, list}.isdisjoint(map(type, value)):
                self._add_members(place, {str(index): item for index, item in enumerate(value)})
                return
            text = ", ".join(map(str, value))
        if place.cells is not None:
            self._put(place.cells, text)

    def _put(self, cells: list[Any], value: Any) -> None:
        cells.extend([None] * (self.rows - len(cells)))
        # Where two members have the same dotted name, the last one counts.
        cells[self.rows :] = [value]


class _Place:
    """A name in the records: its column, and the names below it."""

    __slots__ = ("_all", "_depth", "below", "cells", "is_interval", "name")

    def __init__(self, name: str, all_cells: dict[str, list[Any]], depth: int = 0) -> None:
        if depth > _DEEPEST:
            raise DamagedError("is nested too deeply to be a record")
        self.name = name
        self._depth = depth
        self.below: dict[str, _Place] = {}
        self.is_interval = name.endswith(".ci95")
        self._all = all_cells
        self.cells = None if is_left_out(name) else all_cells.setdefault(name, [])

    def grow(self, name: str) -> _Place:
        """Return the new place of a member."""
        own = encodable(name)
        below = _Place(f"{self.name}.{own}" if self._depth else own, self._all, self._depth + 1)
        self.below[name] = below
        return below


def flatten(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the plain values of a record by dotted name, without those that are null."""
    columns = Columns()
    columns.add(record)
    return {name: cells[0] for name, cells in columns.finish().items()}
