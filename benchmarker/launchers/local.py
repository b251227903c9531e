"""Workers as child processes of this machine."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarker.errors import EnvironmentCreationError
from benchmarker.launchers import Event, Handler, Launcher, Outcome, WorkerCommand

BOOTSTRAP = Path(__file__).resolve().parent.parent / "worker" / "bootstrap.py"
GRACE_SECONDS = 2.0
"""How long a worker that is being ended may take to print where it stands."""
LONGEST_WAIT_SECONDS = 86400.0
"""The kernel's own limit of one wait is about 24 days; a longer timeout takes several."""
LONGEST_EVENT = 64 << 20
"""A line longer than this is no event."""


class LocalLauncher(Launcher):
    """Starts each worker in a session and process group of its own."""

    name = "local"

    def launch(self, command: WorkerCommand, handler: Handler) -> Outcome:
        """Run a worker as a child process."""
        events_out, events_in = os.pipe()
        control_out, control_in = os.pipe()
        with contextlib.ExitStack() as cleanup:
            cleanup.callback(os.close, events_out)
            control = cleanup.enter_context(os.fdopen(control_in, "wb", buffering=0))
            # Taken before the start: the worker's first line may run before ours after it.
            message = _message(command, time.monotonic_ns())
            try:
                process = self._start(command, events_in, control_out)
            finally:
                os.close(events_in)
                os.close(control_out)
            cleanup.callback(_end_group, process)
            with contextlib.suppress(BrokenPipeError):
                control.write(message)
            return _Conversation(process, events_out, control, handler).follow(command.timeout)

    def _start(self, command: WorkerCommand, events: int, control: int) -> subprocess.Popen[bytes]:
        arguments = [command.interpreter, "-s", "-u", str(BOOTSTRAP)]
        arguments += [str(events), str(control), str(os.getpid())]
        with open(command.log, "ab") as log:
            try:
                return subprocess.Popen(
                    arguments,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    pass_fds=(events, control),
                    start_new_session=True,
                    env=dict(command.environment),
                )
            except OSError as error:
                raise EnvironmentCreationError(
                    f"the interpreter '{command.interpreter}' could not be started: {error.strerror}"
                ) from error


def _message(command: WorkerCommand, spawned_ns: int) -> bytes:
    message = {
        "job": command.job,
        "packages": dict(command.packages),
        "affinity": list(command.affinity),
        "spawned_ns": spawned_ns,
    }
    return (json.dumps(message) + "\n").encode()


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """End the worker and all that it started in its group; harmless if they are gone."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


class _Conversation:
    """One worker's events, until it ends, runs out of time or is interrupted."""

    def __init__(self, process: subprocess.Popen[bytes], events: int, control: Any, handler: Handler) -> None:
        self._process = process
        self._events = events
        self._control = control
        self._handler = handler
        self._pending = b""
        self._unreadable = 0

    def follow(self, timeout: float | None) -> Outcome:
        deadline = None if timeout is None else time.monotonic() + timeout
        try:
            ended = self._listen(deadline)
        except KeyboardInterrupt:
            return self._end("interrupt", signal.SIGTERM)
        if not ended:
            return self._end("timeout", signal.SIGUSR1)
        return Outcome(self._process.wait(), "itself", self._unreadable)

    def _listen(self, deadline: float | None) -> bool:
        """Handle events until the process has ended; return False when time runs out first."""
        with _exit_notice(self._process) as exited, selectors.DefaultSelector() as selector:
            os.set_blocking(self._events, False)
            selector.register(self._events, selectors.EVENT_READ)
            selector.register(exited, selectors.EVENT_READ)
            while True:
                left = None if deadline is None else deadline - time.monotonic()
                if left is not None and left <= 0:
                    return False
                wait = None if left is None else min(left, LONGEST_WAIT_SECONDS)
                ready = {key.fd for key, _ in selector.select(wait)}
                if self._events in ready and not self._read():
                    selector.unregister(self._events)
                if exited in ready:
                    # What a forked child may still write is not waited for.
                    _end_group(self._process)
                    while self._read():
                        pass
                    return True

    def _read(self) -> bool:
        """Handle what is on the pipe; return False at its end or when it is empty for now."""
        try:
            data = os.read(self._events, 1 << 20)
        except BlockingIOError:
            return False
        *lines, self._pending = (self._pending + data).split(b"\n")
        for line in lines:
            self._handle(line)
        if len(self._pending) > LONGEST_EVENT:
            self._pending = b""
            self._unreadable += 1
        return bool(data)

    def _handle(self, line: bytes) -> None:
        try:
            event: Event = json.loads(line)
            if not isinstance(event["event"], str):
                raise TypeError
        except (ValueError, KeyError, TypeError):
            self._unreadable += 1
            return
        reply = self._handler(event)
        if reply is not None:
            with contextlib.suppress(BrokenPipeError):
                self._control.write(f"{reply}\n".encode())

    def _end(self, ended_by: str, first: signal.Signals) -> Outcome:
        """Ask the worker with ``first`` (SIGUSR1 makes it print its stacks), then end its group."""
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(first)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(GRACE_SECONDS if first is signal.SIGTERM else 0.3)
        _end_group(self._process)
        return Outcome(self._process.returncode, ended_by, self._unreadable)


@contextlib.contextmanager
def _exit_notice(process: subprocess.Popen[bytes]) -> Iterator[int]:
    """Yield a descriptor that becomes readable when the process has ended."""
    readable, writable = os.pipe()

    def wait() -> None:
        process.wait()
        os.close(writable)

    waiter = threading.Thread(target=wait, name="waiter", daemon=True)
    waiter.start()
    try:
        yield readable
    finally:
        os.close(readable)


def benchmarker_launcher() -> Launcher:
    """Return the launcher."""
    return LocalLauncher()
