"""Progress on a terminal: one line that rewrites itself, and nothing of it left at the end."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import resource
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable

import pytest

from tests.conftest import Command

ERASE = "\r\x1b[K"
COLUMNS = 60
NUMPY = ("--framework=numpy", "--problem=mnist_mlp", "--batch-size=2", "--steps=2", "--warmup=0")


class Terminal:
    """A terminal of 60 columns that the command writes its progress to."""

    def __init__(
        self,
        command: Command,
        *arguments: str,
        before: Callable[[], None] | None = None,
        **environment: str,
    ) -> None:
        self.screen, side = pty.openpty()
        fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 24, COLUMNS, 0, 0))
        self.written = b""
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarker", *arguments],
            cwd=command.folder,
            env={**command.environment, "TERM": "xterm", **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=side,
            text=True,
            preexec_fn=before,
        )
        os.close(side)
        self.reader = threading.Thread(target=self._read)
        self.reader.start()

    def _read(self) -> None:
        while True:
            try:
                data = os.read(self.screen, 4096)
            except OSError:  # how Linux says that nobody has the other side open
                return
            self.written += data

    def wait_for(self, text: bytes) -> None:
        deadline = time.monotonic() + 60
        while text not in self.written and time.monotonic() < deadline:
            time.sleep(0.02)
        assert text in self.written

    def finish(self) -> tuple[int, str, str]:
        """Return exit status, standard output, and all that was written to the terminal."""
        stdout, _ = self.process.communicate(timeout=120)
        self.reader.join(10)
        os.close(self.screen)
        return self.process.returncode, stdout, self.written.decode().replace("\r\n", "\n")


def left_on_screen(written: str) -> list[str]:
    """Return the lines that a terminal shows after all that was written."""
    lines = []
    for line in written.split("\n"):
        shown = ""
        for part in re.split(r"(\r|\x1b\[K)", line):
            # A carriage return is always followed by erasing here, so that they can be one.
            shown = "" if part in ("\r", "\x1b[K") else shown + part
        lines.append(shown)
    return lines


def test_the_line_is_rewritten_fits_the_terminal_and_is_gone_at_the_end(command: Command) -> None:
    status, stdout, written = Terminal(command, *NUMPY, "--seed=1,2").finish()
    assert status == 0
    assert "\x1b" not in stdout
    assert written.replace(ERASE, "").count("\x1b") == 0
    rewritten = [part for part in written.split(ERASE) if part and not part.endswith("\n")]
    assert len(rewritten) > 10
    assert max(map(len, rewritten)) == COLUMNS - 1
    *finished, last = left_on_screen(written)
    assert last == ""
    assert [line.rpartition(":")[2].split()[0] for line in finished] == ["ok", "ok"]


def test_json_shows_nothing_on_a_terminal_either(command: Command) -> None:
    status, stdout, written = Terminal(command, *NUMPY, "--json").finish()
    assert (status, stdout.count("\n"), written) == (0, 1, "")


def test_a_dumb_terminal_gets_plain_lines(command: Command) -> None:
    status, _, written = Terminal(command, *NUMPY, TERM="dumb").finish()
    assert status == 0
    assert "\x1b" not in written
    assert "measuring\n" in written


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_leaves_the_line_clean(command: Command, number: signal.Signals) -> None:
    terminal = Terminal(command, *NUMPY[:3], "--steps=1000000")
    terminal.wait_for(b"step ")
    terminal.process.send_signal(number)
    status, stdout, written = terminal.finish()
    assert status == 130
    (finished, last) = left_on_screen(written)
    assert "interrupted by the user" in finished
    assert last == ""
    assert "interrupted" in stdout


def write_little() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))


def test_a_record_that_cannot_be_written_leaves_the_line_clean(command: Command) -> None:
    terminal = Terminal(command, *NUMPY, "--no-verify", before=write_little)
    status, stdout, written = terminal.finish()
    assert (status, stdout) == (1, "")
    assert left_on_screen(written) == [
        "benchmarker: the record could not be written to 'results': File too large",
        "",
    ]
