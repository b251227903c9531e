"""Mode gradient: forward and backward without an update, of networks and of single operators."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from benchmarker.api.framework import Device
from benchmarker.api.problem import Problem
from benchmarker.data import values
from benchmarker.errors import UsageError
from benchmarker.graph.cost import graph_cost
from benchmarker.graph.graph import Graph
from benchmarker.graph.network import Network
from benchmarker.graph.types import TensorType
from benchmarker.plugins.numpy import benchmarker_framework
from benchmarker.plugins.numpy.framework import NumpyFramework
from benchmarker.problems import deepbench_gemm, mnist_mlp
from benchmarker.worker.conformance import backward
from benchmarker.worker.conformance.subject import Subject
from benchmarker.worker.verification import reference
from tests.conftest import Command

pytestmark = pytest.mark.framework("numpy")

SIZES = {"m": 3, "n": 4, "k": 5}


def subject() -> Subject:
    return Subject(NumpyFramework(), benchmarker_framework(), Device("cpu"))


def product() -> Graph:
    return deepbench_gemm.benchmarker_problem().graph(1, **SIZES)


def test_an_operators_operands_become_parameters_and_its_outputs_gradients_the_mini_batch() -> None:
    graph = product()
    assert (graph.batch_size, graph.loss, [i.name for i in graph.inputs]) == (1, None, ["a", "b"])
    backward_graph = graph.for_gradient()
    assert {p.name: p.type.shape for p in backward_graph.trainable} == {"a": (3, 5), "b": (5, 4)}
    assert [(i.name, i.type) for i in backward_graph.inputs] == [("upstream.gemm", TensorType((3, 4)))]
    assert backward_graph.upstream == {"gemm": "upstream.gemm"}
    assert backward_graph.without_loss().upstream == {}
    assert Graph.from_json(json.loads(json.dumps(backward_graph.to_json()))) == backward_graph


def test_whole_numbers_stay_inputs() -> None:
    net = Network("rows", 1)
    table, rows = net.operand("table", (7, 3)), net.operand("rows", (4,), "int64")
    net.output(net.gather(table, rows))
    graph = net.graph().for_gradient()
    assert [i.name for i in graph.inputs] == ["rows", "upstream.gather_1"]
    assert [p.name for p in graph.trainable] == ["table"]


def test_a_network_with_a_loss_is_what_it_was() -> None:
    graph = mnist_mlp.benchmarker_problem().graph(2)
    assert graph.for_gradient() is graph


def test_operands_are_no_mini_batch() -> None:
    with pytest.raises(UsageError, match="takes all its sizes from its parameters; the batch size must be 1"):
        deepbench_gemm.benchmarker_problem().graph(2, **SIZES)


def test_the_backward_pass_of_a_product_is_two_products() -> None:
    cost = graph_cost(product().for_gradient(), training=True)
    assert (cost.forward_flops, cost.backward_flops) == (2 * 3 * 4 * 5, 2 * 2 * 3 * 4 * 5)
    assert cost.memory()["gradients"] == 4 * (3 * 5 + 5 * 4)


def test_the_reference_has_outputs_and_the_gradients_of_all_operands() -> None:
    graph = product().for_gradient()
    parameters, batch = values.draw_parameters(graph, 1), values.draw_batch(graph, 1)
    found = {e.name: e for e in reference.compute(graph, parameters, batch, "gradient")}
    assert {name: e.kind for name, e in found.items()} == {"gemm": "output", "a": "gradient", "b": "gradient"}
    a, b, dy = (array.astype(np.float64) for array in (parameters["a"], parameters["b"], *batch.values()))
    np.testing.assert_allclose(found["gemm"].tensor_sample.values, (a @ b).ravel(), rtol=1e-12)
    np.testing.assert_allclose(found["a"].tensor_sample.values, (dy @ b.T).ravel(), rtol=1e-12)
    np.testing.assert_allclose(found["b"].tensor_sample.values, (a.T @ dy).ravel(), rtol=1e-12)


@pytest.mark.parametrize("problem", ["mnist_mlp", "deepbench_gemm"])
def test_a_run_goes_backward_and_is_verified(command: Command, problem: str) -> None:
    sizes = [f"--set={name}={value}" for name, value in SIZES.items()] if problem == "deepbench_gemm" else []
    options = ("--framework=numpy", f"--problem={problem}", "--mode=gradient", "--steps=5", *sizes, "--json")
    (record,) = command(*options).records
    assert (record["status"], record["mode"], record["optimizer"]) == ("ok", "gradient", None)
    assert record["verification"]["status"] == "passed"
    kinds = {tensor["kind"] for tensor in record["verification"]["tensors"]}
    assert kinds == {"gradient", "output" if sizes else "loss"}
    assert record["timing"]["steps"] == 5
    again = command(*record["command"][3:], "--json").records[0]
    assert again["digests"] == record["digests"]


class _Faulty:
    """A framework whose programs differ in one method."""

    def __init__(self, honest: Subject, method: str, wrong: Any) -> None:
        self._framework, self._method, self._wrong = honest.framework, method, wrong
        self.operators = honest.framework.operators

    def build(self, *arguments: Any, **keywords: Any) -> Any:
        program = self._framework.build(*arguments, **keywords)
        honest = getattr(program, self._method)
        setattr(program, self._method, lambda *given: self._wrong(program, honest, *given))
        return program


def _results(honest: Subject, method: str, wrong: Any, names: str) -> set[str]:
    faulty = replace(honest, framework=_Faulty(honest, method, wrong))  # type: ignore[arg-type]
    checks = [check for check in backward.backward_checks() if check.name.startswith(names)]
    return {check.run(faulty).status for check in checks}


def _one_lost(program: Any, honest: Any, batches: Any) -> Any:
    return honest(batches[:-1])


def _sum_for_mean(program: Any, honest: Any, batches: Any) -> Any:
    before = {name: program.value(name) for name in program.parameters()}
    loss = honest(batches)
    moved = {name: program.value(name) - value for name, value in before.items()}
    program.assign({name: before[name] + len(batches) * change for name, change in moved.items()})
    return loss


def _updating(program: Any, honest: Any, batch: Any) -> Any:
    output = honest(batch)
    program.assign({name: value - 0.1 * output[1][name] for name, value in program._trainable.items()})
    return output


def _swapped(program: Any, honest: Any, batch: Any) -> Any:
    value, found = honest(batch)
    return value, {name: -gradient for name, gradient in found.items()}


def test_the_suite_passes_honest_programs() -> None:
    checks = [c for c in backward.backward_checks() if c.name.startswith(("upstream", "backward", "program"))]
    assert {check.run(subject()).status for check in checks} == {"passed"}


@pytest.mark.parametrize(
    ("method", "wrong", "names"),
    [
        ("train_micro", _one_lost, "backward/micro-batches"),
        ("train_micro", _sum_for_mean, "backward/micro-batches"),
        ("gradient_step", _updating, "backward/nothing-updated"),
        ("gradients", _swapped, "upstream/gemm"),
    ],
)
def test_the_suite_finds(method: str, wrong: Any, names: str) -> None:
    assert _results(subject(), method, wrong, names) == {"failed"}


def test_a_problem_without_loss_is_not_trained() -> None:
    problem: Problem = deepbench_gemm.benchmarker_problem()
    with pytest.raises(UsageError, match="training needs a loss"):
        graph_cost(problem.graph(1), training=True)
