"""What of the Chainer plugin needs no Chainer: composites expanded, and the layouts of recurrent weights."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarker.graph.graph import Graph
from benchmarker.graph.network import Network
from benchmarker.graph.operators import OPERATORS
from benchmarker.graph.transformations.expand_composites import expand_composites
from benchmarker.plugins.chainer.layouts import GATES, LAYOUTS
from benchmarker.plugins.chainer.operators import BINDERS
from benchmarker.worker.conformance.subject import (
    draw_batch,
    draw_parameters,
    fetch_outputs,
    reference_program,
)

Array = np.ndarray
HIDDEN = 3
ROWS = {"rnn": HIDDEN, "lstm": 4 * HIDDEN, "gru": 3 * HIDDEN}


def attending() -> Graph:
    """A graph of composites beside native operators; its output and its loss are composites' results."""
    net = Network("attending", 2)
    q, k, v = (net.input(name, (2, 4, 6)) for name in "qkv")
    heads = net.attention(q, k, v, scale=0.5, is_causal=True)
    x = net.gelu(net.layer_norm("norm", net.reshape(heads, shape=(0, -1))))
    net.output(x)
    net.output(net.huber(net.dense("fc", x, 3)))
    net.loss(net.reduce_mean(net.silu(x)))
    return net.graph()


def test_composites_come_down_to_what_chainer_has() -> None:
    graph = expand_composites(attending(), BINDERS)
    assert graph.operators <= set(BINDERS)
    assert graph.parameters == attending().parameters
    assert [node.name for node in graph.nodes if "/" in node.name][:2] == [
        "attention_1/affine_1",
        "attention_1/transpose_1",
    ]


def test_a_graph_written_out_computes_the_same() -> None:
    graph = attending()
    parameters, batch = draw_parameters(graph, 0), draw_batch(graph, 0)
    results = []
    for form in (graph, expand_composites(graph, BINDERS)):
        program = reference_program(form, parameters, "training")
        loaded = program.load(batch)
        loss, gradients = program.gradients(loaded)
        results.append((loss, gradients, list(fetch_outputs(program, form, loaded).values())))
    (loss, gradients, outputs), (other_loss, other_gradients, other_outputs) = results
    assert loss == other_loss
    np.testing.assert_equal(outputs, other_outputs)
    np.testing.assert_equal(gradients, other_gradients)


def test_a_native_operator_stays() -> None:
    graph = attending()
    assert expand_composites(graph, OPERATORS) == graph


def random(operator: str, position: int, directions: int) -> Array:
    rows = ROWS[operator]
    shape = (directions, 2 * rows) if position == 3 else (directions, rows, 5)
    return np.random.default_rng(position).normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("directions", [1, 2])
@pytest.mark.parametrize(("operator", "position"), LAYOUTS)
def test_recurrent_layouts_come_back(operator: str, position: int, directions: int) -> None:
    graph = attending()
    layout = LAYOUTS[operator, position](graph.nodes[0])
    array = random(operator, position, directions)
    native = layout.encode(array)
    assert len(native) == directions * (2 if position == 3 else 1)
    assert all(part.shape[0] == ROWS[operator] for part in native)
    assert np.array_equal(layout.decode(native), array)


def test_gates_are_interleaved_by_unit() -> None:
    graph_order = np.repeat(np.arange(4.0), HIDDEN)[None, :, None]
    (native,) = LAYOUTS["lstm", 1](attending().nodes[0]).encode(graph_order)
    assert native.reshape(HIDDEN, 4).tolist() == [list(map(float, GATES))] * HIDDEN


def test_the_bias_of_the_inputs_comes_first() -> None:
    bias = np.stack([np.repeat([0.0, 1.0], ROWS["gru"]), np.repeat([2.0, 3.0], ROWS["gru"])])
    native = LAYOUTS["gru", 3](attending().nodes[0]).encode(bias)
    assert [part[0] for part in native] == [0.0, 1.0, 2.0, 3.0]
