"""A contest, and what of a record's work departs from it.

What decides which work a record did are its ``comparable.keys``. Each of them is fixed by the contest, or may change
where the contest is open; the rest is nobody's choice, so a record that has another such key is of another work. The
machine is what competes, so its own keys are free unless they are fixed.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

from benchmarker.analysis.list_site.measures import MEASURES
from benchmarker.analysis.results.filters import check_field
from benchmarker.errors import UsageError, did_you_mean, first_line, shortened
from benchmarker.experiment.options import RUN_OPTIONS
from benchmarker.files import open_regular
from benchmarker.machine.trust import GRADES
from benchmarker.quick_dataclass import dataclass
from benchmarker.records.keys import comparable_keys
from benchmarker.records.lookup import Record, value_at

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

CLOSED, OPEN = "closed", "open"
HARDWARE = ("device", "devices", "threads")
"""Keys of the work that are of the machine."""
KEYS = frozenset(
    (
        "problem",
        "problem_semantics",
        "problem_parameters",
        "optimizer",
        "devices",
        "data",
        "recipe",
        *RUN_OPTIONS,
    )
)
"""All keys of a work that there can be."""
WORST_TRUST = tuple(grade for grade in GRADES if grade != "contaminated")
"""Grades that a contest may let count; contaminated numbers are ranked nowhere."""
MAX_CONTEST_BYTES = 1 << 16
MAX_CONTESTS = 500
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_MAX_SHOWN = 200


@dataclass(frozen=True)
class Contest:
    """What entries compete in.

    Parameters
    ----------
    name : str
        That of its file, without its ending.
    title, description : str
        For readers.
    division : {"closed", "open"}
        Whether all of the work is fixed, or what is listed may change.
    ranked_by : str
        One of :data:`~benchmarker.analysis.list_site.measures.MEASURES`.
    fixed : mapping
        Values by key of the work, or by the dotted name of a field of a record.
    may_change : tuple of str
        Keys of the work that are the entries' choice.
    trust : {"clean", "noisy"}
        The worst grade of an undisturbed process.
    currency : str
        That of all prices.
    """

    name: str
    title: str
    division: str
    ranked_by: str
    fixed: Mapping[str, Any]
    description: str = ""
    may_change: tuple[str, ...] = ()
    trust: str = "clean"
    currency: str = "USD"


@dataclass(frozen=True)
class _Reader:
    """Takes members of a contest's table, and tells what is wrong with the file's name before it."""

    path: Path
    table: dict[str, Any] = field(default_factory=dict)

    def refuse(self, rule: str) -> UsageError:
        return UsageError(f"the contest '{self.path}' {rule}")

    def text(self, name: str, default: str | None = None, choices: tuple[str, ...] = ()) -> str:
        value = self.table.pop(name, default)
        allowed = f"one of {', '.join(choices)}" if choices else "a text that is not empty"
        if not isinstance(value, str) or (choices and value not in choices) or not (value or default == ""):
            raise self.refuse(f"must have {name} = {allowed}, got {_shown(value)}")
        return value

    def names(self, name: str) -> tuple[str, ...]:
        value = self.table.pop(name, [])
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self.refuse(f"must have {name} = a list of names, got {_shown(value)}")
        return tuple(dict.fromkeys(value))

    def mapping(self, name: str) -> dict[str, Any]:
        value = self.table.pop(name, {})
        if not isinstance(value, dict):
            raise self.refuse(f"must have a table [{name}], got {_shown(value)}")
        return value


def read_contests(folder: Path) -> list[Contest]:
    """Return the contests of a folder, a TOML file each, by name.

    Raises
    ------
    UsageError
        If there is no such folder, no contest in it, or one of them is not right.
    """
    if not folder.is_dir():
        raise UsageError(f"contests are TOML files in a folder, but '{folder}' is not a folder (--contests)")
    files = sorted(folder.glob("*.toml"))
    if not 0 < len(files) <= MAX_CONTESTS:
        raise UsageError(
            f"a list has 1 to {MAX_CONTESTS} contests, but the folder '{folder}' has {len(files)}"
        )
    return [read_contest(path) for path in files]


def read_contest(path: Path) -> Contest:
    """Return the contest of a file.

    Raises
    ------
    UsageError
        If it cannot be read, or does not say what a contest must.
    """
    reader = _Reader(path, _toml(path))
    if not _NAME.fullmatch(path.stem):
        raise reader.refuse(
            "must have a file name of lower-case letters, digits, '-' and '_', as it becomes part of an address"
        )
    contest = Contest(
        name=path.stem,
        title=reader.text("title"),
        description=reader.text("description", ""),
        division=reader.text("division", choices=(CLOSED, OPEN)),
        ranked_by=reader.text("ranked_by", choices=tuple(MEASURES)),
        trust=reader.text("trust", "clean", choices=WORST_TRUST),
        currency=reader.text("currency", "USD"),
        may_change=reader.names("may_change"),
        fixed=reader.mapping("fixed"),
    )
    for name in reader.table:
        raise reader.refuse(f"has {_shown(name)}, which is not part of a contest")
    _check(contest, reader)
    return contest


def _toml(path: Path) -> dict[str, Any]:
    try:
        with os.fdopen(open_regular(path), "rb") as stream:
            content = stream.read(MAX_CONTEST_BYTES + 1)
        if len(content) > MAX_CONTEST_BYTES:
            raise UsageError(f"a contest has at most {MAX_CONTEST_BYTES >> 10} KiB, but '{path}' has more")
        return tomllib.loads(content.decode("utf-8"))
    except OSError as error:
        raise UsageError(f"the contest '{path}' cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:  # not UTF-8 or not TOML is both a ValueError
        raise UsageError(f"the contest '{path}' is not TOML: {first_line(error)}") from None


def _check(contest: Contest, reader: _Reader) -> None:
    if contest.division == CLOSED and contest.may_change:
        raise reader.refuse('is closed, so nothing may change in it: division = "open", or no may_change')
    if contest.division == OPEN and not contest.may_change:
        raise reader.refuse('is open, so it must list what may change, e.g. may_change = ["batch_size"]')
    if not {"problem", "recipe", "training.recipe.name"} & set(contest.fixed):
        raise reader.refuse('must fix a problem or a recipe, e.g. [fixed] problem = "resnet50"')
    for name in (*contest.fixed, *contest.may_change):
        if "." in name and name in contest.fixed:
            check_field(name)
        elif name not in KEYS:
            raise reader.refuse(
                f"names {_shown(name)}, which is not a key of a work{did_you_mean(name, KEYS)}"
            )
    for name in set(contest.fixed) & set(contest.may_change):
        raise reader.refuse(f"both fixes '{name}' and lets it change")
    needed = MEASURES[contest.ranked_by].fixes
    if needed is not None and needed not in contest.fixed:
        raise reader.refuse(f"ranks by {contest.ranked_by}, so it must fix {needed}")


def departures(contest: Contest, record: Record) -> list[str]:
    """Return what of a record's work is not as the contest has it, a sentence each; none if it is of the contest."""
    kept = record.get("comparable")
    keys: Mapping[str, Any] = kept["keys"] if kept else comparable_keys(record)
    found = []
    for name, wanted in contest.fixed.items():
        given = value_at(record, name) if "." in name else keys.get(name)
        if given != wanted or isinstance(given, bool) != isinstance(wanted, bool):
            found.append(f"{name} must be {_shown(wanted)}, but is {_shown(given)}")
    free = {*contest.fixed, *contest.may_change, *HARDWARE}
    found += [
        f"{name} is {_shown(given)}, about which the contest says nothing"
        for name, given in keys.items()
        if name not in free and given is not None
    ]
    return found


def _shown(value: Any) -> str:
    return shortened(json.dumps(value, default=str, ensure_ascii=False), _MAX_SHOWN)
