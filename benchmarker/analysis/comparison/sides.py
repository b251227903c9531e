"""From what was asked for to records: a record, a folder, filters, a version or a git revision, and checkouts."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarker.analysis.comparison.matching import Side
from benchmarker.analysis.reproduction import processes_of
from benchmarker.analysis.results import collect
from benchmarker.analysis.results.filters import parse_filters
from benchmarker.cache import temporary_folder
from benchmarker.collectors.source_control import REDIRECTIONS, find_checkout
from benchmarker.errors import BenchmarkerError, UsageError
from benchmarker.records.lookup import Record, value_at
from benchmarker.records.remote.addresses import is_address

OnProgress = Callable[[int, int], None] | None
_MEMORY = "platform.memory.total_bytes"
"""Is computed with, and is left open by the schema, which reading holds all else to."""
_CHECKOUT = "platform.source_control.working_directory"


def find_side(text: str, results: str | os.PathLike[str], on_progress: OnProgress = None) -> Side:
    """Return the records that a text names.

    Parameters
    ----------
    text : str
        The file, name or part of the identifier of a record, with which all processes of its number
        count; a folder or its address; ``KEY=VALUE`` words with spaces between; or ``git:REVISION``, for the
        records that were made in a checkout of that commit without changes; or ``FRAMEWORK==VERSION``.
    results : path
        The folder that names, filters and revisions are looked for in.
    on_progress : callable or None
        Called with the number of records that are read and of those that must be.

    Raises
    ------
    UsageError
        If nothing is found.
    """
    if is_commit(text):
        return _of_revision(text, results, on_progress)
    if is_version(text):
        name, _, version = text.partition("==")
        words = [f"framework.name={name}", f"framework.version={version},{version}+*"]
        return _sound(text, *_read(results, parse_filters(words), on_progress), on_progress)
    if is_address(text) or Path(text).is_dir():
        return _sound(text, *_read(text, {}, on_progress), on_progress)
    if "=" in text and not Path(text).exists():
        return _sound(text, *_read(results, parse_filters(_words(text)), on_progress), on_progress)
    return _of_record(text, results, on_progress)


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise UsageError(f"filters must be KEY=VALUE words as in a shell, got '{text}' ({error})") from None


def _read(
    folder: str | os.PathLike[str], filters: Mapping[str, Any], on_progress: OnProgress
) -> tuple[Sequence[Record], list[str]]:
    found = collect(folder, filters, on_progress)
    return found, [f"left out: {path}: {reason}" for path, reason in found.damaged.items()]


def _sound(name: str, records: Sequence[Record], notes: list[str], on_progress: OnProgress) -> Side:
    kept: dict[str, Record] = {}
    for done, record in enumerate(records):
        if on_progress:
            on_progress(done, len(records))
        if type(value_at(record, _MEMORY)) not in (int, type(None)):
            notes.append(f"left out, not a valid record: {record['id']} ({_MEMORY})")
        else:
            kept.setdefault(record["id"], record)  # copies in several folders are one
    if not kept:
        raise UsageError(f"each side of a comparison must have records, there are none for '{name}'")
    return Side(name, tuple(kept.values()), tuple(notes))


def _of_revision(text: str, results: str | os.PathLike[str], on_progress: OnProgress) -> Side:
    commit = commit_of(text.removeprefix(REVISION))
    records, notes = _read(results, {f"{_CHECKOUT}.commit": commit}, on_progress)
    clean, changed = [], 0
    for record in records:
        if value_at(record, f"{_CHECKOUT}.dirty") is False:
            clean.append(record)
        else:
            changed += 1
    if changed:
        notes.append(f"left out of '{text}', since the checkout had changes: {changed} records")
    if not clean:
        raise UsageError(
            f"'{text}' is commit {commit[:12]}, of which there are no records in '{os.fspath(results)}' "
            f"({changed} of a checkout with changes); make them in a checkout of it"
        )
    return _sound(text, clean, notes, on_progress)


def _of_record(text: str, results: str | os.PathLike[str], on_progress: OnProgress) -> Side:
    from benchmarker.analysis.results.selection import find_record

    path = find_record(text, Path(results), on_progress)
    found, notes = _read(path, {}, on_progress)
    if not found:
        raise UsageError(f"'{path}' is not a record: {'; '.join(notes)}")
    record = found[0]
    if not record["replication"]:
        return _sound(text, [record], notes, on_progress)
    siblings, more = _read(path.parent, {}, on_progress)
    return _sound(text, processes_of(record, siblings) or [record], notes + more, on_progress)


REVISION = "git:"
"""What the name of a side begins with that is a revision."""
_VERSION = re.compile(r"\w+==[^\s=,*]+")
_COMMIT = re.compile(r"[0-9a-f]{40,64}")
_WITHOUT_HOOKS = ("-c", f"core.hooksPath={os.devnull}", "-c", "core.fsmonitor=false")


def is_commit(text: str) -> bool:
    return text.startswith(REVISION)


def is_version(text: str) -> bool:
    """Tell whether a side is a framework with a version, ``pytorch==2.12.0``."""
    return bool(_VERSION.fullmatch(text))


def is_variant(text: str) -> bool:
    """Tell whether a side is a commit or a version, of which pairs can be made where there is no record yet."""
    return is_commit(text) or is_version(text)


def commit_of(revision: str) -> str:
    """Return the full identifier of the commit that a revision names.

    Parameters
    ----------
    revision : str
        As git takes it: a tag, a branch, ``HEAD~3``, the beginning of an identifier.

    Raises
    ------
    UsageError
        If there is no git, no repository, or the revision names no single commit.
    """
    place = repository_of(revision)
    status, output, _ = _git(
        place, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"
    )
    commit = output.strip()
    if status or not _COMMIT.fullmatch(commit):
        raise UsageError(
            f"'git:{revision}' must name one commit of the repository in '{place}', and names none"
        )
    return commit


def repository_of(revision: str, folder: Path | None = None) -> Path:
    """Return the top of the repository that a revision is of.

    Raises
    ------
    UsageError
        If there is no git or no repository.
    """
    place = find_checkout((folder or Path.cwd()).resolve())
    if place is None or shutil.which("git") is None:
        missing = "the working directory is in no git checkout" if place is None else "git is not installed"
        raise UsageError(f"'git:{revision}' names a commit of the current repository, but {missing}")
    return place


@contextmanager
def checked_out(repository: Path, commits: Sequence[str]) -> Iterator[list[Path]]:
    """Yield the top of a checkout of each commit, which are gone afterwards; nothing else is touched.

    They are worktrees and not archives, so that records made in them tell of which commit they are. Hooks of
    the repository do not run.

    Raises
    ------
    BenchmarkerError
        If git cannot make one.
    """
    with temporary_folder() as folder:
        places = [folder.resolve() / f"{index}-{commit[:12]}" for index, commit in enumerate(commits)]
        try:
            for place, commit in zip(places, commits):
                added = _git(repository, "worktree", "add", "--quiet", "--detach", str(place), commit)
                if added[0]:
                    raise BenchmarkerError(
                        f"commit {commit[:12]} cannot be checked out: {' '.join(added[2].split())}"
                    )
            yield places
        finally:
            for place in filter(Path.exists, places):
                _git(repository, "worktree", "remove", "--force", str(place))


def is_tracked(repository: Path, folder: Path) -> bool:
    """Tell whether anything in a folder of a repository's checkout belongs to the repository."""
    return bool(_git(repository, "ls-files", "-z", "--", str(folder))[1])


def _git(place: Path, *words: str) -> tuple[int, str, str]:
    """Return status, output and complaints of git, which Ctrl-C does not reach: it would leave half of something."""
    environment = {name: value for name, value in os.environ.items() if name not in REDIRECTIONS}
    return run_in_own_session(
        ["git", "-C", str(place), *_WITHOUT_HOOKS, *words],
        env={**environment, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"},
    )


def run_in_own_session(
    command: Sequence[str],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    end: Callable[[subprocess.Popen[str]], object] = subprocess.Popen.communicate,
) -> tuple[int, str, str]:
    """Return status, output and complaints of a command in a session of its own, which Ctrl-C does not reach.

    ``end`` ends it where this process is interrupted meanwhile; without one its end is waited for.
    """
    process = subprocess.Popen(
        command,
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        output, complaints = process.communicate()
    except BaseException:
        end(process)
        raise
    return process.returncode, output, complaints
