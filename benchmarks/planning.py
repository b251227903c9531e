"""How long is the plan of 10,000 cells: `benchmarker --dry-run`, beside one of a single cell and `python -c pass`?"""

from __future__ import annotations

import sys

from command import timed
from rows import Row, finish, make_parser, seconds

GOAL = 1.0
FRAMEWORKS, PROBLEMS, BATCH_SIZES, SEEDS = "numpy,pytorch,mxnet,chainer", "mnist_mlp,cnn2d_simple", 5, 125
"""With two modes 10,000 cells."""
LINES = 10_000
"""That such a plan has at least."""


def plan_of(batch_sizes: int, seeds: int, frameworks: str, problems: str) -> list[str]:
    """Return the command."""
    command = [sys.executable, "-m", "benchmarker", f"--framework={frameworks}", f"--problem={problems}"]
    axes = {"batch-size": batch_sizes, "seed": seeds}
    command += [f"--{name}={','.join(str(i + 1) for i in range(count))}" for name, count in axes.items()]
    return [*command, "--mode=training,inference", "--dry-run"]


def main() -> int:
    """Measure and print."""
    parser = make_parser(__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    arguments = parser.parse_args()
    commands = {
        "plan 10,000 cells, as a table": plan_of(BATCH_SIZES, SEEDS, FRAMEWORKS, PROBLEMS),
        "plan 10,000 cells, as JSON": [*plan_of(BATCH_SIZES, SEEDS, FRAMEWORKS, PROBLEMS), "--json"],
        "plan 2 cells": plan_of(1, 1, "numpy", "mnist_mlp"),
        "python -c pass": [sys.executable, "-c", "pass"],
    }
    walls: dict[str, list[float]] = {name: [] for name in commands}
    cpu: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(arguments.rounds):
        for name, command in commands.items():
            done = timed(command, 1)
            if "10,000" in name and done.printed.count("\n") < LINES:
                raise SystemExit(f"{name}: printed {done.printed.count(chr(10))} lines only")
            walls[name].append(done.wall)
            cpu[name].append(done.cpu)
    goals = {name: GOAL if "10,000" in name else None for name in commands}
    rows = [Row(name, values, goals[name], seconds) for name, values in walls.items()]
    rows += [Row(f"CPU time: {name}", values, None, seconds) for name, values in cpu.items()]
    return finish(rows, arguments)


if __name__ == "__main__":
    sys.exit(main())
