"""What an engine such as Slurm or Docker starts in place of a worker, run by path: it starts the worker, and ends it.

The engine's standard input carries what the worker is told, its standard output the events, its standard error the log.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from types import FrameType

sys.path.append(str(Path(__file__).resolve().parents[3]))

from benchmarker.execution.launchers.leftovers import end_marked, marked, new_mark  # noqa: E402


def read_line() -> bytes:
    """Read the first line of the standard input and nothing after it, which is the worker's."""
    line = b""
    while not line.endswith(b"\n"):
        part = os.read(0, 1)
        if not part:
            os._exit(1)
        line += part
    return line


def main() -> None:
    """Run the worker to its end, and end as it does."""
    request = json.loads(read_line())
    here = socket.gethostname()
    if request["host"] not in (None, here):
        sys.exit(
            f"srun: error: the worker was placed on '{here}', but benchmarker describes the machine that it runs on, "
            f"'{request['host']}'; run benchmarker itself inside the job, on that node"
        )
    events, control = os.dup(1), os.dup(0)
    os.dup2(2, 1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    kept = {
        name: value
        for name, value in os.environ.items()
        if request["kept"] is None or name in request["kept"]
    }
    mark = new_mark()
    worker = subprocess.Popen(
        [*request["arguments"], str(events), str(control), str(os.getpid())],
        env=marked({**kept, **request["environment"]}, mark),
        pass_fds=(events, control),
        start_new_session=True,
    )
    os.close(events)
    os.close(control)

    def end(number: int, frame: FrameType | None) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(worker.pid, signal.SIGKILL)
        end_marked(mark)

    def stacks(number: int, frame: FrameType | None) -> None:
        worker.send_signal(number)

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGUSR1, stacks)
    status = worker.wait()
    end(0, None)
    os._exit(status if status >= 0 else 128 - status)


if __name__ == "__main__":
    main()
