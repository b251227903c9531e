"""What must hold inside Paddle: run by ``plugins/test_paddle.py`` in the environment that has it.

Each function whose name starts with ``check_`` asserts one thing; ``python -m tests.in_framework.paddle_programs`` runs
them all and prints, as JSON, why each failed, or an empty text.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarker.api.framework import Device
from benchmarker.api.optimizer import Optimizer
from benchmarker.graph.custom import CustomOperator, NumpyFunction
from benchmarker.graph.graph import Graph
from benchmarker.graph.network import Network
from benchmarker.plugins.paddle import Options
from benchmarker.plugins.paddle.framework import PaddleFramework
from benchmarker.plugins.paddle.program import PaddleProgram
from benchmarker.worker.conformance.subject import draw_batch, draw_parameters, reference_program
from tests.in_framework.comparing import refusal
from tests.in_framework.verdicts import checks_of, tell

MOMENTUM = Optimizer("momentum", learning_rate=0.1)


def build(
    graph: Graph, mode: str, optimizer: Optimizer = MOMENTUM, *, to_static: bool = False
) -> PaddleProgram:
    framework = PaddleFramework()
    framework.configure(Device("cpu"), threads=1, seed=0)
    return framework.build(
        graph,
        draw_parameters(graph, 0),
        mode=mode,
        device=Device("cpu"),
        precision="fp32",
        optimizer=optimizer,
        options=Options(to_static=to_static),
    )


def images(ratio: float = 0.0) -> Graph:
    """A convolution, running statistics, pooling, an LSTM's two biases and a dense layer."""
    net = Network("images", 4)
    x = net.convolution("conv", net.input("image", (3, 8, 6)), 4, 3, pad=1, bias=False)
    x = net.pool(net.relu(net.batch_norm("bn", x)), 2)
    x = net.reshape(net.transpose(x, perm=(2, 0, 1, 3)), shape=(4, 4, 12))
    y, _, _ = net.lstm_layer("lstm", x, 5)
    x = net.reshape(net.transpose(y, perm=(2, 0, 1, 3)), shape=(4, 20))
    x = net.dense("fc", net.dropout(x, ratio=ratio), 4)
    net.output(x)
    net.loss(net.softmax_cross_entropy_loss(x, net.labels("label", 4)))
    return net.graph()


def bridged() -> Graph:
    twice = NumpyFunction(lambda x: 2.0 * x, lambda xs, ys, dys: (2.0 * dys[0],))
    operator = CustomOperator("paddle_programs.twice", twice, lambda x: x, {"paddle": twice})
    net = Network("bridged", 2)
    net.output(operator(net, net.input("x", (3,))))
    return net.graph()


# --- checks --------------------------------------------------------------------------------------


def check_a_traced_program_trains_as_the_reference_and_is_traced_once() -> None:
    graph = images()
    program = build(graph, "training", to_static=True)
    reference = reference_program(graph, draw_parameters(graph, 0), "training", MOMENTUM)
    for seed in range(3):
        batch = draw_batch(graph, seed)
        (loss,) = program.fetch(program.train_step(program.load(batch)))
        np.testing.assert_allclose(loss, reference.train_step(reference.load(batch)), rtol=1e-5)
    found: dict[str, Any] = program.parameters()
    expected: dict[str, Any] = reference.parameters()
    for name, array in expected.items():
        np.testing.assert_allclose(found[name], array, rtol=1e-3, atol=1e-5, err_msg=name)
    assert program.compilations() == 1
    program.infer(program.load(draw_batch(graph, 0)))
    assert program.compilations() == 2, "evaluation is a program of its own"


def check_evaluation_moves_no_statistics_traced_or_not() -> None:
    graph = images()
    for to_static in (False, True):
        program = build(graph, "training", to_static=to_static)
        before = program.parameters()
        program.infer(program.load(draw_batch(graph, 0)))
        program.gradients(program.load(draw_batch(graph, 0)))
        for name, array in program.parameters().items():
            np.testing.assert_array_equal(array, before[name], err_msg=name)


def check_masks_of_a_traced_program_change_from_step_to_step() -> None:
    graph = images(ratio=0.5)
    program = build(graph, "training", Optimizer("sgd", learning_rate=0.0), to_static=True)
    batch = program.load(draw_batch(graph, 0))
    losses = {float(program.fetch(program.train_step(batch))[0]) for _ in range(4)}
    assert len(losses) == 4, losses


def check_own_optimizers_run_where_they_compute_the_same() -> None:
    variants = {
        kind: build(images(), "training", Optimizer(kind)).optimizer_variant()
        for kind in ("sgd", "momentum", "nesterov", "adam", "adamw", "adagrad", "rmsprop", "lion")
    }
    # The epsilon of Paddle's RMSProp is under the root; it has no Lion.
    assert {kind for kind, variant in variants.items() if variant == "composed"} == {"rmsprop", "lion"}


def check_a_profile_tells_each_node_forward_and_backward() -> None:
    for optimizer in (MOMENTUM, Optimizer("lion")):
        graph = images()
        program = build(graph, "training", optimizer)
        profile = program.profile(program.load(draw_batch(graph, 0)), 2)
        for step in range(2):
            calls = [call for call in profile.calls if call.step == step]
            for phase in ("forward", "backward"):
                told = {call.node for call in calls if call.phase == phase}
                assert {node.name for node in graph.nodes if node.operator != "dropout"} <= told, told
            convolutions = {call.node for call in calls if call.native.lower().startswith("conv2d")}
            assert convolutions == {"conv"}, convolutions
            assert any(call.phase == "update" for call in calls)
        assert not Path("profiler_log").exists(), "Paddle wrote its own log"


def check_a_traced_program_is_not_profiled() -> None:
    program = build(images(), "inference", to_static=True)
    assert "use to_static=false" in refusal(lambda: program.profile((), 1))


def check_operators_on_arrays_are_not_traced() -> None:
    build(bridged(), "inference")
    message = refusal(lambda: build(bridged(), "inference", to_static=True))
    assert "'paddle_programs.twice'" in message
    assert "use to_static=false" in message


def check_a_gpu_is_refused() -> None:
    message = refusal(lambda: PaddleFramework().configure(Device("cuda"), threads=1, seed=0))
    assert message == "framework 'paddle' runs on the cpu alone, not on 'cuda'"


CHECKS = checks_of(globals())


if __name__ == "__main__":
    tell(CHECKS)
