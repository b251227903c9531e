"""What py-cpuinfo says of this machine: asked once per boot, in a child process, then remembered in a file."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import re
import sys
from dataclasses import field
from pathlib import Path
from typing import Any

from benchmarker.cache import home, store_json
from benchmarker.machine.background import BackgroundCommand
from benchmarker.machine.procfs.files import ROOT, read_text
from benchmarker.quick_dataclass import dataclass

PROBE = Path(__file__).with_name("cpuinfo_probe.py")
WAIT_SECONDS = 10.0


@dataclass(frozen=True)
class Answer:
    """py-cpuinfo's answer, or the reason why there is none."""

    version: str | None
    facts: dict[str, Any] = field(default_factory=dict)
    reason: str | None = None


class CpuinfoFacts:
    """The answer of this boot: from the file if there is one, else from a probe that is started here.

    Parameters
    ----------
    probe : Path
        The program to run for it.
    version : str or None
        Of py-cpuinfo; None if it is not installed.
    """

    def __init__(self, probe: Path, version: str | None) -> None:
        self._version = version
        self._command: BackgroundCommand | None = None
        self._answer = self._remembered() or self._start(probe)

    def answer(self, timeout: float) -> Answer:
        """Return the answer; a probe that is running is waited for, and killed after ``timeout`` seconds."""
        if self._answer is None:
            self._answer = self._finish(timeout)
        return self._answer

    def kill(self) -> None:
        """End a probe that is still running."""
        if self._command is not None:
            self._command.kill()

    def _remembered(self) -> Answer | None:
        path = _file(self._version)
        text = read_text(path) if path else None
        facts = _parsed(text) if text else None
        return Answer(self._version, facts) if facts else None

    def _start(self, probe: Path) -> Answer | None:
        folder = _package_folder()
        if folder is None:
            return Answer(None, reason="py-cpuinfo is not installed")
        # -I -S: the probe depends on nothing but this interpreter and that folder.
        # Isolated, it sees no wish to write no bytecode (-B): with a limit on files it would leave half of it.
        command = [sys.executable, "-I", "-S", "-B", str(probe), str(folder)]
        try:
            self._command = BackgroundCommand(command)
        except OSError as error:
            return Answer(self._version, reason=f"py-cpuinfo could not be started: {error.strerror}")
        return None

    def _finish(self, timeout: float) -> Answer:
        assert self._command is not None
        outcome = self._command.finish(timeout)
        if outcome.reason:
            return Answer(self._version, reason=f"py-cpuinfo {outcome.reason}")
        facts = _parsed(outcome.output)
        if not facts:
            return Answer(self._version, reason="py-cpuinfo gave no answer; `python -m cpuinfo` shows why")
        path = _file(self._version)
        if path:
            with contextlib.suppress(OSError):  # a folder that cannot be written costs the next run a second
                store_json(path, facts)
        return Answer(self._version, facts)


def _package_folder() -> Path | None:
    """Return the folder that holds the package ``cpuinfo``, without importing it."""
    spec = importlib.util.find_spec("cpuinfo")
    if spec is None or not spec.origin:
        return None
    return Path(spec.origin).parent.parent


def boot_identity() -> str | None:
    """Return what is different after each boot and on each machine."""
    identity = read_text(ROOT / "proc/sys/kernel/random/boot_id")
    if identity:
        return identity
    try:
        import psutil

        return f"{os.uname().nodename}-{psutil.boot_time():.0f}"
    except (ImportError, OSError, RuntimeError):
        return None


def _file(version: str | None) -> Path | None:
    """Return where this boot's answer is remembered."""
    boot = boot_identity()
    if boot is None or version is None:
        return None
    return home() / "facts" / (re.sub(r"[^\w.-]", "_", f"cpuinfo-{version}-{boot}") + ".json")


def _parsed(text: str) -> dict[str, Any] | None:
    try:
        facts = json.loads(text)
    except ValueError:
        return None
    return facts if isinstance(facts, dict) and facts else None
