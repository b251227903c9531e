"""The command as a process that is forked from one with its modules imported, which spares each test half a second.

Everything else is as with ``python -m benchmarker``: a process with arguments, environment, working directory and path
of its own, that ends by its own; but it leaves the modules that it shares as they are, which to take down costs ten
times as much as most commands do. What a new interpreter alone shows is tested with ``Command.start``.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import io
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, TextIO

ROOT = Path(__file__).resolve().parents[2]
WARM = "BENCHMARKER_TEST_WARM"
"""Names the folder of warm interpreters, if a command's workers are to be forks of these."""
WARM_MODULE = "tests.support.warm_interpreters"
"""Imported before a command has a path of its own, on which there may be other tests."""
MODULES = (
    "benchmarker.cli.compare",
    "benchmarker.cli.display",
    "benchmarker.cli.jobs",
    "benchmarker.cli.main",
    "benchmarker.cli.results",
    "benchmarker.cli.run",
    "benchmarker.cli.submit",
    "benchmarker.cli.train",
    "benchmarker.analysis.chart_kinds",
    "benchmarker.analysis.charts.caption",
    "benchmarker.analysis.comparison.censored",
    "benchmarker.analysis.comparison.recipe_rankings",
    "benchmarker.analysis.comparison.self_comparison",
    "benchmarker.analysis.comparison.trainings",
    "benchmarker.analysis.comparison.variants",
    "benchmarker.analysis.reproduction.compare",
    "benchmarker.analysis.results",
    "benchmarker.analysis.results.selection",
    "benchmarker.analysis.text.collectives",
    "benchmarker.analysis.text.comparison",
    "benchmarker.analysis.text.comparison_sentences",
    "benchmarker.analysis.text.experiment_table",
    "benchmarker.analysis.text.generations",
    "benchmarker.analysis.text.operators",
    "benchmarker.analysis.text.profile",
    "benchmarker.analysis.text.ranks",
    "benchmarker.analysis.text.record_list",
    "benchmarker.analysis.text.scenarios",
    "benchmarker.analysis.text.summary",
    "benchmarker.analysis.text.trainings",
    "benchmarker.collectors.energy",
    "benchmarker.collectors.host",
    "benchmarker.collectors.operating_system",
    "benchmarker.collectors.source_control",
    "benchmarker.collectors.tree_memory",
    "benchmarker.collectors.utilization",
    "benchmarker.distributed.schemes",
    "benchmarker.distributed.schemes.averaging",
    "benchmarker.execution.environments.status",
    "benchmarker.execution.events",
    "benchmarker.experiment.blueprint.loading",
    "benchmarker.experiment.blueprint.overrides",
    "benchmarker.experiment.faults",
    "benchmarker.experiment.progress_lines",
    "benchmarker.experiment.suites.selection",
    "benchmarker.hookspecs",
    "benchmarker.orchestration.doctor",
    "benchmarker.orchestration.experiment_run",
    "benchmarker.orchestration.orchestrator",
    "benchmarker.orchestration.rerun",
    "benchmarker.orchestration.submission.engine",
    "benchmarker.orchestration.submission.resources",
    "benchmarker.orchestration.submission.status",
    "benchmarker.orchestration.submission.submit",
    "benchmarker.plugins.numpy",
    "benchmarker.plugins.numpy.framework",
    "benchmarker.problems.mnist_mlp",
    "benchmarker.records.assembly.record",
    "benchmarker.records.rescue",
    "benchmarker.records.schema.consistency",
    "benchmarker.records.schema.decoding",
    "benchmarker.records.steady_state",
    "difflib",
    "getpass",
    "importlib.metadata",
    "importlib.resources",
    "numpy.ma",
    "numpy.random",
    "orjson",
    "packaging.requirements",
    "packaging.tags",
    "pprint",
    "psij",
    "resource",
    "sysconfig",
    "tarfile",
    "zipfile",
)
"""What many commands import, none of it at work yet: no plug-in is looked up, no thread runs."""
MAX_REQUEST_BYTES = 1 << 20


# --- in the tests' process -------------------------------------------------------------------------


class CommandServer:
    """A process that forks one command at a time.

    Parameters
    ----------
    modules : str
        What it imports besides what most commands do.
    """

    def __init__(self, *modules: str) -> None:
        # Of messages: a short command's number and status would come as one in a stream.
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket, self._lock = ours, threading.Lock()
        self.process = subprocess.Popen(
            [sys.executable, __file__, str(theirs.fileno()), *modules],
            cwd=ROOT,
            # One thread: NumPy's others would be lost in each fork.
            env={**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"},
            pass_fds=(theirs.fileno(),),
            stdin=subprocess.DEVNULL,
        )
        theirs.close()

    def run(
        self, arguments: tuple[str, ...], folder: Path, environment: dict[str, str], timeout: float
    ) -> tuple[int, str, str]:
        """Run the command to its end; return its status, and what it wrote to both outputs.

        Raises
        ------
        subprocess.TimeoutExpired
            After ``timeout`` seconds; the command has been killed.
        """
        with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
            outputs = (stdout.fileno(), stderr.fileno())
            status = self.run_on(outputs, arguments, folder, environment, timeout)
            return status, _text(stdout), _text(stderr)

    def run_on(
        self,
        outputs: tuple[int, int],
        arguments: tuple[str, ...],
        folder: Path,
        environment: dict[str, str],
        timeout: float,
    ) -> int:
        """Run the command to its end with descriptors as both outputs; return its status.

        Raises
        ------
        subprocess.TimeoutExpired
            After ``timeout`` seconds; the command has been killed.
        """
        request = json.dumps([arguments, str(folder), environment]).encode()
        with self._lock:
            socket.send_fds(self._socket, [request], outputs)
            pid = int(self._answer())
            try:
                self._socket.settimeout(timeout)
                status = int(self._answer())
            except TimeoutError:
                os.kill(pid, signal.SIGKILL)
                self._socket.settimeout(None)
                self._answer()
                raise subprocess.TimeoutExpired(arguments, timeout) from None
            finally:
                self._socket.settimeout(None)
            return status

    def _answer(self) -> bytes:
        answer = self._socket.recv(64)
        if not answer:
            raise RuntimeError("the server of commands has ended")
        return answer

    def close(self) -> None:
        """End the server."""
        self._socket.close()
        self.process.wait()


def _text(file: Any) -> str:
    file.seek(0)
    with io.TextIOWrapper(file, encoding="utf-8") as text:
        return text.read()


@cache
def command_server(*modules: str) -> CommandServer:
    """Return this process's server that has imported such modules too, started when it first is asked for."""
    server = CommandServer(*modules)
    atexit.register(server.close)
    return server


# --- in the server ---------------------------------------------------------------------------------


def warm_up() -> None:
    """Have what most commands keep for themselves: the checks of records, and what each folder has installed."""
    from benchmarker.execution.distributions import distributions
    from benchmarker.records.schema import validate

    for _ in distributions():
        pass
    kept = min((ROOT / "results").glob("*.json"))
    faults = validate(json.loads(kept.read_text(encoding="utf-8")))
    assert not faults, faults


def serve(descriptor: int, modules: Sequence[str]) -> None:
    """Fork for each request; returns in the command's process alone, and ends with the connection."""
    for name in (*MODULES, WARM_MODULE, *modules):
        importlib.import_module(name)
    warm_up()
    gc.collect()
    gc.freeze()  # a collection in a fork would copy every page
    path = [entry for entry in sys.path if entry not in ("", str(ROOT), str(Path(__file__).parent))]
    with socket.socket(fileno=descriptor) as connection:
        while True:
            request, descriptors, _, _ = socket.recv_fds(connection, MAX_REQUEST_BYTES, 2)
            if not request:
                sys.exit()
            pid = os.fork()
            if not pid:
                break
            for number in descriptors:
                os.close(number)
            connection.send(str(pid).encode())
            _, status = os.waitpid(pid, 0)
            connection.send(str(os.waitstatus_to_exitcode(status)).encode())
    arguments, folder, environment = json.loads(request)
    _become(arguments, folder, environment, descriptors, path)


def _become(
    arguments: list[str], folder: str, environment: dict[str, str], descriptors: list[int], path: list[str]
) -> None:
    for number, own in zip(descriptors, (1, 2)):
        os.dup2(number, own)
        os.close(number)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["benchmarker", *arguments]
    sys.path = [folder, *filter(None, environment.get("PYTHONPATH", "").split(os.pathsep)), *path]
    importlib.invalidate_caches()
    sys.stdout = vars(sys)["__stdout__"] = _stream(1, "strict", line_buffering=False)
    sys.stderr = vars(sys)["__stderr__"] = _stream(2, "backslashreplace", line_buffering=True)
    warm = environment.get(WARM)
    if warm:
        sys.modules[WARM_MODULE].use_warm_interpreters(Path(warm))


def _stream(descriptor: int, errors: str, line_buffering: bool) -> TextIO:
    raw = io.FileIO(descriptor, "w", closefd=False)
    return io.TextIOWrapper(
        io.BufferedWriter(raw), encoding="utf-8", errors=errors, line_buffering=line_buffering
    )


def _end(status: int) -> None:
    """End as an interpreter does, up to taking down its modules."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status & 0xFF)


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        serve(int(sys.argv[1]), sys.argv[2:])
    try:
        runpy.run_module("benchmarker", run_name="__main__", alter_sys=True)
    except SystemExit as ending:
        if isinstance(ending.code, int) or ending.code is None:
            with contextlib.suppress(Exception):  # which the interpreter then meets and tells
                _end(ending.code or 0)
        raise
