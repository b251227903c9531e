"""What must hold inside PyTorch: run by ``plugins/test_pytorch.py`` in the environment that has it.

Each function whose name starts with ``check_`` asserts one thing; ``python -m tests.in_framework.pytorch_programs``
runs them all and prints, as JSON, why each failed, or an empty text.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np

from benchmarker.api.framework import Device
from benchmarker.api.optimizer import Optimizer
from benchmarker.api.profile import Profile
from benchmarker.api.program import Program
from benchmarker.api.training_state import TrainingState
from benchmarker.api.update_rule import ParameterPlace
from benchmarker.graph.graph import Graph
from benchmarker.graph.initializers import ONES, ZEROS
from benchmarker.graph.network import Network
from benchmarker.graph.types import Distribution
from benchmarker.plugins.common.hyperparameters import Hyperparameters
from benchmarker.plugins.common.layouts import plain
from benchmarker.plugins.pytorch import Options, composed
from benchmarker.plugins.pytorch.framework import PytorchFramework
from benchmarker.plugins.pytorch.lowering import lower
from benchmarker.plugins.pytorch.program import InferenceProgram
from benchmarker.problems import deepbench_sparse_gemm
from benchmarker.worker.conformance.optimizers import recurrent_network
from benchmarker.worker.conformance.subject import (
    draw_batch,
    draw_parameters,
    fetch_outputs,
    reference_program,
)
from benchmarker.worker.measurement.micro_batching import MicroBatched
from benchmarker.worker.verification.further_steps import FurtherSteps
from benchmarker.worker.verification.update_rule import Moment, distance, predicted, sampled
from tests.in_framework.comparing import far, refusal
from tests.in_framework.verdicts import checks_of, tell

TOLERANCES = {"fp32": 2e-5, "bf16": 0.05, "fp16": 0.01}


MOMENTUM = Optimizer("momentum", learning_rate=0.1)


def build(
    graph: Graph, mode: str, precision: str = "fp32", optimizer: Optimizer = MOMENTUM, **options: Any
) -> Program:
    return PytorchFramework().build(
        graph,
        draw_parameters(graph, 0),
        mode=mode,
        device=Device("cpu"),
        precision=precision,
        optimizer=optimizer,
        options=Options(**options),
    )


def agrees(graph: Graph, precision: str = "fp32", **options: Any) -> None:
    """Compare outputs, loss and gradients with the reference, and take a step."""
    tolerance = TOLERANCES[precision]
    start, batch = draw_parameters(graph, 0), draw_batch(graph, 0)
    for mode in ("inference", "training"):
        of_mode = graph if mode == "training" else graph.without_loss()
        reference = reference_program(of_mode, start, mode)
        program = build(of_mode, mode, precision, **options)
        loaded = program.load(batch)
        if mode == "inference":
            found = fetch_outputs(program, of_mode, loaded)
            expected = fetch_outputs(reference, of_mode, reference.load(batch))
        else:
            loss, found = program.gradients(loaded)
            expected_loss, expected = reference.gradients(reference.load(batch))
            assert abs(loss - expected_loss) <= tolerance * abs(expected_loss), (loss, expected_loss)
            program.synchronize(program.train_step(loaded))
            moved = program.parameters()
            constants = [p.name for p in graph.parameters if not p.trainable and "running" not in p.name]
            assert all(np.array_equal(moved[name], start[name]) for name in constants)
            assert not any(np.array_equal(moved[p.name], start[p.name]) for p in graph.trainable)
        for name, value in expected.items():
            assert far(found[name], value) <= tolerance, (mode, name, far(found[name], value))


def language_model() -> Graph:
    """A transformer of one layer whose table of words is also its last layer; positions are constants."""
    net = Network("language_model", 2)
    words = net.input("words", (6,), "int64", Distribution("integers", 11))
    following = net.input("following", (6,), "int64", Distribution("integers", 11))
    table = net.parameter("table", (11, 8), Distribution("normal", 0.3))
    positions = net.constant("positions", (6, 8), Distribution("sinusoidal", 10000.0))
    x = net.add(net.affine(net.gather(table, words), alpha=8**0.5), positions)
    h = net.layer_norm("norm", x)
    heads = [
        net.transpose(net.reshape(net.dense(name, h, 8, bias=False), shape=(0, 0, 2, 4)), perm=(0, 2, 1, 3))
        for name in ("q", "k", "v")
    ]
    y = net.transpose(net.attention(*heads, scale=0.5, is_causal=True), perm=(0, 2, 1, 3))
    x = net.add(x, net.gelu(net.dense("o", net.reshape(y, shape=(0, 0, 8)), 8)))
    scores = net.gemm(net.reshape(x, shape=(-1, 8)), table, trans_b=True)
    net.output(scores)
    net.loss(net.softmax_cross_entropy_loss(scores, net.reshape(following, shape=(-1,))))
    return net.graph()


def adversaries() -> Graph:
    """A generator, and a discriminator with batch normalization that is used three times."""
    net = Network("adversaries", 4)
    noise, real = net.input("noise", (5, 1, 1)), net.input("real", (2, 4, 4))
    fake = net.tanh(net.transposed_convolution("generator", noise, 2, 4))
    w = net.parameter("weight", (3, 2, 4, 4), Distribution("normal", 0.2))
    norm = [net.parameter(f"norm.{name}", (3,), start) for name, start in (("s", ONES), ("b", ZEROS))]
    norm += [
        net.parameter(f"norm.running_{name}", (3,), start, trainable=False)
        for name, start in (("mean", ZEROS), ("var", ONES))
    ]

    def judge(image: Any) -> Any:
        x = net.conv(image, w, strides=(2, 2), pads=(1, 1, 1, 1), dilations=(1, 1))
        return net.reshape(net.leaky_relu(net.batch_normalization(x, *norm), alpha=0.2), shape=(0, -1))

    ones = net.input("ones", (12,), distribution=ONES)
    zeros = net.input("zeros", (12,), distribution=ZEROS)
    losses = [
        net.binary_cross_entropy_loss(judge(real), ones),
        net.binary_cross_entropy_loss(judge(net.stop_gradient(fake)), zeros),
        net.binary_cross_entropy_loss(judge(fake), ones),
    ]
    net.output(fake)
    net.loss(net.add(net.add(losses[0], losses[1]), losses[2]))
    return net.graph()


def rectified() -> Graph:
    """Rectifiers and sums behind operators that may be overwritten, and behind those that may not."""
    net = Network("rectified", 3)
    x = net.input("x", (4, 6, 6))
    target = net.input("target", (4, 6, 6))
    y = net.convolution("conv", x, 4, 3, pad=1)
    y = net.relu(net.group_normalization(y, *_pair(net, "group"), num_groups=2))
    z = net.leaky_relu(net.transposed_convolution("up", y, 4, 3, pad=1), alpha=0.1)
    y = net.add(y, net.clip(net.convolution("other", z, 4, 3, pad=1), min=0.0, max=6.0))
    y = net.add(net.batch_norm("bn", net.convolution("last", y, 4, 1, bias=False)), y)
    for protected in (
        net.tanh,
        net.sigmoid,
        net.exp,
        lambda v: net.sqrt(net.affine(net.mul(v, v), beta=1.0)),
    ):
        y = net.add(net.relu(protected(y)), x)
    net.output(y)
    net.loss(net.mean_squared_error_loss(y, target))
    return net.graph()


def _pair(net: Network, name: str) -> tuple[Any, Any]:
    return net.parameter(f"{name}.scale", (4,), ONES), net.parameter(f"{name}.shift", (4,), ZEROS)


def lowered(graph: Graph, results: tuple[str, ...], *, mixed: bool = False) -> Any:
    """Return the traced graph that ``results`` are computed by."""
    pieces = {p.name: 1 for p in graph.parameters}
    function: Any = lower(graph, results, pieces, training=True, mixed=mixed)
    return function.__self__.graph


def targets(graph: Graph, *, mixed: bool = False) -> list[str]:
    """Return the names of the functions that compute the loss, in order."""
    assert graph.loss is not None
    names = []
    for node in lowered(graph, (graph.loss,), mixed=mixed).nodes:
        name = getattr(node.target, "__name__", str(node.target))
        names.append(f"{name}_" if node.kwargs.get("inplace") else name)
    return names


def check_a_table_that_is_also_the_last_layer() -> None:
    for precision in TOLERANCES:
        agrees(language_model(), precision)


def check_weights_and_statistics_used_three_times() -> None:
    agrees(adversaries())
    agrees(adversaries(), "bf16")


def check_overwriting_changes_no_gradient() -> None:
    agrees(rectified())
    agrees(rectified(), channels_last=False)


def check_what_is_overwritten() -> None:
    names = targets(rectified())
    count = {name: names.count(name) for name in names}
    assert {name: count[name] for name in ("relu_", "relu", "leaky_relu_", "hardtanh_")} == {
        "relu_": 1,
        "relu": 4,
        "leaky_relu_": 1,
        "hardtanh_": 1,
    }
    # The sum with what a batch normalization made, but not sums with results that backward passes read.
    assert (count["add_"], count["add"]) == (1, 6)


def check_a_sum_under_autocast_keeps_the_wider_type() -> None:
    import torch

    assert "add_onto" in targets(rectified(), mixed=True)
    net = Network("residual", 3)
    x = net.input("x", (4,))
    net.output(net.add(x, net.dense("fc", x, 4)))
    net.loss(net.reduce_mean(net.add(x, net.dense("other", x, 4))))
    program = build(net.graph(), "training", "bf16")
    assert program.train_step(program.load(draw_batch(net.graph(), 0))).dtype == torch.float32


def check_a_loss_scale_that_overflows_is_lowered() -> None:
    net = Network("steep", 2)
    x = net.input("x", (4,), distribution=ONES)
    y = net.affine(net.dense("fc", x, 3, start=ONES), alpha=100.0)
    net.output(y)
    net.loss(net.reduce_sum(y))
    agrees(net.graph(), "fp16")


def check_updates_that_a_loss_scale_left_out_are_counted() -> None:
    for kind in ("adam", "sgd", "momentum", "nesterov"):
        _skips_are_counted(kind)


def _skips_are_counted(kind: str) -> None:
    graph = rectified()
    program = build(graph, "training", "fp16", Optimizer(kind, learning_rate=0.01))
    batch = program.load(draw_batch(graph, 0))
    for _ in range(2):
        program.train_step(batch)
    assert program.skipped_updates(2) == 0
    native = {**program.native_state(), "loss_scale": np.array([2.0**80, 0.0])}
    state = TrainingState(2, program.parameters(), program.optimizer_state(), {}, native)
    program.restore(state)
    program.train_step(batch)  # overflows
    after = program.parameters()
    assert all(np.array_equal(after[p.name], state.parameters[p.name]) for p in graph.trainable)
    assert program.skipped_updates(3) == 1
    program.gradients(batch)  # lowers the scale until they are finite, which is no step's
    for _ in range(4):
        program.train_step(batch)
    program.note_updates(7)
    assert program.skipped_updates(7) == 1
    again = build(graph, "training", "fp16", Optimizer(kind, learning_rate=0.01))
    told = program.optimizer_state() if kind != "sgd" else {}
    again.restore(TrainingState(7, program.parameters(), told, {}, program.native_state()))
    again.train_step(batch)
    assert again.skipped_updates(8) == 1
    assert build(graph, "training").skipped_updates(0) is None


def check_a_step_after_a_skipped_one_is_followed_by_the_updates_that_were_made() -> None:
    graph, chosen = rectified(), Optimizer("adam", learning_rate=0.01)
    program = build(graph, "training", "fp16", chosen)
    names = [p.name for p in graph.trainable]
    native = {**program.native_state(), "loss_scale": np.array([2.0**80, 0.0])}
    program.restore(TrainingState(0, program.parameters(), program.optimizer_state(), {}, native))
    batch = program.load(draw_batch(graph, 0))
    steps = FurtherSteps(program, "training", 0)
    steps.step(batch)  # overflows
    _, gradients = program.gradients(batch)
    assert (steps.taken, steps.updates) == (1, 0)
    state = {letter: sampled(arrays, names) for letter, arrays in program.optimizer_state().items()}
    before = Moment(steps.updates, sampled(program.parameters(), names), state)
    steps.step(batch)
    assert (steps.taken, steps.updates) == (2, 1)
    found = sampled(program.parameters(), names)

    def share(moment: Moment) -> float:
        made = predicted(chosen, moment, sampled(gradients, names)).weights
        return distance(found, made) / distance(found, before.weights)

    assert share(before) < 0.01
    assert share(replace(before, steps=1)) > 0.1


def check_a_difference_goes_straight_into_hubers_loss() -> None:
    net = Network("temporal_difference", 4)
    x, t = net.input("x", (3,)), net.input("t", (3,))
    net.loss(net.reduce_mean(net.huber(net.sub(net.dense("fc", x, 3), t))))
    names = targets(net.graph())
    assert "huber_loss" in names
    assert not {"sub", "zeros_like"}.intersection(names)


def check_integers_stay_integers() -> None:
    import torch

    net = Network("integers", 3)
    i = net.input("i", (2,), "int64", Distribution("integers", 5))
    table = net.parameter("table", (5, 2), Distribution("normal"))
    y = net.add(net.cast(i), net.reduce_sum(net.gather(table, i), axes=(-1,)))
    net.output(y)
    for precision, dtype in (("fp32", torch.float32), ("fp64", torch.float64), ("bf16", torch.bfloat16)):
        program = build(net.graph(), "inference", precision)
        (loaded,) = program.load(draw_batch(net.graph(), 0))
        assert loaded.dtype == torch.int64
        assert program.infer((loaded,)).dtype == dtype


def check_channels_are_innermost_in_images_alone() -> None:
    import torch

    net = Network("images", 2)
    x, mask = net.input("x", (3, 6, 6)), net.input("mask", (5,))
    y = net.convolution("conv", x, 4, 3)
    table = net.parameter("table", (2, 4, 4, 4), ONES)
    net.output(net.add(y, table))
    net.output(mask)
    program: Any = build(net.graph(), "inference")
    image, _ = program.load(draw_batch(net.graph(), 0))
    (weight,), (other,) = (program._tensors.native[name] for name in ("conv.weight", "table"))
    for tensor in (image, weight):
        assert tensor.is_contiguous(memory_format=torch.channels_last)
        assert not tensor.is_contiguous()
    assert other.is_contiguous()
    net = Network("heads", 2)
    net.output(net.softmax(net.input("scores", (3, 6, 6))))
    program = build(net.graph(), "inference")
    assert program.load(draw_batch(net.graph(), 0))[0].is_contiguous()


def check_both_directions_lie_as_in_pytorchs_own_layers() -> None:
    import torch

    for kind, layer in (("lstm", torch.nn.LSTM), ("gru", torch.nn.GRU)):
        net = Network(kind, 3)
        x = net.transpose(net.input("x", (7, 4)), perm=(1, 0, 2))
        result = getattr(net, f"{kind}_layer")(kind, x, 5, direction="bidirectional")
        for value in result:
            net.output(value)
        program: Any = build(net.graph(), "inference")
        native = program._tensors.native
        own = layer(4, 5, bidirectional=True)
        weights, biases = (native[f"{kind}.w"], native[f"{kind}.r"]), native[f"{kind}.b"]
        order = [t for d in (0, 1) for t in (weights[0][d], weights[1][d], *biases[2 * d : 2 * d + 2])]
        own.load_state_dict(dict(zip(own.state_dict(), order)))
        (batch,) = program.load(draw_batch(net.graph(), 0))
        y, state = own(batch.transpose(0, 1))
        found = program.infer((batch,))
        both = found[0].transpose(1, 2).flatten(2)
        assert torch.allclose(both, y, atol=1e-6)
        for one, other in zip(found[1:], state if kind == "lstm" else (state,)):
            assert torch.allclose(one, other, atol=1e-6)


def check_compiled_programs_agree() -> None:
    agrees(adversaries(), compile=True)
    net = Network("speech", 2)
    x = net.transpose(net.input("x", (5, 4)), perm=(1, 0, 2))
    spoken = net.input("spoken", (2,), "int64", Distribution("integers", 4, 1))
    y, _ = net.gru_layer("gru", x, 3, direction="bidirectional")
    scores = net.dense("fc", net.reduce_sum(y, axes=(1,)), 4)
    net.output(scores)
    net.loss(net.ctc_loss(scores, spoken))
    agrees(net.graph(), compile=True)


def check_a_mini_batch_is_copied_whatever_its_array() -> None:
    net = Network("copied", 2)
    net.output(net.relu(net.input("x", (3,))))
    graph = net.graph()
    array = np.arange(6, dtype=np.float32).reshape(3, 2).T
    array.flags.writeable = False
    (loaded,) = build(graph, "inference").load({"x": array})
    assert loaded.is_contiguous()
    loaded[0, 0] = 9.0
    assert array[0, 0] == 0.0
    assert np.array_equal(loaded.numpy()[1], array[1])


LOADING = """
import os
import numpy as np
from benchmarker.api.framework import Device
from benchmarker.plugins.pytorch.framework import PytorchFramework
from tests.in_framework import pytorch_programs
net = pytorch_programs.Network("large", 2)
net.output(net.relu(net.input("x", (1 << 20,))))
program = pytorch_programs.build(net.graph(), "inference")
PytorchFramework().configure(Device("cpu"), threads=4, seed=0)
batch = {"x": np.ones((2, 1 << 20), np.float32)}
threads = [len(os.listdir("/proc/self/task"))]
loaded = program.load(batch)
threads.append(len(os.listdir("/proc/self/task")))
program.infer(loaded)
threads.append(len(os.listdir("/proc/self/task")))
print(*threads)
"""


def check_loading_a_mini_batch_waits_for_no_other_thread() -> None:
    printed = subprocess.run(
        [sys.executable, "-c", LOADING], capture_output=True, text=True, check=True
    ).stdout
    before, loaded, stepped = map(int, printed.split())
    assert before == loaded < stepped, printed  # threads are started by the first work that is shared


def check_a_constant_matrix_of_a_sparse_product_is_kept_sparse_where_pytorch_can() -> None:
    graph = deepbench_sparse_gemm.benchmarker_problem().graph(m=40, n=6, k=30, sparsity=0.9)
    values = draw_parameters(graph, 0)
    expected = values["a"].astype(np.float64) @ draw_batch(graph, 0)["b"]
    cases: tuple[tuple[str, dict[str, Any], bool], ...] = (
        ("fp32", {}, True),
        ("fp64", {}, True),
        ("bf16", {}, False),  # MKL has no such product
        ("fp32", {"compile": True}, False),
    )
    for precision, options, sparse in cases:
        program = build(graph, "inference", precision, **options)
        (output,) = program.fetch(program.infer(program.load(draw_batch(graph, 0))))
        assert isinstance(program, InferenceProgram)
        (native,) = program._tensors.native["a"]
        assert native.is_sparse_csr == sparse, (precision, options)
        assert not sparse or native.values().numel() == np.count_nonzero(values["a"])
        tolerance = 1e-2 if precision == "bf16" else 1e-6
        assert far(output, expected) < tolerance
        assert far(program.parameters()["a"], values["a"]) < tolerance


def check_a_sparse_product_goes_backward_to_its_dense_operand() -> None:
    graph = deepbench_sparse_gemm.benchmarker_problem().graph(m=40, n=6, k=30, sparsity=0.9).for_gradient()
    values, batch = draw_parameters(graph, 0), draw_batch(graph, 0)
    program = build(graph, "gradient")
    _, gradients = program.gradients(program.load(batch))
    assert far(gradients["b"], values["a"].T @ batch["upstream.gemm"]) < 1e-6


def check_a_profile_tells_of_every_node_forward_and_backward() -> None:
    for options in ({}, {"channels_last": False}):
        net = Network("profiled", 2)
        x = net.input("image", (3, 16, 16))
        label = net.labels("label", 4)
        x = net.relu(net.batch_norm("bn", net.convolution("conv", x, 8, 3, pad=1, bias=False)))
        y = net.convolution("conv2", x, 8, 3, pad=1)
        x = net.relu(net.add(y, x))
        x = net.dense("fc", net.flatten(net.global_average_pool(x)), 4)
        net.output(x)
        net.loss(net.softmax_cross_entropy_loss(x, label))
        graph = net.graph()
        profile = profile_of(graph, "training", **options)
        everything = {node.name for node in graph.nodes}
        for phase in ("forward", "backward"):
            assert {c.node for c in profile.calls if c.phase == phase and c.node} == everything, phase
        natives = {(c.node, c.native) for c in profile.calls if c.phase == "backward"}
        assert ("conv2", "aten::convolution_backward") in natives, natives
        assert any("native_batch_norm_backward" in name for node, name in natives if node == "bn"), natives
        assert any(c.phase == "update" for c in profile.calls)
        assert len(profile.steps) == 3
        each = sorted((c.start_seconds, c.start_seconds + c.seconds) for c in profile.calls)
        assert all(end <= start + 1e-9 for (_, end), (start, _) in zip(each, each[1:]))
        assert sum(c.seconds for c in profile.calls) <= sum(seconds for _, seconds in profile.steps)


def check_an_operator_alone_is_profiled_in_gradient_mode() -> None:
    net = Network("alone", 1)
    net.output(net.matmul(net.input("a", (8, 16)), net.input("b", (16, 4))))
    graph = net.graph().for_gradient()
    calls = profile_of(graph, "gradient").calls
    assert {(c.node, c.phase) for c in calls if c.node} == {
        ("matmul_1", "forward"),
        ("matmul_1", "backward"),
    }, calls


def check_a_compiled_program_says_why_it_has_no_profile() -> None:
    net = Network("compiled", 2)
    net.output(net.relu(net.input("x", (4,))))
    assert "compile=false" in refusal(lambda: profile_of(net.graph(), "inference", compile=True))


def profile_of(graph: Graph, mode: str, **options: Any) -> Profile:
    program = build(graph, mode, **options)
    return program.profile(program.load(draw_batch(graph, 0)), 3)


def check_micro_batches_make_the_step_of_the_whole() -> None:
    graphs = []
    for size in (6, 2):
        net = Network("micro", size)
        x = net.input("x", (5,))
        label = net.labels("label", 4)
        x = net.dense("fc2", net.relu(net.dense("fc1", x, 7)), 4)
        net.output(x)
        net.loss(net.softmax_cross_entropy_loss(x, label))
        graphs.append(net.graph())
    whole, part = graphs
    batch = draw_batch(whole, 0)
    one = build(whole, "training")
    many = MicroBatched(build(part, "training"), 2, "pytorch", part.counted)
    for _ in range(3):
        first = one.train_step(one.load(batch))
        assert far(many.fetch(many.train_step(many.load(batch)))[0], one.fetch(first)[0]) < 1e-5
    for name, value in one.parameters().items():
        assert far(many.parameters()[name], value) < 1e-5, name


def check_a_rule_in_pieces_updates_as_one_of_whole_tensors() -> None:
    import torch

    results = []
    for piece in (composed.PIECE, 70):
        generator = torch.Generator().manual_seed(3)
        kernel = torch.randn(8, 3, 5, 5, generator=generator).to(memory_format=torch.channels_last)
        matrix = torch.randn(30, 20, generator=generator).t()  # fills no stretch row by row
        tensors = {"kernel": [kernel.requires_grad_()], "matrix": [matrix.requires_grad_()]}
        where = {name: ParameterPlace(name, tuple(held[0].shape)) for name, held in tensors.items()}
        with mock.patch.object(composed, "PIECE", piece):
            known = Hyperparameters(Optimizer.default("lion"))
            optimizer = composed.ComposedOptimizer(known, where, tensors, dict.fromkeys(where, plain()))
            for _ in range(3):
                for (tensor,) in tensors.values():
                    # Gradients need not stand in memory as their parameters do.
                    tensor.grad = torch.randn(tensor.shape, generator=generator)
                optimizer.step()
        results.append([*(t[0].detach() for t in tensors.values()), *optimizer.state()["m"]])
    assert all(torch.equal(one, other) for one, other in zip(*results))


def check_adafactor_is_pytorchs_own_where_it_sees_what_the_rule_sees() -> None:
    def kernels(size: int) -> Graph:
        net = Network("kernels", 2)
        net.loss(net.reduce_mean(net.convolution("conv", net.input("x", (3, 5, 5)), 4, size)))
        return net.graph()

    graphs = {"3x3": kernels(3), "1x1": kernels(1), "lstm": recurrent_network()}
    chosen = Optimizer.default("adafactor")
    variants = {name: build(graph, "training", optimizer=chosen) for name, graph in graphs.items()}
    variants["limit"] = build(kernels(3), "training", optimizer=chosen.with_constants({"clip": 0.5}))
    native = {name for name, program in variants.items() if program.optimizer_variant() == "native"}
    # PyTorch bounds what a kernel of 1x1 is divided by, has two biases of an LSTM, and no limit below 1.
    assert native == {"3x3"}, native


def check_rounding_to_steps_stays_on_the_device() -> None:
    import torch

    # PyTorch's device without memory stands in for a GPU: it takes nothing of the processor's either.
    from benchmarker.plugins.pytorch.quantizing import rounded

    x = torch.empty(2, 3, device="meta")
    for steps, axis in (((0.1,), None), ((0.1, 0.2, 0.3), 1)):
        found = rounded(x, steps, 0, axis, True, 8)
        assert (found.device.type, found.shape) == ("meta", x.shape)


def check_a_loss_scale_is_lowered_while_another_rank_needs_it() -> None:
    import torch

    from benchmarker.plugins.pytorch.training import loss_and_gradients, loss_scaler

    weight, scaler = torch.ones(2, requires_grad=True), loss_scaler("cpu")
    scaler.scale(torch.ones(1))  # which makes the scale
    start, asked, answers = scaler.get_scale(), [], iter((False, False, True))

    def everywhere(holds: bool) -> bool:
        asked.append(holds)
        return next(answers)

    _, (gradient,) = loss_and_gradients(lambda: (3 * weight).sum(), [weight], [], scaler, everywhere)()
    # Ranks that divide by different scales what all have added up would come to different weights.
    assert (asked, start / scaler.get_scale(), gradient.tolist()) == ([True, True, True], 4.0, [3.0, 3.0])


CHECKS = checks_of(globals())


if __name__ == "__main__":
    PytorchFramework().configure(Device("cpu"), threads=2, seed=0)
    tell(CHECKS)
