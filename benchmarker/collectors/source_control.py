"""The state of the sources: of the checkout in the working directory, and of benchmarker's own."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarker import version
from benchmarker.api.collector import Run, Unavailable
from benchmarker.machine.background import BackgroundCommand

WAIT_SECONDS = 2.0
REDIRECTIONS = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_PREFIX", "GIT_NAMESPACE")
STATUS = ("status", "--porcelain=v2", "--branch", "--untracked-files=no", "--ignore-submodules=dirty")
REMOTES = ("config", "--get-regexp", r"^remote\..*\.url$")


class SourceControlCollector:
    """Starts git when the run starts, and has its answers before anything is timed."""

    def __init__(self) -> None:
        self._checkouts: dict[Path, Checkout] = {}

    @contextmanager
    def benchmarker_collect(self, run: Run) -> Iterator[dict[str, Any]]:
        """Yield an object that has both checkouts when the context is left."""
        places = {"working_directory": find_checkout(Path.cwd()), "benchmarker": own_checkout()}
        git = shutil.which("git")
        if git is None or not any(places.values()):
            nowhere = "neither the working directory nor benchmarker is in a git checkout"
            raise Unavailable("git is not installed" if git is None else nowhere)
        folders = {folder for folder in places.values() if folder}
        self._checkouts = {}
        try:
            for folder in folders:
                self._checkouts[folder] = Checkout(git, folder)
            readings: dict[str, Any] = {}
            yield readings
            for name, place in places.items():
                readings[name] = self._checkouts[place].facts(run.anonymous) if place else None
        finally:
            for checkout in self._checkouts.values():
                checkout.kill()

    def benchmarker_before_timing(self, run: Run) -> None:
        """Wait for git."""
        for checkout in self._checkouts.values():
            checkout.facts(run.anonymous)


class Checkout:
    """Two git commands at work on one checkout."""

    def __init__(self, git: str, folder: Path) -> None:
        # No lock is taken, no index written, no helper started, no question asked.
        kept = {key: value for key, value in os.environ.items() if key not in REDIRECTIONS}
        environment = {**kept, "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
        base = [git, "-c", "core.fsmonitor=false", "-C", str(folder)]
        self._status = BackgroundCommand([*base, *STATUS], environment)
        try:
            self._remotes = BackgroundCommand([*base, *REMOTES], environment)
        except BaseException:
            self._status.kill()
            raise

    def facts(self, anonymous: bool) -> dict[str, Any]:
        """Return commit, branch, whether tracked files differ from the commit, and the remote.

        Branch and remote may name people, and are left out when ``anonymous``.
        """
        status, remotes = self._status.finish(WAIT_SECONDS), self._remotes.finish(WAIT_SECONDS)
        if status.reason:
            return {"commit": None, "dirty": None, "reason": f"git status {status.reason}"}
        facts: dict[str, Any] = dict(zip(("commit", "branch", "dirty"), parse_status(status.output)))
        if anonymous:
            del facts["branch"]
        else:
            facts["remote"] = choose_remote(remotes.output)
        return {**facts, "reason": None}

    def kill(self) -> None:
        """End what is still running."""
        self._status.kill()
        self._remotes.kill()


def find_checkout(folder: Path) -> Path | None:
    """Return the nearest folder, from ``folder`` upwards, that is the top of a git checkout."""
    for candidate in (folder, *folder.parents):
        if (candidate / ".git").exists():
            return candidate
    return None


def own_checkout() -> Path | None:
    """Return the checkout that this package is run from; ``None`` when it is installed."""
    # Only right above the package: a virtual environment inside a checkout is not the checkout.
    folder = Path(version.__file__).resolve().parent.parent
    return folder if (folder / ".git").exists() else None


def parse_status(text: str) -> tuple[str | None, str | None, bool]:
    """Return commit, branch and whether anything differs, from ``git status --porcelain=v2 --branch``."""
    headers: dict[str, str] = {}
    dirty = False
    for line in text.splitlines():
        if line.startswith("# "):
            _, key, value = line.split(" ", 2)
            headers[key] = value
        elif line:
            dirty = True
    commit, branch = headers.get("branch.oid"), headers.get("branch.head")
    # git writes (initial) before the first commit and (detached) outside a branch
    return (
        None if commit == "(initial)" else commit,
        None if branch == "(detached)" else branch,
        dirty,
    )


def choose_remote(text: str) -> str | None:
    """Return the address of ``origin``, or of the first remote, from ``git config --get-regexp``."""
    remotes: dict[str, str] = {}
    for line in text.splitlines():
        key, _, value = line.partition(" ")
        remotes.setdefault(key, value)
    if not remotes:
        return None
    address = remotes.get("remote.origin.url") or next(iter(remotes.values()))
    return without_credentials(address)


def without_credentials(address: str) -> str:
    """Return a remote's address without user, password, token, query and fragment.

    Everything up to the last ``@`` is taken for credentials: a password may hold any character.
    """
    scheme, found, rest = address.partition("://")
    if not found:
        # host:path as ssh takes it; a local path keeps its "@"
        return address.rpartition("@")[2] if re.match(r"[^/]*@[^/]*:", address) else address
    return f"{scheme}://{re.split(r'[?#]', rest.rpartition('@')[2], maxsplit=1)[0]}"
