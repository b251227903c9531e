"""Running uv: its own lines become progress, its last words an error."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import IO

from benchmarker.api.given_values import expanded
from benchmarker.execution.environments.screen import Screen, open_screen, read_lines
from benchmarker.execution.environments.status import Status

Progress = Callable[[str], None]
QUIET_SECONDS = 2.0
_DRAWN_SECONDS = 0.5
_SHOWN = {
    "Audited", "Building", "Built", "Downloaded", "Downloading", "Installed", "Prepared", "Preparing",
    "Resolved", "Uninstalled",
}  # fmt: skip
_DOWNLOADED = ("Prepared", "Installed")
"""How what is told after all downloads begins."""
_CLAUSES = 3
# Runs a command, and kills it with all it started when standard input closes: when this process is gone.
_GUARD = """
import os, signal, subprocess, sys, threading
process = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL)
def end_with_parent():
    sys.stdin.read()
    process.kill() if os.name == "nt" else os.killpg(0, signal.SIGKILL)
threading.Thread(target=end_with_parent, daemon=True).start()
status = process.wait()
sys.stdout.flush()
os._exit(status if 0 <= status < 256 else 255)
"""
_MESSAGE_LIMIT = 700


class CommandFailedError(Exception):
    """uv, or a Python it made, ended with an error; the text is its message in one line."""


def _python_folders() -> list[str]:
    """Return the folders of pyenv's Pythons, the newest first: its shims hide all but the selected ones."""
    root = Path(os.environ.get("PYENV_ROOT") or expanded("~/.pyenv"))

    def age(folder: Path) -> list[int]:
        return [int(part) for part in folder.parent.name.split(".") if part.isdigit()]

    found = [folder for folder in root.glob("versions/3.*/bin") if folder.is_dir()]
    return [str(folder) for folder in sorted(found, key=age, reverse=True)]


def _environment(more: Mapping[str, str]) -> dict[str, str]:
    dropped = {"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "CONDA_PREFIX", "FORCE_COLOR", "CLICOLOR_FORCE"}
    kept = {name: value for name, value in os.environ.items() if name not in dropped}
    path = os.pathsep.join([kept.get("PATH", os.defpath), *_python_folders()])
    return {**kept, "NO_COLOR": "1", **more, "PATH": path}


def one_line(lines: Iterable[str]) -> str:
    """Return uv's message as one line: its error, the first cause and the last, without its drawing."""
    texts = [line.strip(" \t│╰─▶├×") for line in lines]
    starts = [index for index, text in enumerate(texts) if text.startswith(("error:", "No solution found"))]
    kept = texts[starts[0] if starts else -3 :]
    hints = [index for index, text in enumerate(kept) if text.startswith("hint:")]
    kept = kept[: hints[0]] if hints else kept
    clauses = [text.removeprefix("error:").removeprefix("cause:").strip() for text in kept]
    clauses = [clause.rstrip(".:;") for clause in clauses if clause]
    if clauses and clauses[0].startswith("No solution found"):
        clauses = [clauses[0], " ".join(clauses[1:])]  # older versions of uv wrap the explanation
    elif len(clauses) > _CLAUSES:
        clauses = [*clauses[: _CLAUSES - 1], clauses[-1]]
    message = "; ".join(filter(None, clauses))
    return message if len(message) <= _MESSAGE_LIMIT else f"{message[: _MESSAGE_LIMIT - 1]}…"


def _shown(line: str) -> bool:
    text = line.strip()
    first = text.split(" ", 1)[0]
    return first in _SHOWN or text.startswith(("Using CPython", "Using PyPy"))


def _forward(stream: IO[str], lines: queue.SimpleQueue[str | None]) -> None:
    with stream:
        for line in stream:
            lines.put(line.rstrip())
    lines.put(None)


def _stop(process: subprocess.Popen[str]) -> None:
    if process.poll() is not None:
        return
    if sys.platform == "win32":
        process.kill()
    else:
        os.killpg(process.pid, signal.SIGKILL)  # the group: what uv builds with runs in children
    process.wait()


def run(
    command: list[str],
    *,
    doing: str,
    progress: Progress,
    environment: Mapping[str, str] | None = None,
    draws: bool = False,
) -> list[str]:
    """Run a command to its end and return the lines it printed.

    Parameters
    ----------
    command : list of str
        Program and arguments.
    doing : str
        What is going on, said with the time so far whenever nothing was said for two seconds.
    progress : callable
        Takes each line worth showing, and how far it is as a :class:`Status`.
    environment : mapping, optional
        Variables set for it beside those of this process.
    draws : bool
        Whether it draws on a terminal how much it has downloaded.

    Raises
    ------
    CommandFailedError
        If it ends with another status than 0. It outlives neither this call nor, when killed, this process.
    """
    screen = _screen() if draws else None
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _GUARD, *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE if screen is None else screen[1],
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        env=_environment({**(environment or {}), **({} if screen is None else {"TERM": "xterm"})}),
        start_new_session=True,
    )
    try:
        printed = _follow(process, doing, progress, screen)
    finally:
        _stop(process)
        if process.stdin is not None:
            process.stdin.close()
    if process.returncode != 0:
        raise CommandFailedError(one_line(printed) or f"it ended with status {process.returncode}")
    return printed


def _screen() -> tuple[int, int] | None:
    """Return both sides of a terminal, None where there is none to be had."""
    try:
        return open_screen()
    except OSError:
        return None


def _listen(
    process: subprocess.Popen[str], screen: tuple[int, int] | None
) -> tuple[queue.SimpleQueue[str | None], Screen]:
    """Return what fills with the lines that a process prints, ended by None, and what it draws."""
    lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
    drawn = Screen()

    def read() -> None:
        if screen is None:
            assert process.stdout is not None
            _forward(process.stdout, lines)
        else:
            read_lines(screen[0], drawn, lines.put)
            lines.put(None)

    if screen is not None:
        os.close(screen[1])
    threading.Thread(target=read, daemon=True).start()
    return lines, drawn


def _follow(
    process: subprocess.Popen[str], doing: str, progress: Progress, screen: tuple[int, int] | None
) -> list[str]:
    lines, drawn = _listen(process, screen)
    printed: list[str] = []
    started = last_report = time.monotonic()
    status, summary = Status(), ""
    while True:
        try:
            line = lines.get(timeout=QUIET_SECONDS if screen is None else _DRAWN_SECONDS)
        except queue.Empty:
            if process.poll() is not None:  # a child that it left behind holds the pipe open
                break
            line = ""
        if line is None:
            process.wait()
            break
        printed += [line] if line else []
        now = time.monotonic()
        if _shown(line):
            if line.strip().startswith(_DOWNLOADED) and drawn.summary != summary:
                summary = drawn.summary
                progress(summary)
            progress(line.strip())
        elif drawn.status != status:
            status = drawn.status
            progress(status)
        elif now - last_report >= QUIET_SECONDS:
            progress(Status(f"{doing} ({now - started:.0f} s so far)"))
        else:
            continue
        last_report = now
    if screen is not None:
        progress(Status())
    return printed
