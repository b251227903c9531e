"""Several ranks of a training at once, each a process in a framework's environment that has imported it."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarker import registry
from benchmarker.execution.free_addresses import free_addresses
from benchmarker.execution.variables import ProcessSettings, worker_environment
from tests.conftest import CACHE_HOME, ROOT, command_environment
from tests.in_framework.ranks import Case, RankTask
from tests.support.command_server import WARM
from tests.support.framework_process import interpreter
from tests.support.quick_compilers import kept_compilations
from tests.support.warm_interpreters import ForkedProcess, WarmInterpreter, of_many_runs

MAX_SECONDS = 350


@dataclass(frozen=True)
class Ended:
    """A rank that has ended.

    Parameters
    ----------
    task : RankTask
        What it did.
    status : int
        Of its process.
    told : list of dict
        What it printed of each case that it came to the end of.
    stderr : str
        The end of what it said.
    """

    task: RankTask
    status: int
    told: list[dict[str, Any]]
    stderr: str

    def weights(self, case: int) -> dict[str, Any]:
        """Return the parameters after a case."""
        with np.load(self.task.weights(case)) as stored:
            return {name: stored[name] for name in stored.files}


def run_ranks(
    framework: str, scheme: str, ranks: int, folder: Path, cases: Sequence[Case], late_seconds: float = 0.0
) -> list[Ended]:
    """Run all ranks until each has ended, the last one late; without a scheme one process, alone.

    Raises
    ------
    subprocess.TimeoutExpired
        If one does not end.
    """
    plugin = registry.framework(framework)
    addresses = free_addresses(["127.0.0.1"] * ranks)
    entry = registry.find("frameworks", framework).value
    base = {**command_environment(folder, CACHE_HOME), **kept_compilations(CACHE_HOME)}
    variables = worker_environment(plugin, ProcessSettings(), threads=1, seed=0, base=base)
    tasks = [
        RankTask(
            entry,
            scheme,
            rank,
            addresses,
            str(folder),
            tuple(cases),
            late_seconds if rank == ranks - 1 else 0.0,
        )
        for rank in range(ranks)
    ]
    warm = WarmInterpreter(interpreter(framework), entry, of_many_runs(variables, entry))
    processes: list[ForkedProcess] = []
    try:
        processes.extend(_start(warm, task, variables) for task in tasks)
        return [_ended(task, process) for task, process in zip(tasks, processes)]
    finally:
        for process in processes:
            process.send_signal(signal.SIGKILL)
            process.wait()


def _start(interpreter: WarmInterpreter, task: RankTask, variables: Mapping[str, str]) -> ForkedProcess:
    request = {
        "arguments": ["-m", "tests.in_framework.ranks", task.to_json()],
        "environment": {**variables, "PYTHONPATH": str(ROOT)},
        "folder": str(Path.cwd()),
        "descriptors": [0, 1, 2],
        "network": "",
    }
    outputs = _outputs(task)
    with open(os.devnull) as nothing, outputs[0].open("wb") as stdout, outputs[1].open("wb") as stderr:
        streams = [file.fileno() for file in (nothing, stdout, stderr)]
        return interpreter.fork(Path(os.environ[WARM]), request, streams)


def _outputs(task: RankTask) -> tuple[Path, Path]:
    """Return the files of its standard output and of its standard error."""
    start = Path(task.folder) / f"rank-{task.rank}"
    return start.with_suffix(".out"), start.with_suffix(".err")


def _ended(task: RankTask, process: ForkedProcess) -> Ended:
    status = process.wait(MAX_SECONDS)
    stdout, stderr = (path.read_text(errors="replace") for path in _outputs(task))
    told = [json.loads(line) for line in stdout.splitlines() if line.startswith("{")]
    return Ended(task, status, told, stderr[-3000:])
