"""What an update rule costs that a framework runs from its text, beside the framework's own: momentum, ResNet-18.

Fresh processes of both take turns; a value is the ratio of their median steps. The last row has the geometric mean of
all frameworks, pair by pair. NumPy is left out: its own rules are the text. ``python benchmarks/composed.py``
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

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


def record_of(arguments: argparse.Namespace, framework: str, variant: str) -> dict[str, Any]:
    """Return the record of a fresh process."""
    with tempfile.TemporaryDirectory() as folder:
        command = [
            *(sys.executable, "-m", "benchmarker", "run", f"--framework={framework}", "--problem=resnet18"),
            *(
                f"--optimizer={RULES[variant]}",
                "--learning-rate=0.01",
                f"--batch-size={arguments.batch_size}",
            ),
            *(
                f"--set=image_size={arguments.image_size}",
                "--set=classes=100",
                f"--seconds={arguments.seconds}",
            ),
            *("--no-verify", "--monitors=none", f"--results={folder}", "--quiet"),
        ]
        subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, check=False)
        (path,) = Path(folder).glob("*.json")
        record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    if record["status"] != "ok":
        raise SystemExit(f"a run ended as {record['status']}: {record['error']['message']}")
    if record["optimizer"]["variant"] != variant:
        raise SystemExit(f"{framework} ran the rule {record['optimizer']['variant']}, not {variant}")
    return record


def pair(arguments: argparse.Namespace, framework: str, number: int) -> float:
    """Return the composed over the native step of two fresh processes."""
    order = list(RULES) if number % 2 == 0 else list(reversed(RULES))
    took = {v: record_of(arguments, framework, v)["timing"]["step_seconds"]["median"] for v in order}
    found = float(took["composed"] / took["native"])
    print(f"{framework} {number + 1}: {found:.3f}", file=sys.stderr, flush=True)
    return found


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
    ratios = {f: [pair(arguments, f, number) for number in range(arguments.pairs)] for f in frameworks}
    rows = [
        Row(f"{framework}: composed / native step", found, None, ratio) for framework, found in ratios.items()
    ]
    means = [statistics.geometric_mean(values) for values in zip(*ratios.values())]
    rows.append(Row("geometric mean over frameworks", means, GOAL, ratio))
    return finish(rows, arguments)


if __name__ == "__main__":
    raise SystemExit(main())
