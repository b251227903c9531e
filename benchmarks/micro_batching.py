"""What a training step in micro-batches costs where the whole mini-batch does not fit: ResNet-50 on PyTorch.

A limit between what both need (``RLIMIT_DATA``: the kernel refuses private memory beyond it) must end the run of
the whole mini-batch as ``out_of_memory``. Under the same limit the step is timed in micro-batches, in fresh
processes by turns with the step of the whole mini-batch without a limit. A first run of both, which tells what
they need, warms the machine's caches too. ``python benchmarks/micro_batching.py`` (Linux)
"""

from __future__ import annotations

import argparse
import functools
import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from rows import ROOT, Row, finish, make_parser

GOAL = 1.15
MEGABYTE = 1 << 20


def run(arguments: argparse.Namespace, *options: str, limit: int | None = None) -> dict[str, Any]:
    """Return the record of a fresh process, which may have ``limit`` bytes of private memory."""
    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable, "-m", "benchmarker", "run", "--framework=pytorch", "--problem=resnet50",
            "--mode=training", f"--batch-size={arguments.batch_size}", f"--steps={arguments.steps}", "--warmup=0",
            f"--set=image_size={arguments.image_size}", "--no-verify", f"--results={folder}", *options,
        ]  # fmt: skip
        limited = limit and functools.partial(resource.setrlimit, resource.RLIMIT_DATA, (limit, limit))
        subprocess.run(
            command,
            cwd=ROOT,
            preexec_fn=limited or None,  # noqa: PLW1509 - this process has one thread
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
        )
        (path,) = Path(folder).glob("*.json")
        record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return record


def median(record: dict[str, Any]) -> float:
    """Return the median step in seconds; the record's own reason as an error if there is none."""
    if record["status"] != "ok":
        raise SystemExit(f"a run ended as {record['status']}: {record['error']['message']}")
    return float(record["timing"]["step_seconds"]["median"])


def timed(arguments: argparse.Namespace, *options: str, limit: int | None = None) -> float:
    """Return the median step of a fresh process in seconds; memory is not watched, which takes a pass more."""
    return median(run(arguments, "--monitors=none", *options, limit=limit))


def as_ratio(value: float) -> str:
    """Write a ratio."""
    return f"{value:.3f}"


def main() -> int:
    """Run and print."""
    parser = make_parser(__doc__)
    parser.add_argument("--pairs", type=int, default=6)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--micro-batch", type=int, default=4)
    parser.add_argument("--image-size", type=int, default=224)
    parser.add_argument("--steps", type=int, default=2)
    arguments = parser.parse_args()
    micro = f"--micro-batch={arguments.micro_batch}"
    peaks = [run(arguments, *options)["memory"]["peak_bytes"] for options in ((), (micro,))]
    limit = sum(peaks) // 2
    told = "{} MiB for the whole mini-batch, {} MiB in micro-batches; the limit is {} MiB"
    print(told.format(*(peak // MEGABYTE for peak in (*peaks, limit))), file=sys.stderr, flush=True)
    refused = run(arguments, limit=limit)
    print(f"whole mini-batch under the limit: {refused['status']}", file=sys.stderr, flush=True)
    ratios = []
    for pair in range(arguments.pairs):
        each = {"whole": (), "micro": (micro,)}
        order = ("whole", "micro") if pair % 2 == 0 else ("micro", "whole")
        took = {
            name: timed(arguments, *each[name], limit=limit if name == "micro" else None) for name in order
        }
        ratios.append(took["micro"] / took["whole"])
        print(
            f"whole {took['whole']:.3f} s, in micro-batches {took['micro']:.3f} s",
            file=sys.stderr,
            flush=True,
        )
    ended = refused["status"] == "out_of_memory"
    rows = [
        Row("whole mini-batch under the limit ends as out_of_memory", [float(ended)], 1, as_ratio, 1),
        Row("step in micro-batches under the limit / of the whole without one", ratios, GOAL, as_ratio),
    ]
    return finish(rows, arguments)


if __name__ == "__main__":
    sys.exit(main())
