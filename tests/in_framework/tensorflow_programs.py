"""What must hold inside TensorFlow: run by ``plugins/test_tensorflow.py`` in the environment that has it.

Each function whose name starts with ``check_`` asserts one thing; ``python -m tests.in_framework.tensorflow_programs``
runs them all and prints, as JSON, why each failed, or an empty text.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarker.api.framework import Device
from benchmarker.api.optimizer import Optimizer
from benchmarker.graph.graph import Graph
from benchmarker.graph.initializers import ONES
from benchmarker.graph.network import Network
from benchmarker.graph.recorder import Value
from benchmarker.graph.types import Distribution
from benchmarker.plugins.tensorflow import Options
from benchmarker.plugins.tensorflow.framework import TensorFlow
from benchmarker.plugins.tensorflow.kernels import has_channels_first_in_bf16
from benchmarker.plugins.tensorflow.program import TensorFlowProgram
from benchmarker.plugins.tensorflow.recurrent import WRITTEN_OUT_STEPS
from benchmarker.worker.conformance.subject import (
    draw_batch,
    draw_parameters,
    fetch_outputs,
    reference_program,
)
from tests.in_framework.comparing import near, refusal
from tests.in_framework.verdicts import checks_of, tell

TOLERANCES = {"fp32": 2e-5, "bf16": 0.1}
"""Of norms. bf16 keeps 8 bits, and switches rectifiers."""
LONG = WRITTEN_OUT_STEPS + 6
PRODUCTS = ("MatMul", "BatchMatMulV2", "Conv2D", "Conv3D")
SGD = Optimizer("sgd", learning_rate=0.1)


def build(
    graph: Graph, mode: str, precision: str = "fp32", optimizer: Optimizer = SGD, **options: Any
) -> TensorFlowProgram:
    program = TensorFlow().build(
        graph,
        draw_parameters(graph, 0),
        mode=mode,
        device=Device("cpu"),
        precision=precision,
        optimizer=optimizer,
        options=Options(**options),
    )
    assert isinstance(program, TensorFlowProgram)
    return program


def operations(program: TensorFlowProgram) -> list[Any]:
    """Return the operations of a program's step, those inside loops too."""
    step: Any = getattr(program, "_infer", None) or program._train
    graph = step.graph
    inner = [graph._get_function(name).graph for name in graph._functions]
    return [operation for part in (graph, *inner) for operation in part.get_operations()]


def types(graph: Graph, mode: str = "training", **settings: Any) -> list[str]:
    """Return the types of the operations that ``graph`` becomes."""
    of_mode = graph if mode == "training" else graph.without_loss()
    return [operation.type for operation in operations(build(of_mode, mode, **settings))]


def agrees(graph: Graph, precision: str = "fp32", **options: Any) -> None:
    """Compare outputs, loss and gradients with the reference, and take a step."""
    start, batch = draw_parameters(graph, 0), draw_batch(graph, 0)
    forward = graph.without_loss()
    program = build(forward, "inference", precision, **options)
    reference = reference_program(forward, start, "inference")
    expected = fetch_outputs(reference, forward, reference.load(batch))
    near(fetch_outputs(program, forward, program.load(batch)), expected, TOLERANCES[precision])
    program = build(graph, "training", precision, **options)
    reference = reference_program(graph, start, "training")
    loss, gradients = program.gradients(program.load(batch))
    expected_loss, expected = reference.gradients(reference.load(batch))
    near({"loss": loss, **gradients}, {"loss": expected_loss, **expected}, TOLERANCES[precision])
    assert np.isfinite(program.fetch(program.train_step(program.load(batch)))[0])


def travels(graph: Graph, optimizer: Optimizer) -> None:
    """Compare the way of each parameter in a few steps with the reference's."""
    start = draw_parameters(graph, 0)
    program = build(graph, "training", optimizer=optimizer)
    reference = reference_program(graph, start, "training", optimizer)
    for step in range(3):
        batch = draw_batch(graph, step)
        program.fetch(program.train_step(program.load(batch)))
        reference.train_step(reference.load(batch))
    ways = [{n: a - start[n] for n, a in p.parameters().items()} for p in (program, reference)]
    near(ways[0], ways[1], 1e-3)


# --- graphs --------------------------------------------------------------------------------------


def segmentation(rank: int = 2) -> Graph:
    """A small U-Net with every layer that leaves an image an image, its loss taken pixel by pixel."""
    net = Network("segmentation", 2)
    x = net.affine(net.input("image", (3, *(8,) * rank)), alpha=0.5)
    pixels = net.input("pixels", (8,) * rank, "int64", Distribution("integers", 3))
    x = net.relu(net.batch_norm("bn", net.convolution("conv1", x, 6, 3, pad=1, bias=False)))
    scale, shift = (net.parameter(name, (6,), ONES) for name in ("gn.weight", "gn.bias"))
    skip = net.group_normalization(x, scale, shift, num_groups=3)
    x = net.leaky_relu(net.convolution("conv2", net.pool(skip, 2), 8, 3, pad=1))
    x = net.mul(x, net.sigmoid(net.global_average_pool(x)))
    x = net.mul(x, net.parameter("gain", (1, 8, *(1,) * rank), ONES))
    x = net.transposed_convolution("up", x, 6, 2, stride=2)
    x = net.concat(net.clip(x, min=0.0, max=20.0), skip, axis=1)
    first, second = net.split(x, axis=1, num_outputs=2)
    x = net.add(first, net.gelu(second))
    if rank == 2:
        x = net.add(x, net.resize(net.pool(x, 2), sizes=(8, 8)))
    x = net.pad(x, pads=(0, 0, *(1,) * rank, 0, 0, *(1,) * rank))
    window = tuple(range(2, 2 + rank)), (1,) * rank, (9,) * rank
    x = net.slice(x, axes=window[0], starts=window[1], ends=window[2])
    scores = net.convolution("classifier", x, 3, 1)
    net.output(net.softmax(scores, axis=1))
    net.loss(net.softmax_cross_entropy_loss(scores, pixels))
    return net.graph()


def flattened_image() -> Graph:
    """A dense layer over the pixels of an image."""
    net = Network("flattened", 2)
    x = net.pool(net.convolution("conv", net.input("image", (3, 8, 6)), 5, 3), 2)
    x = net.dropout(net.relu(net.flatten(x)), ratio=0.0)
    x = net.dense("fc", x, 4)
    net.output(x)
    net.loss(net.softmax_cross_entropy_loss(x, net.labels("label", 4)))
    return net.graph()


def shuffled_channels() -> Graph:
    """Channels exchanged between groups, as in ShuffleNet."""
    net = Network("shuffled", 2)
    x = net.convolution("conv1", net.input("image", (3, 6, 6)), 8, 3, pad=1)
    apart = net.transpose(net.reshape(x, shape=(2, 2, 4, 6, 6)), perm=(0, 2, 1, 3, 4))
    x = net.convolution("conv2", net.reshape(apart, shape=(2, 8, 6, 6)), 4, 3, groups=2)
    net.output(x)
    net.loss(net.reduce_mean(net.mul(x, x)))
    return net.graph()


def tied() -> Graph:
    """A language model whose table of words is its classifier too, beside a table that is not."""
    net = Network("tied", 6)
    words = net.input("words", (5,), "int64", Distribution("integers", 7))
    table, other = (net.parameter(name, (11, 4), Distribution("normal")) for name in ("table", "other"))
    x = net.mul(net.gather(table, words), net.gather(other, words))
    x = net.gemm(net.tanh(net.reduce_mean(x, axes=(1,))), table, trans_b=True)
    net.output(x)
    net.loss(net.softmax_cross_entropy_loss(x, net.labels("label", 11)))
    return net.graph()


def embedded() -> Graph:
    """A table of which few rows are used, some of them twice."""
    net = Network("embedded", 4)
    words = net.input("words", (3,), "int64", Distribution("integers", 5))
    x = net.dense("fc", net.flatten(net.embedding("table", words, 20, 4)), 3)
    net.output(x)
    net.loss(net.softmax_cross_entropy_loss(x, net.labels("label", 3)))
    return net.graph()


def sequence(steps: int) -> Graph:
    """A GRU above an LSTM, both in both directions."""
    net = Network("sequence", 2)
    x: Value = net.transpose(net.input("x", (steps, 3)), perm=(1, 0, 2))
    y, _, _ = net.lstm_layer("lstm", x, 4, direction="bidirectional")
    x = net.reshape(net.transpose(y, perm=(0, 2, 1, 3)), shape=(steps, 2, 8))
    y, last = net.gru_layer("gru", x, 4, direction="bidirectional")
    net.output(net.reduce_sum(y, axes=(1,)))
    net.loss(net.reduce_mean(net.mul(last, last)))
    return net.graph()


def residual(slope: float) -> Graph:
    """What TensorFlow 2.21 fuses with the slope 0.2."""
    net = Network("residual", 2)
    image = net.input("image", (4, 6, 6))
    x = net.leaky_relu(net.add(net.convolution("conv", image, 4, 3, pad=1), image), alpha=slope)
    net.output(x)
    net.loss(net.reduce_mean(net.mul(x, x)))
    return net.graph()


def saturated() -> Graph:
    """What TensorFlow 2.21 fuses without a kernel for it."""
    net = Network("saturated", 2)
    x = net.convolution("conv", net.input("image", (4, 6, 6)), 4, 3, bias=False)
    x = net.tanh(net.batch_norm("bn", x))
    net.output(x)
    net.loss(net.reduce_mean(net.mul(x, x)))
    return net.graph()


def speech(steps: int, length: int) -> Graph:
    """Scores of a sequence and its labels."""
    net = Network("speech", 2)
    x = net.dense("fc", net.input("x", (steps, 5)), 6)
    labels = net.input("labels", (length,), "int64", Distribution("integers", 6, 1))
    net.output(x)
    net.loss(net.ctc_loss(net.transpose(x, perm=(1, 0, 2)), labels))
    return net.graph()


def attending() -> Graph:
    """Attention of two heads with shared keys and values, then a dense layer."""
    net = Network("attending", 2)
    x = net.input("x", (5, 8))
    heads = net.transpose(net.reshape(net.dense("q", x, 8), shape=(2, 5, 2, 4)), perm=(0, 2, 1, 3))
    shared = net.transpose(net.reshape(net.dense("kv", x, 4), shape=(2, 5, 1, 4)), perm=(0, 2, 1, 3))
    shared = net.expand(shared, shape=(2, 2, 5, 4))
    y = net.attention(heads, shared, shared, scale=0.5, is_causal=True)
    y = net.reshape(net.transpose(y, perm=(0, 2, 1, 3)), shape=(2, 5, 8))
    y = net.layer_norm("norm", net.add(x, net.dense("out", y, 8)))
    net.output(y)
    net.loss(net.mean_squared_error_loss(y, net.input("target", (5, 8))))
    return net.graph()


def reused() -> Graph:
    """A normalized layer that is used twice, on different images."""
    net = Network("reused", 4)
    w = net.parameter("w", (3, 2, 3, 3), Distribution("normal", 0.3))
    scale, shift = (net.parameter(name, (3,), ONES) for name in ("scale", "shift"))
    statistics = [net.parameter(name, (3,), ONES, trainable=False) for name in ("mean", "var")]

    def used(name: str) -> Value:
        x = net.conv(net.input(name, (2, 6, 6)), w, strides=(1, 1), pads=(0,) * 4, dilations=(1, 1))
        normalized: Value = net.batch_normalization(x, scale, shift, *statistics)
        return normalized

    total = net.add(net.sigmoid(used("first")), net.sigmoid(used("second")))
    net.output(total)
    net.loss(net.reduce_mean(net.mul(total, total)))
    return net.graph()


# --- axes ----------------------------------------------------------------------------------------


def check_images_stand_channels_last_between_all_layers() -> None:
    for rank in (1, 2, 3):
        agrees(segmentation(rank))
        assert "Transpose" not in types(segmentation(rank))


def check_a_flattened_image_stays_as_it_stands() -> None:
    agrees(flattened_image())
    assert "Transpose" not in types(flattened_image())
    travels(flattened_image(), Optimizer("adamw", learning_rate=0.01, epsilon=1e-2, weight_decay=0.1))


def check_shuffled_channels_move_once_each_way() -> None:
    agrees(shuffled_channels())
    assert types(shuffled_channels(), "inference").count("Transpose") == 1
    assert types(shuffled_channels()).count("Transpose") == 2


def check_attention_moves_heads_only() -> None:
    agrees(attending())
    # Queries, keys, values and the result; the keys are taken transposed, not turned.
    assert types(attending(), "inference").count("Transpose") == 4


def check_both_layouts_compute_the_same() -> None:
    for rank in (1, 2, 3):
        for precision in TOLERANCES:
            if precision != "bf16" or has_channels_first_in_bf16():
                agrees(segmentation(rank), precision, layout="nchw")
    for graph in (flattened_image(), shuffled_channels(), reused(), residual(0.2), saturated()):
        agrees(graph, layout="nchw")
    agrees(segmentation(), layout="nchw", xla=True)
    agrees(saturated(), layout="nchw", freeze=True)


def check_channels_first_only_what_has_no_kernel_is_transposed() -> None:
    formats = {
        operation.get_attr("data_format")
        for operation in operations(build(segmentation(), "training", layout="nchw"))
        if operation.type in ("Conv2D", "MaxPool", "FusedBatchNormV3", "Conv2DBackpropInput")
    }
    assert formats == {b"NCHW"}
    assert "Transpose" not in types(flattened_image(), layout="nchw")
    # Softmax and the loss want the channels last: two each. So does resizing, and so does its gradient.
    assert types(segmentation(1), layout="nchw").count("Transpose") == 4
    assert types(segmentation(2), layout="nchw").count("Transpose") == 8
    assert types(segmentation(2), "inference", layout="nchw").count("Transpose") == 4


def check_channels_first_in_bf16_is_refused_where_there_are_no_kernels() -> None:
    said = refusal(lambda: build(flattened_image(), "inference", "bf16", layout="nchw"))
    assert ("no kernels for bf16" in said) != has_channels_first_in_bf16()


def check_channels_first_in_fp64_is_refused() -> None:
    assert "layout=nhwc" in refusal(lambda: build(flattened_image(), "inference", "fp64", layout="nchw"))


# --- parameters ----------------------------------------------------------------------------------


def check_a_tied_table_is_one_variable() -> None:
    agrees(tied())
    for kind in ("sgd", "momentum", "adam", "adagrad"):
        travels(tied(), Optimizer(kind, learning_rate=0.05, epsilon=1e-2))


def check_descent_touches_the_rows_that_were_used() -> None:
    assert "ResourceScatterSub" in types(embedded(), optimizer=SGD)
    travels(embedded(), SGD)


def check_other_rules_move_all_rows() -> None:
    for kind in ("momentum", "nesterov", "adam", "adamw", "rmsprop", "adagrad"):
        chosen = Optimizer(kind, learning_rate=0.05, epsilon=1e-2, weight_decay=0.05)
        assert "ResourceScatterSub" not in types(embedded(), optimizer=chosen)
        travels(embedded(), chosen)
    travels(embedded(), Optimizer("sgd", learning_rate=0.1, weight_decay=0.05))


def check_statistics_move_with_each_use_of_a_layer() -> None:
    agrees(reused())
    travels(reused(), SGD)


# --- sequences and losses ------------------------------------------------------------------------


def check_a_long_sequence_loops() -> None:
    agrees(sequence(LONG))
    agrees(sequence(5))
    assert any(kind in ("While", "StatelessWhile") for kind in types(sequence(LONG)))
    assert not any(kind in ("While", "StatelessWhile") for kind in types(sequence(5)))


def check_sparse_labels() -> None:
    agrees(speech(9, 4))
    assert "CTCLoss" in types(speech(9, 4))


# --- what TensorFlow makes of it -----------------------------------------------------------------


def check_fused_activations_keep_their_meaning() -> None:
    for graph in (residual(0.2), residual(0.01), saturated()):
        for precision in TOLERANCES:
            agrees(graph, precision)
        agrees(graph, freeze=True)


def check_xla_computes_the_same() -> None:
    for graph in (segmentation(), tied(), sequence(5), speech(9, 4), flattened_image()):
        agrees(graph, xla=True)


def check_reduced_precision_reaches_every_product() -> None:
    for graph in (segmentation(), segmentation(3), tied(), sequence(5), attending()):
        agrees(graph, "bf16")
        made = operations(build(graph, "training", "bf16"))
        wide = [o.name for o in made if o.type in PRODUCTS and o.outputs[0].dtype.name != "bfloat16"]
        assert wide == []


CHECKS = checks_of(globals())


if __name__ == "__main__":
    TensorFlow().configure(Device("cpu"), threads=1, seed=0)
    tell(CHECKS)
