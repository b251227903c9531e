"""A part of an experiment: some of its cells, for one of several jobs that share it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from benchmarker.errors import UsageError, plural
from benchmarker.experiment.keys import identity
from benchmarker.experiment.spec import RunSpec
from benchmarker.quick_dataclass import dataclass


@dataclass(frozen=True)
class Part:
    """One of ``count`` parts of nearly equal size, numbered from 1, of which each cell belongs to one."""

    number: int
    count: int

    @classmethod
    def parse(cls, text: str) -> Part:
        """Parse ``K/N``.

        Raises
        ------
        ValueError
            If it is none.
        """
        found = re.fullmatch(r"([1-9][0-9]{0,8})/([1-9][0-9]{0,8})", text.strip())
        if found is None or int(found[1]) > int(found[2]):
            raise ValueError(text)
        return cls(int(found[1]), int(found[2]))

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"

    def of(self, runs: Sequence[RunSpec]) -> list[RunSpec]:
        """Return the runs of this part's cells, all repetitions of each, in their order.

        Raises
        ------
        UsageError
            If there are fewer cells than parts.
        """
        cells = cells_of(runs)
        if self.count > len(cells):
            raise UsageError(
                f"--part={self} asks for more parts than there are cells: the experiment has "
                f"{plural(len(cells), 'cell')}"
            )
        first, last = ((k * len(cells)) // self.count for k in (self.number - 1, self.number))
        mine = set(cells[first:last])
        return [run for run in runs if _cell(run) in mine]


def _cell(run: RunSpec) -> str:
    return identity(replace(run, repetition=0))


def cells_of(runs: Sequence[RunSpec]) -> list[str]:
    """Return what tells the cells of an experiment apart, in the order of its runs."""
    return list(dict.fromkeys(map(_cell, runs)))
