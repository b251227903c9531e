"""Weight layouts: their inverse gives back what went in, and they are linear, so that gradients may use it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from benchmarker.errors import UnsupportedError
from benchmarker.graph.graph import Graph
from benchmarker.graph.initializers import ONES
from benchmarker.graph.network import Network
from benchmarker.graph.types import Node
from benchmarker.plugins.common.layouts import (
    Layout,
    direction_count,
    directions,
    flattened,
    gates,
    parameter_layouts,
    permuted,
    plain,
    reorder_gates,
    two_biases,
)

Array = np.ndarray
HIDDEN = 3

LAYOUTS: dict[str, tuple[Layout, tuple[int, ...]]] = {
    "plain": (plain(), (4, 5)),
    "matrix": (permuted((1, 0)), (4, 5)),
    "convolution": (permuted((2, 3, 1, 0)), (4, 5, 3, 2)),
    "rotated": (permuted((1, 2, 0)), (4, 5, 3)),
    "flattened": (flattened((3, 2, 4), (1, 2, 0)), (5, 24)),
    "gates": (gates((0, 2, 3, 1), 0), (1, 4 * HIDDEN, 5)),
    "gates-other-axis": (gates((1, 2, 0), 1), (1, 5, 3 * HIDDEN)),
    "two-biases": (two_biases((0, 2, 3, 1)), (1, 8 * HIDDEN)),
    "two-biases-rotated": (two_biases((1, 2, 3, 0)), (1, 8 * HIDDEN)),
    "gates-both-ways": (directions(gates((1, 2, 0), 0), 2), (2, 3 * HIDDEN, 5)),
    "two-biases-both-ways": (directions(two_biases((1, 0, 2)), 2), (2, 6 * HIDDEN)),
}


def random(shape: tuple[int, ...], seed: int = 0) -> Array:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("name", LAYOUTS)
def test_decode_is_the_inverse_of_encode(name: str) -> None:
    layout, shape = LAYOUTS[name]
    array = random(shape)
    native = layout.encode(array)
    found = layout.decode(native)
    assert found.shape == shape
    assert np.array_equal(found, array)
    for one, other in zip(layout.encode(found), native):
        assert np.array_equal(one, other)


@pytest.mark.parametrize("name", LAYOUTS)
def test_no_value_is_lost_or_doubled(name: str) -> None:
    layout, shape = LAYOUTS[name]
    array = random(shape)
    native = np.concatenate([part.reshape(-1) for part in layout.encode(array)])
    assert np.array_equal(np.sort(native), np.sort(array.reshape(-1)))


@pytest.mark.parametrize("name", LAYOUTS)
def test_layouts_are_linear(name: str) -> None:
    layout, shape = LAYOUTS[name]
    a, b = random(shape, 1), random(shape, 2)
    for function in (layout.encode, layout.decode):
        one: list[Array] = list(layout.encode(a)) if function is layout.decode else [a]
        other: list[Array] = list(layout.encode(b)) if function is layout.decode else [b]
        apply: Callable[[list[Array]], list[Array]] = (
            (lambda x: [layout.decode(x)])
            if function is layout.decode
            else (lambda x: list(layout.encode(x[0])))
        )
        together = apply([2 * x - y for x, y in zip(one, other)])
        for found, x, y in zip(together, apply(one), apply(other)):
            assert np.array_equal(found, 2 * x - y)


def test_permuted_by_hand() -> None:
    array = random((4, 5, 3, 2))
    (native,) = permuted((2, 3, 1, 0)).encode(array)
    assert native.shape == (3, 2, 5, 4)
    assert native.flags.c_contiguous
    assert native[2, 1, 4, 0] == array[0, 4, 2, 1]


def test_gates_by_hand() -> None:
    i, o, f, c = (np.full((2, 1), value) for value in (0, 1, 2, 3))
    graph_order = np.concatenate([i, o, f, c])[None]
    (native,) = gates((0, 2, 3, 1), 0).encode(graph_order)
    assert native.reshape(-1).tolist() == [0, 0, 2, 2, 3, 3, 1, 1]


def test_two_biases_by_hand() -> None:
    array = np.arange(8.0)[None]
    first, second = two_biases((0, 2, 3, 1)).encode(array)
    assert first.tolist() == [0, 2, 3, 1]
    assert second.tolist() == [4, 6, 7, 5]


def test_each_direction_has_arrays_of_its_own() -> None:
    array = np.arange(12.0).reshape(2, 6)
    native = directions(two_biases((1, 0, 2)), 2).encode(array)
    assert [part.tolist() for part in native] == [[1, 0, 2], [4, 3, 5], [7, 6, 8], [10, 9, 11]]


def test_one_direction_is_the_layout_itself() -> None:
    layout = gates((1, 2, 0), 0)
    assert directions(layout, 1) is layout


def test_the_number_of_directions_is_the_nodes() -> None:
    net = Network("both", 2)
    x = net.transpose(net.input("x", (3, 4)), perm=(1, 0, 2))
    net.gru_layer("forward", x, 5)
    net.lstm_layer("both", x, 5, direction="bidirectional")
    assert [direction_count(node) for node in net.graph().nodes[1:]] == [1, 2]


def test_reordering_along_the_last_axis() -> None:
    array = np.arange(12).reshape(2, 6)
    assert reorder_gates(array, (2, 0, 1), 1).tolist() == [[4, 5, 0, 1, 2, 3], [10, 11, 6, 7, 8, 9]]


def test_layouts_that_differ_have_names_that_differ() -> None:
    names = [layout.name for layout, _ in LAYOUTS.values()]
    assert len(set(names)) == len(names)
    assert permuted((1, 0)).name == permuted((1, 0)).name


def test_axes_that_stay_are_the_graphs_own_layout() -> None:
    assert permuted((0, 1)).name == plain().name


def tied(second: str) -> Graph:
    """A graph that uses one matrix twice, in its second use as ``gemm`` or ``mul`` takes it."""
    net = Network("tied", 4)
    x = net.input("x", (4,))
    w = net.parameter("w", (4, 4), ONES)
    y = net.gemm(x, w, trans_b=True)
    net.output(net.gemm(y, w) if second == "gemm" else net.mul(y, w))
    return net.graph()


def transposed(node: Node) -> Layout:
    return permuted((1, 0))


def test_a_layout_follows_from_the_use() -> None:
    assert parameter_layouts(tied("gemm"), {("gemm", 1): transposed})["w"].name == permuted((1, 0)).name
    assert parameter_layouts(tied("gemm"), {})["w"].name == "plain"
    assert parameter_layouts(tied("gemm"), {("gemm", 0): transposed})["w"].name == "plain"


def test_a_layout_may_depend_on_the_node() -> None:
    def by_attribute(node: Node) -> Layout:
        return transposed(node) if node.attributes["trans_b"] else plain()

    table = {("gemm", 1): by_attribute, ("mul", 1): transposed}
    assert parameter_layouts(tied("mul"), table)["w"].name == permuted((1, 0)).name
    with pytest.raises(UnsupportedError, match="parameter 'w'"):
        parameter_layouts(tied("gemm"), table)


def test_a_parameter_in_two_layouts_is_refused() -> None:
    with pytest.raises(
        UnsupportedError, match=r"parameter 'w' is used in layouts permuted\(1, 0\), plain at once"
    ):
        parameter_layouts(tied("mul"), {("gemm", 1): transposed})


def test_an_unused_parameter_stays_plain() -> None:
    net = Network("idle", 2)
    x = net.input("x", (4,))
    net.parameter("idle", (3,), ONES)
    net.output(net.relu(x))
    assert parameter_layouts(net.graph(), {("relu", 0): transposed})["idle"].name == "plain"
