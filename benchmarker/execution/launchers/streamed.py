"""A worker in a container whose engine passes standard streams alone, such as Docker."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarker.api.launcher import WorkerCommand
from benchmarker.execution.launchers.control_pipe import ControlPipe
from benchmarker.execution.launchers.engine_client import EngineClient
from benchmarker.execution.launchers.spawned import BOOTSTRAP, send_message

FAR_END = Path(__file__).resolve().with_name("far_end.py")


class EnclosedClient(EngineClient):
    """The engine's client; a far end under the container's interpreter starts the worker inside, and ends it.

    Parameters
    ----------
    command : WorkerCommand
        Of the worker, with its enclosure.
    events, control : int
        The descriptors that become the client's standard output and input.
    """

    def __init__(self, command: WorkerCommand, events: int, control: int) -> None:
        enclosure = command.enclosure
        assert enclosure is not None
        arguments = (*command.prefix, *enclosure.command, command.interpreter, "-I", str(FAR_END))
        self._enclosure = enclosure
        super().__init__(arguments, control, events, command.log, dict(enclosure.environment))


def send_start(control: ControlPipe, command: WorkerCommand, spawned_ns: int) -> None:
    """Tell the far end what to start, and the worker what to do.

    Parameters
    ----------
    control : ControlPipe
        The client's standard input.
    command : WorkerCommand
        Of the worker.
    spawned_ns : int
        When the client was started.
    """
    request = {
        "host": None,  # this one
        "kept": None,  # all that the image sets
        "environment": dict(command.environment),
        "arguments": [command.interpreter, "-s", "-u", str(BOOTSTRAP)],
    }
    control.write((json.dumps(request) + "\n").encode())
    send_message(control, command, job=command.job, spawned_ns=spawned_ns)
