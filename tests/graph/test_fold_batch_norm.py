"""Folding batch normalization into convolutions leaves the function of inference as it is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarker import registry
from benchmarker.data.values import draw_batch, draw_parameters
from benchmarker.graph.graph import Graph
from benchmarker.graph.network import Network
from benchmarker.graph.transformations.fold_batch_norm import Folded, fold_batch_norm
from tests.support.numpy_programs import build
from tests.worker.test_verified_start import JOB, run_events

Array = np.ndarray


def lively(graph: Graph) -> dict[str, Array]:
    """Return float64 parameters whose normalizations do something: drawn ones have mean 0 and variance 1."""
    generator = np.random.default_rng(7)
    found = {name: value.astype(np.float64) for name, value in draw_parameters(graph, 0).items()}
    for node in graph.nodes:
        if node.operator == "batch_normalization":
            scale, shift, mean, variance = node.inputs[1:5]
            found[scale] = generator.uniform(0.5, 1.5, found[scale].shape)
            found[shift] = generator.normal(0.0, 0.1, found[shift].shape)
            found[mean] = generator.normal(0.0, 0.1, found[mean].shape)
            found[variance] = generator.uniform(0.5, 2.0, found[variance].shape)
    return found


def outputs(graph: Graph, parameters: dict[str, Array], batch: dict[str, Array]) -> tuple[Array, ...]:
    program = build(graph, parameters, mode="inference")
    return tuple(program.fetch(program.infer(program.load(batch))))


def far(folded: Folded, graph: Graph) -> float:
    """Return how far folding moves the outputs, as a share of how much they vary."""
    parameters, batch = lively(graph), draw_batch(graph, 0)
    before = outputs(graph, parameters, batch)
    after = outputs(folded.graph, folded.values(parameters), batch)
    return max(float(np.abs(a - b).max() / b.std()) for a, b in zip(after, before))


def norms(graph: Graph) -> int:
    return sum(node.operator == "batch_normalization" for node in graph.nodes)


@pytest.mark.parametrize(
    ("name", "left"), [("resnet18", 0), ("xception", 0), ("mobilenet_v2", 0), ("wide_resnet28_10", 6)]
)
def test_a_folded_network_computes_the_same(name: str, left: int) -> None:
    problem = registry.problem(name)
    graph = problem.graph(2, **problem.reduced).without_loss()
    folded = fold_batch_norm(graph)
    assert norms(graph) > 6
    assert (norms(folded.graph), len(folded.nodes)) == (left, norms(graph) - left)
    assert far(folded, graph) < 1e-12
    assert {p.name for p in folded.graph.parameters} == folded.values(lively(graph)).keys()


def network(*, bias: bool = False, read_twice: bool = False) -> Graph:
    net = Network("network", 2)
    x = net.input("image", (4, 6, 6))
    y = net.convolution("conv", x, 4, 3, pad=1, bias=bias, groups=2)
    z = net.batch_norm("bn", y, epsilon=0.1)
    if read_twice:
        z = net.add(z, y)
    net.output(net.relu(z))
    return net.graph().without_loss()


@pytest.mark.parametrize("bias", [False, True])
def test_groups_a_bias_and_epsilon_are_taken_along(bias: bool) -> None:
    graph = network(bias=bias)
    folded = fold_batch_norm(graph)
    assert folded.nodes == ("bn",)
    assert far(folded, graph) < 1e-12


def test_values_keep_their_type() -> None:
    graph = network()
    values = fold_batch_norm(graph).values(draw_parameters(graph, 0))
    assert {value.dtype for value in values.values()} == {np.dtype(np.float32)}


def test_a_convolution_with_another_reader_is_left_as_it_is() -> None:
    graph = network(read_twice=True)
    assert fold_batch_norm(graph).graph == graph


def test_a_convolution_whose_result_is_an_output_is_left_as_it_is() -> None:
    graph = network()
    graph = replace(graph, outputs=(*graph.outputs, "conv"))
    assert fold_batch_norm(graph).graph == graph


def test_a_weight_that_two_convolutions_share_is_left_as_it_is() -> None:
    graph = network()
    first, *rest = graph.nodes
    twin = replace(first, name="twin", outputs=("twin",))
    graph = replace(
        graph,
        nodes=(first, twin, *rest),
        outputs=(*graph.outputs, "twin"),
        types={**graph.types, "twin": graph.types["conv"]},
    )
    assert fold_batch_norm(graph).graph == graph


def test_a_run_is_verified_against_the_graph_as_it_was(tmp_path: Path) -> None:
    job = replace(
        JOB, problem="tests.worker.test_verified_start:Biased", mode="inference", fold_batch_norm=True
    )
    assert run_events(job, tmp_path)["verification"]["status"] == "passed"


def test_a_fold_that_forgets_the_mean_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def forgetful(graph: Graph) -> Folded:
        folded = fold_batch_norm(graph)

        def values(given: Any) -> dict[str, Any]:
            changed = folded.values(given)
            return {**changed, "conv.bias": changed["conv.bias"] * 0.0}

        return replace(folded, values=values)

    monkeypatch.setattr("benchmarker.worker.program.fold_batch_norm", forgetful)
    job = replace(
        JOB, problem="tests.worker.test_verified_start:Biased", mode="inference", fold_batch_norm=True
    )
    assert run_events(job, tmp_path)["verification"]["status"] == "failed"
