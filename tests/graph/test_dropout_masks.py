"""Dropout with its mask given."""

from __future__ import annotations

import numpy as np

from benchmarker.data.values import draw_batch
from benchmarker.graph.graph import Graph
from benchmarker.graph.network import Network
from benchmarker.graph.transformations.dropout_masks import with_given_masks


def dropping(ratio: float) -> Graph:
    net = Network("dropping", 50)
    x = net.input("x", (40,))
    x = net.dense("fc", x, 30)
    x = net.named("drop").dropout(x, ratio=ratio)
    net.output(x)
    net.loss(net.reduce_mean(x))
    return net.graph()


def test_a_mask_takes_the_place_of_each_dropout() -> None:
    graph = with_given_masks(dropping(0.25))
    assert "dropout" not in graph.operators
    (mask,) = (i for i in graph.inputs if i.name == "drop.mask")
    assert mask.type.shape == (50, 30)
    (node,) = (n for n in graph.nodes if n.name == "drop")
    assert (node.operator, node.inputs, node.outputs) == ("mul", ("fc", "drop.mask"), ("drop",))


def test_the_mask_zeroes_the_ratio_and_keeps_the_mean() -> None:
    mask = draw_batch(with_given_masks(dropping(0.25)), 7)["drop.mask"]
    assert set(np.unique(mask).tolist()) == {0.0, float(np.float32(1 / 0.75))}
    assert abs(float((mask == 0).mean()) - 0.25) < 0.04


def test_a_dropout_that_drops_nothing_stays() -> None:
    graph = dropping(0.0)
    assert with_given_masks(graph) == graph
