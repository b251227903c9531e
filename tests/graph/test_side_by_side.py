"""Graphs that stand side by side in one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from benchmarker.graph.graph import Graph
from benchmarker.graph.network import Network
from benchmarker.graph.transformations.side_by_side import prefix_of, side_by_side
from benchmarker.graph.types import Distribution
from benchmarker.worker.conformance.subject import draw_batch, draw_parameters, reference_program


def layer(width: int) -> Graph:
    """A dense layer without a bias, and a loss."""
    net = Network("layer", 3)
    weight = net.parameter("weight", (4, width), Distribution("normal", 0.5))
    x = net.named("product").gemm(net.input("x", (4,)), weight)
    net.output(x)
    net.loss(net.reduce_mean(net.mul(x, x)))
    return net.graph()


def own(values: dict[str, Any], position: int) -> dict[str, Any]:
    prefix = prefix_of(position)
    return {name.removeprefix(prefix): value for name, value in values.items() if name.startswith(prefix)}


def test_each_has_the_gradients_that_it_has_by_itself() -> None:
    graphs = [layer(2), layer(5), layer(3)]
    whole = side_by_side(graphs)
    parameters, batch = draw_parameters(whole, 1), draw_batch(whole, 1)
    program = reference_program(whole, parameters, "training")
    loss, gradients = program.gradients(program.load(batch))
    total = 0.0
    for position, graph in enumerate(graphs):
        alone = reference_program(graph, own(parameters, position), "training")
        part, expected = alone.gradients(alone.load(own(batch, position)))
        total += part
        found = own(gradients, position)
        assert set(found) == set(expected)
        assert all(np.array_equal(found[name], array) for name, array in expected.items())
    assert loss == total
    assert whole.outputs == tuple(f"{prefix_of(n)}{name}" for n, g in enumerate(graphs) for name in g.outputs)


def test_an_operand_that_is_left_out_stays_so() -> None:
    graph = layer(2)
    product = next(node for node in graph.nodes if node.operator == "gemm")
    without = replace(graph, nodes=(replace(product, inputs=("x", "", "weight")),))
    assert side_by_side([without]).nodes[0].inputs == ("part0.x", "", "part0.weight")


def test_what_goes_backward_is_that_of_each_output() -> None:
    graphs = [layer(2).without_loss().for_gradient(), layer(5).without_loss().for_gradient()]
    whole = side_by_side(graphs)
    assert whole.loss is None
    assert whole.upstream == {
        f"{prefix_of(n)}{output}": f"{prefix_of(n)}{gradient}"
        for n, graph in enumerate(graphs)
        for output, gradient in graph.upstream.items()
    }


def test_graphs_without_a_loss_add_nothing() -> None:
    graph = layer(2).without_loss()
    assert side_by_side([graph, graph]).loss is None
    beside = side_by_side([graph, layer(3)])
    assert beside.loss == f"part1.{layer(3).loss}"
    assert "add" not in beside.operators
