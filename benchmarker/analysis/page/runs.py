"""Records become what the page keeps of each run; a record itself takes about a megabyte, so one at a time."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from benchmarker.analysis.page.sections import Section, sections
from benchmarker.analysis.page.table import when
from benchmarker.analysis.text.factors import framework_label
from benchmarker.errors import StoreError
from benchmarker.quick_dataclass import dataclass
from benchmarker.records.lookup import work_name
from benchmarker.records.schema import Record, shape_faults

_ALL_POINTS, _MIN_POINTS, _MAX_POINTS = 150_000, 20, 300
"""Samples to draw: of all runs together, and of one run."""
_WHOLE_BYTES = 3 << 20


@dataclass(frozen=True)
class Run:
    """What the page keeps of a record.

    Parameters
    ----------
    record : dict
        Without its longest lists, which no picture shows.
    key : str
        Its name in links, different for each run.
    title : str
        What ran, on what, how it ended, and when.
    file : str
        Where it comes from.
    sections : list of dict
        All that is told of it.
    """

    record: Record
    key: str
    title: str
    file: str
    sections: list[Section]


@dataclass(frozen=True)
class Runs:
    """Valid records, and the others.

    Parameters
    ----------
    runs : tuple of Run
        In the order of the records.
    whole : tuple of str or None
        Each record as base64 of gzip of its JSON; ``None`` if together they would make the page large.
    faulty : tuple of (str, str)
        File and first fault of each record that is not as the schema says.
    """

    runs: tuple[Run, ...]
    whole: tuple[str, ...] | None
    faulty: tuple[tuple[str, str], ...]

    def newest_first(self) -> Runs:
        """Return the same in the order in which a reader looks for them: what started last comes first."""
        places = sorted(
            range(len(self.runs)), key=lambda place: str(self.runs[place].record["started_at"]), reverse=True
        )
        whole = self.whole and tuple(self.whole[place] for place in places)
        return Runs(tuple(self.runs[place] for place in places), whole, self.faulty)


def gather(records: Sequence[Record], files: Sequence[str], note: Callable[[str], None]) -> Runs:
    """Return the runs of some records, each read once."""
    points = min(_MAX_POINTS, max(_MIN_POINTS, _ALL_POINTS // max(1, len(records))))
    runs: list[Run] = []
    whole: list[str] = []
    faulty: list[tuple[str, str]] = []
    names: set[str] = set()
    left = _WHOLE_BYTES
    for index, (file, record) in enumerate(_readable(records, files, faulty)):
        if index % 100 == 0:
            note(f"reading record {index + 1} of {len(records)}")
        key = _new_name(f"run-{record['id']}", names)
        runs.append(Run(_lighter(record), key, _title(record), file, sections(record, points=points)))
        if left > 0:
            whole.append(packed(record))
            left -= len(whole[-1])
    return Runs(tuple(runs), tuple(whole) if left > 0 else None, tuple(faulty))


def _readable(
    records: Sequence[Record], files: Sequence[str], faulty: list[tuple[str, str]]
) -> Iterator[tuple[str, Record]]:
    """Yield the valid records with their files; the others are added to ``faulty``."""
    for index in range(len(records)):
        file = files[index] if files else f"record {index + 1}"
        try:
            record = records[index]
        except StoreError:
            # Its message has the whole path, which is nobody's business.
            faulty.append((file, "it cannot be read any more"))
            continue
        faults = shape_faults(record)
        if faults:
            faulty.append((file, str(faults[0])))
        else:
            yield file, record


def _new_name(name: str, names: set[str]) -> str:
    """Return a name that is not among ``names``, and add it: a record may lie in two folders."""
    while name in names:
        name += "'"
    names.add(name)
    return name


def _title(record: Record) -> str:
    what = f"{work_name(record)}, {record['mode']}, on {framework_label(record)}"
    return f"{what}: {record['status'].replace('_', ' ')}, {when(record['started_at'])} UTC"


def _lighter(record: Record) -> Record:
    """Return the record without the lists that are long and in no picture."""
    trust, proof = record["trust"], record["verification"]["after_timing"]
    return {
        **record,
        "verification": {
            **record["verification"],
            "tensors": [],
            "after_timing": {**proof, "tensors": []} if proof else None,
        },
        "environment": {**record["environment"], "packages": None},
        "trust": {**trust, "checkpoints": None} if trust else None,
    }


def packed(value: Any) -> str:
    """Return a JSON value as base64 of gzip, as the page's script unpacks it."""
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"))
    return base64.b64encode(gzip.compress(text.encode("ascii"), mtime=0)).decode("ascii")
