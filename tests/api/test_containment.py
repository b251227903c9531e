"""Code of plug-ins that prints, exits or never ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from benchmarker.api.containment import contained


class Odd(BaseException):
    """Neither an Exception nor an interruption."""


@pytest.mark.parametrize(
    ("code", "error", "message"),
    [
        ("while True: pass", TimeoutError, "did not end within 0.2 s"),
        ("import time; time.sleep(60)", TimeoutError, "did not end"),
        ("import os; os._exit(3)", SystemExit, r"os._exit\(3\)"),
        ("from os import _exit; _exit(0)", SystemExit, r"os._exit\(0\)"),
        ("import os; os.abort()", SystemExit, r"os.abort\(\)"),
        ("import sys; sys.exit(4)", SystemExit, "4"),
        ("raise Odd('one')", RuntimeError, "Odd: one"),
        ("raise KeyError('one')", KeyError, "one"),
        ("raise KeyboardInterrupt", KeyboardInterrupt, "^$"),
    ],
)
def test_what_ends_code_is_an_exception(code: str, error: type[BaseException], message: str) -> None:
    exit_before, handler = os._exit, signal.getsignal(signal.SIGALRM)
    # What ends by itself must not be late only because the machine is.
    seconds = 0.2 if error is TimeoutError else 60.0
    with pytest.raises(error, match=message), contained("code", seconds):
        exec(code, {"Odd": Odd})  # noqa: S102
    assert (os._exit, signal.getsignal(signal.SIGALRM)) == (exit_before, handler)


def test_a_timer_that_runs_already_goes_on() -> None:
    before = signal.getitimer(signal.ITIMER_REAL)[0]
    with contained("code"):
        time.sleep(0.01)
    after = signal.getitimer(signal.ITIMER_REAL)[0]
    assert (before == after == 0) or 0 < after < before


def test_what_it_prints_is_on_standard_error(capfd: pytest.CaptureFixture[str]) -> None:
    print("before")
    with contained("code"):
        print("text")
        os.write(1, b"bytes\n")
        os.system("echo child")  # noqa: S605, S607
    print("after")
    printed = capfd.readouterr()
    assert printed.out == "before\nafter\n"
    assert sorted(printed.err.split()) == ["bytes", "child", "text"]


def test_two_threads_at_once_leave_everything_as_it_was(capfd: pytest.CaptureFixture[str]) -> None:
    """As two runs that take turns do: the second comes while the first is inside, and leaves after it."""
    entered, left = threading.Event(), threading.Event()
    before = sys.stdout, os._exit, os.abort

    def second() -> None:
        with contained("the second", None):
            entered.set()
            assert left.wait(10)
            print("still inside")

    thread = threading.Thread(target=second)
    with contained("the first", None):
        thread.start()
        assert entered.wait(10)
    print("one is still inside")
    left.set()
    thread.join()
    assert (sys.stdout, os._exit, os.abort) == before
    print("text for whoever reads the output", flush=True)
    os.write(1, b"and bytes\n")
    printed = capfd.readouterr()
    assert printed.out == "text for whoever reads the output\nand bytes\n"
    assert sorted(printed.err.splitlines()) == ["one is still inside", "still inside"]


def test_a_process_that_it_forks_may_exit() -> None:
    with contained("code"):
        child = os.fork()
        if not child:
            os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


STUBBORN = """
from benchmarker.api.containment import contained
def stubborn():
    while True:
        try:
            while True:
                try:
                    for _ in range(10**9): len("")
                except BaseException: pass
        except BaseException: pass
with contained("problem 'x'", 0.1):
    stubborn()
"""


def test_code_that_catches_everything_ends_the_process_with_its_name() -> None:
    done = subprocess.run([sys.executable, "-c", STUBBORN], capture_output=True, text=True, timeout=30)
    assert done.returncode == 2
    assert done.stderr == "benchmarker: problem 'x' did not end within 0.1 s, and cannot be stopped\n"
