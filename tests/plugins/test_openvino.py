"""OpenVINO: its kernels read back to our nodes, what it refuses, and real runs in its own environment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarker.graph.graph import Graph
from benchmarker.graph.network import Network
from benchmarker.graph.onnx.writer.lowering import lower
from benchmarker.plugins.openvino.profiler import Kernel, laid_out, origins_of
from tests.conftest import Command
from tests.support.conformance import passed_checks
from tests.support.framework_process import answer

BRIEF = ("--mode=inference", "--steps=3", "--warmup=1", "--json")


def network() -> Graph:
    """Return two convolutions around a sum, both followed by what is folded into their weights."""
    net = Network("network", 2)
    x = net.named("first").relu(net.input("x", (3, 8, 8)))
    short = net.batch_norm("short_bn", net.convolution("short", x, 4, 1, bias=False))
    y = net.batch_norm("main_bn", net.convolution("main", net.named("act").relu(x), 4, 3, pad=1, bias=False))
    y = net.layer_norm("norm", net.named("flat").flatten(net.named("sum").add(y, short)))
    net.output(net.dense("fc", y, 5))
    return net.graph()


def kernels(*rows: tuple[str, str, str, str]) -> list[Kernel]:
    return [Kernel(name, kind, tuple(joined.split()), tuple(to.split())) for name, kind, joined, to in rows]


def test_kernels_that_lost_their_names_are_told_by_what_stands_around_them() -> None:
    found = origins_of(
        kernels(
            ("first", "Eltwise", "first", "act Multiply_1"),
            ("act", "Eltwise", "act", "Multiply_2"),
            ("Multiply_1", "Convolution", "Multiply_1", "Multiply_2"),
            ("Multiply_2", "Convolution", "Multiply_2 sum", "reorder"),
            ("reorder", "Reorder", "", "flat"),
            ("flat", "Reshape", "flat", "MVN_3"),
            ("MVN_3", "MVN", "MVN_3", "fc/WithoutBiases"),
            ("fc/WithoutBiases", "FullyConnected", "fc/WithoutBiases", ""),
        ),
        lower(network()),
    )
    assert found == {
        "first": "first",
        "act": "act",
        "Multiply_1": "short",
        "Multiply_2": "main",
        "flat": "flat",
        "MVN_3": "norm",
        "fc/WithoutBiases": "fc",
    }


def test_each_step_has_its_part_of_the_time_of_all() -> None:
    found = laid_out([("conv", "Convolution", 6e-3), (None, "Reorder", 3e-3)], [(0.0, 0.010), (0.010, 0.020)])
    assert found.steps == ((0.0, 0.010), (0.010, 0.020))
    assert [(c.node, c.native, c.step) for c in found.calls] == [
        ("conv", "Convolution", 0),
        (None, "Reorder", 0),
        ("conv", "Convolution", 1),
        (None, "Reorder", 1),
    ]
    assert [c.seconds for c in found.calls] == pytest.approx([2e-3, 1e-3, 4e-3, 2e-3])
    assert [c.start_seconds for c in found.calls] == pytest.approx([0.0, 2e-3, 0.010, 0.014])


@pytest.mark.framework
@pytest.mark.timeout(600)
def test_it_conforms(command: Command) -> None:
    passed = passed_checks(
        command,
        "openvino",
        "no native meaning of ctc_loss",
        "OpenVINO has no fp16 on this",
        "OpenVINO has no bf16 on this",
    )
    assert len(passed) > 500
    assert {"problem/bert_base/inference", "generation/llama", "profile/inference"} <= passed


@pytest.mark.framework
def test_float32_is_float32_where_the_processor_has_bfloat16(command: Command) -> None:
    run = ("--framework=openvino", "--problem=mnist_mlp", "--batch-size=16", "--start=fork", *BRIEF)
    (record,) = command(*run).records
    assert record["error"] is None
    assert record["verification"]["status"] == "passed"
    assert record["verification"]["worst"]["norm_error"] < 1e-5
    assert record["framework"]["options"] == {"hint": "latency", "pinning": True}
    # Compiled in the first step, and in no other.
    assert record["execution"]["compile_cache"]["compilations"] == {"compile": 1}
    assert record["timing"]["compilations"] == 0


@pytest.mark.framework
def test_steps_in_a_row_run_at_once_for_throughput(command: Command) -> None:
    run = (
        "--framework=openvino",
        "--problem=resnet18",
        "--set=image_size=32",
        "--batch-size=2",
        "--threads=2",
    )
    (record,) = command(*run, "--set=hint=throughput", *BRIEF).records
    assert record["error"] is None
    assert record["verification"]["status"] == "passed"


@pytest.mark.framework
def test_a_precision_that_the_processor_lacks_is_refused(
    command: Command,
) -> None:
    command.environment["OV_CPU_MAX_ISA"] = "AVX2"
    finished = command("--framework=openvino", "--problem=mnist_mlp", "--precision=bf16", *BRIEF)
    (record,) = finished.records
    assert record["status"] == "failed"
    assert record["error"]["message"].startswith("OpenVINO has no bf16 on this processor, only FP32")


RAN = """
import json
import numpy as np
from benchmarker.api.framework import Device
from benchmarker.api.optimizer import Optimizer
from benchmarker.data import values
from benchmarker.plugins.openvino import Options
from benchmarker.plugins.openvino.framework import OpenVino
from benchmarker.worker.loading import load_problem

problem = load_problem("benchmarker.problems.resnet:RESNET18")
graph = problem.graph(2, **problem.reduced).without_loss()
framework = OpenVino()
framework.configure(Device("cpu"), threads=2, seed=0)

def build(hint, graph=graph):
    return framework.build(
        graph, values.draw_parameters(graph, 0), mode="inference", device=Device("cpu"), precision="fp32",
        optimizer=Optimizer(), options=Options(hint=hint),
    )

program = build("latency")
batch = program.load(values.draw_batch(graph, 0))
profile = program.profile(batch, 3)
# Twice as many steps as requests, all under way, each with a mini-batch of its own.
alone, many = build("latency"), build("throughput")
batches = [values.draw_batch(graph, seed) for seed in range(4)]
loaded = [many.load(one) for one in batches]
for one in loaded:
    last = many.infer(one)
many.synchronize(last)
difference = abs(many.fetch(last)[0] - alone.fetch(alone.infer(alone.load(batches[-1])))[0]).max()
from benchmarker.graph.network import Network

net = Network("edges", 2)
x = net.input("x", (3,))
net.output(net.reduce_max(x, axes=(1,)))
net.output(net.reshape(net.matmul(net.reshape(x, shape=(1, 6)), net.reshape(x, shape=(6, 1))), shape=()))
edges = build("latency", net.graph())
maxima, _ = edges.fetch(edges.infer(edges.load({"x": np.float32([[-np.inf] * 3, [1, -np.inf, 2]])})))
_, product = edges.fetch(edges.infer(edges.load({"x": np.float32([[1, 2, 3], [4, 5, 6]])})))
convolutions = {node.name for node in graph.nodes if node.operator == "conv"}
print(json.dumps({
    "steps": profile.steps,
    "missing": [
        sorted(convolutions - {c.node for c in profile.calls if c.step == step and c.native == "Convolution"})
        for step in range(3)
    ],
    "twice": len([c for c in profile.calls if c.step == 0 and c.native == "Convolution"]) - len(convolutions),
    "used": [sum(c.seconds for c in profile.calls if c.step == step) for step in range(3)],
    "requests": len(many._requests),
    "difference": float(difference),
    "maxima": [str(number) for number in maxima],
    "product": float(product),
}))
"""


@pytest.fixture(scope="module")
def ran(cache_home: Path) -> Any:
    return answer("openvino", "-c", RAN)


def test_a_real_profile_finds_each_convolution_in_each_step(ran: Any) -> None:
    assert ran["missing"] == [[], [], []]
    assert ran["twice"] == 0
    assert all(used < 1.05 * seconds for used, (_, seconds) in zip(ran["used"], ran["steps"]))


def test_what_it_computes_wrongly_is_composed(ran: Any) -> None:
    assert ran["maxima"] == ["-inf", "2.0"]
    assert ran["product"] == 91.0


def test_requests_take_turns_and_each_has_its_own_mini_batch(ran: Any) -> None:
    assert ran["requests"] == 2
    assert ran["difference"] < 1e-5
