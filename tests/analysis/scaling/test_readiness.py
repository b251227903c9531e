"""Gradients in the order in which they are ready."""

from __future__ import annotations

import pytest

from benchmarker import registry
from benchmarker.analysis.scaling.readiness import (
    BUCKET_BYTES,
    FIRST_BUCKET_BYTES,
    backward_share,
    buckets_of,
)
from benchmarker.graph.cost import GraphCost, graph_cost


def cost_of(problem: str) -> GraphCost:
    return graph_cost(registry.problem(problem).graph(2), training=True)


@pytest.mark.parametrize("problem", ["resnet50", "mnist_mlp", "bert_base"])
def test_all_gradients_are_sent_once_and_later_ones_are_ready_later(problem: str) -> None:
    cost = cost_of(problem)
    buckets = buckets_of(cost)
    assert sum(bucket.size for bucket in buckets) == cost.gradient_bytes == 4 * cost.parameter_count
    ready = [bucket.ready for bucket in buckets]
    assert ready == sorted(ready)
    assert 0 < ready[0] <= ready[-1] <= 1


def test_the_last_layer_of_a_network_is_ready_first() -> None:
    cost = cost_of("resnet50")
    first, *others = buckets_of(cost)
    classifier = 4 * (2048 * 1000 + 1000)
    assert FIRST_BUCKET_BYTES <= classifier <= first.size
    assert first.ready < 0.05
    assert all(bucket.size >= BUCKET_BYTES for bucket in others[:-1])


def test_the_backward_pass_takes_what_was_measured_else_its_flops() -> None:
    cost = cost_of("resnet50")
    assert backward_share(cost, (1.0, 3.0)) == 0.75
    assert backward_share(cost) == pytest.approx(
        cost.backward_flops / (cost.forward_flops + cost.backward_flops)
    )
    assert 0.6 < backward_share(cost) < 0.7
