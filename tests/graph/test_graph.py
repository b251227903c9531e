"""The graph: building, shape inference and its errors, JSON, and walks."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from benchmarker.errors import UnsupportedError, UsageError
from benchmarker.graph.attributes import Recurrent, keywords
from benchmarker.graph.graph import Graph, apply_node, walk
from benchmarker.graph.initializers import ONES, ZEROS
from benchmarker.graph.network import Network
from benchmarker.graph.operators import OPERATORS, Operators, native_operators
from benchmarker.graph.shapes import Shapes
from benchmarker.graph.support import check_operators, composed_operators
from benchmarker.graph.types import Distribution, Node, TensorType
from benchmarker.problems import lstm_imdb, mnist_mlp
from benchmarker.problems.convolution import CONV2D
from benchmarker.problems.resnet import RESNET50
from benchmarker.problems.vgg import VGG16
from benchmarker.worker.conformance.cases import OPERATOR_CASES

PROBLEMS = (RESNET50, VGG16, mnist_mlp.benchmarker_problem(), CONV2D, lstm_imdb.benchmarker_problem())


def small() -> Graph:
    net = Network("small", 2)
    x = net.input("x", (3, 4, 4))
    label = net.labels("label", 5)
    x = net.relu(net.batch_norm("bn", net.convolution("conv", x, 6, 3, pad=1)))
    y = net.dense("fc", net.flatten(x), 5)
    net.output(y)
    net.loss(net.softmax_cross_entropy_loss(y, label))
    return net.graph()


# --- vocabulary ------------------------------------------------------------------------------


def test_every_operator_is_documented_and_knows_its_arguments() -> None:
    for name, info in OPERATORS.items():
        assert getattr(Operators, name).__doc__, name
        assert info.kind in ("primitive", "composite")
        assert info.tensors
    assert OPERATORS["conv"].tensors == ("x", "w", "b")
    assert OPERATORS["batch_normalization"].attributes == {"epsilon": 1e-5, "momentum": 0.9}


def test_shape_inference_knows_every_primitive() -> None:
    primitives = {name for name, info in OPERATORS.items() if info.kind == "primitive"}
    # It also knows a composite whose own argument it checks.
    assert native_operators(Shapes) == primitives | {"rms_normalization", "custom"}


# --- building --------------------------------------------------------------------------------


def test_nodes_are_named_by_their_layer_or_counted() -> None:
    assert [node.name for node in small().nodes] == [
        "conv",
        "bn",
        "relu_1",
        "flatten_1",
        "fc",
        "softmax_cross_entropy_loss_1",
    ]


def test_a_node_has_every_attribute_with_tuples_for_lists() -> None:
    net = Network("attributes", 1)
    x, w = net.input("x", (1, 4)), net.parameter("w", (1, 1, 2), ONES)
    lists: dict[str, Any] = {"strides": [1], "pads": [0, 0], "dilations": [1]}
    net.conv(x, w, None, **lists)
    (node,) = net.nodes
    assert node.inputs == ("x", "w")
    assert node.attributes == {"strides": (1,), "pads": (0, 0), "dilations": (1,), "group": 1}


def test_an_absent_optional_tensor_in_the_middle_has_an_empty_name() -> None:
    net = Network("absent", 2)
    net.gemm(net.input("a", (3,)), net.parameter("b", (3, 3), ZEROS), alpha=2.0)
    assert net.nodes[0].inputs == ("a", "b")


def test_several_outputs_are_numbered() -> None:
    net = Network("lstm", 3)
    net.lstm_layer("layer", net.input("x", (2, 4)), 5)
    assert net.nodes[0].outputs == ("layer:0", "layer:1", "layer:2")


@pytest.mark.parametrize("name", ["x", "fc", "relu_1"])
def test_a_name_can_be_given_once(name: str) -> None:
    net = Network("names", 2)
    x = net.input("x", (3,))
    y = net.relu(net.dense("fc", x, 3))
    with pytest.raises(UsageError, match=f"two values named '{name}'"):
        net.named(name).relu(y)


def test_a_missing_attribute_is_a_programming_error() -> None:
    net = Network("missing", 2)
    with pytest.raises(TypeError, match="perm"):
        net.transpose(net.input("x", (3,)))  # type: ignore[call-arg]


@pytest.mark.parametrize("batch_size", [0, -1])
def test_an_empty_mini_batch_is_refused(batch_size: int) -> None:
    with pytest.raises(UsageError, match=f"batch size must be at least 1, got {batch_size}"):
        Network("empty", batch_size)


# --- shapes ----------------------------------------------------------------------------------


def float32(*shape: int) -> TensorType:
    return TensorType(shape)


def int64(*shape: int) -> TensorType:
    return TensorType(shape, "int64")


DOUBLING: dict[str, Any] = {
    "strides": (2, 2),
    "pads": (1, 0, 1, 1),
    "output_padding": (1, 0),
    "dilations": (1, 1),
}
SHAPES: tuple[tuple[str, tuple[TensorType, ...], dict[str, Any], tuple[int, ...]], ...] = (
    (
        "conv",
        (float32(2, 3, 9, 8), float32(4, 3, 3, 2)),
        {"strides": (2, 1), "pads": (1, 0, 0, 1), "dilations": (2, 3)},
        (2, 4, 3, 6),
    ),
    ("max_pool", (float32(1, 2, 6),), {"kernel_shape": (3,), "strides": (2,), "pads": (0, 0)}, (1, 2, 2)),
    (
        "max_pool",
        (float32(1, 2, 6),),
        {"kernel_shape": (3,), "strides": (2,), "pads": (0, 0), "ceil_mode": True},
        (1, 2, 3),
    ),
    (
        "max_pool",
        (float32(1, 2, 5),),
        {"kernel_shape": (1,), "strides": (3,), "pads": (0, 0), "ceil_mode": True},
        (1, 2, 2),
    ),
    ("global_average_pool", (float32(2, 3, 4, 5),), {}, (2, 3, 1, 1)),
    ("gemm", (float32(5, 2), float32(3, 5)), {"trans_a": True, "trans_b": True}, (2, 3)),
    ("add", (float32(2, 1, 4), float32(3, 1)), {}, (2, 3, 4)),
    ("mul", (float32(), float32(2, 3)), {}, (2, 3)),
    ("reshape", (float32(2, 3, 4),), {"shape": (0, -1)}, (2, 12)),
    ("reshape", (float32(2, 3, 4),), {"shape": (4, -1, 0)}, ()),
    ("transpose", (float32(2, 3, 4),), {"perm": (2, 0, 1)}, (4, 2, 3)),
    ("reduce_mean", (float32(2, 3),), {}, ()),
    ("reduce_sum", (float32(2, 3, 4),), {"axes": (-1,)}, (2, 3)),
    ("reduce_max", (float32(2, 3, 4),), {"axes": (0, 2), "keepdims": True}, (1, 3, 1)),
    ("reduce_mean", (float32(2, 3),), {"keepdims": True}, (1, 1)),
    ("top_k", (float32(2, 7),), {"k": 3}, (2, 3)),
    ("conv_transpose", (float32(2, 4, 5, 6), float32(4, 3, 3, 2)), DOUBLING, (2, 3, 10, 11)),
    (
        "conv_transpose",
        (float32(2, 4, 5, 6), float32(4, 3, 3, 2), float32(6)),
        {**DOUBLING, "group": 2},
        (2, 6, 10, 11),
    ),
    ("resize", (float32(2, 3, 4, 5),), {"sizes": (8, 15)}, (2, 3, 8, 15)),
    ("resize", (float32(2, 3, 4, 5),), {"sizes": (3, 7), "mode": "linear"}, (2, 3, 3, 7)),
    ("matmul", (float32(2, 1, 4, 5), float32(3, 5, 6)), {}, (2, 3, 4, 6)),
    ("matmul", (float32(4, 5), float32(7, 5, 2)), {}, (7, 4, 2)),
    ("div", (float32(2, 1, 4), float32(3, 1)), {}, (2, 3, 4)),
    ("sub", (float32(4), float32()), {}, (4,)),
    (
        "attention",
        (float32(2, 3, 4, 5), float32(2, 3, 6, 5), float32(2, 3, 6, 7)),
        {"scale": 1.0},
        (2, 3, 4, 7),
    ),
    ("rotary_embedding", (float32(2, 3, 4, 6), float32(4, 3), float32(4, 3)), {}, (2, 3, 4, 6)),
    ("layer_normalization", (float32(2, 3, 4), float32(3, 4), float32(3, 4)), {"axis": 1}, (2, 3, 4)),
    ("group_normalization", (float32(2, 6, 4), float32(6), float32(6)), {"num_groups": 3}, (2, 6, 4)),
    ("concat", (float32(2, 3), float32(2, 1), float32(2, 4)), {"axis": -1}, (2, 8)),
    ("slice", (float32(6, 7),), {"axes": (1,), "starts": (1,), "ends": (7,), "steps": (4,)}, (6, 2)),
    ("pad", (float32(2, 3),), {"pads": (1, 0, 0, 2)}, (3, 5)),
    ("expand", (float32(3, 1),), {"shape": (2, 3, 4)}, (2, 3, 4)),
    ("gather", (float32(9, 4), int64(2, 3)), {}, (2, 3, 4)),
    ("gather", (float32(2, 9, 4), int64(5)), {"axis": 1}, (2, 5, 4)),
    ("gather", (float32(2, 9), int64()), {"axis": -1}, (2,)),
    ("gather_elements", (float32(4, 6), int64(4, 2)), {}, (4, 2)),
    ("softmax_cross_entropy_loss", (float32(2, 3, 4), int64(2, 4)), {}, ()),
    ("softmax_cross_entropy_loss", (float32(2, 3, 4), int64(2, 4)), {"reduction": "none"}, (2, 4)),
    ("ctc_loss", (float32(8, 2, 5), int64(2, 3)), {}, ()),
)


@pytest.mark.parametrize(("operator", "inputs", "attributes", "expected"), SHAPES)
def test_shapes(
    operator: str, inputs: tuple[TensorType, ...], attributes: dict[str, Any], expected: tuple[int, ...]
) -> None:
    if attributes.get("shape") == (4, -1, 0):  # 4 * 4 does not divide 24
        with pytest.raises(UsageError, match="numbers of elements differ"):
            getattr(Shapes(), operator)(*inputs, **keywords(operator, attributes))
        return
    assert getattr(Shapes(), operator)(*inputs, **keywords(operator, attributes)).shape == expected


WINDOW = {"strides": (1,), "pads": (0, 0), "dilations": (1,)}
IMPOSSIBLE: tuple[tuple[str, tuple[TensorType, ...], dict[str, Any], str], ...] = (
    ("conv", (float32(1, 3, 2), float32(4, 3, 3)), WINDOW, "window of 3 does not fit an axis of size 2"),
    ("conv", (float32(1, 4, 9), float32(4, 3, 3)), WINDOW, "multiples of the number of groups"),
    ("conv", (float32(1, 3, 9), float32(4, 3, 3)), {**WINDOW, "pads": (0,)}, "2 pads, got .* pads \\(0,\\)"),
    ("conv", (float32(1, 3, 9), float32(4, 3, 3)), {**WINDOW, "strides": (0,)}, "at least 1"),
    ("conv", (float32(3, 9), float32(4, 3, 3)), WINDOW, "input N C spatial"),
    ("gemm", (float32(2, 3), float32(4, 5)), {}, "inner sizes 3 and 4 differ"),
    ("gemm", (float32(2, 3), float32(3, 5), float32(4)), {}, "\\(4,\\) and \\(2, 5\\) do not broadcast"),
    ("gemm", (float32(2, 3), float32(3, 5), float32(7, 2, 5)), {}, "does not broadcast to \\(2, 5\\)"),
    ("gemm", (float32(2, 3, 4), float32(4, 5)), {}, "needs matrices"),
    ("add", (float32(2, 3), float32(4)), {}, "\\(2, 3\\) and \\(4,\\) do not broadcast"),
    ("dropout", (float32(2),), {"ratio": 1.0}, "below 1, got 1.0"),
    ("softmax", (float32(2, 3),), {"axis": 2}, "axis 2 is not an axis"),
    ("transpose", (float32(2, 3),), {"perm": (0, 0)}, "not a permutation"),
    ("reshape", (float32(2, 3),), {"shape": (4, -1)}, "numbers of elements differ"),
    ("reshape", (float32(2, 3),), {"shape": (2, 3, 0)}, "must be at an axis"),
    ("batch_normalization", (float32(2, 3), *[float32(2)] * 4), {}, "scale must have shape \\(3,\\)"),
    (
        "lstm",
        (float32(5, 2, 3), float32(1, 16, 4), float32(1, 16, 4), float32(1, 32)),
        {"hidden_size": 4},
        "w must have shape \\(1, 16, 3\\)",
    ),
    (
        "softmax_cross_entropy_loss",
        (float32(2, 3), int64(3)),
        {},
        "scores \\(N, C, ...\\) and labels \\(N, ...\\), got \\(2, 3\\) and \\(3,\\)",
    ),
    ("softmax_cross_entropy_loss", (float32(2, 3), float32(2)), {}, "needs int64 indices, got float32"),
    (
        "softmax_cross_entropy_loss",
        (float32(2, 3), int64(2), float32(2)),
        {},
        "weights must have shape \\(3,\\)",
    ),
    (
        "softmax_cross_entropy_loss",
        (float32(2, 3), int64(2)),
        {"reduction": "average"},
        "must be none, sum or mean, got 'average'",
    ),
    ("ctc_loss", (float32(4, 2, 5), int64(2, 5)), {}, "with S at most T"),
    ("ctc_loss", (float32(4, 2, 5), int64(3, 2)), {}, "scores \\(T, N, C\\) and labels \\(N, S\\)"),
    ("conv", (float32(1, 3, 9), float32(4, 3, 3), float32(3)), WINDOW, "conv: b must have shape \\(4,\\)"),
    ("conv_transpose", (float32(1, 4, 5), float32(4, 3, 3)), DOUBLING, "needs 1 kernel sizes.* and 2 pads"),
    (
        "conv_transpose",
        (float32(1, 5, 4, 4), float32(4, 3, 3, 3)),
        DOUBLING,
        "of 5 channels needs a weight with as many",
    ),
    (
        "conv_transpose",
        (float32(1, 4, 4, 4), float32(4, 3, 3, 3), float32(4)),
        DOUBLING,
        "conv_transpose: b must have shape \\(3,\\)",
    ),
    (
        "conv_transpose",
        (float32(1, 4, 4, 4), float32(4, 3, 3, 3)),
        {**DOUBLING, "output_padding": (2, 0)},
        "output padding \\(2, 0\\) must be smaller than stride",
    ),
    (
        "conv_transpose",
        (float32(1, 4, 4, 4), float32(4, 3, 3, 3)),
        {**DOUBLING, "strides": (0, 1)},
        "strides and dilations must be at least 1",
    ),
    (
        "conv_transpose",
        (float32(1, 4, 1, 1), float32(4, 3, 1, 1)),
        {**DOUBLING, "output_padding": (0, 0)},
        "leaves nothing: \\(-1, 0\\)",
    ),
    ("resize", (float32(2, 3, 4, 5),), {"sizes": (8, 11)}, "multiples of the old sizes, got \\(4, 5\\) to"),
    ("resize", (float32(2, 3, 4, 5),), {"sizes": (8, 10), "mode": "cubic"}, "nearest or linear, got 'cubic'"),
    ("resize", (float32(2, 3, 4),), {"sizes": (8,)}, "input \\(N, C, H, W\\) and two sizes"),
    ("matmul", (float32(2, 3), float32(4, 5)), {}, "the last axis of the first must match the last but one"),
    ("matmul", (float32(2, 3, 4), float32(3, 4, 5)), {}, "\\(2,\\) and \\(3,\\) do not broadcast"),
    ("matmul", (float32(3), float32(3, 5)), {}, "matmul of \\(3,\\) and \\(3, 5\\)"),
    ("sub", (float32(2, 3), float32(4)), {}, "do not broadcast"),
    ("clip", (float32(2),), {"min": 1.0, "max": 0.5}, "min must be at most max, got 1.0 and 0.5"),
    ("cast", (float32(2),), {}, "one of float32, int64, bool, other than float32, got 'float32'"),
    ("log_softmax", (float32(2, 3),), {"axis": -3}, "log_softmax: axis -3 is not an axis"),
    ("reduce_sum", (float32(2, 3),), {"axes": (2,)}, "reduce_sum: axis 2 is not an axis of \\(2, 3\\)"),
    ("top_k", (float32(2, 3),), {"k": 4}, "between 1 and the size of the last axis of \\(2, 3\\), got 4"),
    ("layer_normalization", (float32(2, 3), float32(2), float32(3)), {}, "scale must have shape \\(3,\\)"),
    (
        "group_normalization",
        (float32(2, 6), float32(6), float32(6)),
        {"num_groups": 4},
        "a multiple of 4 groups",
    ),
    (
        "group_normalization",
        (float32(2, 6), float32(6), float32(2)),
        {"num_groups": 2},
        "b must have shape \\(6,\\)",
    ),
    ("rms_normalization", (float32(2, 3), float32(2)), {}, "scale must have shape \\(3,\\), got \\(2,\\)"),
    ("concat", (float32(2, 3),), {"axis": 0}, "two tensors or more, got 1"),
    (
        "concat",
        (float32(2, 3), float32(3, 3)),
        {"axis": 1},
        "the other axes of \\(2, 3\\), \\(3, 3\\) differ",
    ),
    ("concat", (float32(2, 3), float32(2, 3, 1)), {"axis": 1}, "differ"),
    ("split", (float32(2, 7),), {"axis": 1, "num_outputs": 2}, "cannot be split into 2 equal parts"),
    ("split", (float32(2, 7),), {"axis": 1, "num_outputs": 1}, "equal parts, two or more"),
    (
        "slice",
        (float32(5),),
        {"axes": (0,), "starts": (2,), "ends": (6,)},
        "slice 2:6:1 of axis 0 of \\(5,\\)",
    ),
    (
        "slice",
        (float32(5),),
        {"axes": (0, 0), "starts": (0, 1), "ends": (2, 3)},
        "equally many, each axis once",
    ),
    ("pad", (float32(2, 3),), {"pads": (1, 0)}, "needs 4 pads of at least 0, got \\(1, 0\\)"),
    ("expand", (float32(2, 3),), {"shape": (2, 1)}, "\\(2, 3\\) does not broadcast to \\(2, 1\\)"),
    ("gather", (float32(9, 4), float32(2)), {}, "gather needs int64 indices, got float32"),
    (
        "gather_elements",
        (float32(4, 6), int64(3, 2)),
        {"axis": 1},
        "\\(3, 2\\) must have the shape of \\(4, 6\\)",
    ),
    ("causal_mask", (float32(2, 3),), {}, "scores \\(..., L, L\\), got \\(2, 3\\)"),
    (
        "gru",
        (float32(5, 2, 3), float32(2, 12, 3), float32(2, 12, 4), float32(2, 12)),
        {"hidden_size": 4, "direction": "bidirectional"},
        "gru: b must have shape \\(2, 24\\), got \\(2, 12\\)",
    ),
    (
        "gru",
        (float32(5, 2, 3), float32(1, 12, 3), float32(1, 12, 4), float32(1, 24)),
        {"hidden_size": 4, "direction": "reverse"},
        "must be forward or bidirectional, got 'reverse'",
    ),
)


@pytest.mark.parametrize(("operator", "inputs", "attributes", "message"), IMPOSSIBLE)
def test_impossible_shapes_are_one_sentence(
    operator: str, inputs: tuple[TensorType, ...], attributes: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        getattr(Shapes(), operator)(*inputs, **keywords(operator, attributes))


def test_recurrent_layers_return_what_each_direction_saw() -> None:
    weights = (float32(2, 16, 3), float32(2, 16, 4), float32(2, 32))
    y, y_h, y_c = Shapes().lstm(float32(5, 7, 3), *weights, layer=Recurrent(4, "bidirectional"))
    assert (y.shape, y_h.shape, y_c.shape) == ((5, 2, 7, 4), (2, 7, 4), (2, 7, 4))
    weights = (float32(1, 12, 3), float32(1, 12, 4), float32(1, 24))
    y, y_h = Shapes().gru(float32(5, 7, 3), *weights, layer=Recurrent(4))
    assert (y.shape, y_h.shape) == ((5, 1, 7, 4), (1, 7, 4))


def test_a_split_returns_every_part() -> None:
    assert [t.shape for t in Shapes().split(float32(2, 6), axis=-1, num_outputs=3)] == [(2, 2)] * 3


# --- JSON ------------------------------------------------------------------------------------


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.name)
def test_a_graph_survives_json_text(problem: Any) -> None:
    graph = problem.graph(3)
    assert Graph.from_json(json.loads(json.dumps(graph.to_json()))) == graph


def test_every_operator_survives_json_text() -> None:
    for case in OPERATOR_CASES:
        graph = case.graph(training=True)
        assert Graph.from_json(json.loads(json.dumps(graph.to_json()))) == graph, case.path


# --- reading and walking ---------------------------------------------------------------------


def test_without_loss_leaves_what_the_outputs_need() -> None:
    graph = small()
    inference = graph.without_loss()
    assert inference.loss is None
    assert [i.name for i in inference.inputs] == ["x"]
    assert "softmax_cross_entropy_loss_1" not in [node.name for node in inference.nodes]
    assert inference.parameters == graph.parameters
    assert inference.without_loss() == inference


def test_without_loss_drops_parameters_of_the_loss_alone() -> None:
    net = Network("head", 2)
    x = net.input("x", (3,))
    net.output(net.relu(x))
    net.loss(net.reduce_mean(net.dense("head", x, 2)))
    assert net.graph().without_loss().parameters == ()


def test_uses_say_where_and_at_which_position() -> None:
    uses = small().uses("conv.weight")
    assert [(node.name, position) for node, position in uses] == [("conv", 1)]


def test_counts() -> None:
    graph = small()
    assert graph.batch_size == 2
    assert graph.parameter_count == 6 * 3 * 9 + 6 + 2 * 6 + 5 * 96 + 5
    assert {p.name for p in graph.parameters} - {p.name for p in graph.trainable} == {
        "bn.running_mean",
        "bn.running_var",
    }
    assert "conv" in graph.operators


def test_a_walk_gives_every_value_of_another_meaning() -> None:
    graph = small()
    given = {i.name: i.type for i in graph.inputs} | {p.name: p.type for p in graph.parameters}
    assert walk(graph, Shapes(training=True), given) == dict(graph.types)


class Some(Operators):
    """Has addition only."""

    def add(self, a: Any, b: Any) -> Any:
        return a + b


def test_missing_operators_are_reported_all_at_once_with_their_nodes() -> None:
    with pytest.raises(UnsupportedError) as caught:
        check_operators(small(), Some, "some")
    message = str(caught.value)
    for operator, node in (
        ("conv", "conv"),
        ("batch_normalization", "bn"),
        ("relu", "relu_1"),
        ("gemm", "fc"),
    ):
        assert f"{operator} (nodes {node})" in message
    assert "reshape (nodes flatten_1)" in message  # what the composite's body needs
    assert "flatten (nodes" not in message
    assert "framework 'some'" in message
    check_operators(small(), Shapes, "shapes")


def test_an_operator_of_no_vocabulary_is_missing_too() -> None:
    node = Node("strange", "warp", (), ("strange",))
    graph = Graph("g", (), (), (node,), (), None, {})
    with pytest.raises(UnsupportedError, match=r"warp \(nodes strange\)"):
        check_operators(graph, Shapes, "shapes")


def test_composed_operators_are_those_without_a_native_meaning() -> None:
    assert composed_operators(small(), Shapes) == ("flatten",)

    class Native(Shapes):
        def flatten(self, x: Any) -> Any:
            return x

    assert composed_operators(small(), Native) == ()


def test_an_operator_that_raises_names_its_node() -> None:
    node = Node("sum", "add", ("a", "b"), ("sum",))
    with pytest.raises(RuntimeError, match=r"node 'sum' \(add, \{\}\): TypeError"):
        apply_node(node, Some(), [1, "x"])


def test_distributions_of_a_layer_are_the_papers() -> None:
    graph = small()
    initializers = {p.name: p.initializer for p in graph.parameters}
    assert initializers["conv.weight"] == Distribution("normal", math.sqrt(2 / (6 * 9)))
    assert initializers["fc.weight"] == Distribution("uniform", 1 / math.sqrt(96))
    assert initializers["bn.weight"] == ONES
    assert initializers["bn.running_mean"] == ZEROS


def test_a_composite_needs_what_its_body_uses() -> None:
    net = Network("gated", 2)
    net.output(net.named("gate").silu(net.input("x", (3,))))

    class OnlyMul(Operators):
        def mul(self, a: Any, b: Any) -> Any:
            return a

    class Silu(Operators):
        def silu(self, x: Any) -> Any:
            return x

    with pytest.raises(UnsupportedError, match=r"'some' has no sigmoid \(nodes gate\): problem 'gated'"):
        check_operators(net.graph(), OnlyMul, "some")
    check_operators(net.graph(), Silu, "some")
