"""The straight-line function: what it computes, what it keeps alive, what its tracebacks show."""

from __future__ import annotations

import functools
import gc
import linecache
import traceback
import weakref
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from benchmarker.graph.graph import Graph
from benchmarker.graph.initializers import ZEROS
from benchmarker.graph.network import Network
from benchmarker.graph.operators import Operators
from benchmarker.plugins.common.straight_line import straight_line


class Plain(Operators):
    """A few operators on NumPy arrays."""

    def add(self, a: Any, b: Any) -> Any:
        return a + b

    def mul(self, a: Any, b: Any) -> Any:
        return a * b

    def relu(self, x: Any) -> Any:
        return np.maximum(x, 0)

    def reduce_mean(self, x: Any, *, axes: tuple[int, ...] = (), keepdims: bool = False) -> Any:
        return x.mean(axis=axes or None, keepdims=keepdims)

    def reshape(self, x: Any, *, shape: tuple[int, ...]) -> Any:
        return x.reshape([x.shape[i] if size == 0 else size for i, size in enumerate(shape)])


def bind_operators(graph: Graph, operators: Operators) -> dict[str, Callable[..., Any]]:
    return {
        node.name: functools.partial(getattr(operators, node.operator), **node.keywords)
        for node in graph.nodes
    }


def small_graph() -> Graph:
    net = Network("small", 2)
    x = net.input("x", (2, 3))
    w = net.parameter("block1.class", (3,), ZEROS)
    x = net.relu(x)
    y = net.named("1st add").add(x, w)
    net.output(net.flatten(y))
    net.loss(net.reduce_mean(net.mul(y, y)))
    return net.graph()


def values() -> tuple[Any, Any]:
    return np.linspace(-1, 1, 12).reshape(2, 2, 3), np.array([1.0, 2.0, 3.0])


def test_computes_outputs_and_loss() -> None:
    graph = small_graph()
    x, w = values()
    output, loss = straight_line(graph, bind_operators(graph, Plain()))(x, w)
    expected = np.maximum(x, 0) + w
    np.testing.assert_array_equal(output, expected.reshape(2, 6))
    assert loss == np.mean(expected * expected)


def test_constants_are_no_arguments() -> None:
    graph = small_graph()
    x, w = values()
    run = straight_line(graph, bind_operators(graph, Plain()), constants={"block1.class": w})
    np.testing.assert_array_equal(run(x)[0], (np.maximum(x, 0) + w).reshape(2, 6))


def test_runs_only_what_the_outputs_need() -> None:
    graph = small_graph()
    binding = bind_operators(graph, Plain())
    del binding["mul_1"], binding["reduce_mean_1"]
    run = straight_line(graph, binding, outputs=graph.outputs)
    assert len(run(*values())) == 1


def test_a_needed_node_without_binding_is_an_error() -> None:
    graph = small_graph()
    with pytest.raises(KeyError, match="mul_1"):
        straight_line(graph, {n: f for n, f in bind_operators(graph, Plain()).items() if n != "mul_1"})


def test_an_unknown_output_is_an_error() -> None:
    graph = small_graph()
    with pytest.raises(KeyError, match="'small' has no value nothing"):
        straight_line(graph, bind_operators(graph, Plain()), outputs=("nothing",))


class Tensor:
    """Something that can be weakly referenced."""


def chain(length: int) -> Graph:
    net = Network("chain", 1)
    x = net.input("x", (1,))
    for _ in range(length):
        x = net.relu(x)
    net.output(x)
    return net.graph()


def test_a_value_is_dropped_after_its_last_use() -> None:
    graph = chain(6)
    made: list[weakref.ref[Tensor]] = []
    alive: list[int] = []

    def step(x: Tensor) -> Tensor:
        alive.append(sum(1 for tensor in made if tensor() is not None))
        result = Tensor()
        made.append(weakref.ref(result))
        return result

    run = straight_line(graph, {node.name: step for node in graph.nodes})
    run(Tensor())
    assert alive == [0, 1, 1, 1, 1, 1]


def test_unused_outputs_of_a_node_are_dropped_at_once() -> None:
    net = Network("recurrent", 1)
    x = net.transpose(net.input("x", (2, 3)), perm=(1, 0, 2))
    _, last, _ = net.lstm_layer("lstm", x, 4)
    net.output(net.relu(last))
    graph = net.graph()
    cells: list[weakref.ref[Tensor]] = []

    def lstm(*tensors: Any) -> tuple[Any, ...]:
        cell = Tensor()
        cells.append(weakref.ref(cell))
        return "y", "last", cell

    def relu(x: str) -> tuple[str, bool]:
        return x, cells[0]() is None

    binding: dict[str, Callable[..., Any]] = {"transpose_1": str, "lstm": lstm, "relu_1": relu}
    assert straight_line(graph, binding)("x", "w", "r", "b") == (("last", True),)


def test_parts_of_a_split_are_joined_again_in_any_order() -> None:
    class Parts(Operators):
        def split(self, x: Any, *, axis: int, num_outputs: int) -> Any:
            return tuple(np.split(x, num_outputs, axis=axis))

        def concat(self, *xs: Any, axis: int) -> Any:
            return np.concatenate(xs, axis=axis)

    net = Network("turned", 1)
    parts = net.split(net.input("x", (6,)), axis=1, num_outputs=3)
    net.output(net.concat(*reversed(parts), axis=1))
    graph = net.graph()
    run = straight_line(graph, bind_operators(graph, Parts()))
    assert run(np.arange(6).reshape(1, 6))[0].tolist() == [[4, 5, 2, 3, 0, 1]]


def test_an_absent_input_is_none() -> None:
    graph = chain(1)
    node = replace(graph.nodes[0], inputs=("", "x"))
    run = straight_line(replace(graph, nodes=(node,)), {node.name: lambda *tensors: tensors})
    assert run("given") == ((None, "given"),)


def test_a_traceback_names_the_node() -> None:
    graph = small_graph()
    run = straight_line(graph, bind_operators(graph, Plain()))
    x, _ = values()
    with pytest.raises(ValueError, match="broadcast") as caught:
        run(x, np.zeros(7))
    text = "".join(traceback.format_exception(caught.type, caught.value, caught.tb))
    assert "# node '1st add' (add)" in text
    assert "_1st_add = call_add(relu_1, block1_class)" in text


def test_the_source_goes_with_the_function() -> None:
    graph = chain(1)
    run = straight_line(graph, {node.name: abs for node in graph.nodes})
    filename = run.__code__.co_filename
    assert filename in linecache.cache
    del run
    gc.collect()
    assert filename not in linecache.cache


def test_names_that_collide_as_identifiers_stay_apart() -> None:
    net = Network("a.b", 1)
    a = net.input("a.b", (1,))
    b = net.input("a_b", (1,))
    net.output(net.named("a b").add(a, net.named("call_add").mul(b, b)))
    graph = net.graph()
    assert straight_line(graph, bind_operators(graph, Plain()))(2, 3) == (11,)


def test_a_name_cannot_become_code() -> None:
    net = Network("x", 1)
    a = net.input("import os\n", (1,))
    net.output(net.named("y'\nraise SystemExit #").relu(a))
    graph = net.graph()
    assert straight_line(graph, bind_operators(graph, Plain()))(2) == (2,)
