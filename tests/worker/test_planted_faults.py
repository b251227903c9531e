"""Faults that real frameworks and models have had, planted one at a time: the comparison must catch each."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from benchmarker.api.framework import Device, NoOptions
from benchmarker.api.optimizer import Optimizer
from benchmarker.api.problem import Problem
from benchmarker.api.program import Program
from benchmarker.graph.graph import Graph
from benchmarker.graph.network import Network
from benchmarker.graph.types import Node
from benchmarker.plugins.numpy.framework import NumpyFramework
from benchmarker.plugins.numpy.operators import NumpyOperators
from benchmarker.plugins.numpy.program import NumpyProgram
from benchmarker.problems import lstm_imdb, mnist_mlp
from benchmarker.problems.layers import resnet
from benchmarker.worker.verification import probes, reference, stepwise
from benchmarker.worker.verification.equivalence import Quantity, compare
from benchmarker.worker.verification.probes import Build, ProbeSpec
from benchmarker.worker.verification.stable_batches import stable_seeds
from benchmarker.worker.verification.tolerances import Expected


def small_convolutions() -> Graph:
    """A strided convolution, a pooling whose rounding matters, batch normalization, dropout."""
    net = Network("small_convolutions", 4)
    x = net.input("image", (3, 12, 12))
    label = net.labels("label", 5)
    x = net.convolution("conv1", x, 6, 3, stride=2, pad=1, bias=False)
    x = net.relu(net.batch_norm("bn", x))
    x = net.pool(x, 3, stride=2)
    x = net.convolution("conv2", x, 8, 1)
    x = net.flatten(net.global_average_pool(net.relu(x)))
    x = net.dropout(x, ratio=0.25)
    x = net.dense("fc", x, 5)
    net.output(x)
    net.loss(net.softmax_cross_entropy_loss(x, label))
    return net.graph()


def bottlenecks() -> Graph:
    """Two stages of ResNet-50's block, the second with the stride."""
    net = Network("bottlenecks", 4)
    x = net.input("image", (3, 8, 8))
    label = net.labels("label", 5)
    x = net.relu(net.batch_norm("bn", net.convolution("conv", x, 8, 3, pad=1, bias=False)))
    x = resnet.stage(net, "stage1", x, resnet.bottleneck, 2, 4, 1)
    x = resnet.stage(net, "stage2", x, resnet.bottleneck, 1, 8, 2)
    x = net.dense("fc", net.flatten(net.global_average_pool(x)), 5)
    net.output(x)
    net.loss(net.softmax_cross_entropy_loss(x, label))
    return net.graph()


def reduced(problem: Problem) -> Graph:
    return problem.graph(problem.reduced_batch_size, **problem.reduced)


GRAPHS: Mapping[str, Callable[[], Graph]] = {
    "convolutions": small_convolutions,
    "bottlenecks": bottlenecks,
    "lstm_imdb": lambda: reduced(lstm_imdb.benchmarker_problem()),
    "mnist_mlp": lambda: reduced(mnist_mlp.benchmarker_problem()),
}
QUESTIONS: dict[str, tuple[ProbeSpec, list[Expected]]] = {}


def spec(name: str) -> tuple[ProbeSpec, list[Expected]]:
    """Return the question about a graph and the reference's answer, computed once."""
    if name not in QUESTIONS:
        asked = ProbeSpec(GRAPHS[name](), seed=42, probes=tuple(probes.PROBES), steps=3)
        asked = replace(asked, seeds=stable_seeds(asked, "fp32"))
        QUESTIONS[name] = asked, reference.expected_probes(asked)
    return QUESTIONS[name]


def build(
    graph: Graph,
    parameters: Mapping[str, Any],
    mode: str,
    optimizer: Optimizer,
    framework: type[NumpyFramework] = NumpyFramework,
) -> NumpyProgram:
    return framework().build(
        graph,
        parameters,
        mode=mode,
        device=Device("cpu"),
        precision="fp32",
        optimizer=optimizer,
        options=NoOptions(),
    )


def compared(name: str, framework: Build) -> list[Quantity]:
    """Judge a framework as ``verify`` does: its training by the reference's steps from its weights."""
    asked, expected = spec(name)
    trajectories = stepwise.trajectories(asked, framework)
    found = [
        *reference.without_errors(probes.compute(asked, framework)),
        *stepwise.changes(trajectories),
    ]
    return compare([*expected, *stepwise.expected_changes(asked, trajectories)], found, "fp32")


MARGIN = 10.0
"""How far beyond its tolerance a fault must be: not nearly missed."""


def failed_kinds(name: str, faulty: Build) -> set[str]:
    """Return the kinds in which some tensor is far off."""
    quantities = compared(name, faulty)
    return {q.kind for q in quantities if any(v.norm_error > MARGIN * v.norm_tolerance for v in q.failed)}


@pytest.mark.parametrize("name", GRAPHS)
def test_a_right_framework_passes_in_every_quantity(name: str) -> None:
    quantities = compared(name, build)
    assert {q.kind: q.status for q in quantities} == dict.fromkeys(
        ("output", "loss", "gradient", *probes.PROBES), "passed"
    )
    assert max(q.error for q in quantities) < 1e-3


# --- faults of the graph: another function is built ------------------------------------------------


def changed_node(graph: Graph, change: Callable[[Node], Node]) -> Graph:
    return replace(graph, nodes=tuple(change(node) for node in graph.nodes))


def with_attributes(node: Node, **attributes: Any) -> Node:
    return replace(node, attributes={**node.attributes, **attributes})


def same_padding(node: Node) -> Node:
    """TensorFlow's SAME pads an even size at stride 2 only at the end."""
    strided = node.operator == "conv" and node.attributes["strides"] == (2, 2)
    if strided and node.attributes["pads"] == (1, 1, 1, 1):
        return with_attributes(node, pads=(0, 0, 1, 1))
    return node


def ceil_pooling(node: Node) -> Node:
    return with_attributes(node, ceil_mode=True) if node.operator == "max_pool" else node


def swapped_momentum(node: Node) -> Node:
    if node.operator != "batch_normalization":
        return node
    return with_attributes(node, momentum=1.0 - node.attributes["momentum"])


def summed_loss(node: Node) -> Node:
    if node.operator != "softmax_cross_entropy_loss":
        return node
    return with_attributes(node, reduction="sum")


def stride_in_first_convolution(node: Node) -> Node:
    """ResNet v1 has the stride of a stage in the first 1x1, v1.5 in the 3x3."""
    if node.name.endswith("block1.conv1") and not node.name.startswith("stage1"):
        return with_attributes(node, strides=(2, 2))
    if node.name.endswith("block1.conv2"):
        return with_attributes(node, strides=(1, 1))
    return node


def two_softmaxes(graph: Graph) -> Graph:
    """The model ends in a softmax, and the loss applies another one."""
    (output,) = graph.outputs
    nodes: list[Node] = []
    for node in graph.nodes:
        if output in node.outputs:
            nodes.append(replace(node, outputs=("scores",)))
            nodes.append(Node("softmax", "softmax", ("scores",), (output,), {"axis": -1}))
        else:
            nodes.append(node)
    return replace(graph, nodes=tuple(nodes))


GRAPH_FAULTS: tuple[tuple[str, str, Callable[[Graph], Graph], set[str]], ...] = (
    (
        "padding SAME against symmetric at stride 2",
        "convolutions",
        lambda g: changed_node(g, same_padding),
        {"output", "gradient"},
    ),
    ("ceil against floor pooling", "convolutions", lambda g: changed_node(g, ceil_pooling), {"output"}),
    (
        "batch-norm momentum swapped with 1 - momentum",
        "convolutions",
        lambda g: changed_node(g, swapped_momentum),
        {"sgd"},
    ),
    (
        "stride in the 1x1 instead of the 3x3",
        "bottlenecks",
        lambda g: changed_node(g, stride_in_first_convolution),
        {"output", "loss", "gradient"},
    ),
    ("softmax applied twice", "mnist_mlp", two_softmaxes, {"output", "loss", "gradient"}),
    (
        "mean against sum loss",
        "mnist_mlp",
        lambda g: changed_node(g, summed_loss),
        {"loss", "gradient", "sgd"},
    ),
)


@pytest.mark.parametrize(
    ("graph", "fault", "kinds"), [f[1:] for f in GRAPH_FAULTS], ids=[f[0] for f in GRAPH_FAULTS]
)
def test_a_fault_of_the_graph_is_caught(graph: str, fault: Callable[[Graph], Graph], kinds: set[str]) -> None:
    def faulty(graph: Graph, parameters: Mapping[str, Any], mode: str, optimizer: Optimizer) -> Program:
        return build(fault(graph), parameters, mode, optimizer)

    assert kinds <= failed_kinds(graph, faulty)


# --- faults of an operator, of the data or of the weights -------------------------------------------


class UnbiasedVariance(NumpyOperators):
    """Running variance from the unbiased estimate, as several frameworks have it."""

    def batch_normalization(self, x: Any, scale: Any, b: Any, mean: Any, var: Any, **attributes: Any) -> Any:
        before = var.copy()
        y = super().batch_normalization(x, scale, b, mean, var, **attributes)
        count = x.size // x.shape[1]
        kept = attributes["momentum"] * before
        var[...] = kept + (var - kept) * count / (count - 1)
        return y


class UnbiasedFramework(NumpyFramework):
    operators = UnbiasedVariance


def unbiased(graph: Graph, parameters: Mapping[str, Any], mode: str, optimizer: Optimizer) -> Program:
    return build(graph, parameters, mode, optimizer, UnbiasedFramework)


def transposed_images(
    graph: Graph, parameters: Mapping[str, Any], mode: str, optimizer: Optimizer
) -> Program:
    program = build(graph, parameters, mode, optimizer)
    load = program.load

    def transposed(batch: Mapping[str, Any]) -> dict[str, Any]:
        return load({**batch, "image": batch["image"].swapaxes(2, 3)})

    program.load = transposed  # type: ignore[method-assign]
    return program


def forget_bias(graph: Graph, parameters: Mapping[str, Any], mode: str, optimizer: Optimizer) -> Program:
    """Keras and TensorFlow start the forget gate with a bias of 1."""
    (name,) = (p.name for p in graph.parameters if p.name.endswith(".b"))
    moved = parameters[name].copy()
    hidden = moved.shape[1] // 8
    moved[:, 2 * hidden : 3 * hidden] += 1.0
    return build(graph, {**parameters, name: moved}, mode, optimizer)


class OneBias(NumpyProgram):
    """An LSTM with a single bias: the sum of both moves, the recurrent one never does."""

    def train_step(self, batch: Any) -> Any:
        before = {name: p.copy() for name, p in self._trainable.items() if name.endswith(".b")}
        loss = super().train_step(batch)
        for name, bias in before.items():
            half = bias.shape[1] // 2
            self._trainable[name][:, half:] = bias[:, half:]
        return loss


class StaleGradient(NumpyProgram):
    """Every update uses the gradients of the step before."""

    def train_step(self, batch: Any) -> Any:
        update = self._update
        assert update is not None
        kept: dict[str, Any] = getattr(self, "_kept", {})

        def stale(gradients: Mapping[str, Any]) -> None:
            self._kept = dict(gradients)
            if kept:
                update(kept)

        self._update = stale
        loss = super().train_step(batch)
        self._update = update
        return loss


class EpsilonInside(NumpyProgram):
    """Adam with epsilon added to the second moment, inside of the root."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        optimizer = arguments[4]
        if optimizer is None or optimizer.kind != "adam":
            return
        first = {name: np.zeros_like(p) for name, p in self._trainable.items()}
        second = {name: np.zeros_like(p) for name, p in self._trainable.items()}
        steps = 0

        def update(gradients: Mapping[str, Any]) -> None:
            nonlocal steps
            steps += 1
            for name, p in self._trainable.items():
                first[name] += (1 - optimizer.beta1) * (gradients[name] - first[name])
                second[name] += (1 - optimizer.beta2) * (np.square(gradients[name]) - second[name])
                m = first[name] / (1 - optimizer.beta1**steps)
                v = second[name] / (1 - optimizer.beta2**steps)
                p -= optimizer.learning_rate * m / np.sqrt(v + optimizer.epsilon)

        self._update = update


def as_program(program: type[NumpyProgram]) -> Build:
    def faulty(graph: Graph, parameters: Mapping[str, Any], mode: str, optimizer: Optimizer) -> Program:
        update = optimizer if mode == "training" else None
        return program(NumpyOperators, graph, parameters, np.float32, update, 0)

    return faulty


FAULTS: tuple[tuple[str, str, Build, set[str]], ...] = (
    ("transposed image axes", "convolutions", transposed_images, {"output", "gradient"}),
    ("forget bias 1", "lstm_imdb", forget_bias, {"output", "gradient"}),
    ("a second LSTM bias", "lstm_imdb", as_program(OneBias), {"sgd", "adam"}),
    ("biased against unbiased running variance", "convolutions", unbiased, {"sgd", "momentum"}),
    ("Adam's epsilon inside the root", "mnist_mlp", as_program(EpsilonInside), {"adam"}),
    ("a stale gradient", "mnist_mlp", as_program(StaleGradient), {"sgd", "momentum", "adam", "adagrad"}),
)


@pytest.mark.parametrize(("graph", "faulty", "kinds"), [f[1:] for f in FAULTS], ids=[f[0] for f in FAULTS])
def test_a_fault_of_a_framework_is_caught(graph: str, faulty: Build, kinds: set[str]) -> None:
    assert kinds <= failed_kinds(graph, faulty)


def test_what_a_training_fault_leaves_alone_passes() -> None:
    """The fault is shown where it is: a stale gradient is no wrong gradient."""
    assert failed_kinds("mnist_mlp", as_program(StaleGradient)).isdisjoint({"output", "loss", "gradient"})
    assert failed_kinds("mnist_mlp", as_program(EpsilonInside)) == {"adam"}


def test_not_a_number_fails_however_ill_conditioned() -> None:
    asked, expected = spec("mnist_mlp")
    found = probes.compute(asked, build)
    kind, gradient = found["fc1.weight"]
    found["fc1.weight"] = kind, np.full_like(gradient, math.nan)
    wide = [replace(e, rounding=replace(e.rounding, norm=1.0)) for e in expected]
    statuses = {q.kind: q.status for q in compare(wide, reference.without_errors(found), "fp32")}
    assert statuses["gradient"] == "failed"
