"""Programs of the libraries oneDNN and OpenBLAS under their own interpreters; prints what was found as JSON.

``python -m tests.in_framework.libraries FRAMEWORK`` runs graphs in which values are used in several ways;
``... onednn misplaced`` runs an LSTM whose gates are in another order than the library's.
"""

from __future__ import annotations

import importlib
import json
import resource
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarker.api.framework import Device
from benchmarker.graph.network import Network
from benchmarker.worker.conformance.subject import (
    Subject,
    draw_batch,
    draw_parameters,
    fetch_outputs,
    reference_program,
)
from benchmarker.worker.loading import load_framework

Build = Callable[[Network], None]
LOADS = 200


def used_twice(net: Network) -> None:
    """One operand as it is and transposed, in products of products."""
    a = net.operand("a", (5, 7))
    product = net.gemm(a, a, trans_b=True)
    net.output(product)
    net.output(net.gemm(product, a, trans_a=True))


def convolutions(net: Network) -> None:
    """What one leaves in its own layout another takes twice."""
    x = net.input("x", (3, 9, 8))
    y = net.convolution("first", x, 32, 3, pad=1)
    net.output(net.convolution("second", y, 32, 3, pad=1))
    net.output(net.convolution("third", y, 6, (5, 1), stride=(2, 1), bias=False))


def layer(net: Network) -> None:
    net.output(net.lstm_layer("lstm", net.operand("x", (4, 3, 6)), 5)[0])


def error(subject: Subject, build: Build, batch_size: int) -> float:
    """Return how far a program is off after it has gone from one mini-batch to another, as a share of the largest."""
    net = Network(build.__name__, batch_size)
    build(net)
    graph = net.graph()
    parameters = draw_parameters(graph, 0)
    program = subject.program(graph, parameters, "inference")
    first, second = (draw_batch(graph, seed) for seed in (1, 2))
    loaded = program.load(second)
    fetch_outputs(program, graph, program.load(first))
    found = fetch_outputs(program, graph, loaded)
    reference = reference_program(graph, parameters, "inference")
    expected = fetch_outputs(reference, graph, reference.load(second))
    return max(float(np.abs(found[n] - e).max() / np.abs(e).max()) for n, e in expected.items())


def growth(subject: Subject) -> int:
    """Return by how many bytes the process grows in loading mini-batches of a megabyte that nothing keeps."""
    net = Network("product", 1)
    net.output(net.gemm(net.operand("a", (512, 512)), net.operand("b", (512, 4))))
    graph = net.graph()
    program = subject.program(graph, {}, "inference")
    batch = draw_batch(graph, 0)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(LOADS):
        program.infer(program.load(batch))
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024


def main(framework: str, *more: str) -> None:
    plugin = importlib.import_module(f"benchmarker.plugins.{framework}").benchmarker_framework()
    loaded = load_framework(plugin)
    loaded.configure(Device("cpu"), threads=1, seed=0)
    subject = Subject(loaded, plugin, Device("cpu"))
    graphs: list[tuple[Build, int]] = [(used_twice, 1)]
    if framework == "onednn":
        graphs += [(convolutions, 2), (layer, 1)]
    if more:
        from benchmarker.plugins.onednn import recurrent

        recurrent._LSTM_GATES = (0, 1, 2, 3)
    found: dict[str, Any] = {build.__name__: error(subject, build, size) for build, size in graphs}
    print(json.dumps({**found, "growth": growth(subject)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
