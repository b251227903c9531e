"""The plug-in of cuBLAS and cuDNN over a stand-in for the libraries, as JSON: conformance, and each precision.

``python -m tests.in_framework.cudnn_checks LIBRARY`` takes the compiled ``tests/data/cuda_stand_in.c``.
"""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarker.api.framework import Device
from benchmarker.api.optimizer import Optimizer
from benchmarker.data.values import draw_batch, draw_parameters
from benchmarker.graph.graph import Graph
from benchmarker.plugins.cudnn import Options, benchmarker_framework, library
from benchmarker.plugins.cudnn.framework import Cudnn
from benchmarker.plugins.numpy.framework import NumpyFramework
from benchmarker.registry import problem
from benchmarker.testing import run_checks

PROBLEMS: dict[str, list[dict[str, Any]]] = {
    "deepbench_gemm": [
        {"m": 9, "n": 5, "k": 7, "a_transposed": a, "b_transposed": b}
        for a, b in itertools.product((False, True), repeat=2)
    ],
    "deepbench_conv": [{"width": 9, "height": 7, "in_channels": 4, "filters": 6, "batch": 2}],
    "deepbench_rnn": [
        {"type": kind, "hidden": 6, "batch": 3, "time_steps": 4} for kind in ("vanilla", "lstm", "gru")
    ],
}


class StandIn(Cudnn):
    """The plug-in, whose distribution is not installed."""

    def version(self) -> str:
        return "9.19.0.56"


def errors(framework: StandIn) -> Iterator[dict[str, Any]]:
    """Yield how far each problem is from the reference in each precision, over the largest value."""
    device = Device("cuda")
    for name, settings in PROBLEMS.items():
        for setting, precision, algorithm in itertools.product(
            settings, benchmarker_framework().precisions["cuda"], ("best", "heuristic")
        ):
            graph = problem(name).graph(1, **setting)
            asked: dict[str, Any] = {"mode": "inference", "optimizer": Optimizer()}
            program = framework.build(
                graph,
                draw_parameters(graph, 0),
                device=device,
                precision=precision,
                options=Options(algorithm),
                **asked,
            )
            found = outputs(program, graph)
            reference = NumpyFramework().build(
                graph,
                draw_parameters(graph, 0),
                device=Device("cpu"),
                precision="fp64",
                options=None,
                **asked,
            )
            exact = outputs(reference, graph)
            worst = max(float(np.max(np.abs(a - b)) / np.max(np.abs(b))) for a, b in zip(found, exact))
            yield {"problem": name, "precision": precision, "error": worst}


def outputs(program: Any, graph: Graph) -> tuple[Any, ...]:
    """Return what a program computes of a mini-batch."""
    return tuple(program.fetch(program.infer(program.load(draw_batch(graph, 0)))))


def main() -> None:
    """Run and print."""
    library.paths = lambda: [sys.argv[1]] * 3
    framework = StandIn()
    checks = run_checks(
        framework, benchmarker_framework(), device=Device("cuda"), threads=1, seed=0,
        only=("forward/*", "description/*", "program/*", "synchronize/*", "problem/*"),
    )  # fmt: skip
    first = framework._library.event()
    told = {
        "checks": [{"name": c.name, "status": c.status, "detail": c.detail} for c in checks],
        "errors": list(errors(framework)),
        "libraries": framework.libraries(),
        "seconds": framework._library.seconds_between(first, framework._library.event()),
    }
    try:
        library.Buffer(framework._library, 1 << 40)
    except RuntimeError as error:
        told["out of memory"] = [str(error), *framework.out_of_memory_signs()]
    print(json.dumps(told))


if __name__ == "__main__":
    main()
