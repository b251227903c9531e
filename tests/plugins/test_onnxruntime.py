"""ONNX Runtime: its profile read back to our nodes, what it refuses, and real runs in its own environment."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarker.execution.environments.places import find_uv
from benchmarker.graph.graph import Graph
from benchmarker.graph.network import Network
from benchmarker.graph.onnx.writer.lowering import lower
from benchmarker.plugins.common.onnx.origins import Origins
from benchmarker.plugins.onnxruntime.profiler import read_profile
from tests.conftest import CACHE_HOME, Command
from tests.support.conformance import passed_checks
from tests.support.framework_process import answer


def network() -> Graph:
    """Return a convolution, what is folded into it, and a scaled product of matrices."""
    net = Network("network", 2)
    x = net.batch_norm("bn", net.convolution("conv", net.input("x", (3, 8, 8)), 4, 3, pad=1, bias=False))
    x = net.named("act").relu(x)
    x = net.named("flat").flatten(net.named("pool").global_average_pool(x))
    net.output(net.named("gate").silu(net.dense("fc", x, 5)))
    return net.graph()


@pytest.fixture
def origins() -> Origins:
    return Origins(lower(network()))


@pytest.mark.parametrize(
    ("name", "kind", "node"),
    [
        ("conv", "Conv", "conv"),
        ("act_nchwc", "Conv", "conv"),
        ("fused conv", "FusedConv", "conv"),
        ("gate/Sigmoid", "Sigmoid", "gate"),
        ("fused gate", "QuickGelu", "gate"),
        ("ReorderOutput", "ReorderOutput", None),
    ],
)
def test_a_kernel_is_told_by_the_node_it_came_from(
    origins: Origins, name: str, kind: str, node: str | None
) -> None:
    assert origins.of(name, kind) == node


def test_of_two_names_that_fit_the_longer_one_counts() -> None:
    net = Network("network", 2)
    x = net.named("block1").relu(net.input("x", (3,)))
    net.output(net.named("block10").relu(x))
    assert Origins(lower(net.graph())).of("block10_nchwc", "Relu") == "block10"


def test_of_two_convolutions_before_a_sum_the_nearer_one_counts() -> None:
    net = Network("network", 2)
    x = net.named("shortcut").relu(net.convolution("first", net.input("x", (3, 8, 8)), 3, 1, bias=False))
    net.output(net.named("sum").add(x, net.convolution("second", x, 3, 1, bias=False)))
    assert Origins(lower(net.graph())).of("sum_nchwc", "Conv") == "second"


def event(category: str, name: str, at: int, long: int, kind: str = "") -> dict[str, Any]:
    return {"cat": category, "name": name, "ts": at, "dur": long, "args": {"op_name": kind} if kind else {}}


def test_a_profile_is_read_step_by_step_without_the_warm_up(origins: Origins) -> None:
    found = read_profile(
        [
            event("Session", "session_initialization", 0, 90),
            event("Node", "conv_kernel_time", 110, 5, "Conv"),
            event("Session", "model_run", 100, 50),
            event("Node", "conv_kernel_time", 1010, 30, "Conv"),
            event("Node", "flat_kernel_time", 1040, 10, "Flatten"),
            event("Session", "model_run", 1000, 100),
            event("Node", "ReorderOutput_kernel_time", 2010, 20, "ReorderOutput"),
            event("Session", "model_run", 2000, 60),
        ],
        origins,
        warm_up=1,
    )
    assert found.steps == ((0.0, 1e-4), (1e-3, 6e-5))
    assert [(c.node, c.native, c.phase, c.step) for c in found.calls] == [
        ("conv", "Conv", "forward", 0),
        ("flat", "Flatten", "forward", 0),
        (None, "ReorderOutput", "forward", 1),
    ]
    assert [(c.start_seconds, c.seconds) for c in found.calls] == [
        (1e-5, 3e-5),
        (4e-5, 1e-5),
        (pytest.approx(1.01e-3), 2e-5),
    ]


@pytest.mark.framework
def test_a_worker_of_it_sends_nothing_and_can_be_forked(command: Command) -> None:
    options = ("--framework=onnxruntime", "--problem=mnist_mlp", "--mode=inference", "--start=fork")
    (record,) = command(*options, "--steps=2", "--warmup=1", "--json").records
    # With its telemetry a thread would run on from the import.
    assert record["error"] is None
    assert record["execution"]["environment_variables"]["ORT_DISABLE_TELEMETRY"] == "1"


@pytest.mark.framework
@pytest.mark.timeout(600)
def test_it_conforms(command: Command) -> None:
    passed = passed_checks(command, "onnxruntime", "no native meaning of")
    assert len(passed) > 300
    assert {"problem/bert_base/inference", "problem/resnet50/inference", "problem/llama/inference"} <= passed


@pytest.mark.framework
@pytest.mark.parametrize("optimization", ["all", "none"])
def test_a_run_is_verified_at_each_level(command: Command, optimization: str) -> None:
    finished = command(
        "--framework=onnxruntime",
        "--problem=resnet50",
        "--set=image_size=64",
        "--batch-size=2",
        "--mode=inference",
        f"--set=optimization={optimization}",
        *("--steps=2", "--warmup=1", "--json"),
    )
    (record,) = finished.records
    assert record["error"] is None
    assert record["verification"]["status"] == "passed"
    assert record["framework"]["options"]["optimization"] == optimization
    assert record["framework"]["libraries"]["onnx"]


PROFILED = """
import json
from benchmarker.api.framework import Device
from benchmarker.api.optimizer import Optimizer
from benchmarker.plugins.onnxruntime import Options
from benchmarker.plugins.onnxruntime.framework import OnnxRuntime
from benchmarker.data import values
from benchmarker.worker.loading import load_problem

problem = load_problem("benchmarker.problems.resnet:RESNET18")
graph = problem.graph(2, **problem.reduced).without_loss()
framework = OnnxRuntime()
framework.configure(Device("cpu"), threads=1, seed=0)
program = framework.build(
    graph, values.draw_parameters(graph, 0), mode="inference", device=Device("cpu"), precision="fp32",
    optimizer=Optimizer(), options=Options(),
)
profile = program.profile(program.load(values.draw_batch(graph, 0)), 3)
operators = {node.name: node.operator for node in graph.nodes}
print(json.dumps({
    "steps": profile.steps,
    "pairs": sorted({(c.native, operators.get(c.node, "")) for c in profile.calls}),
    "convolutions": [len({c.node for c in profile.calls if c.native == "Conv" and c.step == s}) for s in range(3)],
    "of_graph": sum(node.operator == "conv" for node in graph.nodes),
    "overlaps": sum(a.start_seconds + a.seconds > b.start_seconds + 1e-6
                    for a, b in zip(profile.calls, profile.calls[1:])),
}))
"""


def test_a_real_profile_finds_each_convolution_in_each_step(cache_home: Path) -> None:
    found = answer("onnxruntime", "-c", PROFILED)
    assert len(found["steps"]) == 3
    assert found["convolutions"] == [found["of_graph"]] * 3
    assert ["Conv", "conv"] in found["pairs"]
    assert ["Gemm", "gemm"] in found["pairs"]
    assert {native for native, operator in found["pairs"] if not operator} <= {
        "ReorderInput",
        "ReorderOutput",
    }
    assert found["overlaps"] == 0


ALONE = """
import json
from benchmarker.errors import UnsupportedError
from benchmarker.api.framework import Device
from benchmarker.plugins.onnxruntime.framework import OnnxRuntime

try:
    OnnxRuntime().configure(Device("cuda"), threads=1, seed=0)
except UnsupportedError as error:
    print(json.dumps(str(error)))
"""


def test_a_device_that_is_not_there_is_refused(cache_home: Path) -> None:
    message = answer("onnxruntime", "-c", ALONE)
    assert message.startswith("ONNX Runtime 1.31.1 sees no 'cuda:0'; use the device 'cpu'")


RUN = ("--framework=onnxruntime", "--mode=inference", "--steps=2", "--warmup=1", "--json")


@pytest.mark.framework
def test_an_execution_provider_that_the_package_lacks_is_refused_with_those_that_it_has(
    command: Command,
) -> None:
    (record,) = command(*RUN, "--problem=mnist_mlp", "--set=provider=dnnl").records
    assert record["status"] == "failed"
    message = record["error"]["message"]
    assert "has no execution provider 'dnnl' for the device 'cpu' here, its package has " in message
    assert "CPUExecutionProvider" in message


@pytest.fixture(scope="module")
def package_with_openvino() -> Path:
    """Return a Python that holds ONNX Runtime as Intel builds it; its environment is made once."""
    folder = CACHE_HOME / "tests" / "onnxruntime-openvino==1.24.1"
    python = folder / "bin" / "python"
    if not (folder / "made").exists():
        packages = ("onnxruntime-openvino==1.24.1", "onnx==1.23.2", "numpy==2.4.6")
        uv = find_uv()
        subprocess.run([uv, "venv", "-q", "--clear", "--python", sys.executable, str(folder)], check=True)
        subprocess.run([uv, "pip", "install", "-q", "--python", str(python), *packages], check=True)
        (folder / "made").touch()
    return python


@pytest.mark.framework
def test_another_execution_provider_computes_all_of_a_model_or_none(
    command: Command, package_with_openvino: Path
) -> None:
    there = (f"--env={package_with_openvino}", "--set=provider=openvino", "--threads=1")
    (whole,) = command(*RUN, *there, "--problem=mnist_mlp").records
    assert (whole["status"], whole["verification"]["status"]) == ("ok", "passed")
    # In float32, not in the bfloat16 that some processors have.
    assert whole["verification"]["worst"]["norm_error"] < 1e-5
    assert whole["framework"]["options"]["provider"] == "openvino"
    assert whole["framework"]["version"] == "1.24.1"
    (part,) = command(*RUN, *there, "--problem=bert_custom").records
    assert part["status"] == "failed"
    assert "does not take the whole model" in part["error"]["message"]
    assert part["error"]["message"].endswith("does not support the following ONNX operations: Attention")
