"""Graphs as ONNX nodes: names, origins, constants, and mini-batches of any size. No package ``onnx`` is needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from benchmarker.errors import UsageError
from benchmarker.graph.graph import Graph
from benchmarker.graph.network import Network
from benchmarker.graph.onnx.writer.lowering import Lowered, lower
from benchmarker.graph.onnx.writer.open_batch import open_axes, open_batch
from benchmarker.graph.onnx.writer.operators import OnnxOperators
from benchmarker.graph.support import check_operators, missing_operators
from benchmarker.graph.types import Distribution

NORMAL = Distribution("normal")


def graph(build: Callable[[Network], Any], batch: int = 2) -> Graph:
    net = Network("tested", batch)
    net.output(build(net))
    return net.graph()


def kinds(lowered: Lowered) -> list[str]:
    return [node.kind for node in lowered.nodes]


def test_a_node_that_is_one_operator_has_the_graphs_names() -> None:
    one = graph(lambda net: net.named("act").relu(net.dense("fc", net.input("x", (3,)), 4)))
    lowered = lower(one)
    assert [node.name for node in lowered.nodes] == [node.name for node in one.nodes]
    assert [node.outputs for node in lowered.nodes] == [list(node.outputs) for node in one.nodes]
    assert lowered.origins == {node.name: node.name for node in one.nodes}


def test_the_node_that_makes_the_result_has_the_name_and_the_others_say_what_they_are() -> None:
    def build(net: Network) -> Any:
        scale, shift = (net.parameter(name, (6,), NORMAL) for name in ("scale", "shift"))
        return net.named("norm").group_normalization(net.input("x", (6, 4, 4)), scale, shift, num_groups=3)

    lowered = lower(graph(build))
    names = [node.name for node in lowered.nodes]
    assert names[-1] == "norm"
    assert lowered.nodes[-1].outputs == ["norm"]
    assert "norm/InstanceNormalization" in names
    assert len(set(names)) == len(names)
    assert set(lowered.origins.values()) == {"norm"}


def test_what_does_nothing_in_inference_adds_no_node() -> None:
    lowered = lower(graph(lambda net: net.relu(net.dropout(net.input("x", (3,)), ratio=0.5))))
    assert kinds(lowered) == ["Relu"]
    assert lowered.nodes[0].inputs == ["x"]


def test_an_output_that_nothing_was_done_to_is_still_there() -> None:
    lowered = lower(graph(lambda net: net.named("same").dropout(net.input("x", (3,)), ratio=0.5)))
    (node,) = lowered.nodes
    assert (node.kind, node.inputs, node.outputs, node.name) == ("Identity", ["x"], ["same"], "same")


def test_equal_constants_are_kept_once() -> None:
    def build(net: Network) -> Any:
        x = net.input("x", (3,))
        return net.add(net.affine(x, alpha=0.5), net.affine(x, alpha=0.5, beta=2.0))

    lowered = lower(graph(build))
    assert sorted(float(value) for value in lowered.constants.values()) == [0.5, 2.0]
    assert {value.dtype.name for value in lowered.constants.values()} == {"float32"}


def test_constants_follow_the_type_of_the_model() -> None:
    lowered = lower(graph(lambda net: net.affine(net.input("x", (3,)), alpha=0.5)), dtype="float16")
    assert [value.dtype.name for value in lowered.constants.values()] == ["float16"]


def attention(net: Network, mask: tuple[int, ...]) -> Any:
    q, k, v = (net.input(name, (2, 5, 4)) for name in "qkv")
    return net.attention(q, k, v, net.parameter("mask", mask, NORMAL), scale=0.5)


@pytest.mark.parametrize("mask", [(2, 1, 1, 5), (1, 5), (5,)])
def test_a_mask_is_given_its_last_two_axes_in_full(mask: tuple[int, ...]) -> None:
    lowered = lower(graph(lambda net: attention(net, mask)))
    assert kinds(lowered) == ["Expand", "Attention"]
    (shape,) = lowered.constants.values()
    assert np.broadcast_shapes(mask, tuple(shape))[-2:] == (5, 5)


def test_a_whole_mask_is_left_alone() -> None:
    assert kinds(lower(graph(lambda net: attention(net, (5, 5))))) == ["Attention"]


def test_all_of_the_vocabulary_is_there_but_what_onnx_lacks() -> None:
    def build(net: Network) -> Any:
        scores = net.transpose(net.input("x", (6, 5)), perm=(1, 0, 2))
        return net.ctc_loss(scores, net.input("label", (2,), "int64", Distribution("integers", 5, 1)))

    loss = graph(build)
    assert list(missing_operators(loss, OnnxOperators)) == ["ctc_loss"]
    with pytest.raises(Exception, match=r"framework 'onnxruntime' has no ctc_loss \(nodes ctc_loss_1\)"):
        check_operators(loss, OnnxOperators, "onnxruntime")


# --- mini-batches of any size --------------------------------------------------------------------


def opened(build: Callable[[Network], object]) -> Graph:
    return open_batch(graph(build, 2), graph(build, 3))


def test_a_reshape_leaves_the_size_open() -> None:
    def build(net: Network) -> Any:
        return net.reshape(net.input("x", (3, 4)), shape=(net.batch_size * 3, -1))

    (node,) = opened(build).nodes
    assert node.attributes["shape"] == (-1, 4)


def test_an_expansion_takes_the_size_from_the_input() -> None:
    def build(net: Network) -> Any:
        token = net.parameter("token", (1, 4), NORMAL)
        return net.add(net.input("x", (4,)), net.expand(token, shape=(net.batch_size, 4)))

    lowered = lower(opened(build), open_batch=True)
    assert kinds(lowered) == ["Shape", "Concat", "Expand", "Add"]
    assert lowered.nodes[0].inputs == ["x"]


def test_a_parameter_that_depends_on_the_size_is_refused() -> None:
    def build(net: Network) -> Any:
        return net.add(net.input("x", (4,)), net.parameter("start", (net.batch_size, 4), NORMAL))

    with pytest.raises(UsageError, match=r"'start' of problem 'tested' does; export a fixed --batch-size"):
        opened(build)


def test_an_operator_that_depends_on_the_size_is_refused() -> None:
    def build(net: Network) -> Any:
        return net.affine(net.input("x", (4,)), alpha=1.0 / net.batch_size)

    with pytest.raises(UsageError, match=r"'affine_1' \(affine\) of problem 'tested' does"):
        opened(build)


def test_the_axes_that_are_open_are_those_that_differ() -> None:
    def build(net: Network) -> Any:
        return net.transpose(net.input("x", (3, 4)), perm=(1, 0, 2))

    assert open_axes(graph(build, 2), graph(build, 3), "transpose_1") == (1,)
