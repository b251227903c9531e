"""How much longer is a step in ``train`` than the same step in ``run``? By a recipe to its last step, per framework.

Fresh processes of both take turns; a value is the ratio of their median steps. The run is what the record of the
training tells, at a constant rate. The last row has the geometric mean of all frameworks, pair by pair.
``python benchmarks/training.py``
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rows import ROOT, Row, finish, make_parser, ratio

GOAL = 1.01
FRAMEWORKS = ("pytorch", "tensorflow", "jax", "mxnet", "chainer", "numpy")
QUIETLY = ("--no-verify", "--monitors=none", "--quiet")


def record_of(command: Sequence[str]) -> dict[str, Any]:
    """Return the record of a fresh process."""
    with tempfile.TemporaryDirectory() as folder:
        line = [sys.executable, "-m", "benchmarker", *command, *QUIETLY, f"--results={folder}"]
        subprocess.run(line, cwd=ROOT, stdout=subprocess.DEVNULL, check=False)
        (path,) = Path(folder).glob("*.json")
        record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    if record["status"] != "ok":
        raise SystemExit(f"a run ended as {record['status']}: {record['error']['message']}")
    return record


def training_of(arguments: argparse.Namespace, framework: str) -> list[str]:
    """Return the command of a training to its last step."""
    return [
        "train",
        arguments.recipe,
        f"--framework={framework}",
        "--no-early-stop",
        "--threads=1",
        "--seed=0",
    ]


def run_of(training: dict[str, Any]) -> list[str]:
    """Return the command that runs as many of the same steps."""
    given = [text for text in training["command"] if text.startswith("--")]
    data = training["specification"]["data"]
    return ["run", *given, f"--data={data}", f"--steps={training['training']['steps']}"]


def pair(arguments: argparse.Namespace, framework: str, run: Sequence[str], number: int) -> float:
    """Return the step of a training over that of a run, of two fresh processes."""
    commands = {"train": training_of(arguments, framework), "run": run}
    order = list(commands) if number % 2 == 0 else list(reversed(commands))
    took = {name: record_of(commands[name])["timing"]["step_seconds"]["median"] for name in order}
    found = float(took["train"] / took["run"])
    print(f"{framework} {number + 1}: {found:.3f}", file=sys.stderr, flush=True)
    return found


def ratios_of(arguments: argparse.Namespace, framework: str) -> list[float]:
    """Return the ratio of each pair."""
    run = run_of(record_of(training_of(arguments, framework)))
    return [pair(arguments, framework, run, number) for number in range(arguments.pairs)]


def main() -> int:
    """Run and print."""
    parser = make_parser(__doc__)
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--recipe", default="digits_cnn")
    parser.add_argument("--framework", default=",".join(FRAMEWORKS))
    arguments = parser.parse_args()
    ratios = {framework: ratios_of(arguments, framework) for framework in arguments.framework.split(",")}
    rows = [
        Row(f"{framework}: step in train / in run", found, None, ratio) for framework, found in ratios.items()
    ]
    means = [statistics.geometric_mean(values) for values in zip(*ratios.values())]
    rows.append(Row("geometric mean over frameworks", means, GOAL, ratio))
    return finish(rows, arguments)


if __name__ == "__main__":
    raise SystemExit(main())
