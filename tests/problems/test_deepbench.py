"""DeepBench's operators as problems: published counts, both directions, and what they refuse."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

from benchmarker.api.problem import Problem, Published
from benchmarker.errors import UsageError
from benchmarker.graph.cost import graph_cost
from benchmarker.worker.conformance.subject import draw_batch, draw_parameters
from benchmarker.worker.verification.reference import results

NAMES = ("deepbench_gemm", "deepbench_conv", "deepbench_rnn", "deepbench_sparse_gemm")
PROBLEMS: dict[str, Problem] = {
    name: importlib.import_module(f"benchmarker.problems.{name}").benchmarker_problem() for name in NAMES
}
GEMM, CONV, RNN, SPARSE = PROBLEMS.values()
ENTRIES = [
    pytest.param(problem, entry, id=f"{name}-{number}")
    for name, problem in PROBLEMS.items()
    for number, entry in enumerate(problem.published)
]


@pytest.mark.parametrize(("problem", "entry"), ENTRIES)
def test_published_counts(problem: Problem, entry: Published) -> None:
    graph = problem.graph(**entry.values)
    assert graph.parameter_count == entry.parameters
    assert graph_cost(graph).forward_flops == entry.flops


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
def test_an_operator_has_no_loss_and_is_one_sample(problem: Problem) -> None:
    graph = problem.graph()
    assert problem.task == "operator"
    assert graph.loss is None
    assert len(graph.nodes) == 1
    assert graph.batch_size == 1
    with pytest.raises(UsageError, match="the batch size must be 1, got 2"):
        problem.graph(2)


@pytest.mark.parametrize(
    ("problem", "operands"),
    [
        (GEMM, ["a", "b"]),
        (CONV, ["image", "conv.weight"]),
        (RNN, ["sequence", "lstm.w", "lstm.r", "lstm.b"]),
    ],
    ids=NAMES[:3],
)
def test_backward_gives_the_gradient_of_every_operand(problem: Problem, operands: list[str]) -> None:
    graph = problem.graph(**problem.reduced).for_gradient()
    assert [p.name for p in graph.trainable] == operands
    values, batch = draw_parameters(graph, 0), draw_batch(graph, 0)
    found = results(graph, values, batch, "gradient", "fp64")
    assert [name for name, (kind, _) in found.items() if kind == "gradient"] == operands


@pytest.mark.parametrize("transposed", [(False, False), (True, False), (False, True)])
def test_gemm_is_the_product_of_its_operands_and_so_are_its_gradients(transposed: tuple[bool, bool]) -> None:
    graph = GEMM.graph(m=5, n=6, k=7, a_transposed=transposed[0], b_transposed=transposed[1]).for_gradient()
    values, batch = draw_parameters(graph, 0), draw_batch(graph, 0)
    found = results(graph, values, batch, "gradient", "fp64")
    a, b = (
        value.T.copy() if turned else value for value, turned in zip((values["a"], values["b"]), transposed)
    )
    upstream = batch["upstream.gemm"]
    expected = {"gemm": a @ b, "a": upstream @ b.T, "b": a.T @ upstream}
    for name, turned in (("gemm", False), ("a", transposed[0]), ("b", transposed[1])):
        array = expected[name].T if turned else expected[name]
        np.testing.assert_allclose(found[name][1], array, rtol=1e-5, atol=1e-5)


def test_the_output_of_a_convolution_is_floored() -> None:
    sizes = {"width": 700, "height": 161, "kernel_w": 20, "kernel_h": 5, "stride_w": 2, "stride_h": 2}
    graph = CONV.graph(in_channels=1, batch=4, filters=32, pad_w=0, pad_h=0, **sizes)
    assert graph.types[graph.outputs[0]].shape == (4, 32, (161 - 5) // 2 + 1, (700 - 20) // 2 + 1)


@pytest.mark.parametrize(("kind", "operator"), [("vanilla", "rnn"), ("lstm", "lstm"), ("gru", "gru")])
def test_a_recurrent_layer_takes_as_many_features_as_it_has_cells(kind: str, operator: str) -> None:
    graph = RNN.graph(type=kind, hidden=8, batch=3, time_steps=5)
    (node,) = graph.nodes
    assert node.operator == operator
    assert node.attributes.get("activation", "relu") == "relu"
    assert graph.types["sequence"].shape == (5, 3, 8)
    assert graph.types[graph.outputs[0]].shape == (5, 1, 3, 8)


def test_a_recurrent_layer_is_of_a_known_type() -> None:
    with pytest.raises(UsageError, match="'type' must be one of vanilla, lstm, gru, got 'rnn'"):
        RNN.graph(type="rnn")


@pytest.mark.parametrize("sparsity", [0.0, 0.5, 0.95])
def test_the_sparse_matrix_is_constant_and_has_that_share_of_zeros(sparsity: float) -> None:
    graph = SPARSE.graph(m=300, n=2, k=400, sparsity=sparsity)
    assert graph.trainable == ()
    assert SPARSE.modes == ("inference",)
    zeros = np.mean(draw_parameters(graph, 0)["a"] == 0)
    assert zeros == pytest.approx(sparsity, abs=0.01)


@pytest.mark.parametrize("values", [{"sparsity": 1.0}, {"sparsity": -0.1}])
def test_an_impossible_sparsity_is_refused(values: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="'sparsity' must be a number of at least 0 and below 1"):
        SPARSE.graph(**values)
