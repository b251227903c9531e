"""Orders of axes: what NumPy does with arrays must be what they say."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from benchmarker.plugins.common.axis_orders import (
    Order,
    across,
    broadcast_order,
    filter_order,
    graph_order,
    image_order,
    inverse,
    moves_elements,
    permutation,
    without,
)

SHAPES = ((2, 3, 4, 5), (2, 1, 4, 5), (2, 3, 1, 1), (1, 1, 1, 1))


def test_images_stand_channels_last_from_three_axes_on() -> None:
    assert [image_order(rank) for rank in (1, 2, 3, 4)] == [(0,), (0, 1), (0, 2, 1), (0, 2, 3, 1)]
    assert image_order(4, channels_last=False) == graph_order(4)
    assert filter_order(4) == (2, 3, 1, 0)


@pytest.mark.parametrize("have", tuple(itertools.permutations(range(3))))
@pytest.mark.parametrize("want", tuple(itertools.permutations(range(3))))
def test_a_permutation_leads_from_one_order_to_the_other(have: Order, want: Order) -> None:
    array = np.arange(24).reshape(2, 3, 4)
    stands = array.transpose(have)
    assert np.array_equal(stands.transpose(permutation(have, want)), array.transpose(want))
    assert np.array_equal(stands.transpose(inverse(have)), array)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("want", tuple(itertools.permutations(range(4))))
def test_elements_move_exactly_where_a_reshape_gives_another_array(shape: Order, want: Order) -> None:
    array = np.arange(np.prod(shape)).reshape(shape)
    wanted = array.transpose(want)
    stays = np.array_equal(array.reshape(wanted.shape), wanted)
    assert moves_elements(shape, graph_order(4), want) is not stays


@pytest.mark.parametrize("axes", [(1,), (2, 3), (0, 3), (0, 1, 2, 3)])
def test_a_reduction_leaves_the_other_axes_in_their_order(axes: tuple[int, ...]) -> None:
    order, array = image_order(4), np.arange(120).reshape(2, 3, 4, 5)
    reduced = array.transpose(order).sum(tuple(order.index(axis) for axis in axes))
    assert np.array_equal(reduced, array.sum(axes).transpose(without(order, axes)))


def test_operands_broadcast_in_the_order_of_the_largest() -> None:
    last = image_order(4)
    image, shift = (2, 3, 4, 5), (1, 3, 1, 1)
    assert broadcast_order([shift, image], [graph_order(4), last]) == last
    assert broadcast_order([shift, image], [last, graph_order(4)]) == graph_order(4)
    assert broadcast_order([(3, 1, 1), image], [(2, 0, 1), last]) == last
    assert broadcast_order([(7, 8, 9), (2, 1, 1, 1)], [(2, 0, 1), last]) == graph_order(4)


def test_what_holds_for_spatial_axes_stands_between_or_after_the_others() -> None:
    assert across((7, 8), 1, channels_last=True) == (1, 7, 8, 1)
    assert across((7, 8), 1, channels_last=False) == (1, 1, 7, 8)
