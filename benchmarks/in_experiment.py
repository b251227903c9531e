"""What a further run costs within an experiment: beside its worker alone, and forked from a warm server.

The worker alone is the very command that the orchestrator gave its launcher: the same interpreter, job,
imports, variables and steps, started by hand, and told to go on whenever it asks.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rows import Row, seconds

from benchmarker.api.launcher import Handler, Launcher, Outcome, WorkerCommand
from benchmarker.execution.launchers.local import LocalLauncher
from benchmarker.execution.launchers.spawned import BOOTSTRAP
from benchmarker.experiment.campaign import Campaign
from benchmarker.experiment.planning import plan
from benchmarker.experiment.progress import Progress
from benchmarker.experiment.spec import Experiment
from benchmarker.orchestration.orchestrator import Orchestrator
from benchmarker.orchestration.turns import Seat
from benchmarker.records.store import Store

GOAL_SPAWNED, GOAL_FORKED = 0.04, 0.3
ASKING = (b'"event": "ready"', b'"event": "untimed_pass_started"')
STAGES = ("process_start", "import", "device", "initialise", "build", "verify", "compile", "warmup", "wall")


class Recording(LocalLauncher):
    """The local launcher, which also keeps the last command and how long it took."""

    last: WorkerCommand
    seconds: float

    def launch(self, command: WorkerCommand, handler: Handler) -> Outcome:
        """Run a worker."""
        start = time.perf_counter()
        outcome = super().launch(command, handler)
        self.last, self.seconds = command, time.perf_counter() - start
        return outcome


class RecordedOrchestrator(Orchestrator):
    """An orchestrator whose launcher can be looked at."""

    def __init__(self, folder: Path) -> None:
        super().__init__(Store(folder), Progress())
        self.recording = Recording()

    def _launcher(self, name: str, seat: Seat | None) -> Launcher:
        self._launchers[name, 0] = self.recording
        return self.recording


@dataclass(frozen=True)
class Timed:
    """Seconds of a run: in all, in the launcher, and of each of the worker's stages."""

    wall: float
    launch: float
    stages: Mapping[str, float]


def run_by_hand(command: WorkerCommand) -> float:
    """Start a worker, tell it to go on whenever it asks, and nothing else; return its seconds."""
    start = time.perf_counter()
    events_out, events_in = os.pipe()
    control_out, control_in = os.pipe()
    descriptors = (events_in, control_out)
    process = subprocess.Popen(
        [command.interpreter, "-s", "-u", str(BOOTSTRAP), *map(str, (*descriptors, os.getpid()))],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        pass_fds=descriptors,
        start_new_session=True,
        env=dict(command.environment),
    )
    for descriptor in descriptors:
        os.close(descriptor)
    message = {"job": command.job, "packages": dict(command.packages), "affinity": [], "spawned_ns": 0}
    os.write(control_in, (json.dumps(message) + "\n").encode())
    with os.fdopen(events_out, "rb") as events:
        for line in events:
            if any(asking in line for asking in ASKING):
                os.write(control_in, b"go\n")
    os.close(control_in)
    if process.wait() != 0:
        raise SystemExit("the worker alone failed")
    return time.perf_counter() - start


def _print_stages(framework: str, forked: list[Timed]) -> None:
    print(f"\n{framework}: where the time of a forked run goes (medians)")
    rows = {
        "in all, from the command to the stored record": [run.wall for run in forked],
        "before and after the worker: reference, collectors, record, store": [
            run.wall - run.launch for run in forked
        ],
        "all else: the pass for monitors, evidence, packages, the worker's end": [
            run.launch - sum(run.stages.values()) for run in forked
        ],
        **{f"worker: {name}": [run.stages[name] for run in forked] for name in STAGES},
    }
    for name, values in rows.items():
        print(f"  {statistics.median(values) * 1e3:8.1f} ms  {name}")


def measure_in_experiment(
    framework: str, interpreter: str, steps: int, warmup: int, threads: int, rounds: int
) -> list[Row]:
    """Return the rows of one framework; prints where the time of its forked runs goes.

    The experiment draws the order of spawned and forked runs in each round; each spawned run is followed
    by its worker alone. The round that warms caches, and starts the server, is dropped.
    """
    asked = Experiment(
        (framework,),
        ("mnist_mlp",),
        steps=(steps,),
        warmup=(warmup,),
        threads=(threads,),
        environments=(interpreter,),
        starts=("spawn", "fork"),
        repeats=rounds + 1,
    )
    added: list[float] = []
    forked: list[Timed] = []
    with tempfile.TemporaryDirectory() as folder:
        orchestrator = RecordedOrchestrator(Path(folder))
        runs = orchestrator.run(Campaign(plan(asked)))
        start = time.perf_counter()
        for finished in runs:
            wall, launch = time.perf_counter() - start, orchestrator.recording.seconds
            if finished.record["status"] != "ok":
                raise SystemExit(f"a run of {framework} failed: {finished.record['error']}")
            if finished.record["execution"]["start"] == "spawn":
                added.append(wall - run_by_hand(orchestrator.recording.last))
            else:
                timing = finished.record["timing"]
                stages = {name: timing[f"{name}_seconds"] or 0.0 for name in STAGES}
                forked.append(Timed(wall, launch, stages))
            start = time.perf_counter()
    _print_stages(framework, forked[1:])
    return [
        Row(
            f"{framework}: a spawned run within an experiment - its worker alone",
            added[1:],
            GOAL_SPAWNED,
            seconds,
        ),
        Row(
            f"{framework}: a forked run within an experiment",
            [run.wall for run in forked[1:]],
            GOAL_FORKED,
            seconds,
        ),
    ]
