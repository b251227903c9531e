"""Quantized graphs in a framework, as they are and with a scale that is wrong; prints verdicts as JSON."""

from __future__ import annotations

import importlib
import json
import sys
from dataclasses import replace

from benchmarker.api.framework import Device
from benchmarker.graph.graph import Graph
from benchmarker.graph.network import Network
from benchmarker.graph.transformations.quantize import Operand, Scale, quantize
from benchmarker.worker.conformance.subject import Subject, draw_batch, draw_parameters, fetch_outputs
from benchmarker.worker.loading import load_framework
from benchmarker.worker.quantization import measured
from benchmarker.worker.verification import reference
from benchmarker.worker.verification.tolerances import tolerances
from benchmarker.worker.verification.verdicts import judge


def network() -> Graph:
    """Return convolutions with and without a rectifier, a pooling and two layers."""
    net = Network("network", 8)
    x = net.relu(net.convolution("conv1", net.input("x", (3, 12, 12)), 16, 3, pad=1))
    x = net.max_pool(
        net.convolution("conv2", x, 16, 3, pad=1), kernel_shape=(2, 2), strides=(2, 2), pads=(0, 0, 0, 0)
    )
    net.output(net.dense("fc2", net.relu(net.dense("fc1", net.flatten(x), 32)), 10))
    return net.graph()


def main() -> None:
    plugin = importlib.import_module(f"benchmarker.plugins.{sys.argv[1]}").benchmarker_framework()
    framework = load_framework(plugin)
    framework.configure(Device("cpu"), threads=1, seed=0)
    subject = Subject(framework, plugin, Device("cpu"))
    graph = network()
    parameters, batch = draw_parameters(graph, 0), draw_batch(graph, 0)
    scales = measured(graph, parameters, draw_batch(graph, 1))
    expected = reference.compute(quantize(graph, scales), parameters, batch, "inference", "int8")
    limits = tolerances(expected, "int8")

    def passes(other: dict[Operand, Scale]) -> bool:
        program = subject.program(quantize(graph, other), parameters, "inference", precision="int8")
        found = fetch_outputs(program, graph, program.load(batch))
        return all(judge(e, found[e.name], limits[e.name]).passed for e in expected)

    def wrong(operand: Operand) -> dict[Operand, Scale]:
        right = scales[operand]
        return {**scales, operand: replace(right, scale=tuple(1.05 * step for step in right.scale))}

    verdicts = {operand.value: passes(wrong(operand)) for operand in scales}
    print(json.dumps({"right": passes(scales), "wrong": verdicts}))


if __name__ == "__main__":
    main()
