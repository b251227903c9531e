"""What the whole command costs beyond a bare process that does the same work, and what ``list`` costs.

The bare process (``bare/``) is what a person would write by hand: the same imports, build, mini-batch
and steps, one process, nothing else. Commands and bare processes alternate in an order drawn at random
each round; a row holds the differences of single rounds. Two more rows per framework say what a further
run costs within an experiment (``in_experiment.py``). ``python benchmarks/command.py``
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from in_experiment import measure_in_experiment
from rows import ROOT, Row, finish, make_parser, seconds

BARE = Path(__file__).resolve().parent / "bare"
GOAL_FIRST, GOAL_FURTHER, GOAL_LIGHT = 0.3, 0.15, 0.1
STAGES = ("process_start", "import", "device", "initialise", "build", "verify", "compile", "warmup", "total")
BARE_PROCESS, LEAN, VERIFIED, UNVERIFIED = "bare", "lean bare", "verified", "not verified"
Turns = dict[str, list["Timed"]]


@dataclass
class Phases:
    """Where the time of single runs went, in seconds by phase."""

    found: dict[str, list[float]] = field(default_factory=dict)

    def add(self, record: Mapping[str, Any], started: float, ended: float) -> None:
        """Take a record and the wall clock before and after its command."""
        begin, end = (datetime.fromisoformat(record[name].replace("Z", "+00:00")).timestamp()
                      for name in ("started_at", "ended_at"))  # fmt: skip
        stages = {f"worker: {name}": record["timing"][f"{name}_seconds"] or 0.0 for name in STAGES}
        rest = end - begin - sum(stages.values())
        phases = {"command's start and planning": begin - started, **stages}
        phases["run, all else: interpreter, collectors, worker's own imports, its end"] = rest
        phases["check, write and print the record, exit"] = ended - end
        for name, value in phases.items():
            self.found.setdefault(name, []).append(value)

    def print(self, title: str) -> None:
        """Print the median of each phase."""
        print(f"\n{title}: where the time of one run goes (medians)")
        for name, values in self.found.items():
            print(f"  {statistics.median(values) * 1e3:8.1f} ms  {name}")


@dataclass(frozen=True)
class Setting:
    """What is run, and how.

    Parameters
    ----------
    framework, interpreter : str
        The framework, and the Python that has it.
    folder : Path
        For records.
    """

    framework: str
    interpreter: str
    steps: int
    warmup: int
    threads: int
    folder: Path

    def bare(self) -> list[str]:
        """Return the command of the bare process."""
        script = str(BARE / f"{self.framework}_mlp.py")
        return [self.interpreter, script, str(self.steps), str(self.warmup), str(self.threads)]

    def ours(self, repeats: int, verify: bool) -> list[str]:
        """Return our command."""
        command = [sys.executable, "-m", "benchmarker", "--problem=mnist_mlp", "--mode=training", "--json"]
        command += [f"--framework={self.framework}", f"--env={self.interpreter}", f"--repeats={repeats}"]
        command += [f"--steps={self.steps}", f"--warmup={self.warmup}", f"--threads={self.threads}"]
        return [*command, f"--results={self.folder}"] + ([] if verify else ["--no-verify"])


def environment(threads: int) -> dict[str, str]:
    """Return the variables of both sides: bytecode is kept, as in an installed package."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    path = os.pathsep.join(filter(None, [str(ROOT), kept.get("PYTHONPATH")]))
    return {**kept, "PYTHONPATH": path, "OMP_NUM_THREADS": str(threads), "OPENBLAS_NUM_THREADS": str(threads)}


@dataclass(frozen=True)
class Timed:
    """A command that has ended: wall clock before and after, CPU seconds of all its processes, what it printed."""

    started: float
    ended: float
    cpu: float
    printed: str

    @property
    def wall(self) -> float:
        """Seconds that it took."""
        return self.ended - self.started


def _cpu_of_children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def timed(command: Sequence[str], threads: int) -> Timed:
    """Run a command to its end."""
    cpu, started = _cpu_of_children(), time.time()
    done = subprocess.run(
        command,
        env=environment(threads),
        check=True,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    return Timed(started, time.time(), _cpu_of_children() - cpu, done.stdout)


def in_turns(commands: Mapping[str, Sequence[str]], rounds: int, threads: int, order: random.Random) -> Turns:
    """Run all commands once a round, in an order drawn anew; the round that warms caches is dropped."""
    found: Turns = {name: [] for name in commands}
    for turn in range(-1, rounds):
        for name in order.sample(list(commands), len(commands)):
            done = timed(commands[name], threads)
            if turn >= 0:
                found[name].append(done)
    return found


def interpreter_of(framework: str, *, ranks: bool = False) -> str:
    """Return the interpreter that a run of the framework would use; it is made if there is none."""
    if framework == "numpy" and not ranks:
        return sys.executable
    named = [framework, "--ranks"] if ranks else [framework]
    subprocess.run([sys.executable, "-m", "benchmarker", "env", "create", *named],
                   env=environment(1), check=True, stdout=subprocess.DEVNULL)  # fmt: skip
    return timed([sys.executable, "-m", "benchmarker", "env", "path", *named], 1).printed.strip()


def differences(
    turns: Turns, kind: str, bare: str, repeats: int, what: Callable[[Timed], float]
) -> tuple[list[float], list[float]]:
    """Return what one run, and what each further run, costs beyond a bare process, a value a round."""
    first, further = [], []
    for alone, one, many in zip(turns[bare], turns[kind], turns[f"{kind}, repeated"]):
        first.append(what(one) - what(alone))
        further.append((what(many) - what(one)) / (repeats - 1) - what(alone))
    return first, further


def measure_framework(setting: Setting, rounds: int, repeats: int, order: random.Random) -> list[Row]:
    """Return the rows of one framework; prints where the time of its runs went."""
    commands = {BARE_PROCESS: setting.bare(), LEAN: [*setting.bare(), "lean"]}
    for kind in (VERIFIED, UNVERIFIED):
        commands[kind] = setting.ours(1, kind == VERIFIED)
        commands[f"{kind}, repeated"] = setting.ours(repeats, kind == VERIFIED)
    turns = in_turns(commands, rounds, setting.threads, order)
    phases = Phases()
    for done in turns[VERIFIED]:
        phases.add(json.loads(done.printed), done.started, done.ended)
    alone = {bare: statistics.median(done.wall for done in turns[bare]) for bare in (BARE_PROCESS, LEAN)}
    phases.print(f"{setting.framework}; bare {alone[BARE_PROCESS]:.3f} s, lean bare {alone[LEAN]:.3f} s")
    rows = []
    for bare, kind in itertools.product((BARE_PROCESS, LEAN), (VERIFIED, UNVERIFIED)):
        first, further = differences(turns, kind, bare, repeats, lambda done: done.wall)
        name = f"{setting.framework}, {kind}"
        rows.append(Row(f"{name}: one run - {bare}", first, GOAL_FIRST, seconds))
        rows.append(Row(f"{name}: a further run - {bare}", further, GOAL_FURTHER, seconds))
    for bare in (BARE_PROCESS, LEAN):
        first, further = differences(turns, VERIFIED, bare, repeats, lambda done: done.cpu)
        rows.append(Row(f"{setting.framework}, CPU time: one run - {bare}", first, None, seconds))
        rows.append(Row(f"{setting.framework}, CPU time: a further run - {bare}", further, None, seconds))
    return rows


def measure_light(rounds: int, order: random.Random) -> list[Row]:
    """Return what the commands cost that run nothing, beyond ``python -c pass``."""
    ours = [sys.executable, "-m", "benchmarker"]
    commands = {"pass": [sys.executable, "-c", "pass"], "list": [*ours, "list"], "--help": [*ours, "--help"]}
    commands["run --help"] = [*ours, "run", "--help"]
    turns = in_turns(commands, rounds, 1, order)
    return [
        Row(
            f"{name} - python -c pass",
            [done.wall - nothing.wall for done, nothing in zip(turns[name], turns["pass"])],
            GOAL_LIGHT,
            seconds,
        )
        for name in ("--help", "run --help", "list")
    ]


def parse() -> argparse.Namespace:
    """Return the arguments."""
    parser = make_parser(__doc__)
    parser.add_argument("--framework", action="append", choices=("numpy", "pytorch"), help="default: both")
    parser.add_argument("--env", help="the interpreter of PyTorch; default: the one a run would use")
    parser.add_argument("--rounds", type=int, default=8, help="of each framework")
    parser.add_argument("--light-rounds", type=int, default=20, help="of the commands that run nothing")
    parser.add_argument("--repeats", type=int, default=3, help="runs of the command with further runs")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--warmup", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    return parser.parse_args()


def main() -> int:
    """Measure and print."""
    arguments = parse()
    order = random.Random(0)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for framework in arguments.framework or ("numpy", "pytorch"):
            own = arguments.env if framework == "pytorch" and arguments.env else interpreter_of(framework)
            sizes = (arguments.steps, arguments.warmup, arguments.threads)
            setting = Setting(framework, own, *sizes, Path(folder))
            rows += measure_framework(setting, arguments.rounds, arguments.repeats, order)
            rows += measure_in_experiment(framework, own, *sizes, arguments.rounds)
    rows += measure_light(arguments.light_rounds, order)
    print()
    return finish(rows, arguments)


if __name__ == "__main__":
    sys.exit(main())
