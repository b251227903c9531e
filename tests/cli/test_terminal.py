"""On a terminal: progress is one line that rewrites itself and is gone at the end, and tables fit."""

from __future__ import annotations

import ast
import contextlib
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

from benchmarker.cli.main import COMMANDS
from benchmarker.experiment.progress_lines import STAGES
from tests.conftest import Command
from tests.support.package_sources import files, tree

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


@pytest.mark.framework("numpy")
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


@pytest.mark.framework("numpy")
def test_json_shows_nothing_on_a_terminal_either(command: Command) -> None:
    status, stdout, written = Terminal(command, *NUMPY, "--json").finish()
    assert (status, stdout.count("\n"), written) == (0, 1, "")


@pytest.mark.framework("numpy")
def test_a_dumb_terminal_gets_plain_lines(command: Command) -> None:
    status, _, written = Terminal(command, *NUMPY, TERM="dumb").finish()
    assert status == 0
    assert "\x1b" not in written
    assert "measuring\n" in written


@pytest.mark.framework("numpy")
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


def shown(command: Command, columns: int, *arguments: str) -> list[str]:
    """Return the lines that a command writes to a terminal so wide."""
    screen, side = pty.openpty()
    fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environment = {name: value for name, value in command.environment.items() if name != "COLUMNS"}
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarker", *arguments],
        cwd=command.folder,
        env={**environment, "TERM": "xterm"},
        stdin=subprocess.DEVNULL,
        stdout=side,
        stderr=subprocess.DEVNULL,
    )
    os.close(side)
    written = b""
    with contextlib.suppress(OSError):  # how Linux says that nobody has the other side open
        while data := os.read(screen, 4096):
            written += data
    os.close(screen)
    assert process.wait(120) == 0
    return written.decode().replace("\r\n", "\n").splitlines()


TABLES = (
    ("--help",),
    *((name, "--help") for name in COMMANDS),
    ("list",),
    ("list", "problems"),
    ("show", "resnet50"),
    ("show", "architecture"),
    ("show", "bert_base"),
    ("env", "list"),
    ("--framework=numpy,pytorch", "--problem=mnist_mlp", "--optimizer=adam,sgd", "--epsilon=1e-8,1e-7",
     "--mode=training,inference", "--batch-size=2,4", "--dry-run"),
)  # fmt: skip


@pytest.mark.parametrize("arguments", TABLES, ids=" ".join)
def test_what_is_shown_fits_a_terminal_and_a_pipe(command: Command, arguments: tuple[str, ...]) -> None:
    terminal = shown(command, 80, *arguments)
    assert max(map(len, terminal)) <= 80
    pipe = Command(command.folder, {n: v for n, v in command.environment.items() if n != "COLUMNS"})
    assert pipe(*arguments).stdout.splitlines() == terminal


def test_a_wide_terminal_is_used(command: Command) -> None:
    narrow, wide = (shown(command, columns, "show", "resnet50") for columns in (80, 160))
    assert max(map(len, wide)) > 80
    assert len(wide) < len(narrow)


@pytest.mark.framework("numpy")
def test_a_comparison_fits(command: Command) -> None:
    arguments = (*NUMPY, "--mode=training,inference", "--seed=1,2", "--optimizer=adam,sgd", "--quiet")
    lines = shown(command, 80, *arguments)
    assert max(map(len, lines)) <= 80
    assert "optimizer" in " ".join(lines)
    summary = shown(command, 80, *NUMPY)
    assert max(len(line) for line in summary if not line.startswith("  record ")) <= 80


def test_help_names_each_option_once(command: Command) -> None:
    lines = shown(command, 80, "run", "--help")
    assert any(re.match(r"  --batch-size N,\.\.\. +samples in a mini-batch", line) for line in lines)
    assert not [line for line in lines if "--batch_size" in line]
    assert (
        command("run", "--batch_size=2", "--framework=numpy", "--problem=mnist_mlp", "--dry-run").status == 0
    )


@pytest.mark.framework("numpy")
def test_a_stage_that_does_nothing_is_not_shown_and_none_by_its_raw_name(command: Command) -> None:
    told = [line.rpartition(": ")[2] for line in command(*NUMPY).stderr.splitlines()]
    assert "measuring" in told
    assert "classifying the data set" not in told
    announced = {
        node.args[0].value
        for path in files(
            "worker/jobs/run",
            "worker/program",
            "worker/measurement/timed_part",
            "worker/measurement/timing_protocol",
            "worker/verification/verified_start",
            "worker/jobs/reference",
        )
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "stage"
        and isinstance(node.args[0], ast.Constant)
    }
    assert len(announced) >= 10
    assert announced <= set(STAGES)


def write_little() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))


def test_a_record_that_cannot_be_written_leaves_the_line_clean(command: Command) -> None:
    # Python would write half of the bytecode of a module that nobody imported before.
    unwritten = Command(command.folder, {**command.environment, "PYTHONDONTWRITEBYTECODE": "1"})
    terminal = Terminal(unwritten, *NUMPY, "--no-verify", before=write_little)
    status, stdout, written = terminal.finish()
    assert status == 1
    assert "throughput" in stdout  # which is all that is left of it
    sentence = "the record could not be written to 'results': File too large, nor anywhere else: "
    assert f"benchmarker: {sentence}what is told of it here is all that is left" in left_on_screen(written)
