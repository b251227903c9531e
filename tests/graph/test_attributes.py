"""Records of attributes: what follows from them, and the way between them and a node's own attributes."""

from __future__ import annotations

import inspect
import itertools
from typing import Any

import numpy as np
import pytest

from benchmarker.graph.attributes import RECORDS, Gemm, Recurrent, Slice, flat, keywords
from benchmarker.graph.custom import Body, CustomOperator
from benchmarker.graph.network import Network
from benchmarker.graph.operators import OPERATORS, Operators
from benchmarker.graph.windows import AveragePooling, MaxPooling, TransposedWindow, Window
from benchmarker.plugins.numpy.operators import NumpyOperators


def test_each_record_is_the_only_attribute_of_its_operator() -> None:
    for operator, (name, record) in RECORDS.items():
        parameters = inspect.signature(getattr(Operators, operator)).parameters.values()
        attributes = {p.name: p.annotation for p in parameters if p.kind is p.KEYWORD_ONLY}
        assert attributes == {name: record.__name__}


def test_an_operators_attributes_are_the_fields_of_its_record() -> None:
    assert list(OPERATORS["conv"].attributes) == ["strides", "pads", "dilations", "group"]
    assert list(OPERATORS["conv_transpose"].attributes) == [
        "strides",
        "pads",
        "output_padding",
        "dilations",
        "group",
    ]
    assert OPERATORS["rnn"].attributes["activation"] == "tanh"


@pytest.mark.parametrize(
    ("operator", "attributes"),
    [
        ("conv", {"strides": (1,), "pads": (1, 2), "dilations": (3,), "group": 4}),
        ("max_pool", {"kernel_shape": (2,), "strides": (1,), "pads": (0, 1), "ceil_mode": True}),
        ("lstm", {"hidden_size": 3, "direction": "bidirectional"}),
        ("gemm", {"alpha": 2.0, "beta": 1.0, "trans_a": False, "trans_b": True}),
        ("slice", {"axes": (1,), "starts": (0,), "ends": (2,), "steps": ()}),
        ("softmax", {"axis": 1}),
    ],
)
def test_attributes_go_through_their_record_and_back(operator: str, attributes: dict[str, Any]) -> None:
    given = keywords(operator, attributes)
    assert keywords(operator, given) == given
    assert flat(operator, given) == flat(operator, attributes) == attributes


def test_a_network_takes_fields_and_records() -> None:
    net = Network("both", 1)
    x = net.input("x", (2, 6))
    by_fields = net.max_pool(x, kernel_shape=(2,), strides=(2,), pads=(0, 0))
    by_record = net.max_pool(x, window=MaxPooling((2,), (2,), (0, 0)))
    assert by_fields.shape == by_record.shape
    assert net.nodes[0].attributes == net.nodes[1].attributes


def test_a_field_that_is_missing_or_unknown_is_a_mistake_of_the_author() -> None:
    net = Network("mistaken", 1)
    x = net.input("x", (2, 6))
    with pytest.raises(TypeError, match="strides"):
        net.max_pool(x, kernel_shape=(2,), pads=(0, 0))
    with pytest.raises(TypeError, match="padding"):
        net.max_pool(x, kernel_shape=(2,), strides=(1,), pads=(0, 0), padding=1)


def test_the_body_of_a_users_operator_takes_fields() -> None:
    def halved(o: Any, x: Any) -> Any:
        return o.affine(o.average_pool(x, kernel_shape=(2,), strides=(2,), pads=(0, 0)), alpha=0.5)

    operator = CustomOperator("halved", Body(halved))
    net = Network("halving", 1)
    assert operator(net, net.input("x", (1, 4))).shape == (1, 1, 2)
    x = np.arange(4.0).reshape(1, 1, 4)
    assert NumpyOperators().custom(x, name="halved").tolist() == [[[0.25, 1.25]]]


def test_pads_are_halves_and_pairs() -> None:
    window = Window((2, 1), (1, 0, 2, 0), (1, 1))
    assert (window.rank, window.begins, window.ends) == (2, (1, 0), (2, 0))
    assert window.pairs == [(1, 2), (0, 0)]
    assert window.is_padded
    assert not window.is_symmetric
    assert not Window((1,), (0, 0), (1,)).is_padded


def same(size: int, kernel: int, stride: int, dilation: int) -> tuple[int, int]:
    """Return the pads of SAME by their definition: as many windows as strides fit, one more at the end."""
    reach = (kernel - 1) * dilation + 1
    total = next(n for n in itertools.count() if (size + n - reach) // stride + 1 == -(-size // stride))
    return total // 2, total - total // 2


def test_same_padding_gives_a_window_for_each_stride() -> None:
    for size, kernel, stride, dilation in itertools.product(range(3, 9), (1, 2, 3), (1, 2), (1, 2)):
        if (kernel - 1) * dilation + 1 > size:
            continue
        pads = same(size, kernel, stride, dilation)
        x, w = (1, 1, size), (1, 1, kernel)
        assert Window((stride,), pads, (dilation,)).is_same(x, w) == any(pads)
        assert not Window((stride,), (pads[0], pads[1] + 1), (dilation,)).is_same(x, w)
        if dilation == 1:
            assert AveragePooling((kernel,), (stride,), pads).is_same(x) == any(pads)
            assert MaxPooling((kernel,), (stride,), pads).is_same(x) == any(pads)


def test_a_transposed_same_padding_is_that_of_the_convolution_it_goes_back_through() -> None:
    window = TransposedWindow((2,), (1, 1), (0,), (1,))
    assert window.is_same((1, 1, 4), (1, 1, 4))
    assert (window.reached_sizes((1, 1, 4), (1, 1, 4)), window.output_sizes((1, 1, 4), (1, 1, 4))) == (
        (10,),
        (8,),
    )
    assert not TransposedWindow((2,), (0, 0), (0,), (1,)).is_same((1, 1, 4), (1, 1, 4))
    assert not TransposedWindow((2,), (0, 1), (0,), (1,)).is_same((1, 1, 4), (1, 1, 4))


def test_covering_pads_give_the_windows_of_the_ceiling_without_it() -> None:
    for size, kernel, stride, begin, end in itertools.product(
        range(1, 8), (1, 2, 3), (1, 2, 3), (0, 1, 2), (0, 1, 2)
    ):
        if size + begin + end < kernel:
            continue
        window, x = MaxPooling((kernel,), (stride,), (begin, end), ceil_mode=True), (1, 1, size)
        ((before, after),) = window.covering_pairs(x)
        floored = MaxPooling((kernel,), (stride,), (before, after))
        assert floored.output_sizes(x) == window.output_sizes(x), window


def test_padding_counts_where_it_is_asked_for_or_not_there() -> None:
    assert AveragePooling((2,), (1,), (0, 0)).counts_all
    assert AveragePooling((2,), (1,), (1, 0), count_include_pad=True).counts_all
    assert not AveragePooling((2,), (1,), (1, 0)).counts_all


def test_a_recurrent_layers_weights_have_a_block_a_direction() -> None:
    assert Recurrent(4).weight_shapes(3, 5) == ((1, 12, 5), (1, 12, 4), (1, 24))
    assert Recurrent(4, "bidirectional").weight_shapes(4, 5) == ((2, 16, 5), (2, 16, 4), (2, 32))


def test_a_slice_says_what_it_takes_of_each_axis() -> None:
    taken = Slice(axes=(2, 0), starts=(1, 0), ends=(4, 2), steps=(2, 1))
    assert taken.index(3) == (slice(0, 2, 1), slice(None), slice(1, 4, 2))
    assert taken.output_shape((5, 6, 7)) == (2, 6, 2)
    assert not taken.is_contiguous
    plain = Slice((1,), (0,), (2,))
    assert (plain.all_steps, plain.is_contiguous, plain.parts) == ((1,), True, [(1, slice(0, 2, 1))])


def test_a_dense_product_is_unscaled_with_its_weight_transposed() -> None:
    assert Gemm(trans_b=True).is_dense
    assert Gemm(trans_b=True, beta=0.5).is_dense
    assert not any(g.is_dense for g in (Gemm(), Gemm(alpha=2.0, trans_b=True), Gemm(1.0, 1.0, True, True)))
