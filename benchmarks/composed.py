"""What an update rule costs that a framework runs from its text, beside the framework's own: momentum, ResNet-18.

Fresh processes of both take turns; a value is the ratio of their median steps. The last row has the geometric mean of
all frameworks, pair by pair. NumPy is left out: its own rules are the text. ``python benchmarks/composed.py``
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Sequence

from fresh_process import paired_ratio, record_of
from rows import ROOT, Row, finish, make_parser, ratio

GOAL = 1.10
FRAMEWORKS = (
    "pytorch",
    "tensorflow",
    "jax",
    "mxnet",
    "chainer",
    "keras_tensorflow",
    "keras_jax",
    "keras_pytorch",
)
RULES = {"native": "momentum", "composed": str(ROOT / "benchmarks" / "by_hand" / "composed_momentum.py")}


def command_of(arguments: argparse.Namespace, framework: str, variant: str) -> list[str]:
    """Return the command of a run with a rule."""
    return [
        *("run", f"--framework={framework}", "--problem=resnet18", f"--optimizer={RULES[variant]}"),
        *("--learning-rate=0.01", f"--batch-size={arguments.batch_size}"),
        *(f"--set=image_size={arguments.image_size}", "--set=classes=100"),
    ]


def ratios_of(arguments: argparse.Namespace, framework: str) -> list[float]:
    """Return the composed over the native step of each pair, once it is known that each is what it is called."""
    for variant in RULES:
        ran = record_of([*command_of(arguments, framework, variant), "--steps=1"])["optimizer"]["variant"]
        if ran != variant:
            raise SystemExit(f"{framework} ran the rule {ran}, not {variant}")
    steps: dict[str, Sequence[str]] = {
        variant: [*command_of(arguments, framework, variant), f"--seconds={arguments.seconds}"]
        for variant in RULES
    }
    return [paired_ratio(framework, number, steps, over="native") for number in range(arguments.pairs)]


def main() -> int:
    """Run and print."""
    parser = make_parser(__doc__)
    parser.add_argument("--pairs", type=int, default=6)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--image-size", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--framework", default=",".join(FRAMEWORKS))
    arguments = parser.parse_args()
    frameworks = arguments.framework.split(",")
    ratios = {framework: ratios_of(arguments, framework) for framework in frameworks}
    rows = [
        Row(f"{framework}: composed / native step", found, None, ratio) for framework, found in ratios.items()
    ]
    means = [statistics.geometric_mean(values) for values in zip(*ratios.values())]
    rows.append(Row("geometric mean over frameworks", means, GOAL, ratio))
    return finish(rows, arguments)


if __name__ == "__main__":
    raise SystemExit(main())
