"""The command in a terminal of a given size, and what a person would see there."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Callable

import pyte

from tests.conftest import Command
from tests.support.command_server import command_server
from tests.support.waiting import wait_until

LINES = 24
FRAME_SECONDS = 0.01
"""Writes no further apart than this are one frame, of which a single read may return a part."""


class Terminal:
    """A terminal that a command writes its progress to, or all it says.

    Parameters
    ----------
    command : Command
        Whose folder and environment it is.
    arguments : str
        What is called.
    columns : int
        How wide the terminal is.
    before : callable, optional
        Called in the process before it becomes the command.
    stdout : bool
        Whether standard output goes there too.
    environment : str
        Variables that are set besides.
    """

    def __init__(
        self,
        command: Command,
        *arguments: str,
        columns: int = 60,
        before: Callable[[], None] | None = None,
        stdout: bool = False,
        **environment: str,
    ) -> None:
        self.screen, side = _open(columns)
        self.columns = columns
        self.chunks: list[bytes] = []
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.warm_command", *arguments],
            cwd=command.folder,
            env={**_in_terminal(command), **environment},
            stdin=subprocess.DEVNULL,
            stdout=side if stdout else subprocess.PIPE,
            stderr=side,
            text=True,
            preexec_fn=before,
        )
        os.close(side)
        self.reader = threading.Thread(target=_read, args=(self.screen, self.chunks))
        self.reader.start()

    @property
    def written(self) -> bytes:
        """All that was written to the terminal."""
        return b"".join(self.chunks)

    def wait_for(self, text: bytes) -> None:
        """Wait until the text has been written."""
        assert wait_until(lambda: text in self.written, 120)

    def finish(self) -> tuple[int, str]:
        """Return exit status and standard output."""
        stdout, _ = self.process.communicate(timeout=240)
        self.reader.join(10)
        os.close(self.screen)
        return self.process.returncode, stdout or ""

    @property
    def frames(self) -> list[list[str]]:
        """What stood on the screen after each frame was written to it, without empty lines at its end."""
        screen = pyte.Screen(self.columns, LINES)
        stream = pyte.ByteStream(screen)
        found: list[list[str]] = [[]]
        for chunk in self.chunks:
            stream.feed(chunk)
            found.append(_lines(screen))
        return found

    @property
    def left(self) -> list[str]:
        """The lines that are left on the screen."""
        return shown(self.written.decode(), self.columns)

    @property
    def colours(self) -> set[str]:
        """The colours of all that is left on the screen."""
        screen = pyte.Screen(self.columns, LINES)
        pyte.Stream(screen).feed(self.written.decode())
        return {cell.fg for row in screen.buffer.values() for cell in row.values()} - {"default"}


def told_in(columns: int, command: Command, *arguments: str) -> tuple[int, str]:
    """Return the status of a command in a terminal so wide, and all that it writes there.

    It is a fork, as ``Command`` runs it, which takes a tenth of the time that a new interpreter does.
    """
    screen, side = _open(columns)
    chunks: list[bytes] = []
    reader = threading.Thread(target=_read, args=(screen, chunks))
    reader.start()
    try:
        server = command_server(*command.imported)
        status = server.run_on((side, side), arguments, command.folder, _in_terminal(command), 240)
    finally:
        os.close(side)
        reader.join(10)
        os.close(screen)
    return status, b"".join(chunks).decode()


def _open(columns: int) -> tuple[int, int]:
    """Return both sides of a new terminal, its own and that of what runs in it."""
    screen, side = pty.openpty()
    fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, columns, 0, 0))
    return screen, side


def _in_terminal(command: Command) -> dict[str, str]:
    inherited = {name: value for name, value in command.environment.items() if name != "NO_COLOR"}
    return {**inherited, "TERM": "xterm-256color"}


def _read(screen: int, chunks: list[bytes]) -> None:
    with contextlib.suppress(OSError):  # how Linux says that nobody has the other side open
        while data := os.read(screen, 4096):
            chunks.append(data)
            while select.select([screen], [], [], FRAME_SECONDS)[0] and (data := os.read(screen, 4096)):
                chunks[-1] += data


def shown(text: str, columns: int, lines: int = LINES) -> list[str]:
    """Return what a terminal shows after a text, without empty lines at its end."""
    screen = pyte.Screen(columns, lines)
    pyte.Stream(screen).feed(text)
    return _lines(screen)


def _lines(screen: pyte.Screen) -> list[str]:
    lines = [line.rstrip() for line in screen.display]
    while lines and not lines[-1]:
        lines.pop()
    return lines
