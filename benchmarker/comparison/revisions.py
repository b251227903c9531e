"""Git revisions as sides: which commit a name means in the current repository."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from benchmarker.collectors.source_control import REDIRECTIONS, find_checkout
from benchmarker.errors import UsageError

_COMMIT = re.compile(r"[0-9a-f]{40,64}")


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
    place = find_checkout((folder or Path.cwd()).resolve())
    git = shutil.which("git")
    if git is None or place is None:
        missing = "git is not installed" if git is None else "the working directory is in no git checkout"
        raise UsageError(f"'git:{revision}' names a commit of the current repository, but {missing}")
    environment = {name: value for name, value in os.environ.items() if name not in REDIRECTIONS}
    command = [git, "-C", str(place), "rev-parse", "--verify", "--quiet", "--end-of-options"]
    done = subprocess.run(
        [*command, f"{revision}^{{commit}}"], env=environment, capture_output=True, text=True, check=False
    )
    commit = done.stdout.strip()
    if done.returncode or not _COMMIT.fullmatch(commit):
        raise UsageError(
            f"'git:{revision}' must name one commit of the repository in '{place}', and names none"
        )
    return commit
