"""What must hold inside JAX: run by ``plugins/test_jax.py`` in the environment that has it.

Each function whose name starts with ``check_`` asserts one thing; ``python -m tests.in_framework.jax_programs`` runs
them all and prints, as JSON, why each failed, or an empty text.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarker.api.framework import Device
from benchmarker.api.optimizer import Optimizer
from benchmarker.graph.graph import Graph
from benchmarker.graph.network import Network
from benchmarker.plugins.jax import Options
from benchmarker.plugins.jax.framework import Jax
from benchmarker.plugins.jax.program import JaxProgram
from benchmarker.worker.conformance.subject import draw_batch, draw_parameters, reference_program
from tests.in_framework.comparing import near
from tests.in_framework.verdicts import checks_of, tell

TOLERANCES = {"fp32": 2e-5, "fp64": 1e-12, "bf16": 0.1}
"""Of norms. bf16 keeps 8 bits, and switches rectifiers."""
SGD = Optimizer("sgd", learning_rate=0.1)


def build(
    graph: Graph, mode: str, precision: str = "fp32", optimizer: Optimizer = SGD, **options: Any
) -> JaxProgram:
    program = Jax().build(
        graph,
        draw_parameters(graph, 0),
        mode=mode,
        device=Device("cpu"),
        precision=precision,
        optimizer=optimizer,
        options=Options(**options),
    )
    assert isinstance(program, JaxProgram)
    return program


def agrees(graph: Graph, precision: str = "fp32", **options: Any) -> None:
    """Compare loss and gradients with the reference."""
    program = build(graph, "training", precision, **options)
    reference = reference_program(graph, draw_parameters(graph, 0), "training")
    batch = draw_batch(graph, 0)
    loss, gradients = program.gradients(program.load(batch))
    expected_loss, expected = reference.gradients(reference.load(batch))
    near({"loss": loss, **gradients}, {"loss": expected_loss, **expected}, TOLERANCES[precision])


# --- graphs --------------------------------------------------------------------------------------


def images(ratio: float = 0.0) -> Graph:
    """Convolution, its transpose, normalization, pooling and a dense layer."""
    net = Network("images", 2)
    x = net.convolution("conv1", net.input("image", (3, 8, 6)), 4, 3, pad=1, bias=False)
    x = net.relu(net.batch_norm("bn", x))
    x = net.transposed_convolution("up", net.pool(x, 2), 6, 2, stride=2)
    x = net.concat(x, net.leaky_relu(x), axis=1)
    x = net.dropout(net.flatten(net.pool(x, 2)), ratio=ratio)
    x = net.dense("fc", x, 4)
    net.output(x)
    net.loss(net.softmax_cross_entropy_loss(x, net.labels("label", 4)))
    return net.graph()


def image_operator() -> Graph:
    """A convolution alone."""
    net = Network("operator", 2)
    net.output(net.convolution("conv", net.input("image", (3, 8, 6)), 4, 3))
    return net.graph()


# --- checks --------------------------------------------------------------------------------------


def check_both_layouts_compute_the_same() -> None:
    agrees(images(), layout="nhwc")
    agrees(images(), layout="nchw")


def check_nothing_is_rounded_in_fp64() -> None:
    agrees(images(), "fp64")
    program = build(images(), "training", "fp64")
    batch = program.load(draw_batch(images(), 0))
    assert program.fetch(program.train_step(batch))[0].dtype == np.float64
    assert {array.dtype for array in program.parameters().values()} == {np.dtype(np.float64)}


def check_a_program_in_fp64_leaves_others_alone() -> None:
    double, single = build(images(), "training", "fp64"), build(images(), "training")
    for program, dtype in ((double, np.float64), (single, np.float32), (double, np.float64)):
        found = program.fetch(program.train_step(program.load(draw_batch(images(), 0))))
        assert found[0].dtype == dtype


def check_bf16() -> None:
    agrees(images(), "bf16")


def check_micro_batches_make_one_update_by_the_mean() -> None:
    graph = images()
    start, batches = draw_parameters(graph, 0), [draw_batch(graph, seed) for seed in range(3)]
    program, reference = build(graph, "training"), reference_program(graph, start, "training")
    wanted = [reference.gradients(reference.load(batch)) for batch in batches]
    loss = program.train_micro([program.load(batch) for batch in batches])
    program.synchronize(loss)
    assert np.isclose(float(loss), np.mean([each for each, _ in wanted]), rtol=1e-5)
    found = program.parameters()
    moves = {name: (start[name] - found[name]) / SGD.learning_rate for name in wanted[0][1]}
    near(
        moves,
        {name: np.mean([np.asarray(g[name], np.float64) for _, g in wanted], axis=0) for name in moves},
        1e-4,
    )


def check_a_gradient_step_moves_statistics_alone() -> None:
    graph = images(ratio=0.5).for_gradient()
    program = build(graph, "gradient")
    before = program.parameters()
    program.synchronize(program.gradient_step(program.load(draw_batch(graph, 0))))
    after = program.parameters()
    moved = {name for name in before if not np.array_equal(before[name], after[name])}
    assert moved == {"bn.running_mean", "bn.running_var"}


def check_upstream_gradients_stand_as_the_outputs_do() -> None:
    graph = image_operator().for_gradient()
    program, batch = build(graph, "gradient"), draw_batch(graph, 0)
    reference = reference_program(graph, draw_parameters(graph, 0), "gradient")
    value, gradients = program.gradients(program.load(batch))
    expected_value, expected = reference.gradients(reference.load(batch))
    near({"value": value, **gradients}, {"value": expected_value, **expected}, TOLERANCES["fp32"])
    outputs, _ = program.gradient_step(program.load(batch))
    assert program.fetch(outputs)[0].shape == graph.types[graph.outputs[0]].shape


def check_dropout_draws_anew_in_each_step() -> None:
    graph = images(ratio=0.5).for_gradient()
    program = build(graph, "gradient")
    batch = program.load(draw_batch(graph, 0))
    losses = [program.fetch(program.gradient_step(batch)[0])[0] for _ in range(2)]
    assert losses[0] != losses[1]


def check_a_step_is_compiled_once() -> None:
    program = build(images(), "training")
    assert program.compilations() == 0
    for seed in range(3):
        program.train_step(program.load(draw_batch(images(), seed)))
    assert program.compilations() == 1


def check_what_is_compiled_names_nodes_and_no_line_of_python() -> None:
    """The names are those of a profile; with lines, too, no other command would find what this one has compiled."""
    import jax

    program = build(images().without_loss(), "inference")
    lowered = jax.jit(program._steps.infer).lower(program._all(), program._shapes())
    text = lowered.as_text(debug_info=True)
    assert "conv1" in text
    assert ".py" not in text


def check_a_profile_names_the_nodes() -> None:
    graph = images()
    program = build(graph, "training")
    found = program.profile(program.load(draw_batch(graph, 0)), 2)
    assert len(found.steps) == 2
    assert {call.step for call in found.calls} == {0, 1}
    phases = {(call.node, call.phase) for call in found.calls}
    assert {("conv1", "forward"), ("conv1", "backward"), (None, "update")} <= phases
    assert {call.node for call in found.calls} <= {None, *(node.name for node in graph.nodes)}
    for start, seconds in found.steps:
        for thread in {call.thread for call in found.calls}:
            inside = [
                c for c in found.calls if c.thread == thread and start <= c.start_seconds <= start + seconds
            ]
            assert sum(call.seconds for call in inside) <= seconds * 1.001 + 1e-6


CHECKS = checks_of(globals())


if __name__ == "__main__":
    Jax().configure(Device("cpu"), threads=1, seed=0)
    tell(CHECKS)
