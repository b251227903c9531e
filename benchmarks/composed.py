"""What an update rule costs that a framework runs from its text, beside the framework's own.

Fresh processes of both take turns; a value is the ratio of their median steps. Momentum is compared with ResNet-18, and
the last of its rows has the geometric mean of all frameworks, pair by pair. Further rows have the other rules that a
framework has itself, with a problem for which it is the same function. NumPy is left out: its own rules are the text.
``python benchmarks/composed.py``
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fresh_process import paired_ratio, record_of
from rows import Row, finish, make_parser, ratio

GOAL = 1.10
FRAMEWORKS = (
    "pytorch",
    "tensorflow",
    "jax",
    "mxnet",
    "chainer",
    "paddle",
    "keras_tensorflow",
    "keras_jax",
    "keras_pytorch",
)
TEXT = '''"""A built-in rule under a name of its own, which no framework has: its text is run everywhere."""

from benchmarker.training.optimizers import BUILT_IN


class Composed(type(BUILT_IN["{rule}"])):
    name = "composed_{rule}"


def benchmarker_optimizer():
    return Composed()
'''


@dataclass(frozen=True)
class Case:
    """A rule that a framework has itself, and the problem whose step it is part of."""

    framework: str
    rule: str = "momentum"
    problem: str = "resnet18"

    @property
    def name(self) -> str:
        """What a row is called."""
        told = "" if self.rule == "momentum" else f", {self.rule} of {self.problem}"
        return f"{self.framework}{told}"


# PyTorch's Adafactor is another function of kernels of 1x1, which ResNet-18 has, and Keras' of all kernels.
OTHERS = (
    Case("pytorch", "adafactor", "deep_mnist"),
    Case("mxnet", "lamb"),
    Case("mxnet", "lars"),
    *(
        Case(f"keras_{backend}", rule, problem)
        for backend in ("tensorflow", "jax", "pytorch")
        for rule, problem in (("lion", "resnet18"), ("adafactor", "mnist_mlp"))
    ),
)


def commands_of(arguments: argparse.Namespace, case: Case, folder: Path) -> dict[str, list[str]]:
    """Return the command of a run with each of the two forms of a rule."""
    text = folder / f"composed_{case.rule}.py"
    text.write_text(TEXT.format(rule=case.rule), encoding="utf-8")
    size = [f"--set=image_size={arguments.image_size}", "--set=classes=100"]
    common = [
        *("run", f"--framework={case.framework}", f"--problem={case.problem}", "--learning-rate=0.001"),
        *(f"--batch-size={arguments.batch_size}", *(size if case.problem == "resnet18" else [])),
    ]
    return {
        variant: [*common, f"--optimizer={rule}"]
        for variant, rule in (("native", case.rule), ("composed", str(text)))
    }


def ratios_of(arguments: argparse.Namespace, case: Case, folder: Path) -> list[float]:
    """Return the composed over the native step of each pair, once it is known that each is what it is called."""
    commands = commands_of(arguments, case, folder)
    for variant, command in commands.items():
        ran = record_of([*command, "--steps=1"])["optimizer"]["variant"]
        if ran != variant:
            raise SystemExit(f"{case.name} ran the rule {ran}, not {variant}")
    steps: dict[str, Sequence[str]] = {
        variant: [*command, f"--seconds={arguments.seconds}"] for variant, command in commands.items()
    }
    return [paired_ratio(case.name, number, steps, over="native") for number in range(arguments.pairs)]


def main() -> int:
    """Run and print."""
    parser = make_parser(__doc__)
    parser.add_argument("--pairs", type=int, default=6)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--image-size", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--framework", default=",".join(FRAMEWORKS))
    parser.add_argument(
        "--only", choices=("momentum", "others"), help="compare momentum alone, or all but it"
    )
    arguments = parser.parse_args()
    frameworks = arguments.framework.split(",")
    common = [] if arguments.only == "others" else [Case(framework) for framework in frameworks]
    others = [] if arguments.only == "momentum" else [case for case in OTHERS if case.framework in frameworks]
    with tempfile.TemporaryDirectory() as folder:
        ratios = {case: ratios_of(arguments, case, Path(folder)) for case in (*common, *others)}
    rows = [Row(f"{case.name}: composed / native step", found, None, ratio) for case, found in ratios.items()]
    if common:
        means = [statistics.geometric_mean(values) for values in zip(*(ratios[case] for case in common))]
        rows.insert(len(common), Row("geometric mean over frameworks", means, GOAL, ratio))
    return finish(rows, arguments)


if __name__ == "__main__":
    raise SystemExit(main())
