"""How much longer is a step in ``train`` than the same step in ``run``? By a recipe to its last step, per framework.

In each fresh process a training goes through its loop, evaluations included, and pauses for windows of the same steps
as ``run`` times them (``in_training.py``), so that both meet the same machine, memory and program. A value is the ratio
of their median steps; further rows have that of their means, which counts the steps after each evaluation, and what the
first sample after an evaluation takes. With ``--apart`` fresh processes of the two commands take turns instead, whose
own speeds differ more than what is asked. The last row has the geometric mean of all frameworks, pair by pair.
``python benchmarks/training.py``
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fresh_process import paired_ratio, record_of
from in_experiment import RecordedOrchestrator
from rows import ROOT, Row, finish, make_parser, ratio

from benchmarker.api.launcher import WorkerCommand
from benchmarker.experiment.campaign import Campaign
from benchmarker.experiment.planning import plan
from benchmarker.experiment.recipes import recipe, without_early_stop
from benchmarker.orchestration.experiment_run import experiment_from_options

GOAL = 1.01
FRAMEWORKS = ("pytorch", "tensorflow", "jax", "mxnet", "chainer", "numpy")
WITHIN = ROOT / "benchmarks" / "in_training.py"
Found = Mapping[str, float]


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


def ratios_apart(arguments: argparse.Namespace, framework: str) -> list[float]:
    """Return the ratio of each pair of processes."""
    training = training_of(arguments, framework)
    commands: dict[str, Sequence[str]] = {"train": training, "run": run_of(record_of(training))}
    return [paired_ratio(framework, number, commands, over="run") for number in range(arguments.pairs)]


def worker_of(arguments: argparse.Namespace, framework: str) -> WorkerCommand:
    """Return how a real training's worker was started, once it has trained to its end."""
    blueprint = recipe(arguments.recipe)
    values = blueprint.converted.values
    values["training"] = without_early_stop(values["training"])
    given = {"frameworks": (framework,), "threads": (1,), "seeds": (0,), "verify": False}
    with tempfile.TemporaryDirectory() as folder:
        orchestrator = RecordedOrchestrator(Path(folder))
        (finished,) = orchestrator.run(Campaign(plan(experiment_from_options(given, blueprint))))
        if finished.record["status"] != "ok":
            raise SystemExit(f"a training of {framework} failed: {finished.record['error']}")
    return orchestrator.recording.last


def within(command: WorkerCommand, framework: str, number: int) -> Found:
    """Return the seconds of both kinds of steps in a fresh process."""
    done = subprocess.run(
        [command.interpreter, "-s", str(WITHIN)],
        input=json.dumps(command.job),
        env={**command.environment, "PYTHONPATH": str(ROOT)},
        start_new_session=True,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{framework}'s process ended with {done.returncode}: {done.stderr}")
    found: Found = json.loads(done.stdout.splitlines()[-1])
    print(f"{framework} {number + 1}: {found['train'] / found['run']:.4f}", file=sys.stderr, flush=True)
    return found


def rows_within(arguments: argparse.Namespace, frameworks: Sequence[str]) -> list[Row]:
    """Return the rows of each framework and of all."""
    rows, ratios, means = [], [], []
    for framework in frameworks:
        command = worker_of(arguments, framework)
        found = [within(command, framework, number) for number in range(arguments.pairs)]
        ratios.append([one["train"] / one["run"] for one in found])
        means.append([one["train_mean"] / one["run_mean"] for one in found])
        first = [one["first"] / one["run"] for one in found]
        rows += [
            Row(f"{framework}: median step in train / in run", ratios[-1], None, ratio),
            Row(f"{framework}: mean step in train / in run", means[-1], None, ratio),
            Row(f"{framework}: first sample after an evaluation / step in run", first, None, ratio),
        ]
    of_all = [
        Row("all: median step, geometric mean over frameworks", _geometric(ratios), GOAL, ratio),
        Row("all: mean step, geometric mean over frameworks", _geometric(means), None, ratio),
    ]
    return [*rows, *of_all]


def _geometric(ratios: Sequence[Sequence[float]]) -> list[float]:
    return [statistics.geometric_mean(values) for values in zip(*ratios)]


def main() -> int:
    """Run and print."""
    parser = make_parser(__doc__)
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--recipe", default="digits_cnn")
    parser.add_argument("--framework", default=",".join(FRAMEWORKS))
    parser.add_argument("--apart", action="store_true", help="processes of the two commands take turns")
    arguments = parser.parse_args()
    frameworks = arguments.framework.split(",")
    if not arguments.apart:
        return finish(rows_within(arguments, frameworks), arguments)
    ratios = {framework: ratios_apart(arguments, framework) for framework in frameworks}
    rows = [
        Row(f"{framework}: step in train / in run", found, None, ratio) for framework, found in ratios.items()
    ]
    rows.append(Row("geometric mean over frameworks", _geometric(list(ratios.values())), GOAL, ratio))
    return finish(rows, arguments)


if __name__ == "__main__":
    raise SystemExit(main())
