"""IREE: what is composed for it, what it refuses, and real runs in its own environment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarker.graph.initializers import ZEROS
from benchmarker.graph.network import Network
from benchmarker.graph.onnx.writer.lowering import lower
from benchmarker.plugins.iree.operators import IreeOperators
from tests.conftest import Command
from tests.support.conformance import passed_checks
from tests.support.framework_process import answer

SAMPLE = (
    *("description/*", "program/*", "problem/mnist_mlp/*", "generation/llama", "synchronize/infer"),
    *(
        f"forward/{name}/*"
        for name in ("attention", "rms_normalization", "rotary_embedding", "scatter_nd", "resize")
    ),
    *(f"forward/{name}/*" for name in ("conv_transpose", "rnn", "gru", "lstm", "gelu", "ctc_loss", "cast")),
    "forward/softmax_cross_entropy_loss/*",
)
"""Of the conformance suite what is written in other nodes or refused, and how programs behave: all of it takes minutes,
for more than half a second of a core goes into compiling the least of its checks."""
BRIEF = ("--mode=inference", "--steps=3", "--warmup=1", "--json")


def kinds(net: Network) -> list[str]:
    return [node.kind for node in lower(net.graph(), operators=IreeOperators).nodes]


def test_a_transposed_convolution_with_unequal_pads_is_cut_out_of_a_whole_one() -> None:
    def network(pads: tuple[int, ...]) -> Network:
        net = Network("network", 2)
        x, w = net.input("x", (3, 4, 4)), net.parameter("w", (3, 2, 3, 3), ZEROS)
        window: dict[str, Any] = {
            "strides": (2, 2),
            "output_padding": (0, 0),
            "dilations": (1, 1),
            "group": 1,
        }
        net.output(net.conv_transpose(x, w, pads=pads, **window))
        return net

    assert kinds(network((1, 1, 1, 1))) == ["ConvTranspose"]
    assert kinds(network((0, 1, 1, 1))) == ["ConvTranspose", "Slice"]


def test_a_second_direction_is_a_layer_over_the_steps_from_the_last_to_the_first() -> None:
    net = Network("network", 2)
    x = net.transpose(net.input("x", (5, 3)), perm=(1, 0, 2))
    shapes = {"w": (2, 4, 3), "r": (2, 4, 4), "b": (2, 8)}
    weights = [net.parameter(name, shape, ZEROS) for name, shape in shapes.items()]
    y, last = net.rnn(x, *weights, hidden_size=4, direction="bidirectional")
    net.output(y)
    net.output(last)
    nodes = lower(net.graph(), operators=IreeOperators).nodes
    layers = [node for node in nodes if node.kind == "RNN"]
    assert [node.attributes["direction"] for node in layers] == ["forward", "forward"]
    assert [node.attributes["activations"] for node in layers] == [["Tanh"], ["Tanh"]]
    assert [node.attributes["axis"] for node in nodes if node.kind == "Concat"] == [1, 0]


def test_what_it_would_compute_wrongly_is_written_in_other_nodes() -> None:
    net = Network("network", 2)
    net.output(net.gelu(net.input("x", (3,)), approximate="tanh"))
    assert "Gelu" not in kinds(net)
    assert "Tanh" in kinds(net)

    def scattered(places: tuple[int, int], shape: tuple[int, ...]) -> list[str]:
        net = Network("network", 4)
        indices = net.constant("indices", places, ZEROS, "int64")
        net.output(net.scatter_nd(net.input("x", (3,)), indices, net.parameter("updates", shape, ZEROS)))
        return kinds(net)

    assert scattered((1, 2), (1,)) == ["Concat", "Concat", "ScatterND"]
    assert scattered((2, 2), (2,)) == scattered((1, 1), (1, 3)) == ["ScatterND"]


@pytest.mark.framework
@pytest.mark.timeout(900)
def test_it_conforms(command: Command) -> None:
    reasons = (
        "no native meaning of ctc_loss",
        "no native meaning of softmax_cross_entropy",
        "the framework has no",
    )
    passed = passed_checks(command, "iree", *reasons, only=",".join(SAMPLE), timeout=900)
    assert len(passed) > 60
    assert {"problem/mnist_mlp/inference", "generation/llama"} <= passed


@pytest.mark.framework
def test_a_run_is_compiled_once_for_this_processor_and_verified(command: Command) -> None:
    run = ("--framework=iree", "--problem=mnist_mlp", "--batch-size=16", "--threads=2", "--start=fork")
    (record,) = command(*run, *BRIEF).records
    assert record["error"] is None
    assert record["verification"]["status"] == "passed"
    assert record["framework"]["options"] == {"optimization": "O0", "data_tiling": False}
    assert record["framework"]["libraries"]["target_cpu"] not in ("", "generic", "x86-64")
    assert record["execution"]["compile_cache"]["compilations"] == {"compile": 1}
    assert record["timing"]["compilations"] == 0


RAN = """
import json
import sys
from pathlib import Path
from benchmarker.api.framework import Device
from benchmarker.api.optimizer import Optimizer
from benchmarker.data import values
from benchmarker.errors import UnsupportedError
from benchmarker.graph.initializers import ZEROS
from benchmarker.graph.network import Network
from benchmarker.graph.onnx.writer.operators import OnnxOperators
from benchmarker.plugins.iree import Options
from benchmarker.plugins.iree.framework import Iree
from benchmarker.plugins.iree.operators import IreeOperators

framework = Iree()
framework.configure(Device("cpu"), threads=int(sys.argv[1]), seed=0)

def build(graph):
    return framework.build(
        graph, values.draw_parameters(graph, 0), mode="inference", device=Device("cpu"), precision="fp32",
        optimizer=Optimizer(), options=Options(),
    )

net = Network("doubled", 2)
net.output(net.affine(net.input("x", (3,)), alpha=2.0))
graph = net.graph()
program = build(graph)
outputs = []
for seed in range(3):
    batch = values.draw_batch(graph, seed)
    outputs.append((program.infer(program.load(batch)), 2 * batch["x"]))
kept = [bool((program.fetch(output)[0] == expected).all()) for output, expected in outputs]

# What its importer lacks.
IreeOperators.rms_normalization = OnnxOperators.rms_normalization
net = Network("refused", 2)
net.output(net.named("norm").rms_normalization(net.input("x", (3,)), net.parameter("scale", (3,), ZEROS)))
refused = build(net.graph())
try:
    refused.infer(refused.load(values.draw_batch(net.graph(), 0)))
except UnsupportedError as reason:
    said = str(reason)
names = [comm.read_text() for comm in Path("/proc/self/task").glob("*/comm")]
workers = sum(name.startswith("iree-worker") for name in names)
print(json.dumps({"workers": workers, "kept": kept, "said": said}))
"""


@pytest.mark.parametrize(("threads", "workers"), [(1, 0), (2, 2)])
def test_it_has_the_threads_that_were_asked_for_keeps_outputs_and_names_what_it_does_not_compile(
    cache_home: Path, threads: int, workers: int
) -> None:
    ran: Any = answer("iree", "-c", RAN, str(threads))
    assert ran["workers"] == workers
    assert ran["kept"] == [True] * 3
    assert ran["said"].startswith("IREE does not compile 'refused': ")
    assert "RMSNormalization" in ran["said"] or "norm" in ran["said"]
    assert ran["said"].count("\n") == 0
