"""The local launcher's conversation with tiny fake workers: scripts that take the place of the interpreter."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import threading
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarker.api.launcher import Event, Outcome, WorkerCommand
from benchmarker.errors import BenchmarkerError, ProtocolError
from benchmarker.execution.launchers import (
    conversation,
    event_lines,
    event_loop,
    guard,
    leftovers,
    log_watch,
)
from benchmarker.execution.launchers.local import LocalLauncher
from tests.support.waiting import gone_soon, is_alive, wait_until

PRELUDE = """
import json, os, sys, time
events, control, parent = map(int, sys.argv[-3:])
def write(data):
    while data:
        data = data[os.write(events, data):]
def send(event, **fields):
    write((json.dumps({"event": event, **fields}) + "\\n").encode())
def line():
    found = b""
    while not found.endswith(b"\\n"):
        part = os.read(control, 1)
        if not part:
            return None
        found += part
    return found.decode().strip()
"""


class Fake:
    """Launches workers that run a few lines instead of the bootstrap."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = folder / "run.log"
        self.python = f"'{sys.executable}' -S -E"
        self.events: list[Event] = []
        self._scripts = 0

    def interpreter(self, code: str) -> str:
        self._scripts += 1
        script = self.folder / f"fake{self._scripts}.py"
        script.write_text(PRELUDE + code)
        runner = script.with_suffix(".sh")
        runner.write_text(f"#!/bin/sh\nexec {self.python} '{script}' \"$@\"\n")
        runner.chmod(0o755)
        return str(runner)

    def command(self, interpreter: str, timeout: float | None = 30.0) -> WorkerCommand:
        job = {"kind": "run", "framework": "none"}
        return WorkerCommand(
            interpreter, job, {"benchmarker": "somewhere"}, dict(os.environ), (), self.log, timeout
        )

    def __call__(
        self, code: str, handler: Callable[[Event], str | None] | None = None, timeout: float | None = 30.0
    ) -> Outcome:
        command = self.command(self.interpreter(code), timeout)
        return LocalLauncher().launch(command, handler or self.note)

    def note(self, event: Event) -> None:
        self.events.append(event)


@pytest.fixture
def fake(tmp_path: Path) -> Fake:
    return Fake(tmp_path)


# --- events --------------------------------------------------------------------------------------


def test_an_event_arrives(fake: Fake) -> None:
    assert fake('send("hello", number=3)') == Outcome(0)
    assert fake.events == [{"event": "hello", "number": 3}]


def test_an_event_in_pieces_arrives_whole(fake: Fake) -> None:
    code = """
for byte in '{"event": "größe", "x": [1, 2]}\\n'.encode():
    os.write(events, bytes([byte]))
    time.sleep(0.002)
"""
    assert fake(code) == Outcome(0)
    assert fake.events == [{"event": "größe", "x": [1, 2]}]


def test_many_events_in_one_write_arrive_in_order(fake: Fake) -> None:
    assert fake('write(b"".join(b\'{"event": "n", "i": %d}\\n\' % i for i in range(20000)))') == Outcome(0)
    assert [event["i"] for event in fake.events] == list(range(20_000))


def test_events_written_just_before_the_end_are_not_lost(fake: Fake) -> None:
    for _ in range(10):
        fake.events.clear()
        assert fake('[send("n", i=i) for i in range(300)]; os._exit(5)') == Outcome(5)
        assert [event["i"] for event in fake.events] == list(range(300))


def test_an_event_of_megabytes_arrives(fake: Fake) -> None:
    assert fake('send("samples", values=list(range(1_000_000)))') == Outcome(0)
    assert fake.events[0]["values"][-1] == 999_999


def test_an_event_without_end_is_none(fake: Fake) -> None:
    assert fake('send("one"); write(b\'{"event": "half"\')') == Outcome(0)
    assert fake.events == [{"event": "one"}]


@pytest.mark.parametrize("end", ["", "\\n"])
def test_a_line_too_long_ends_the_worker(end: str, fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_lines, "MAX_EVENT_BYTES", 1 << 20)
    with pytest.raises(ProtocolError, match=r"it sent a line of more than 1 MiB as an event$"):
        fake(f'send("before"); write(b"x" * (2 << 20) + b"{end}"); time.sleep(1000)')
    assert fake.events == [{"event": "before"}]


def test_a_line_without_an_end_takes_linear_time_and_bounded_memory(fake: Fake) -> None:
    code = """
os.set_blocking(events, True)
for _ in range(200):
    os.write(events, b"x" * (1 << 20))
time.sleep(1000)
"""
    tracemalloc.start()
    start = time.process_time()
    with pytest.raises(ProtocolError, match=r"it sent a line of more than 64 MiB as an event$"):
        fake(code)
    seconds, (_, peak) = time.process_time() - start, tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert seconds < 5
    assert peak < 200 << 20


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ('b"[" * 100_000', "an event that is nested too deeply"),
        ('b"{\\"event\\": \\"x\\", \\"a\\": " + b"[" * 900_000', "an event that is nested too deeply"),
        ('b"1," * 4_200_000', "an event of more than 4,194,304 items"),
        ('b"[]," * 1_100_000', "an event of more than 1,048,576 parts"),
        ('b"{\\"event\\": \\"x\\", \\"a\\": " + b"9" * 100_000 + b"}"', "a number of too many digits"),
    ],
)
def test_json_that_is_not_worth_its_memory_ends_the_worker(line: str, what: str, fake: Fake) -> None:
    with pytest.raises(ProtocolError, match=what):
        fake(f'write({line} + b"\\n"); time.sleep(1000)')


def test_a_flood_of_lines_that_are_no_events_ends_the_worker(
    fake: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_lines, "MAX_UNREADABLE", 1000)
    with pytest.raises(ProtocolError, match=r"it sent more than 1,000 lines that are not events$"):
        fake('while True: write(b"\\n" * 1000)')


def test_a_flood_of_events_ends_the_worker(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_lines, "MAX_BYTES", 4 << 20)
    with pytest.raises(ProtocolError, match=r"it sent more than 4 MiB of events$"):
        fake('while True: send("n", text="x" * 1000)')


@pytest.mark.parametrize("where", [1, 2])
def test_an_endless_log_ends_the_worker(where: int, fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_watch, "MAX_LOG_BYTES", 4 << 20)
    with pytest.raises(ProtocolError, match=r"it printed more than 4 MiB$"):
        fake(f'while True: os.write({where}, b"x" * 4096)')
    assert fake.log.stat().st_size < 1 << 30


def test_a_log_that_is_too_long_at_the_end_is_found_too(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_watch, "MAX_LOG_BYTES", 1 << 20)
    monkeypatch.setattr(log_watch, "_watch", lambda log: None)
    with pytest.raises(ProtocolError, match=r"it printed more than 1 MiB$"):
        fake('os.write(1, b"x" * (2 << 20))')


@pytest.mark.parametrize(
    "line",
    [
        "nonsense",
        "[]",
        "3",
        "null",
        "{}",
        '{"event": 3}',
        '{"event": null}',
        "\\xff\\xfe",
        "",
        '{"event": "x"',
    ],
)
def test_what_is_no_event_is_counted_and_passed_over(line: str, fake: Fake) -> None:
    outcome = fake(f"write(b'{line}\\n'); send('after')")
    assert outcome == Outcome(0, "itself", 1)
    assert fake.events == [{"event": "after"}]


def test_closing_the_pipe_does_not_end_the_run(fake: Fake) -> None:
    start = time.monotonic()
    assert fake('send("one"); os.close(events); time.sleep(0.5); sys.exit(4)') == Outcome(4)
    assert time.monotonic() - start >= 0.5


def test_one_that_closes_the_pipe_may_not_run_on_for_ever(
    fake: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversation, "CLOSED_SECONDS", 0.5)
    with pytest.raises(ProtocolError, match=r"it closed its event pipe and ran on$"):
        fake('send("pid", pid=os.getpid()); os.close(events); time.sleep(1000)')
    assert gone_soon(fake.events[0]["pid"])


@pytest.mark.parametrize("last", ["result", "error"])
def test_one_that_is_done_has_to_leave(last: str, fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_loop, "LEAVE_SECONDS", 0.5)
    with pytest.raises(ProtocolError, match=f"it sent its {last} and ran on$"):
        fake(f'send("{last}"); time.sleep(1000)')


def test_a_worker_that_closed_its_pipe_still_has_a_time_limit(fake: Fake) -> None:
    start = time.monotonic()
    assert fake("os.close(events); time.sleep(1000)", timeout=0.7).ended_by == "timeout"
    assert time.monotonic() - start < 500


# --- the way in ----------------------------------------------------------------------------------


def test_the_job_goes_in(fake: Fake) -> None:
    fake('send("job", message=json.loads(line()), parent=parent)')
    message = fake.events[0]["message"]
    assert message["job"] == {"kind": "run", "framework": "none"}
    assert message["packages"] == {"benchmarker": "somewhere"}
    assert message["affinity"] == []
    assert 0 < message["spawned_ns"] <= time.monotonic_ns()
    assert fake.events[0]["parent"] == os.getpid()


def test_what_the_handler_returns_is_sent(fake: Fake) -> None:
    answers: list[str] = []

    def handler(event: Event) -> str | None:
        answers.append(event["event"])
        return f"answer to {event['event']}" if event["event"] != "quiet" else None

    code = """
line()
send("one"); first = line()
send("quiet"); send("two"); second = line()
sys.exit(0 if (first, second) == ("answer to one", "answer to two") else 9)
"""
    assert fake(code, handler) == Outcome(0)
    assert answers == ["one", "quiet", "two"]


def test_an_answer_to_one_that_does_not_listen_does_no_harm(fake: Fake) -> None:
    assert fake('os.close(control); [send("n") for _ in range(100)]', lambda event: "go") == Outcome(0)


def test_one_that_never_reads_its_control_pipe_still_has_a_time_limit(fake: Fake) -> None:
    command = fake.command(fake.interpreter('[send("n") for _ in range(1000)]; time.sleep(1000)'), 2.0)
    large = replace(command, job={**command.job, "problem_parameters": "x" * (1 << 20)})
    outcome = LocalLauncher().launch(large, lambda event: "answer" * 1000)
    assert outcome.ended_by == "timeout"


def test_a_job_that_is_larger_than_the_pipe_goes_in(fake: Fake) -> None:
    code = """
time.sleep(0.2)
found = b""
while not found.endswith(b"\\n"):
    found += os.read(control, 1 << 16)
send("job", size=len(json.dumps(json.loads(found))))
"""
    command = fake.command(fake.interpreter(code))
    large = replace(command, job={**command.job, "problem_parameters": "x" * 300_000})
    assert LocalLauncher().launch(large, fake.note) == Outcome(0)
    assert fake.events[0]["size"] > 300_000


def test_an_error_of_the_handler_ends_the_worker(fake: Fake) -> None:
    def handler(event: Event) -> None:
        raise ZeroDivisionError(str(event["pid"]))

    with pytest.raises(ZeroDivisionError) as raised:
        fake('send("one", pid=os.getpid()); time.sleep(1000)', handler)
    assert not is_alive(int(str(raised.value)))


# --- the end -------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [0, 1, 77])
def test_a_worker_that_leaves_at_once(fake: Fake, status: int) -> None:
    assert fake(f"os._exit({status})") == Outcome(status)
    assert fake.events == []


def test_an_interpreter_that_is_no_python(fake: Fake) -> None:
    assert LocalLauncher().launch(fake.command("/bin/true"), fake.note) == Outcome(0)
    assert LocalLauncher().launch(fake.command("/bin/false"), fake.note) == Outcome(1)


def test_a_signal_is_told(fake: Fake) -> None:
    assert fake("os.kill(os.getpid(), 9)") == Outcome(-9)


@pytest.mark.parametrize("kind", ["missing", "folder", "no-program", "not-executable"])
def test_an_interpreter_that_does_not_start_is_one_sentence(kind: str, fake: Fake) -> None:
    path = fake.folder / "python"
    if kind == "folder":
        path.mkdir()
    elif kind == "no-program":
        path.write_bytes(b"\x00\x01nothing")
        path.chmod(0o755)
    elif kind == "not-executable":
        path.write_text("#!/bin/sh\n")
        path.chmod(0o644)
    before = descriptors()
    with pytest.raises(BenchmarkerError, match=f"the interpreter '{path}' could not be started: "):
        LocalLauncher().launch(fake.command(str(path)), fake.note)
    assert descriptors() == before


def test_what_the_worker_prints_goes_to_the_log(fake: Fake, capfd: pytest.CaptureFixture[str]) -> None:
    fake.log.write_text("before\n")
    fake('print("out", flush=True); print("err", file=sys.stderr, flush=True); os.write(1, b"raw\\n")')
    assert fake.log.read_text() == "before\nout\nerr\nraw\n"
    assert capfd.readouterr() == ("", "")


def test_a_timeout_ends_the_worker(fake: Fake) -> None:
    start = time.monotonic()
    outcome = fake('send("pid", pid=os.getpid()); time.sleep(1000)', timeout=2.0)
    assert outcome.ended_by == "timeout"
    assert 2.0 <= time.monotonic() - start < 500
    assert gone_soon(fake.events[0]["pid"])


def test_a_timeout_ends_one_that_ignores_signals_and_its_children(fake: Fake) -> None:
    code = """
import signal
for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
child = os.fork()
if child:
    send("pids", pids=[os.getpid(), child])
time.sleep(1000)
"""
    assert fake(code, timeout=2.0) == Outcome(-9, "timeout")
    assert all(map(gone_soon, fake.events[0]["pids"]))


def test_a_child_left_behind_is_ended_and_not_waited_for(fake: Fake) -> None:
    start = time.monotonic()
    code = """
child = os.fork()
if child:
    send("pid", pid=child)
    os._exit(0)
time.sleep(1000)
"""
    assert fake(code) == Outcome(0)
    assert time.monotonic() - start < 500
    assert gone_soon(fake.events[0]["pid"])


SESSION = """
import subprocess
send("pid", pid=subprocess.Popen(["sleep", "1000"], start_new_session=True).pid)
"""
DAEMON = """
readable, writable = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.write(writable, str(os.getpid()).encode())
        time.sleep(1000)
    os._exit(0)
os.wait()
send("pid", pid=int(os.read(readable, 20)))
"""


@pytest.mark.parametrize("left", [SESSION, DAEMON], ids=["session", "daemon"])
@pytest.mark.parametrize(
    ("end", "outcome"),
    [
        ("", Outcome(0)),
        ("os._exit(3)", Outcome(3)),
        ("os.kill(os.getpid(), 11)", Outcome(-11)),
        ("time.sleep(1000)", Outcome(-9, "timeout")),
    ],
    ids=["well", "badly", "crash", "timeout"],
)
def test_a_session_left_behind_is_ended(fake: Fake, left: str, end: str, outcome: Outcome) -> None:
    assert fake(f"import signal\nsignal.signal(10, signal.SIG_IGN)\n{left}{end}", timeout=3.0) == outcome
    assert gone_soon(fake.events[0]["pid"])


def test_an_error_of_the_handler_ends_a_session_too(fake: Fake) -> None:
    def handler(event: Event) -> None:
        raise ZeroDivisionError(str(event["pid"]))

    with pytest.raises(ZeroDivisionError) as raised:
        fake(f"{SESSION}time.sleep(1000)", handler)
    assert gone_soon(int(str(raised.value)))


def test_the_mark_of_a_worker_is_its_own_after_ours(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(leftovers.VARIABLE, "outer")
    for _ in range(2):
        fake(f'send("mark", mark=os.environ["{leftovers.VARIABLE}"])')
    marks = [event["mark"].split() for event in fake.events]
    assert [outer for outer, _ in marks] == ["outer", "outer"]
    assert len({own for _, own in marks}) == 2


def test_a_flood_of_events_does_not_hold_off_the_timeout(fake: Fake) -> None:
    start = time.monotonic()
    outcome = fake('while True: send("n", text="x" * 1000)', timeout=2.0)
    assert outcome.ended_by == "timeout"
    assert time.monotonic() - start < 500
    assert fake.events


def test_an_interrupt_ends_the_worker(fake: Fake) -> None:
    def handler(event: Event) -> None:
        fake.note(event)
        threading.Timer(0.2, os.kill, [os.getpid(), signal.SIGINT]).start()

    start = time.monotonic()
    outcome = fake('send("pid", pid=os.getpid()); time.sleep(1000)', handler)
    assert outcome.ended_by == "interrupt"
    assert time.monotonic() - start < 500
    assert gone_soon(fake.events[0]["pid"])


def test_no_timeout_waits_as_long_as_it_takes(fake: Fake) -> None:
    assert fake("time.sleep(0.3)", timeout=None) == Outcome(0)
    assert fake("time.sleep(0.1)", timeout=1e9) == Outcome(0)


# --- nothing is left behind ----------------------------------------------------------------------


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208


def children() -> list[str]:
    """Return the children of this process, those that have ended and nobody has waited for among them."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            parent = (entry / "stat").read_text().rpartition(")")[2].split()[1]
            if int(parent) == os.getpid():
                found.append(entry.name)
    return found


def settled(count: Callable[[], int], wanted: int) -> int:
    """Return the count once it is no more than wanted, or after a time that is enough on any machine."""
    wait_until(lambda: count() <= wanted)
    return count()


def test_fifty_launches_leave_no_descriptor_no_thread_and_no_process(fake: Fake) -> None:
    quick, slow = fake.interpreter('send("n")'), fake.interpreter("time.sleep(1000)")
    LocalLauncher().launch(fake.command(quick), fake.note)
    open_before, threads_before, children_before = descriptors(), threading.active_count(), children()
    for number in range(50):
        interpreter, timeout = (slow, 0.01) if number % 10 == 9 else (quick, 30.0)
        LocalLauncher().launch(fake.command(interpreter, timeout), fake.note)
    assert settled(descriptors, open_before) <= open_before
    assert settled(threading.active_count, threads_before) <= threads_before
    assert children() == children_before


def test_a_worker_without_a_guard_does_not_run(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    interpreter = fake.interpreter("time.sleep(1000)")
    monkeypatch.setattr(guard, "SHELL", "/nowhere/sh")
    open_before, children_before = descriptors(), children()
    with pytest.raises(BenchmarkerError, match="'/nowhere/sh' could not be started: "):
        LocalLauncher().launch(fake.command(interpreter), fake.note)
    assert (descriptors(), children()) == (open_before, children_before)


def test_a_worker_has_no_descriptor_but_its_own(fake: Fake) -> None:
    code = """
own = {0, 1, 2, events, control}
extra = [fd for fd in map(int, os.listdir("/proc/self/fd")) if fd not in own]
send("fds", extra=[fd for fd in extra if os.path.exists(f"/proc/self/fd/{fd}")])
"""
    with open(fake.folder / "other", "wb") as other:
        os.set_inheritable(other.fileno(), True)
        fake(code)
    assert fake.events[0]["extra"] == []


def test_the_guard_is_a_child_of_ours_and_in_no_group_of_the_worker(fake: Fake) -> None:
    before = {str(os.getpid()), *children()}
    guards: dict[int, int] = {}

    def look(event: Event) -> str:
        others = [int(child) for child in children() if child not in before and int(child) != event["pid"]]
        guards.update({process: os.getpgid(process) for process in others})
        return "go on"

    assert fake('line(); send("own", pid=os.getpid()); line()', look) == Outcome(0)
    ((process, group),) = guards.items()
    assert process == group
    assert not is_alive(process)


def test_a_worker_is_in_a_group_and_session_of_its_own(fake: Fake) -> None:
    fake('send("ids", group=os.getpgrp(), session=os.getsid(0), own=os.getpid())')
    event: dict[str, Any] = fake.events[0]
    assert event["group"] == event["session"] == event["own"]
    assert event["group"] != os.getpgrp()


def test_events_are_json_lines(fake: Fake) -> None:
    fake('write(json.dumps({"event": "x", "deep": {"a": [1, None, True, "ü"]}}).encode() + b"\\n")')
    assert json.loads(json.dumps(fake.events)) == [{"event": "x", "deep": {"a": [1, None, True, "ü"]}}]
