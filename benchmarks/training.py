"""How much longer is a step in ``train`` than the same step in ``run``? By a recipe to its last step, per framework.

Fresh processes of both take turns; a value is the ratio of their median steps. The run is what the record of the
training tells, at a constant rate. The last row has the geometric mean of all frameworks, pair by pair.
``python benchmarks/training.py``
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Sequence
from typing import Any

from fresh_process import paired_ratio, record_of
from rows import Row, finish, make_parser, ratio

GOAL = 1.01
FRAMEWORKS = ("pytorch", "tensorflow", "jax", "mxnet", "chainer", "numpy")


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


def ratios_of(arguments: argparse.Namespace, framework: str) -> list[float]:
    """Return the ratio of each pair."""
    training = training_of(arguments, framework)
    commands: dict[str, Sequence[str]] = {"train": training, "run": run_of(record_of(training))}
    return [paired_ratio(framework, number, commands, over="run") for number in range(arguments.pairs)]


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
