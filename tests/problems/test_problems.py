"""The built-in problems: published counts, typed parameters, and impossible sizes."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarker import registry
from benchmarker.api.optimizer import OPTIMIZERS
from benchmarker.api.options import option_types
from benchmarker.api.problem import Problem
from benchmarker.errors import UsageError
from benchmarker.graph import recorder
from benchmarker.graph.graph import Graph
from benchmarker.graph.recorder import MAX_ELEMENTS
from benchmarker.graph.types import Node
from benchmarker.problems import lstm_imdb, mnist_mlp
from benchmarker.problems.convolution import CONV2D
from benchmarker.problems.resnet import RESNET50
from benchmarker.problems.vgg import VGG16
from benchmarker.worker.conformance.problems import builtin_problems

MNIST_MLP = mnist_mlp.benchmarker_problem()
LSTM_IMDB = lstm_imdb.benchmarker_problem()
EVERY = tuple(
    registry.problem(entry.name)
    for entry in registry.entries()
    if (entry.kind, entry.is_ours) == ("problems", True)
    if entry.name != "architecture"  # its parameters are texts
)
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
    (
        RESNET50,
        {"image_size": 0},
        "problem 'resnet50': 'image_size' must be a whole number from 1 to .*, got 0",
    ),
    (VGG16, {"image_size": 16}, "does not fit an axis of size 1"),
    (VGG16, {"dropout": 1.0}, "below 1, got 1.0"),
    (CONV2D, {"groups": 3}, "multiples of the 3 groups"),
    (CONV2D, {"kernel": 60, "padding": 0}, "window of 60 does not fit an axis of size 56"),
    (CONV2D, {"padding": -1}, "'padding' must be a whole number from 0 to 2147483647, got -1"),
    (MNIST_MLP, {"hidden1": 2**31 - 1, "hidden2": 99}, "a tensor may have at most 68719476736 elements"),
)


@pytest.mark.parametrize(
    ("problem", "values", "message"), IMPOSSIBLE, ids=lambda value: getattr(value, "name", None)
)
def test_impossible_sizes_are_usage_errors(problem: Problem, values: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        problem.graph(2, **values)


NUMBERS = {
    found.name: {
        field: kind for field, kind in option_types(found.parameters).items() if kind in (int, float)
    }
    for found in EVERY
}
"""The parameters of each problem that are numbers, with their types."""


def attempted(name: str, field: str, value: float) -> Graph | str:
    """Build a problem at its reduced size but for one parameter; return the graph or the refusal."""
    found = registry.problem(name)
    try:
        return found.graph(found.reduced_batch_size, **{**found.reduced, field: value})
    except UsageError as error:
        return str(error)


@pytest.mark.parametrize("name", NUMBERS)
def test_too_small_a_parameter_makes_no_other_network(name: str) -> None:
    for field, kind in NUMBERS[name].items():
        if kind is float:
            assert isinstance(attempted(name, field, -0.5), str), field
        else:
            check_too_small(name, field)


def check_too_small(name: str, field: str) -> None:
    refused = f"problem '{name}': '{field}' must be a whole number from "
    assert str(attempted(name, field, -1)).startswith(refused)
    zero = attempted(name, field, 0)
    if isinstance(zero, str):
        assert zero.startswith(refused)
        return
    # No padding is a padding, and the only number that may be none.
    assert field in ("padding", "pad_w", "pad_h"), field
    windows = [node.attributes["pads"] for node in zero.nodes if "pads" in node.attributes]
    assert windows
    axes = {"pad_h": slice(0, None, 2), "pad_w": slice(1, None, 2)}.get(field, slice(None))
    assert all(not any(pads[axes]) for pads in windows)


FEW_NODES = 2000
"""Several times as many as any problem has at its reduced size."""


@pytest.mark.parametrize("name", NUMBERS)
def test_a_huge_parameter_is_a_sentence_or_a_graph_of_that_size(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder, "MAX_NODES", FEW_NODES)
    for field, kind in NUMBERS[name].items():
        if kind is float:
            attempted(name, field, 1e300)
        else:
            check_huge(name, field)


def check_huge(name: str, field: str) -> None:
    for value in (10**12, 10**30):
        assert f"'{field}' must be a whole number from " in str(attempted(name, field, value))
    for value in (2**31 - 1, 10**6):
        found = attempted(name, field, value)
        if isinstance(found, str) and f"more than {FEW_NODES} operators" in found:
            return  # after as many operators with a million as with all these
        if not isinstance(found, str):
            assert max(type_.elements for type_ in found.types.values()) <= MAX_ELEMENTS, field
            assert len(found.nodes) <= FEW_NODES, field


def test_a_huge_mini_batch_is_a_sentence() -> None:
    for found in EVERY:
        single = found.name.startswith("deepbench")
        with pytest.raises(UsageError, match="the batch size must be 1" if single else "smaller"):
            found.graph(2**31 - 1)


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


def test_the_conformance_suite_leaves_no_built_in_problem_out() -> None:
    registered = {entry.name for entry in registry.entries() if entry.kind == "problems" and entry.is_ours}
    assert {problem.name for problem in builtin_problems()} == registered
