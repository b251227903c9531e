"""Gradients against differences: right ones pass, planted faults in forward and in backward do not."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarker.api.framework import Device, Framework
from benchmarker.graph.graph import Graph
from benchmarker.graph.network import Network
from benchmarker.graph.operators import STOPS
from benchmarker.plugins.numpy import benchmarker_framework
from benchmarker.plugins.numpy import gradients as numpy_gradients
from benchmarker.plugins.numpy.base import Call, InputGradients
from benchmarker.plugins.numpy.framework import NumpyFramework
from benchmarker.plugins.numpy.operators import NumpyOperators
from benchmarker.plugins.numpy.program import NumpyProgram
from benchmarker.worker.conformance import Subject
from benchmarker.worker.conformance.cases import OPERATOR_CASES
from benchmarker.worker.conformance.derivatives import (
    derivative_checks,
    gradient_check,
    graph_derivative_check,
)
from benchmarker.worker.conformance.result import CheckFailed, CheckResult, Skipped
from benchmarker.worker.conformance.subject import draw_batch, draw_parameters, reference_program
from tests.conftest import Command
from tests.in_framework.derivative_subset import chosen
from tests.support.faulty_frameworks import with_operators
from tests.support.framework_process import verdicts

CPU = Device("cpu")


def subject(framework: Framework | None = None) -> Subject:
    return Subject(framework or NumpyFramework(), benchmarker_framework(), CPU, seed=0)


def results(names: str, framework: Framework | None = None) -> dict[str, CheckResult]:
    """Return the results of the checks whose names begin so."""
    found = [check.run(subject(framework)) for check in derivative_checks() if check.name.startswith(names)]
    return {result.name: result for result in found}


def test_the_reference_passes_every_case() -> None:
    found = results("derivative/")
    assert {name: result.detail for name, result in found.items() if result.status != "passed"} == {}
    assert max(result.error or 0.0 for result in found.values()) < 3e-7


def test_every_differentiable_operator_has_a_case() -> None:
    checked = {check.name.split("/")[1] for check in derivative_checks()}
    assert {case.operator for case in OPERATOR_CASES} - checked == STOPS


# --- faults of the backward pass -------------------------------------------------------------------


def swapped_pads(call: Call) -> InputGradients:
    window = call.attributes["window"]
    attributes = {**call.attributes, "window": replace(window, pads=(*window.ends, *window.begins))}
    found: InputGradients = right("conv")(replace(call, attributes=attributes))
    return found


def without_mean(call: Call) -> InputGradients:
    """The gradient of the data as if the mean did not depend on them."""
    dx, *others = right("layer_normalization")(call)
    axes = tuple(range(call.attributes["axis"] % call.inputs[0].ndim, call.inputs[0].ndim))
    x, scale = call.inputs[:2]
    deviation = np.sqrt(x.var(axis=axes, keepdims=True) + call.attributes["epsilon"])
    return (dx + (call.gradients[0] * scale).mean(axis=axes, keepdims=True) / deviation, *others)


def half_bias(call: Call) -> InputGradients:
    da, db, dc = right("gemm")(call)
    return da, db, None if dc is None else 0.5 * dc


_RIGHT = dict(numpy_gradients.GRADIENTS)


def right(operator: str) -> Any:
    return _RIGHT[operator]


@pytest.mark.parametrize(
    ("operator", "wrong", "case", "operand"),
    [
        ("conv", swapped_pads, "2d-asymmetric-pads", "'x'"),
        ("layer_normalization", without_mean, "3d", "'x'"),
        ("gemm", half_bias, "plain", "'c'"),
    ],
)
def test_a_fault_of_the_backward_pass_is_caught(
    operator: str, wrong: Any, case: str, operand: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(numpy_gradients.GRADIENTS, operator, wrong)
    found = results(f"derivative/{operator}/{case}")[f"derivative/{operator}/{case}"]
    assert found.status == "failed"
    assert (found.error or 0.0) > 1e-3
    assert operand in found.detail
    assert "difference" in found.detail
    others = results("derivative/softmax/")
    assert {result.status for result in others.values()} == {"passed"}


# --- faults of the forward pass --------------------------------------------------------------------


class ScaledSoftmax(NumpyOperators):
    def softmax(self, x: Any, *, axis: int = -1) -> Any:
        return 1.01 * super().softmax(x, axis=axis)


def test_a_fault_of_the_forward_pass_is_caught() -> None:
    found = results("derivative/softmax/", with_operators(ScaledSoftmax))
    assert {result.status for result in found.values()} == {"failed"}
    assert all("expected" in result.detail for result in found.values())


def test_a_forward_pass_that_is_not_what_is_differentiated_is_caught_without_a_reference() -> None:
    graph, start, batch = of_one("softmax", (3, 5))
    framework = with_operators(ScaledSoftmax)

    def build(parameters: Mapping[str, Any]) -> Any:
        return subject(framework).program(graph, parameters, "gradient", precision="fp64")

    # The gradient of softmax is made from its own output, so that both are scaled, but not alike.
    assert not gradient_check(build, graph, start, batch).passed


# --- what the method itself does -------------------------------------------------------------------


def of_one(operator: str, shape: tuple[int, ...]) -> tuple[Graph, dict[str, Any], dict[str, Any]]:
    net = Network(operator, shape[0])
    net.output(getattr(net, operator)(net.input("x", shape[1:])))
    graph = net.graph().for_gradient()
    return graph, draw_parameters(graph, 3), draw_batch(graph, 3)


def reference_of(graph: Graph) -> Any:
    return lambda parameters: reference_program(graph, parameters, "gradient")


def test_the_verdict_has_its_numbers() -> None:
    graph, start, batch = of_one("tanh", (4, 3))
    check = gradient_check(reference_of(graph), graph, start, batch, directions=5)
    assert check.passed
    assert check.worst.error <= check.tolerance
    assert [d.direction for d in check.derivatives] == [0, 1, 2, 3, 4]
    assert {d.operand for d in check.derivatives} == {"x"}
    assert len({d.difference for d in check.derivatives}) == 5


def test_a_rectifier_that_switches_between_the_points_makes_the_step_shorter() -> None:
    graph, start, batch = of_one("relu", (2, 8))
    usual = gradient_check(reference_of(graph), graph, start, batch)
    start["x"] = start["x"].astype(np.float64)
    start["x"][:, ::2] = 1e-6
    shorter = gradient_check(reference_of(graph), graph, start, batch)
    assert usual.passed
    assert shorter.passed
    assert max(d.step for d in shorter.derivatives) < min(d.step for d in usual.derivatives)


class Restless(NumpyProgram):
    """Computes something else at each call."""

    def gradients(self, batch: Any) -> tuple[float, dict[str, Any]]:
        value, found = super().gradients(batch)
        return value + float(self._generator.random()), found


def test_a_value_that_is_not_the_same_at_each_call_is_told() -> None:
    graph, start, batch = of_one("sigmoid", (2, 3))

    def build(parameters: Mapping[str, Any]) -> Any:
        program = reference_program(graph, parameters, "gradient")
        program.__class__ = Restless
        return program

    with pytest.raises(CheckFailed, match="changes from call to call"):
        gradient_check(build, graph, start, batch)


def test_a_program_that_takes_no_other_values_is_built_anew() -> None:
    from benchmarker.errors import UnsupportedError

    class Fixed(NumpyProgram):
        def assign(self, values: Mapping[str, Any]) -> None:
            raise UnsupportedError("they are compiled in")

    graph, start, batch = of_one("tanh", (2, 3))
    built = []

    def build(parameters: Mapping[str, Any]) -> Any:
        program = reference_program(graph, parameters, "gradient")
        program.__class__ = Fixed
        built.append(program)
        return program

    assert gradient_check(build, graph, start, batch, directions=2).passed
    assert len(built) == 1 + 2 * 4  # two steps, two points each


def test_a_gradient_of_the_wrong_shape_is_told() -> None:
    class Flat(NumpyProgram):
        def gradients(self, batch: Any) -> tuple[float, dict[str, Any]]:
            value, found = super().gradients(batch)
            return value, {name: gradient.ravel() for name, gradient in found.items()}

    graph, start, batch = of_one("tanh", (2, 3))

    def build(parameters: Mapping[str, Any]) -> Any:
        program = reference_program(graph, parameters, "gradient")
        program.__class__ = Flat
        return program

    with pytest.raises(CheckFailed, match=r"'x' must have the shape \(2, 3\), got \(6,\)"):
        gradient_check(build, graph, start, batch)


def test_nothing_to_differentiate_is_skipped() -> None:
    net = Network("cast", 2)
    net.output(net.cast(net.labels("label", 3)))
    graph = net.graph().for_gradient()
    with pytest.raises(Skipped, match="no floating-point operand"):
        gradient_check(reference_of(graph), graph, {}, draw_batch(graph, 0))


def test_a_network_with_many_parameters_is_moved_in_all_of_them_together() -> None:
    from benchmarker.problems.resnet import RESNET18

    problem = RESNET18
    graph = problem.graph(problem.reduced_batch_size, **problem.reduced)
    result = graph_derivative_check(graph).run(subject())
    assert result.status == "passed"
    assert f"all {len(graph.trainable)} parameters" in result.detail


# --- the command, and the other frameworks ---------------------------------------------------------


@pytest.mark.framework("numpy")
def test_the_command_checks_a_problem(command: Command) -> None:
    done = command("check", "numpy", "--env=current", "--gradients", "--problem=layer_norm", "--json")
    assert done.status == 0, done.stderr
    report = json.loads(done.stdout)
    assert [result["name"] for result in report["results"]] == ["derivative/problem/layer_norm"]
    assert report["passed"]


def test_a_framework_without_float64_is_told_so(command: Command) -> None:
    done = command("check", "mxnet", "--gradients")
    assert (done.status, done.stdout) == (2, "")
    assert done.stderr.splitlines() == [
        "benchmarker: gradients are checked in precision fp64, and framework 'mxnet' has fp32 on the cpu"
    ]


def test_whose_gradients_are_meant_must_be_clear(command: Command) -> None:
    for arguments in (("--problem=lstm",), ("--gradients", "--onnx")):
        done = command("check", "numpy", "--env=current", *arguments)
        assert (done.status, done.stdout) == (2, "")
        assert len(done.stderr.splitlines()) == 1


@pytest.mark.framework
@pytest.mark.timeout(900)
def test_every_case_passes_in_pytorch(command: Command) -> None:
    done = command("check", "pytorch", "--gradients", "--json", timeout=900)
    report = json.loads(done.stdout)
    wrong = [result for result in report["results"] if result["status"] != "passed"]
    assert (done.status, wrong) == (0, [])
    assert len(report["results"]) == len(derivative_checks())


@pytest.mark.framework
@pytest.mark.timeout(900)
@pytest.mark.parametrize("framework", ["tensorflow", "chainer", "jax"])
def test_every_twelfth_case_passes_elsewhere(framework: str, tmp_path: Path) -> None:
    found = verdicts(framework, "derivative_subset", framework, folder=tmp_path, OMP_NUM_THREADS="1")
    of_ctc = {name for name in found if name.startswith("derivative/ctc_loss/")}
    in_float32_only = of_ctc if framework == "tensorflow" else set()
    assert {name for name, why in found.items() if why.startswith("skipped")} == in_float32_only
    assert {name: why for name, why in found.items() if why and name not in in_float32_only} == {}
    assert set(found) == {check.name for check in chosen()} >= of_ctc != set()


@pytest.mark.framework
def test_planted_faults_are_caught_in_pytorch(tmp_path: Path) -> None:
    found = verdicts("pytorch", "pytorch_derivatives", folder=tmp_path, OMP_NUM_THREADS="1")
    assert found == dict.fromkeys(
        ("backward of conv", "backward of layer_norm", "forward of softmax"), "failed"
    )
