"""FLOPs, bytes and memory: the published counts, and small graphs counted by hand."""

from __future__ import annotations

import math
import subprocess
import sys
from typing import Any

import pytest

from benchmarker.api.framework import PRECISIONS
from benchmarker.api.optimizer import OPTIMIZERS, Optimizer
from benchmarker.api.problem import Problem
from benchmarker.errors import UsageError
from benchmarker.graph.cost import REAL_TYPES, Cost, graph_cost
from benchmarker.graph.flops import PRODUCTS
from benchmarker.graph.graph import Graph
from benchmarker.graph.initializers import ZEROS
from benchmarker.graph.network import Network
from benchmarker.graph.operators import OPERATORS, native_operators
from benchmarker.problems import deepbench_gemm, lstm_imdb, mnist_mlp
from benchmarker.problems.convolution import CONV2D
from benchmarker.problems.resnet import RESNET50
from benchmarker.problems.vgg import VGG16
from benchmarker.worker.conformance.cases import OPERATOR_CASES

PUBLISHED = (
    (RESNET50, 8_178_368_512),
    (VGG16, 30_940_528_640),
    (mnist_mlp.benchmarker_problem(), 2 * 109_184),
    (lstm_imdb.benchmarker_problem(), 2 * 22_784_256),
    (CONV2D, 2 * 64 * 64 * 9 * 56 * 56),
)
FIRST_LAYER_DATA_GRADIENT = {
    "resnet50": 2 * 64 * 3 * 49 * 112 * 112,
    "vgg16": 2 * 64 * 3 * 9 * 224 * 224,
    "mnist_mlp": 2 * 784 * 128,
    "lstm_imdb": 2 * 250 * 4 * 128 * 50,
    "conv2d": 2 * 64 * 64 * 9 * 56 * 56,
}


@pytest.mark.parametrize(("problem", "flops"), PUBLISHED, ids=lambda value: getattr(value, "name", ""))
def test_flops_of_a_sample_are_the_published_ones(problem: Problem, flops: int) -> None:
    for batch_size in (1, 3):
        cost = graph_cost(problem.graph(batch_size).without_loss())
        assert cost.flops == cost.forward_flops == flops * batch_size
        assert cost.backward_flops == 0


@pytest.mark.parametrize(("problem", "flops"), PUBLISHED, ids=lambda value: getattr(value, "name", ""))
def test_training_is_three_times_forward_minus_the_gradient_of_the_mini_batch(
    problem: Problem, flops: int
) -> None:
    cost = graph_cost(problem.graph(2), training=True)
    assert cost.forward_flops == 2 * flops
    assert cost.flops == 2 * (3 * flops - FIRST_LAYER_DATA_GRADIENT[problem.name])


def test_every_primitive_is_counted_and_composites_by_their_bodies() -> None:
    primitives = {name for name, info in OPERATORS.items() if info.kind == "primitive"}
    # Users' operators may be counted by their authors.
    assert native_operators(Cost) == primitives | {"custom"}
    net = Network("silu", 2)
    net.output(net.silu(net.input("x", (5,))))
    assert graph_cost(net.graph()).elementwise_flops == 10 * (3 + 1)


@pytest.mark.parametrize("training", [False, True])
def test_every_case_has_a_cost(training: bool) -> None:
    for case in OPERATOR_CASES:
        cost = graph_cost(case.graph(training=training), training=training)
        has_products = case.operator in (*PRODUCTS, "attention", "sparse_matmul")
        assert (cost.forward_flops > 0) == has_products, case.path
        assert (cost.backward_flops > 0) == (has_products and training), case.path
        assert min(cost.bytes, cost.elementwise_flops) >= 0, case.path


def grouped() -> Graph:
    net = Network("grouped", 2)
    x = net.input("x", (4, 5, 5))
    net.output(net.convolution("conv", x, 6, 3, groups=2))
    return net.graph()


def test_a_grouped_convolution_multiplies_within_its_groups() -> None:
    (node,) = graph_cost(grouped()).nodes
    assert node.flops == 2 * (2 * 6 * 3 * 3) * (4 // 2 * 9)
    assert node.elementwise_flops == 2 * 6 * 3 * 3  # the bias
    assert node.parameter_count == 6 * 2 * 9 + 6
    assert node.output_shapes == ((2, 6, 3, 3),)
    assert node.bytes == 4 * (2 * 4 * 25 + 6 * 2 * 9 + 6 + 2 * 6 * 9)


@pytest.mark.parametrize("trans_a", [False, True])
@pytest.mark.parametrize("trans_b", [False, True])
def test_a_matrix_product_counts_the_same_however_it_is_stored(trans_a: bool, trans_b: bool) -> None:
    net = Network("gemm", 3 if not trans_a else 5)
    a = net.input("a", (5,) if not trans_a else (3,))
    b = net.parameter("b", (7, 5) if trans_b else (5, 7), ZEROS)
    net.output(net.gemm(a, b, trans_a=trans_a, trans_b=trans_b))
    assert graph_cost(net.graph()).flops == 2 * 3 * 5 * 7


def forward_flops(net: Network) -> int:
    return graph_cost(net.graph()).forward_flops


def test_a_transposed_convolution_multiplies_as_often_as_the_convolution_it_goes_back_through() -> None:
    forth, back = Network("forth", 2), Network("back", 2)
    forth.output(forth.convolution("conv", forth.input("x", (3, 11, 11)), 4, 3, stride=2))
    attributes = {"output_padding": (0, 0), "strides": (2, 2), "pads": (0,) * 4, "dilations": (1, 1)}
    x, w = back.input("x", (4, 5, 5)), back.parameter("w", (4, 3, 3, 3), ZEROS)
    back.output(back.conv_transpose(x, w, **attributes))
    assert forward_flops(back) == forward_flops(forth) == 2 * (2 * 4 * 25) * (3 * 9)


def test_a_grouped_transposed_convolution_multiplies_within_its_groups() -> None:
    net = Network("grouped", 2)
    x, w, b = (
        net.input("x", (4, 5, 5)),
        net.parameter("w", (4, 3, 3, 3), ZEROS),
        net.parameter("b", (6,), ZEROS),
    )
    attributes = {"output_padding": (0, 0), "strides": (1, 1), "pads": (1,) * 4, "dilations": (1, 1)}
    net.output(net.conv_transpose(x, w, b, group=2, **attributes))
    (node,) = graph_cost(net.graph()).nodes
    assert node.flops == 2 * (2 * 4 * 25) * (3 * 9)
    assert node.elementwise_flops == 2 * 6 * 25  # the bias


def test_matrix_products_count_each_pair_of_matrices() -> None:
    net = Network("matmul", 2)
    net.output(net.matmul(net.input("a", (1, 4, 5)), net.parameter("b", (3, 5, 6), ZEROS)))
    assert forward_flops(net) == 2 * (2 * 3 * 4 * 6) * 5


def test_attention_multiplies_scores_and_values() -> None:
    net = Network("attention", 2)
    q, k, v = (
        net.input(name, shape) for name, shape in (("q", (3, 4, 5)), ("k", (3, 6, 5)), ("v", (3, 6, 7)))
    )
    net.output(net.attention(q, k, v, scale=0.5))
    cost = graph_cost(net.graph())
    assert cost.forward_flops == 2 * (2 * 3) * 4 * 6 * (5 + 7)
    assert cost.elementwise_flops == 2 * 3 * (4 * 5 + 5 * 4 * 6)  # the scale of q, the softmax


def recurrent(kind: str, direction: str = "forward") -> Network:
    net = Network(kind, 7)
    x = net.transpose(net.input("x", (5, 3)), perm=(1, 0, 2))
    layer = net.lstm_layer if kind == "lstm" else net.gru_layer
    y = layer("layer", x, 4, direction=direction)[0]
    net.output(y)
    net.loss(net.reduce_mean(y))
    return net


@pytest.mark.parametrize(("kind", "gates"), [("lstm", 4), ("gru", 3)])
@pytest.mark.parametrize(("direction", "directions"), [("forward", 1), ("bidirectional", 2)])
def test_recurrent_layers_multiply_each_gate_step_and_direction(
    kind: str, gates: int, direction: str, directions: int
) -> None:
    graph = recurrent(kind, direction).graph()
    one = 2 * (5 * 7) * directions * gates * 4  # steps, samples, cells
    assert graph_cost(graph.without_loss()).flops == one * (3 + 4)
    cost = graph_cost(graph, training=True)
    assert cost.forward_flops == one * (3 + 4)
    # Back: the gradients of both weights and of the state, but none of the mini-batch.
    assert cost.backward_flops == one * (3 + 4 + 4)


def test_a_looked_up_table_moves_the_rows_that_are_asked_for() -> None:
    net = Network("lookup", 2)
    y = net.gather(net.parameter("table", (1000, 8), ZEROS), net.input("rows", (3,), "int64"))
    net.output(y)
    net.loss(net.reduce_mean(y))
    graph = net.graph()
    rows, indices = 4 * 6 * 8, 8 * 6
    (inference,) = graph_cost(graph.without_loss()).nodes
    assert inference.bytes == 2 * rows + indices
    training = graph_cost(graph, training=True).nodes[0]
    assert training.bytes == inference.bytes + 3 * rows + indices
    assert training.forward_flops == training.elementwise_flops == 0


def test_interpolation_costs_and_repetition_does_not() -> None:
    for mode, operations in (("nearest", 0), ("linear", 9)):
        net = Network("resize", 2)
        net.output(net.resize(net.input("x", (3, 4, 5)), sizes=(8, 10), mode=mode))
        assert graph_cost(net.graph()).elementwise_flops == operations * 2 * 3 * 8 * 10


def test_nothing_goes_back_through_a_stop() -> None:
    net = Network("stopped", 2)
    x = net.input("x", (4,))
    y = net.named("before").gemm(x, net.parameter("w", (4, 4), ZEROS))
    z = net.named("after").gemm(net.stop_gradient(y), net.parameter("v", (4, 4), ZEROS))
    net.output(z)
    net.loss(net.reduce_mean(z))
    cost = graph_cost(net.graph(), training=True)
    backward = {node.name: node.backward_flops for node in cost.nodes if node.operator == "gemm"}
    # The second's own weight, and neither its operand nor anything before the stop.
    assert backward == {"before": 0, "after": 2 * 2 * 4 * 4}


def shared() -> Graph:
    """Return a graph whose first product is frozen, whose second is used twice, and whose third is idle."""
    net = Network("shared", 2)
    x = net.input("x", (4,))
    frozen = net.parameter("frozen", (4, 4), ZEROS, trainable=False)
    weight = net.parameter("weight", (4, 4), ZEROS)
    y = net.named("frozen_product").gemm(x, frozen)
    y = net.named("first").gemm(y, weight)
    z = net.named("second").gemm(y, weight)
    net.output(net.named("idle").gemm(z, weight))
    net.loss(net.reduce_mean(z))
    return net.graph()


def test_the_backward_pass_goes_only_where_a_gradient_is_needed() -> None:
    cost = graph_cost(shared(), training=True)
    backward = {node.name: node.backward_flops for node in cost.nodes}
    one = 2 * 2 * 4 * 4
    assert backward == {
        "frozen_product": 0,
        "first": one,
        "second": 2 * one,
        "idle": 0,
        "reduce_mean_1": 0,
    }
    assert sum(node.parameter_count for node in cost.nodes) == cost.parameter_count == 16


def test_training_without_a_loss_is_refused() -> None:
    with pytest.raises(UsageError, match="needs a loss, and graph 'grouped' has none"):
        graph_cost(grouped(), training=True)


# --- memory ----------------------------------------------------------------------------------


def chain(*, reshaped: bool = False) -> Graph:
    net = Network("chain", 2)
    x = net.input("x", (6,))
    for _ in range(3):
        x = net.reshape(x, shape=(0, 2, 3)) if reshaped else net.relu(x)
        x = net.relu(net.reshape(x, shape=(0, 6)))
    net.output(x)
    return net.graph()


def test_inference_gives_back_what_is_no_longer_used() -> None:
    value = 2 * 6 * 4
    # The mini-batch stays, and beside it one operand and one result.
    assert graph_cost(chain()).activation_bytes == 3 * value


def test_a_reshape_takes_no_memory_and_moves_no_bytes() -> None:
    value = 2 * 6 * 4
    cost = graph_cost(chain(reshaped=True))
    assert cost.activation_bytes == 3 * value
    assert cost.bytes == 3 * 2 * value


def test_a_shortcut_stays_until_it_is_added() -> None:
    net = Network("shortcut", 1)
    x = net.relu(net.input("x", (10,)))
    y = net.relu(net.relu(x))
    net.output(net.add(x, y))
    assert graph_cost(net.graph()).activation_bytes == 4 * 10 * 4


def test_training_keeps_what_the_backward_pass_needs() -> None:
    net = Network("kept", 2)
    x = net.input("x", (3,))
    y = net.relu(net.dense("fc1", x, 5))  # keeps x and the result of relu
    y = net.dropout(y)  # keeps a mask of a byte per element
    y = net.dense("fc2", y, 4)  # keeps its operand
    net.output(y)
    label = net.labels("label", 4)  # 8 bytes per label
    net.loss(net.softmax_cross_entropy_loss(y, label))  # keeps the softmax
    graph = net.graph()
    kept = 4 * 2 * 3 + 4 * 2 * 5 + 2 * 5 + 4 * 2 * 5 + 8 * 2 + 4 * 2 * 4
    assert graph_cost(graph, training=True).activation_bytes == kept


def kept_beside_the_operand(operator: str, x: tuple[int, ...], **attributes: Any) -> int:
    """Return the bytes that training keeps for one operator, without the mini-batch and its shift."""
    net = Network("one", x[0])
    shift = net.parameter("shift", x, ZEROS)
    y = getattr(net, operator)(net.add(net.input("x", x[1:]), shift), **attributes)
    net.output(y)
    net.loss(net.reduce_mean(y))
    return graph_cost(net.graph(), training=True).activation_bytes - 4 * math.prod(x)


def test_a_choice_keeps_where_it_chose() -> None:
    assert kept_beside_the_operand("reduce_max", (2, 6), axes=(1,)) == 8 * 2
    assert kept_beside_the_operand("top_k", (2, 6), k=3) == 8 * 2 * 3


def test_what_only_moves_or_adds_keeps_nothing() -> None:
    assert kept_beside_the_operand("reduce_sum", (2, 6), axes=(1,)) == 0
    assert kept_beside_the_operand("slice", (2, 6), axes=(1,), starts=(0,), ends=(2,)) == 0
    assert kept_beside_the_operand("expand", (2, 6), shape=(3, 2, 6)) == 0
    assert kept_beside_the_operand("affine", (2, 6), alpha=2.0) == 0
    assert kept_beside_the_operand("stop_gradient", (2, 6)) == 0


def test_functions_keep_their_operand_or_their_result() -> None:
    for operator in (
        "abs",
        "erf",
        "softplus",
        "log",
        "exp",
        "sqrt",
        "log_softmax",
        "leaky_relu",
        "sin",
        "cos",
        "log1p",
        "expm1",
        "reciprocal",
    ):
        assert kept_beside_the_operand(operator, (2, 6)) == 4 * 12, operator


def test_recurrent_layers_keep_their_gates() -> None:
    x, y = 4 * 5 * 7 * 3, 4 * 5 * 7 * 4
    for kind, extra in (("lstm", 5), ("gru", 4)):
        kept = graph_cost(recurrent(kind).graph(), training=True).activation_bytes
        last = 4 * 7 * 4 * (2 if kind == "lstm" else 1)
        assert kept == 2 * x + (1 + extra) * y + last  # x and x transposed


def test_ctc_keeps_the_softmax() -> None:
    net = Network("ctc", 3)
    x = net.transpose(net.input("x", (6, 5)), perm=(1, 0, 2))
    scores = net.add(x, net.parameter("shift", (5,), ZEROS))
    net.output(scores)
    net.loss(net.ctc_loss(scores, net.input("label", (2,), "int64")))
    kept = graph_cost(net.graph(), training=True).activation_bytes
    assert kept == 4 * 3 * 6 * 5 + 8 * 3 * 2 + 4 * 6 * 3 * 5


def test_memory_by_what_it_holds() -> None:
    graph = mnist_mlp.benchmarker_problem().graph(1)
    values = graph.parameter_count * 4
    inference = graph_cost(graph.without_loss()).memory()
    assert inference.keys() == {"parameters", "activations", "total"}
    assert inference["parameters"] == values
    cost = graph_cost(graph, training=True)
    states = {"sgd": 0, "momentum": 1, "nesterov": 1, "rmsprop": 1, "adagrad": 1, "adam": 2, "adamw": 2}
    states |= {"nadam": 2, "lion": 1, "lamb": 2, "lars": 1, "schedule_free_sgd": 2, "schedule_free_adamw": 3}
    shapes = [p.type.shape for p in graph.trainable]
    matrices = sum(4 * math.prod(shape) for shape in shapes if len(shape) == 2)
    sizes = {kind: kept * values for kind, kept in states.items()} | {
        # Rows and columns of matrices; one of two moments of them; a number beside four of the parameter's shape.
        "adafactor": 4 * sum(map(sum, shapes)),
        "muon": 2 * values - matrices,
        "accelegrad": 4 * values + 4 * len(shapes),
    }
    assert sizes.keys() == set(OPTIMIZERS)
    for kind, kept in sizes.items():
        memory = cost.memory(Optimizer.default(kind))
        assert memory["gradients"] == values
        assert memory["optimizer_state"] == kept
        assert memory["total"] == sum(size for name, size in memory.items() if name != "total")


def test_running_statistics_are_parameters_without_gradients() -> None:
    graph = RESNET50.graph(1, image_size=32)
    memory = graph_cost(graph, training=True).memory(Optimizer("momentum"))
    assert memory["gradients"] == 4 * 25_557_032
    assert memory["parameters"] == 4 * (25_557_032 + 53_120)


def test_counting_needs_no_numpy() -> None:
    code = "import sys; sys.modules['numpy'] = None; import benchmarker.graph.cost, benchmarker.graph.network"
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (finished.returncode, finished.stderr) == (0, "")


def test_precision_decides_what_is_moved_and_kept() -> None:
    graph = deepbench_gemm.benchmarker_problem().graph(m=64, n=48, k=96)
    values = 64 * 96 + 96 * 48 + 64 * 48
    for precision, size in (("fp32", 4), ("tf32", 4), ("fp64", 8), ("bf16", 2), ("fp16", 2)):
        cost = graph_cost(graph.without_loss(), precision=precision)
        assert (cost.flops, cost.bytes) == (2 * 64 * 48 * 96, size * values)
    assert set(REAL_TYPES) == set(PRECISIONS)


def test_trained_weights_are_kept_in_float32_at_least() -> None:
    net = Network("kept", 2)
    scores = net.gemm(net.input("x", (3,)), net.parameter("w", (3, 5), ZEROS))
    net.output(scores)
    net.loss(net.softmax_cross_entropy_loss(scores, net.labels("label", 5)))
    graph = net.graph()
    kept = {
        precision: (
            graph_cost(graph.without_loss(), precision=precision).parameter_bytes,
            graph_cost(graph, training=True, precision=precision).gradient_bytes,
        )
        for precision in ("bf16", "fp32", "fp64")
    }
    assert kept == {"bf16": (2 * 15, 4 * 15), "fp32": (4 * 15, 4 * 15), "fp64": (8 * 15, 8 * 15)}


def test_integers_do_not_grow_with_the_precision() -> None:
    net = Network("lookup", 2)
    net.output(net.gather(net.parameter("table", (7, 5), ZEROS), net.labels("rows", 7)))
    graph = net.graph()
    for precision, size in (("fp16", 2), ("fp32", 4), ("fp64", 8)):
        cost = graph_cost(graph, precision=precision)
        assert cost.bytes == 2 * size * (2 * 5) + 8 * 2  # rows read and written, and where they stand
        assert cost.input_bytes == 8 * 2
