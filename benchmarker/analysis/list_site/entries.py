"""Records become entries: all processes of one number, with the verdict of its rerun."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from benchmarker.analysis.comparison.pairs import has_trend
from benchmarker.analysis.list_site.reruns import ENDING, Rerun, read_rerun
from benchmarker.analysis.results.collection import collect
from benchmarker.analysis.text.factors import trainer_label
from benchmarker.errors import StoreError, UsageError, plural
from benchmarker.quick_dataclass import dataclass
from benchmarker.records.files import OnProgress
from benchmarker.records.keys import configuration, machine_name
from benchmarker.records.lookup import Record, value_at, work_name
from benchmarker.records.precision import excluded
from benchmarker.records.reading import DamagedError
from benchmarker.records.schema import validate

MAX_RECORDS = 20_000
"""All are in memory at once, about 0.1 MB each."""
INTERRUPTED = "interrupted"


@dataclass(frozen=True)
class Entry:
    """What somebody has submitted: the processes of one number.

    Parameters
    ----------
    processes : tuple of record
        In order of time, however they ended but for those that were interrupted; at least one.
    files : tuple of Path
        Of each.
    reruns : tuple of Rerun
        Verdicts that lie beside them.
    faults : tuple of str
        What is wrong with files beside them that should be verdicts.
    """

    processes: tuple[Record, ...]
    files: tuple[Path, ...]
    reruns: tuple[Rerun, ...] = ()
    faults: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """Its name in addresses, for ever: the identifier of its first process."""
        return str(self.processes[0]["id"])

    @property
    def label(self) -> str:
        """Who computed."""
        return trainer_label(self.processes[0])

    @property
    def work(self) -> str:
        """What was computed."""
        return f"{work_name(self.processes[0])}, {self.processes[0]['mode']}"

    @property
    def machine(self) -> str:
        """On what."""
        return machine_name(self.processes[0])

    @property
    def date(self) -> str:
        """The day on which it was measured, in UTC."""
        return str(self.processes[-1]["started_at"])[:10]

    def undisturbed(self, grades: Sequence[str]) -> list[Record]:
        """Return the processes that ended well, whose grade of trust is one of these and that nothing excludes."""
        return [
            record
            for record in self.processes
            if record["status"] == "ok"
            and value_at(record, "trust.grade") in grades
            and excluded(record) is None
            and not has_trend(record["timing"].get("steady_state") or {})
        ]


@dataclass(frozen=True)
class Repository:
    """All records of a list.

    Parameters
    ----------
    entries : tuple of Entry
        In order of time; what only shows that others are reproduced is none.
    records, files : mapping
        All valid records and where they lie, by identifier.
    skipped : mapping
        Files that are no records, and why.
    """

    entries: tuple[Entry, ...]
    records: Mapping[str, Record]
    files: Mapping[str, Path]
    skipped: Mapping[Path, str] = field(default_factory=dict)


def read_repository(folder: Path, on_progress: OnProgress | None = None) -> Repository:
    """Return the entries among the records of a folder and of those below it.

    Raises
    ------
    UsageError
        If there is no such folder, or more than :data:`MAX_RECORDS` records are in it.
    """
    results = collect(folder, {}, on_progress)
    if len(results) > MAX_RECORDS:
        raise UsageError(f"a list holds at most {MAX_RECORDS:,} records, but '{folder}' has {len(results):,}")
    skipped = dict(results.damaged)
    known: dict[str, Record] = {}
    files: dict[str, Path] = {}
    for index, path in enumerate(results.paths):
        try:
            record = results[index]
        except StoreError:
            skipped[path] = "can no longer be read"
            continue
        faults = validate(record)
        if faults:
            skipped[path] = f"is not valid: {faults[0]}"
        elif record["id"] in known:
            skipped[path] = f"has the identifier of '{files[record['id']]}'"
        else:
            known[record["id"]], files[record["id"]] = record, path
    return Repository(tuple(_entries(known, files)), known, files, skipped)


def _entries(known: Mapping[str, Record], files: Mapping[str, Path]) -> list[Entry]:
    read = {name: _verdict(path) for name, path in files.items()}
    again = {new for found in read.values() if isinstance(found, Rerun) for new in found.new}
    groups: dict[Any, list[Record]] = defaultdict(list)
    first_campaign = _campaigns(known.values())
    for name, record in known.items():
        if name not in again and record["status"] != INTERRUPTED:
            groups[_number(record), first_campaign.get(name)].append(record)
    made = []
    for group in groups.values():
        ordered = sorted(group, key=lambda record: str(record["started_at"]))
        beside = [read[record["id"]] for record in ordered]
        made.append(
            Entry(
                tuple(ordered),
                tuple(files[record["id"]] for record in ordered),
                tuple(one for one in beside if isinstance(one, Rerun)),
                tuple(one for one in beside if isinstance(one, str)),
            )
        )
    return sorted(made, key=lambda entry: str(entry.processes[-1]["started_at"]))


def _number(record: Record) -> str:
    """Return what the processes of one number have in common; those of a training to accuracy differ in their seeds."""
    apart = ("repetition", "seed") if record.get("training") else ("repetition",)
    return configuration(record, apart)


def _campaigns(records: Iterable[Record]) -> dict[str, str]:
    """Return the campaign of each record; one that went on from others has theirs."""
    replicated = sorted(
        (record for record in records if record.get("replication")),
        key=lambda record: str(record["started_at"]),
    )
    found: dict[str, str] = {record["id"]: record["replication"]["campaign"] for record in replicated}
    same: dict[str, str] = {}
    for record in replicated:
        for earlier in record["replication"]["resumed"]:
            if earlier in found and found[earlier] != record["replication"]["campaign"]:
                same.setdefault(record["replication"]["campaign"], found[earlier])
    return {name: _root(campaign, same) for name, campaign in found.items()}


def _root(campaign: str, same: Mapping[str, str]) -> str:
    seen = {campaign}
    while campaign in same and same[campaign] not in seen:
        campaign = same[campaign]
        seen.add(campaign)
    return campaign


def _verdict(record: Path) -> Rerun | str | None:
    """Return the verdict beside a record, or why what lies there is none."""
    file = record.with_suffix(ENDING)
    if not file.exists() and not file.is_symlink():
        return None
    try:
        return read_rerun(file)
    except DamagedError as error:
        return f"'{file.name}' {error}"


def count_of(records: Sequence[Record]) -> str:
    """Return a number of processes in words."""
    return plural(len(records), "process")
