"""What must hold inside tinygrad: run by ``plugins/test_tinygrad.py`` in the environment that has it.

Each function whose name starts with ``check_`` asserts one thing; ``python -m tests.in_framework.tinygrad_programs``
runs them all and prints, as JSON, why each failed, or an empty text.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarker.api.framework import Device, NoOptions
from benchmarker.api.optimizer import Optimizer
from benchmarker.graph.custom import CustomOperator, NativeFunction, NumpyFunction
from benchmarker.graph.graph import Graph
from benchmarker.graph.network import Network
from benchmarker.graph.types import Distribution
from benchmarker.plugins.tinygrad import benchmarker_framework
from benchmarker.plugins.tinygrad.framework import Tinygrad
from benchmarker.plugins.tinygrad.program import TinygradProgram
from benchmarker.worker.conformance import Subject, conformance_checks, run_each
from benchmarker.worker.conformance.subject import draw_batch, draw_parameters, reference_program
from tests.in_framework.comparing import refusal
from tests.in_framework.verdicts import checks_of, tell

SAMPLE = (
    "description/",
    "dropout/",
    "running_statistics/",
    "program/",
    "backward/nothing-updated",
    "backward/micro-batches-normalized",
    "upstream/erf/",
    "upstream/log1p/",
    "upstream/conv/",
    "upstream/average_pool/",
    "upstream/scatter_nd/",
    "network/layer-applied-twice/adam",
    "optimizer/adamw",
    "restore/dropout",
    "generation/gpt2",
    "synchronize/infer",
)
"""Of the conformance suite, all of which takes minutes: a kernel takes a tenth of a second to compile."""


def framework() -> Tinygrad:
    made = Tinygrad()
    made.configure(Device("cpu"), threads=1, seed=0)
    return made


def build(graph: Graph, mode: str, optimizer: Optimizer = Optimizer()) -> TinygradProgram:
    return framework().build(
        graph,
        draw_parameters(graph, 0),
        mode=mode,
        device=Device("cpu"),
        precision="fp32",
        optimizer=optimizer,
        options=NoOptions(),
    )


def doubled(implementation: Any) -> Graph:
    reference = NumpyFunction(lambda x: 2.0 * x, lambda xs, ys, dys: (2.0 * dys[0],))
    operator = CustomOperator(
        "tinygrad_programs.twice", reference, lambda x: x, {"tinygrad": implementation or reference}
    )
    net = Network("doubled", 2)
    net.output(operator(net, net.input("x", (3,))))
    return net.graph()


def chosen_rows() -> Graph:
    net = Network("chosen_rows", 2)
    table = net.parameter("table", (5, 3), Distribution("normal"))
    net.output(net.gather(table, net.input("row", (), "int64", Distribution("integers", 5))))
    return net.graph()


# --- checks --------------------------------------------------------------------------------------


def check_a_sample_of_the_conformance_suite() -> None:
    subject = Subject(framework(), benchmarker_framework(), Device("cpu"), 0)
    chosen = [check for check in conformance_checks() if check.name.startswith(SAMPLE)]
    found = list(run_each(chosen, subject))
    assert len(found) > 40, len(found)
    failed = [f"{result.name}: {result.detail}" for result in found if result.status == "failed"]
    assert failed == [], failed
    skipped = {result.name for result in found if result.status == "skipped"}
    assert skipped == {"program/float64", "program/parts-are-the-step"}, skipped


def check_a_recorded_step_runs_again_with_other_values() -> None:
    graph = chosen_rows()
    program, reference = (
        build(graph, "inference"),
        reference_program(graph, draw_parameters(graph, 0), "inference"),
    )
    for seed in range(4):
        batch = draw_batch(graph, seed)
        (found,) = program.fetch(program.infer(program.load(batch)))
        np.testing.assert_array_equal(found, reference.infer(reference.load(batch))[0].astype(np.float32))
    assert program.compilations() == 1


def check_a_mini_batch_is_there_once_it_is_loaded() -> None:
    graph = chosen_rows()
    program, rows = build(graph, "inference"), np.array([1, 2])
    loaded = program.load({"row": rows})
    rows[:] = 3
    (found,) = program.fetch(program.infer(loaded))
    np.testing.assert_array_equal(found, program.parameters()["table"][[1, 2]])


def check_indices_beyond_the_end_are_refused() -> None:
    program = build(chosen_rows(), "inference")
    for row in (-1, 5):
        message = refusal(partial(program.load, {"row": np.array([0, row])}))
        assert message == f"gather: indices of 'row' must be at least 0 and below 5, got [{row}]"


def check_gradients_far_from_zero_are_numbers() -> None:
    for operator in ("sigmoid", "tanh", "gelu"):
        net = Network("far", 2)
        x = net.parameter("x", (4,), Distribution("values", values=(-200.0, -50.0, 50.0, 200.0)))
        net.loss(net.reduce_sum(net.mul(net.input("y", (4,)), getattr(net, operator)(x))))
        graph = net.graph()
        program = build(graph, "gradient")
        _, gradients = program.gradients(program.load(draw_batch(graph, 0)))
        assert np.isfinite(gradients["x"]).all(), (operator, gradients)


def check_operators_on_arrays_are_refused_and_others_run() -> None:
    message = refusal(lambda: build(doubled(None), "inference"))
    assert message == (
        "custom operator 'tinygrad_programs.twice' runs on arrays, of which a step that tinygrad records has none; "
        "give it a function of tinygrad's tensors"
    )
    program = build(doubled(NativeFunction(lambda: lambda x: x + x)), "inference")
    (found,) = program.fetch(program.infer(program.load({"x": np.ones((2, 3), np.float32)})))
    np.testing.assert_array_equal(found, np.full((2, 3), 2.0))


def check_a_gpu_and_a_profile_are_refused() -> None:
    message = refusal(lambda: Tinygrad().configure(Device("cuda"), threads=1, seed=0))
    assert message == "framework 'tinygrad' runs on the cpu alone, not on 'cuda'"
    assert "kernels of parts of several nodes" in refusal(
        lambda: build(chosen_rows(), "inference").profile((), 1)
    )


CHECKS = checks_of(globals())


if __name__ == "__main__":
    tell(CHECKS)
