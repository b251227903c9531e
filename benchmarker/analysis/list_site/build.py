"""The site is made and written: a folder of files, whole or not, with the records behind every number."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from benchmarker.analysis.list_site.contests import Contest
from benchmarker.analysis.list_site.entries import Entry, Repository
from benchmarker.analysis.list_site.pages import (
    COUNTING_IS,
    RANKS_ARE,
    contest_values,
    entry_values,
    index_values,
)
from benchmarker.analysis.list_site.requirements import no_contest
from benchmarker.analysis.list_site.reruns import ENDING
from benchmarker.analysis.list_site.standings import Standing, standings
from benchmarker.analysis.page import assets
from benchmarker.errors import UsageError, plural
from benchmarker.quick_dataclass import dataclass
from benchmarker.records.files import name_in
from benchmarker.records.reading import DamagedError, read_bytes
from benchmarker.version import __version__

MARK = "list.json"
"""All standings for programs, and what a site is known by before it is replaced."""
_MAX_LISTED = 200
"""Entries of no contest, the newest, and files that are no records, which the list of contests names."""


@dataclass(frozen=True)
class Site:
    """A site and what it holds.

    Parameters
    ----------
    files : mapping of str to bytes
        By their names in the site, with ``/`` between folders.
    copies : mapping of str to Path
        Files to copy as they are, likewise.
    standings : tuple of Standing
        Of each contest.
    outside : tuple of Entry
        Entries of no contest, which have no page.
    """

    files: Mapping[str, bytes]
    copies: Mapping[str, Path]
    standings: tuple[Standing, ...]
    outside: tuple[Entry, ...]


def make_site(
    contests: Sequence[Contest], repository: Repository, folder: Path, *, title: str = "Benchmarks"
) -> Site:
    """Return the site of a repository of records.

    Parameters
    ----------
    contests : sequence of Contest
        At least one.
    repository : Repository
        All its records.
    folder : Path
        Where they lie.
    title : str
        Heading of the list of contests.

    Raises
    ------
    BenchmarkerError
        If a library that this needs is not installed.
    """
    found = standings(contests, repository)
    shown = {one.entry.key: one.entry for standing in found for one in _judged(standing)}
    outside = tuple(entry for entry in repository.entries if entry.key not in shown)
    made_at = f"{datetime.now(timezone.utc):%Y-%m-%d %H:%M} UTC"
    files = {
        "index.html": _page(
            "index.html",
            title=title,
            up="",
            made_at=made_at,
            version=__version__,
            counts=_counts(found, repository),
            contests=index_values(found),
            outside=[_outside(entry, contests) for entry in outside[-_MAX_LISTED:]],
            skipped=[(name_in(path, folder), why) for path, why in repository.skipped.items()][:_MAX_LISTED],
            skipped_count=f"{plural(len(repository.skipped), 'file')} left out",
        ),
        MARK: _bytes(
            json.dumps({"made_at": made_at, "contests": list(map(_standing_json, found))}, indent=1) + "\n"
        ),
    }
    for one in found:
        values = contest_values(one)
        files[f"contests/{one.contest.name}.html"] = _page(
            "contest.html", title=one.contest.title, up="../", **values
        )
    for entry in shown.values():
        values = entry_values(entry, found, repository.records)
        files[f"entries/{entry.key}.html"] = _page("entry.html", title=entry.label, up="../", **values)
    return Site(files, dict(_copies(found, repository)), tuple(found), outside)


def _judged(standing: Standing) -> Iterator[Any]:
    yield from (place.judged for place in standing.places)
    yield from standing.others


def _page(template: str, **values: Any) -> bytes:
    script = f"'use strict';\n{assets.template_text('theme.js')}"
    return _bytes(
        assets.render(
            template,
            __package__,
            style=assets.template_text("page.css") + assets.template_text("list.css", package=__package__),
            script=script,
            policy=assets.content_security_policy(script),
            ranks_are=RANKS_ARE,
            counting_is=COUNTING_IS,
            **values,
        )
    )


def _bytes(text: str) -> bytes:
    # A name of a file may have bytes that are no UTF-8.
    return text.encode("utf-8", "replace")


def _counts(found: Sequence[Standing], repository: Repository) -> str:
    return f"{plural(len(found), 'contest')} and {plural(len(repository.records), 'record')}"


def _outside(entry: Entry, contests: Sequence[Contest]) -> dict[str, Any]:
    title = f"{entry.label}, {entry.work}, {entry.machine}, {entry.date}"
    return {"title": title, "reasons": no_contest(entry, contests)}


def _standing_json(standing: Standing) -> dict[str, Any]:
    """Return a standing for programs."""
    return {
        "contest": standing.contest.name,
        "title": standing.contest.title,
        "ranked_by": standing.contest.ranked_by,
        "entries": [
            {
                "entry": place.judged.entry.key,
                "label": place.judged.entry.label,
                "machine": place.judged.entry.machine,
                "rank": [place.rank.best, place.rank.worst],
                "values": {
                    name: {"centre": one.centre, "ci95": one.ci95} for name, one in place.estimates.items()
                },
                "records": [record["id"] for record in place.judged.counted],
            }
            for place in standing.places
        ],
        "not_counted": [{"entry": one.entry.key, "reasons": one.reasons} for one in standing.others],
    }


def _copies(found: Sequence[Standing], repository: Repository) -> Iterator[tuple[str, Path]]:
    """Yield each record that a page links, and the verdicts."""
    for one in (judged for standing in found for judged in _judged(standing)):
        for record, path in zip(one.entry.processes, one.entry.files):
            yield f"records/{record['id']}.json", path
        if one.rerun:
            yield f"records/{one.entry.key}{ENDING}", one.rerun.file
            for name in one.rerun.new:
                yield f"records/{name}.json", repository.files[name]


def check_place(folder: Path, *, force: bool) -> None:
    """Say before any work that a site cannot go to a folder.

    Raises
    ------
    UsageError
        If something is there: without ``force`` anything, with it anything but a site.
    """
    if not folder.absolute().parent.is_dir():
        raise UsageError(f"the folder above a site must exist, got '{folder}'")
    if not folder.exists() and not folder.is_symlink():
        return
    if folder.is_symlink() or not folder.is_dir():
        raise UsageError(f"a site must be a folder, but '{folder}' is not")
    if not any(folder.iterdir()):
        return
    if not (folder / MARK).is_file():
        raise UsageError(
            f"only an earlier site is replaced, but '{folder}' holds other files: name another folder"
        )
    if not force:
        raise UsageError(f"'{folder}' is a site already; --force replaces it")


def write_site(folder: Path, site: Site, *, force: bool) -> int:
    """Write a site whole, in the place of the one that is there, and return its bytes.

    Raises
    ------
    UsageError
        If it cannot go there, or a record cannot be read any more; nothing is changed then.
    """
    check_place(folder, force=force)
    fresh = folder.absolute().with_name(f".{folder.absolute().name}.{os.urandom(8).hex()}")
    try:
        written = _write(fresh, site)
        _swap(fresh, folder.absolute())
    except OSError as error:
        raise UsageError(f"the site cannot be written to '{folder}': {error.strerror}") from None
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return written


def _write(fresh: Path, site: Site) -> int:
    written = 0
    for name, path in site.copies.items():
        try:
            written += _put(fresh / name, read_bytes(path, follow=False))
        except DamagedError as error:
            raise UsageError(f"'{path}' {error}") from None
    for name, data in site.files.items():
        written += _put(fresh / name, data)
    return written


def _put(file: Path, data: bytes) -> int:
    file.parent.mkdir(parents=True, exist_ok=True)
    return file.write_bytes(data)


def _swap(fresh: Path, folder: Path) -> None:
    """Give a finished site its name; the one before goes only then."""
    old = fresh.with_name(f"{fresh.name}.old")
    if folder.exists():
        folder.replace(old)
    try:
        fresh.replace(folder)
    except OSError:
        if old.exists():
            old.replace(folder)
        raise
    shutil.rmtree(old, ignore_errors=True)
