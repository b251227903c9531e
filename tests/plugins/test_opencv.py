"""OpenCV: what it refuses and what is composed for it, and real runs in its own environment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarker.errors import UnsupportedError
from benchmarker.graph.network import Network
from benchmarker.graph.onnx.writer.lowering import lower
from benchmarker.graph.support import check_operators
from benchmarker.plugins.opencv.operators import OpenCvOperators
from benchmarker.problems.deepbench_rnn import benchmarker_problem as deepbench_rnn
from tests.conftest import Command
from tests.support.conformance import passed_checks
from tests.support.framework_process import answer


def kinds(net: Network) -> list[str]:
    return [node.kind for node in lower(net.graph(), operators=OpenCvOperators).nodes]


def test_what_it_would_compute_as_something_else_is_written_in_other_nodes() -> None:
    net = Network("network", 2)
    x = net.resize(net.input("x", (3, 1, 4)), sizes=(2, 8), mode="linear")
    net.output(net.resize(net.reduce_mean(x, axes=(2,), keepdims=True), sizes=(3, 8), mode="linear"))
    assert kinds(net) == ["Expand", "Resize", "ReduceMean", "Expand"]
    net = Network("network", 2)
    net.output(net.gelu(net.input("x", (3,)), approximate="tanh"))
    assert "Gelu" not in kinds(net)
    assert "Tanh" in kinds(net)


def test_a_plain_recurrent_layer_is_refused_by_name() -> None:
    graph = deepbench_rnn().graph(type="vanilla", hidden=4, batch=2, time_steps=2).without_loss()
    with pytest.raises(UnsupportedError, match=r"framework 'opencv' has no rnn \(nodes rnn\): problem"):
        check_operators(graph, OpenCvOperators, "opencv")


@pytest.mark.framework
@pytest.mark.timeout(600)
def test_it_conforms(command: Command) -> None:
    passed = passed_checks(command, "opencv", "no native meaning of ctc_loss", "no native meaning of rnn")
    assert len(passed) > 500
    assert {"problem/bert_base/inference", "generation/llama", "profile/inference"} <= passed


@pytest.mark.framework
def test_a_run_is_verified(command: Command) -> None:
    run = ("--framework=opencv", "--problem=resnet18", "--set=image_size=32", "--batch-size=2")
    finished = command(*run, "--mode=inference", "--steps=3", "--warmup=1", "--start=fork", "--json")
    (record,) = finished.records
    assert record["error"] is None
    assert record["verification"]["status"] == "passed"
    assert record["framework"]["libraries"]["opencv_parallel"] == "pthreads"


RAN = """
import json
import numpy as np
from benchmarker.api.framework import Device, NoOptions
from benchmarker.api.optimizer import Optimizer
from benchmarker.data import values
from benchmarker.errors import UnsupportedError
from benchmarker.graph.network import Network
from benchmarker.plugins.opencv.framework import OpenCv
from benchmarker.worker.loading import load_problem

framework = OpenCv()
framework.configure(Device("cpu"), threads=1, seed=0)

def build(graph):
    return framework.build(
        graph, values.draw_parameters(graph, 0), mode="inference", device=Device("cpu"), precision="fp32",
        optimizer=Optimizer(), options=NoOptions(),
    )

problem = load_problem("benchmarker.problems.resnet:RESNET18")
graph = problem.graph(2, **problem.reduced).without_loss()
program = build(graph)
profile = program.profile(program.load(values.draw_batch(graph, 0)), 3)
convolutions = {node.name for node in graph.nodes if node.operator == "conv"}

net = Network("enlarged", 2)
net.output(net.resize(net.relu(net.input("x", (3, 1, 1))), sizes=(8, 8), mode="linear"))
enlarged, batch = net.graph(), {"x": np.arange(1, 7, dtype=np.float32).reshape(2, 3, 1, 1)}
worst = 0.0
for _ in range(5):
    # What lies about in memory, where OpenCV's own would read it.
    rubbish = [np.full(count, np.float32(1e30)) for count in range(1, 400)]
    del rubbish
    one = build(enlarged)
    worst = max(worst, float(abs(one.fetch(one.infer(one.load(batch)))[0] - batch["x"]).max()))
print(json.dumps({
    "steps": profile.steps,
    "missing": [
        sorted(convolutions - {c.node for c in profile.calls if c.step == step}) for step in range(3)
    ],
    "used": [sum(c.seconds for c in profile.calls if c.step == step) for step in range(3)],
    "worst": worst,
}))
"""


@pytest.fixture(scope="module")
def ran(cache_home: Path) -> Any:
    return answer("opencv", "-c", RAN)


def test_a_real_profile_finds_each_convolution_in_each_step(ran: Any) -> None:
    assert ran["missing"] == [[], [], []]
    assert all(used < 1.05 * seconds for used, (_, seconds) in zip(ran["used"], ran["steps"]))


def test_an_image_of_one_pixel_is_enlarged_whatever_lies_beside_it(ran: Any) -> None:
    assert ran["worst"] == 0.0
