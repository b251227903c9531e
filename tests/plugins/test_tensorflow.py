"""TensorFlow's programs, seen from inside, and what of the plugin needs no TensorFlow: reshapes and layouts."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

from benchmarker.graph.graph import Graph
from benchmarker.graph.initializers import ONES
from benchmarker.graph.network import Network
from benchmarker.graph.types import Distribution
from benchmarker.plugins.common.axis_orders import image_order
from benchmarker.plugins.tensorflow.layouts import behind, directions, input_orders, weight_layouts
from benchmarker.plugins.tensorflow.shapes import groups, reshaped
from benchmarker.plugins.tensorflow.tensors import Columns
from tests.in_framework.tensorflow_programs import CHECKS
from tests.support.framework_process import verdicts

# --- in TensorFlow's environment -----------------------------------------------------------------


@pytest.fixture(scope="module")
def failures(cache_home: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Run every check in TensorFlow's environment; return why each failed, or an empty text."""
    return verdicts(
        "tensorflow",
        "tensorflow_programs",
        folder=tmp_path_factory.mktemp("tensorflow"),
        TF_CPP_MIN_LOG_LEVEL="2",
    )


@pytest.mark.parametrize("name", CHECKS)
def test_program(failures: dict[str, str], name: str) -> None:
    assert failures[name] == ""


# --- reshapes ------------------------------------------------------------------------------------


SHAPES = {
    1: ((), (1,), (1, 1)),
    12: ((12,), (3, 4), (1, 12), (2, 1, 6), (2, 3, 2), (4, 3, 1)),
    24: ((24,), (2, 3, 4), (4, 6), (2, 1, 12), (2, 2, 3, 2), (1, 24)),
}


@pytest.mark.parametrize("elements", SHAPES)
def test_a_reshape_means_the_same_in_every_order(elements: int) -> None:
    for source, target in itertools.product(SHAPES[elements], repeat=2):
        x = np.arange(elements).reshape(source)
        for order in itertools.permutations(range(len(source))):
            before, native, after = reshaped(source, order, target)
            y = x.transpose(before).reshape(native).transpose(np.argsort(after).astype(int))
            assert sorted(before) == list(range(len(source)))
            assert np.array_equal(y, x.reshape(target)), (source, order, target)


def test_groups_by_hand() -> None:
    assert groups((2, 3, 4), (2, 12)) == [([0], [0]), ([1, 2], [1])]
    assert groups((2, 3, 10, 4), (2, 3, 1, 10, 4)) == [([0], [0]), ([1], [1, 2]), ([2], [3]), ([3], [4])]
    assert groups((6, 4), (4, 6)) == [([0, 1], [0, 1])]


def test_pixels_become_tokens_where_they_stand() -> None:
    before, native, after = reshaped((2, 8, 3, 5), image_order(4), (2, 8, 15))
    assert (before, native, after) == ((0, 2, 3, 1), (2, 15, 8), (0, 2, 1))


def test_heads_join_beside_their_token() -> None:
    before, native, after = reshaped((2, 5, 3, 4), (0, 2, 1, 3), (2, 5, 12))
    assert (before, native, after) == ((0, 1, 2, 3), (2, 5, 12), (0, 1, 2))


# --- layouts -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("layout", "shape"),
    [
        (directions(), (2, 12, 5)),
        (directions(), (1, 12, 5)),
        (behind(Columns((3, 4, 5), (1, 2, 0))), (7, 60)),
    ],
)
def test_decode_is_the_inverse_of_encode(layout: object, shape: tuple[int, ...]) -> None:
    array = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    found = layout.decode(layout.encode(array))  # type: ignore[attr-defined]
    assert np.array_equal(found, array)


def test_flattened_columns_stand_as_the_image_does() -> None:
    image, weight = np.arange(2 * 3 * 4).reshape(1, 2, 3, 4), np.arange(5 * 24).reshape(5, 24)
    (native,) = behind(Columns((2, 3, 4), (1, 2, 0))).encode(weight)
    assert native.shape == (24, 5)
    found = image.transpose(0, 2, 3, 1).reshape(1, 24) @ native
    assert np.array_equal(found, image.reshape(1, 24) @ weight.T)


def dense_over_image(*, twice: bool = False) -> Graph:
    net = Network("dense_over_image", 2)
    x = net.convolution("conv", net.affine(net.input("image", (3, 6, 6)), alpha=2.0), 4, 3)
    rows = net.relu(net.flatten(x))
    w = net.parameter("w", (5, 64), ONES)
    net.output(net.gemm(rows, w, trans_b=True))
    if twice:
        net.output(net.gemm(net.input("rows", (64,)), w, trans_b=True))
    return net.graph()


def test_a_dense_layer_over_an_image_is_permuted_once_and_for_all() -> None:
    graph = dense_over_image()
    assert weight_layouts(graph)["w"].columns == Columns((4, 4, 4), (1, 2, 0))
    assert weight_layouts(graph)["conv.weight"].order == (2, 3, 1, 0)
    assert input_orders(graph) == [(0, 2, 3, 1)]


def test_channels_first_all_but_filters_stands_as_in_the_graph() -> None:
    graph = dense_over_image()
    layouts = weight_layouts(graph, images_last=False)
    assert layouts["w"].columns is None
    assert layouts["conv.weight"].order == (2, 3, 1, 0)
    assert input_orders(graph, images_last=False) == [(0, 1, 2, 3)]


def test_two_uses_that_disagree_leave_a_weight_as_it_is() -> None:
    layout = weight_layouts(dense_over_image(twice=True))["w"]
    assert (layout.columns, layout.order, layout.name) == (None, (0, 1), "plain")
    net = Network("tied", 2)
    table = net.parameter("table", (7, 4), ONES)
    words = net.input("words", (), "int64", Distribution("integers", 7))
    net.output(net.gemm(net.gather(table, words), table, trans_b=True))
    assert weight_layouts(net.graph())["table"].name == "plain"


def test_tokens_are_loaded_as_they_are() -> None:
    net = Network("tokens", 2)
    net.output(net.layer_norm("norm", net.relu(net.input("x", (5, 4)))))
    assert input_orders(net.graph()) == [(0, 1, 2)]
