"""The built-in problems: published counts, typed parameters, and impossible sizes."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarker.errors import UsageError
from benchmarker.framework import OPTIMIZERS
from benchmarker.graph.types import Node
from benchmarker.problem import Problem
from benchmarker.problems import conv2d, lstm_imdb, mnist_mlp, resnet50, vgg16

RESNET50 = resnet50.benchmarker_problem()
VGG16 = vgg16.benchmarker_problem()
MNIST_MLP = mnist_mlp.benchmarker_problem()
CONV2D = conv2d.benchmarker_problem()
LSTM_IMDB = lstm_imdb.benchmarker_problem()
PROBLEMS = (RESNET50, VGG16, MNIST_MLP, CONV2D, LSTM_IMDB)


@pytest.mark.parametrize(
    ("problem", "count"),
    [
        (RESNET50, 25_557_032),
        (VGG16, 138_357_544),
        (MNIST_MLP, 784 * 128 + 128 + 128 * 64 + 64 + 64 * 10 + 10),
        (CONV2D, 64 * 64 * 9 + 64),
        (LSTM_IMDB, 4 * 128 * (50 + 128 + 2) + 128 * 2 + 2),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_parameter_counts_are_the_published_ones(problem: Problem, count: int) -> None:
    assert problem.graph(1).parameter_count == count


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.name)
def test_every_problem_says_what_it_is(problem: Problem) -> None:
    graph = problem.graph()
    assert problem.task
    assert problem.source
    assert problem.parameters.__doc__
    assert problem.optimizer.kind in OPTIMIZERS
    assert graph.name == problem.name
    assert graph.batch_size == problem.batch_size
    assert graph.loss is not None
    assert graph.types[graph.loss].shape == ()
    for name in (*(i.name for i in graph.inputs), *graph.outputs):
        assert graph.types[name].shape[0] == problem.batch_size
    assert problem.configure({}) == {
        name: getattr(problem.parameters(), name) for name in problem.configure({})
    }


def convolutions(nodes: tuple[Node, ...]) -> dict[str, tuple[int, ...]]:
    return {node.name: node.attributes["strides"] for node in nodes if node.operator == "conv"}


def test_resnet50_is_version_1_5() -> None:
    graph = RESNET50.graph(1)
    strides = convolutions(graph.nodes)
    assert len(strides) == 53
    for stage in (2, 3, 4):
        assert strides[f"stage{stage}.block1.conv1"] == (1, 1)
        assert strides[f"stage{stage}.block1.conv2"] == (2, 2)
        assert strides[f"stage{stage}.block1.shortcut.conv"] == (2, 2)
    assert not [p.name for p in graph.parameters if p.name.endswith("conv.bias")]
    assert graph.types["stage4.block3.bn3"].shape == (1, 2048, 7, 7)
    assert graph.types[graph.outputs[0]].shape == (1, 1000)


def test_vgg16_has_13_convolutions_and_two_dropouts() -> None:
    graph = VGG16.graph(1, dropout=0.25)
    operators = [node.operator for node in graph.nodes]
    assert operators.count("conv") == 13
    assert operators.count("gemm") == 3
    ratios = [node.attributes["ratio"] for node in graph.nodes if node.operator == "dropout"]
    assert ratios == [0.25, 0.25]


def test_every_attribute_of_conv2d_is_a_parameter() -> None:
    graph = CONV2D.graph(
        2,
        channels=6,
        height=10,
        width=12,
        filters=4,
        kernel=3,
        stride=2,
        padding=0,
        dilation=2,
        groups=2,
        bias=False,
    )
    node = graph.nodes[0]
    assert node.attributes == {"strides": (2, 2), "pads": (0,) * 4, "dilations": (2, 2), "group": 2}
    assert graph.types["conv.weight"].shape == (4, 3, 3, 3)
    assert graph.types["conv"].shape == (2, 4, 3, 4)
    assert [p.name for p in graph.parameters] == ["conv.weight"]


def test_lstm_imdb_classifies_the_last_state() -> None:
    graph = LSTM_IMDB.graph(3)
    reshape = next(node for node in graph.nodes if node.operator == "reshape")
    assert reshape.inputs == ("lstm:1",)
    assert graph.types[graph.outputs[0]].shape == (3, 2)


IMPOSSIBLE: tuple[tuple[Problem, dict[str, Any], str], ...] = (
    (RESNET50, {"image_size": 0}, r"every size of 'image' must be at least 1"),
    (RESNET50, {"classes": 0}, r"every size of 'label' must be at least 1, got \(0,\)"),
    (VGG16, {"image_size": 16}, "does not fit an axis of size 1"),
    (VGG16, {"dropout": 1.0}, "below 1, got 1.0"),
    (CONV2D, {"groups": 3}, "multiples of the 3 groups"),
    (CONV2D, {"kernel": 60, "padding": 0}, "window of 60 does not fit an axis of size 56"),
    (CONV2D, {"stride": 0}, "strides and dilations must be at least 1"),
    (CONV2D, {"padding": -1}, "pads at least 0"),
    (LSTM_IMDB, {"words": -5}, "every size of 'review' must be at least 1"),
    (MNIST_MLP, {"hidden1": 0}, "every size of 'fc1.weight' must be at least 1"),
)


@pytest.mark.parametrize(
    ("problem", "values", "message"), IMPOSSIBLE, ids=lambda value: getattr(value, "name", None)
)
def test_impossible_sizes_are_usage_errors(problem: Problem, values: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        problem.graph(2, **values)


def test_parameters_are_typed() -> None:
    assert RESNET50.configure({"image_size": "64"})["image_size"] == 64
    assert CONV2D.configure({"bias": "no"})["bias"] is False
    assert VGG16.configure({"dropout": "0.25"})["dropout"] == 0.25
    text = RESNET50.graph(1, image_size="64", classes="7")
    assert text == RESNET50.graph(1, image_size=64, classes=7)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"image_size": "large"}, "problem 'resnet50': 'image_size' must be a whole number, got 'large'"),
        ({"image_size": "6.5"}, "must be a whole number, got '6.5'"),
        ({"image_size": 6.5}, "must be a whole number, got '6.5'"),
        ({"image_size": True}, "must be a whole number, got 'True'"),
        ({"img_size": 64}, "no parameter 'img_size'; did you mean 'image_size'"),
    ],
)
def test_a_wrong_parameter_is_a_usage_error(values: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        RESNET50.configure(values)
