"""Git revisions as sides: which commit a name means in the current repository, and checkouts of commits."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarker.collectors.source_control import REDIRECTIONS, find_checkout
from benchmarker.errors import BenchmarkerError, UsageError

REVISION = "git:"
"""What the name of a side begins with that is a revision."""
_COMMIT = re.compile(r"[0-9a-f]{40,64}")
_WITHOUT_HOOKS = ("-c", f"core.hooksPath={os.devnull}", "-c", "core.fsmonitor=false")


def commit_of(revision: str, folder: Path | None = None) -> str:
    """Return the full identifier of the commit that a revision names.

    Parameters
    ----------
    revision : str
        As git takes it: a tag, a branch, ``HEAD~3``, the beginning of an identifier.
    folder : Path, optional
        Inside the repository; the working directory without it.

    Raises
    ------
    UsageError
        If there is no git, no repository, or the revision names no single commit.
    """
    place = repository_of(revision, folder)
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
    with tempfile.TemporaryDirectory(prefix="benchmarker-revisions-") as folder:
        places = [Path(folder).resolve() / f"{index}-{commit[:12]}" for index, commit in enumerate(commits)]
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
    process = subprocess.Popen(
        ["git", "-C", str(place), *_WITHOUT_HOOKS, *words],
        env={**environment, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"},
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
        process.communicate()
        raise
    return process.returncode, output, complaints
