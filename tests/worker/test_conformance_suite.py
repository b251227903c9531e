"""The conformance suite passes the reference, and finds every fault planted into it."""

from __future__ import annotations

import dataclasses
import importlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarker import registry
from benchmarker.api.framework import Device, Framework, NoOptions
from benchmarker.api.problem import Problem
from benchmarker.errors import UnsupportedError
from benchmarker.experiment.catalogue import framework_class
from benchmarker.graph.graph import Graph
from benchmarker.graph.network import Network
from benchmarker.graph.operators import OPERATORS, Operators
from benchmarker.plugins.numpy import benchmarker_framework
from benchmarker.plugins.numpy.framework import NumpyFramework
from benchmarker.plugins.numpy.operators import NumpyOperators
from benchmarker.plugins.numpy.program import NumpyProgram
from benchmarker.worker.conformance import (
    Check,
    CheckResult,
    Subject,
    conformance_checks,
    packages_imported_by,
    run_checks,
)
from benchmarker.worker.conformance.cases import OPERATOR_CASES
from benchmarker.worker.conformance.problems import installed_problem_checks
from benchmarker.worker.conformance.result import CheckFailed, relative_error
from tests.support import faulty_frameworks, late_faults

pytestmark = pytest.mark.framework("numpy")

CHECKS = conformance_checks()
QUICK = tuple(check for check in CHECKS if not check.name.startswith(("problem/", "synchronize/")))


def results_of(framework: Framework, checks: tuple[Check, ...]) -> dict[str, CheckResult]:
    device = Device("cpu")
    framework.configure(device, threads=1, seed=0)
    subject = Subject(framework, benchmarker_framework(), device, seed=0)
    return {check.name: check.run(subject) for check in checks}


def failures(framework: Framework, checks: tuple[Check, ...] = QUICK) -> set[str]:
    return {name for name, result in results_of(framework, checks).items() if result.status == "failed"}


def test_the_reference_passes_everything() -> None:
    seen: list[CheckResult] = []
    results = run_checks(
        NumpyFramework(),
        benchmarker_framework(),
        device=Device("cpu"),
        threads=2,
        seed=0,
        progress=seen.append,
    )
    assert [result for result in results if result.status != "passed"] == []
    assert seen == results
    assert len(results) == len(CHECKS)


class CountingFramework(NumpyFramework):
    """NumPy, which notes what it has built."""

    def __init__(self) -> None:
        super().__init__()
        self.built: list[tuple[str, str]] = []

    def build(self, graph: Graph, *arguments: Any, mode: str, **options: Any) -> NumpyProgram:
        self.built.append((graph.name, mode))
        return super().build(graph, *arguments, mode=mode, **options)


def test_problems_that_are_one_graph_at_their_reduced_size_are_measured_once() -> None:
    names = [
        f"problem/{name}/{mode}" for mode in ("inference", "training") for name in ("resnet18", "resnet34")
    ]
    framework = CountingFramework()
    results = results_of(framework, tuple(check for check in CHECKS if check.name in names))
    assert framework.built == [("resnet18", "inference"), ("resnet18", "training")]
    for mode in ("inference", "training"):
        first, other = (results[f"problem/{name}/{mode}"] for name in ("resnet18", "resnet34"))
        assert (first.status, first.error) == (other.status, other.error) == ("passed", first.error)
        assert other.detail == f"the same as 'resnet18' at this size: {first.detail}"


def test_every_operator_has_a_case_in_both_directions() -> None:
    assert {case.operator for case in OPERATOR_CASES} == set(OPERATORS)
    names = {check.name for check in CHECKS}
    for operator in OPERATORS:
        assert any(name.startswith(f"forward/{operator}/") for name in names)
        assert any(name.startswith(f"gradient/{operator}/") for name in names)


def test_names_are_unique() -> None:
    assert len({check.name for check in CHECKS}) == len(CHECKS)


FAULTS: tuple[tuple[Framework, str, str], ...] = (
    (
        faulty_frameworks.with_operators(faulty_frameworks.SymmetricPads),
        "forward/conv/2d-asymmetric-pads",
        "conv",
    ),
    (faulty_frameworks.with_operators(faulty_frameworks.NoBias), "forward/conv/2d", "conv"),
    (faulty_frameworks.with_operators(faulty_frameworks.KeptOperand), "forward/gemm/both-data", ""),
    (
        faulty_frameworks.with_operators(faulty_frameworks.ZeroPaddedMaximum),
        "forward/max_pool/2d-all-negative",
        "max_pool",
    ),
    (
        faulty_frameworks.with_operators(faulty_frameworks.PadsCounted),
        "forward/average_pool/2d-pad-not-counted",
        "average_pool",
    ),
    (faulty_frameworks.with_operators(faulty_frameworks.UnscaledDropout), "dropout/mask-0.5", "dropout"),
    (faulty_frameworks.with_operators(faulty_frameworks.SameDropout), "dropout/new-each-step-0.2", "dropout"),
    (
        faulty_frameworks.with_operators(faulty_frameworks.SwappedMomentum),
        "running_statistics/2d",
        "running_statistics",
    ),
    (faulty_frameworks.with_operators(faulty_frameworks.KerasGates), "gradient/lstm/small", "lstm"),
    (
        faulty_frameworks.with_operators(faulty_frameworks.LastAxisSoftmax),
        "forward/softmax/axis-1-4d",
        "softmax",
    ),
    (faulty_frameworks.with_program(faulty_frameworks.LossAfterUpdate), "program/loss-before-update", ""),
    (
        faulty_frameworks.with_program(faulty_frameworks.GradientsUpdate),
        "program/gradients-change-nothing",
        "",
    ),
    (faulty_frameworks.with_program(faulty_frameworks.BorrowedParameters), "program/caller-untouched", ""),
    (faulty_frameworks.with_program(faulty_frameworks.FirstBatch), "program/each-batch-its-own", ""),
    (faulty_frameworks.with_program(faulty_frameworks.ForgetfulParts), "program/parts-are-the-step", ""),
    (faulty_frameworks.with_program(faulty_frameworks.NearlyTheStep), "program/parts-are-the-step", ""),
    (faulty_frameworks.with_program(faulty_frameworks.Recompiling), "program/compiled-once/inference", ""),
    (faulty_frameworks.with_program(faulty_frameworks.Recompiling), "program/compiled-once/training", ""),
    (faulty_frameworks.EpsilonInsideAdam(), "optimizer/adam", "optimizer/adam"),
    (faulty_frameworks.NesterovMomentum(), "optimizer/momentum", "optimizer/momentum"),
)


def fault_name(framework: Framework) -> str:
    if isinstance(framework, faulty_frameworks.OtherProgram):
        return framework.program.__name__
    return type(framework).__name__ if type(framework) is not NumpyFramework else framework.operators.__name__


def looked_at(found_by: str, only_in: str) -> tuple[Check, ...]:
    """Return the check that must find a fault, and those that must not: they ask nothing that the fault is in."""
    return tuple(check for check in QUICK if check.name == found_by or not may_fail(check.name, only_in))


def may_fail(name: str, only_in: str) -> bool:
    """Tell whether a check may find a fault of ``only_in`` too: its name says so, or it is of a whole network."""
    return (
        only_in in name
        or name.startswith(("program/", "network/", "backward/", "generation/"))
        or "/state" in name  # of a network, too
    )


@pytest.mark.parametrize(
    ("framework", "found_by", "only_in"), FAULTS, ids=[fault_name(framework) for framework, _, _ in FAULTS]
)
def test_a_planted_fault_is_found_by_name(framework: Framework, found_by: str, only_in: str) -> None:
    assert failures(framework, looked_at(found_by, only_in)) == {found_by}


@pytest.mark.parametrize(
    ("program", "found_by"),
    [
        (faulty_frameworks.ScaledState, "optimizer/momentum/state"),
        (faulty_frameworks.ScaledState, "optimizer/momentum/state-of-lstm"),
        (faulty_frameworks.SumAsMean, "optimizer/adagrad/state"),
        (faulty_frameworks.TransposedState, "optimizer/adam/state"),
        (faulty_frameworks.TransposedState, "optimizer/rmsprop/state"),
        (faulty_frameworks.SwappedMoments, "optimizer/adamw/state"),
        (faulty_frameworks.BorrowedState, "optimizer/nesterov/state"),
        (faulty_frameworks.DeafAssign, "program/assign/training"),
        (faulty_frameworks.DeafAssign, "program/assign/inference"),
        (faulty_frameworks.ForgottenUpdates, "restore/adam"),
        (faulty_frameworks.ForgottenUpdates, "restore/schedule_free_sgd"),
        (faulty_frameworks.ForgottenState, "restore/momentum"),
        (faulty_frameworks.ForgottenState, "restore/adagrad"),
        (faulty_frameworks.ForgottenGenerator, "restore/dropout"),
        (faulty_frameworks.DetachedWeights, "restore/sgd"),
    ],
)
def test_a_state_that_is_told_or_taken_wrongly_is_found(program: type[NumpyProgram], found_by: str) -> None:
    (check,) = (check for check in CHECKS if check.name == found_by)
    assert failures(faulty_frameworks.with_program(program), (check,)) == {found_by}


def test_a_state_that_is_not_told_is_skipped_with_the_reason() -> None:
    checks = tuple(check for check in CHECKS if "/state" in check.name)
    found = results_of(faulty_frameworks.with_program(faulty_frameworks.UntoldState), checks)
    assert {(result.status, result.detail) for result in found.values()} == {
        ("skipped", "the framework does not expose the state of its optimizer")
    }


def test_parameters_in_another_layout_are_found() -> None:
    checks = tuple(check for check in CHECKS if check.name.startswith("problem/mnist_mlp/"))
    failed = failures(faulty_frameworks.with_program(faulty_frameworks.TransposedParameters), checks)
    assert failed == {"problem/mnist_mlp/inference", "problem/mnist_mlp/training"}


SYNCHRONIZE = tuple(check for check in CHECKS if check.name.startswith("synchronize/"))


def test_a_synchronize_that_does_not_wait_is_found() -> None:
    failed = failures(faulty_frameworks.with_program(faulty_frameworks.Asynchronous), SYNCHRONIZE)
    assert failed == {"synchronize/infer", "synchronize/train_step"}


def test_a_synchronize_that_waits_passes() -> None:
    assert (
        failures(faulty_frameworks.with_program(faulty_frameworks.PatientAsynchronous), SYNCHRONIZE) == set()
    )


class WithoutLstm(NumpyOperators):
    """Lacks one operator honestly: the vocabulary's own method is the sign."""

    lstm = Operators.lstm


class RefusingTanh(NumpyOperators):
    """Claims an operator and then fails."""

    def tanh(self, x: object) -> object:  # type: ignore[override]
        raise NotImplementedError("no tanh today")


def test_an_operator_the_framework_lacks_is_skipped_and_one_it_claims_is_not() -> None:
    checks = tuple(check for check in CHECKS if "/lstm/" in check.name or "/tanh/" in check.name)
    lacking = results_of(faulty_frameworks.with_operators(WithoutLstm), checks)
    assert lacking["forward/lstm/small"].status == "skipped"
    assert lacking["forward/lstm/small"].detail == "no native meaning of lstm"
    assert lacking["forward/tanh/4d"].status == "passed"
    refusing = results_of(faulty_frameworks.with_operators(RefusingTanh), checks)
    assert refusing["forward/tanh/4d"].status == "failed"
    assert "no tanh today" in refusing["forward/tanh/4d"].detail


class Gaps(NumpyFramework):
    """Does not offer an optimizer, and an operator for some tensors only; and says so."""

    def build(self, graph: Graph, parameters: Any, **settings: Any) -> Any:
        if settings["optimizer"].kind == "lion":
            raise UnsupportedError("no optimizer lion")
        if "erf" in graph.operators:
            raise UnsupportedError("erf runs on Tuesdays")
        return super().build(graph, parameters, **settings)


def test_a_gap_that_a_framework_declares_is_no_failure() -> None:
    wanted = ("forward/erf/4d", "optimizer/lion/schedule", "optimizer/adam", "forward/tanh/4d")
    found = results_of(Gaps(), tuple(check for check in CHECKS if check.name in wanted))
    assert {name: (result.status, result.detail) for name, result in found.items()} == {
        "forward/erf/4d": ("skipped", "erf runs on Tuesdays"),
        "optimizer/lion/schedule": ("skipped", "no optimizer lion"),
        "optimizer/adam": ("passed", found["optimizer/adam"].detail),
        "forward/tanh/4d": ("passed", found["forward/tanh/4d"].detail),
    }


class Misspelt(NumpyOperators):
    exp = Operators.exp
    max_pool = Operators.max_pool

    def expp(self, x: object) -> object:
        return x

    def maxpool(self, x: object) -> object:
        return x

    def helper(self, x: object) -> object:
        return x

    def tanhh(self, x: object) -> object:
        """Near an operator that is there."""
        return x


def _described(framework: Framework) -> CheckResult:
    (check,) = (check for check in CHECKS if check.name == "description/operators")
    return results_of(framework, (check,))[check.name]


def test_a_misspelt_operator_is_named_with_its_nearest() -> None:
    found = _described(faulty_frameworks.with_operators(Misspelt))
    assert found.status == "failed"
    assert found.detail == (
        "'expp': no such operator; did you mean 'exp'? "
        "'maxpool': no such operator; did you mean 'max_pool'? "
        "The names of helpers start with an underscore"
    )


@pytest.mark.parametrize("name", registry.names("frameworks", ours=True))
def test_helpers_of_our_frameworks_are_taken_for_no_operator(name: str) -> None:
    operators = framework_class(registry.framework(name)).operators
    framework = faulty_frameworks.with_operators(operators)  # type: ignore[arg-type]
    assert _described(framework).status == "passed"


def test_an_error_names_the_last_line_of_the_plugins_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "own_lines"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "meanings.py").write_text("import json\n\n\ndef exp(self, x):\n    return json.loads('{')\n")
    monkeypatch.syspath_prepend(tmp_path)
    meanings = importlib.import_module("own_lines.meanings")
    framework = faulty_frameworks.with_operators(type("Own", (NumpyOperators,), {"exp": meanings.exp}))
    plugin = dataclasses.replace(benchmarker_framework(), implementation="own_lines.meanings:Own")
    framework.configure(Device("cpu"), threads=1, seed=0)
    (check,) = (check for check in CHECKS if check.name == "forward/exp/4d")
    found = check.run(Subject(framework, plugin, Device("cpu")))
    assert found.status == "failed"
    assert found.detail.startswith("JSONDecodeError: ")
    assert found.detail.endswith(f" (own_lines{os.sep}meanings.py, line 5)")


def small_problem(name: str, build: Callable[[Network, Any], None]) -> Problem:
    return Problem(name, "a task", "a source", NoOptions, build)


def _two_products(net: Network, _: NoOptions) -> None:
    x = net.input("x", (6,))
    net.output(net.dense("second", net.tanh(net.dense("first", x, 5)), 3))


def _much(net: Network, _: NoOptions) -> None:
    net.output(net.dense("one", net.input("x", (60_000,)), 60_000))


def _raising(net: Network, _: NoOptions) -> None:
    raise KeyError("weights")


@pytest.mark.parametrize(
    ("build", "inference", "training"),
    [
        (_two_products, ("passed", ""), ("skipped", "the problem has no loss to train with")),
        (
            _much,
            ("skipped", "the problem has no reduced size"),
            ("skipped", "the problem has no reduced size"),
        ),
        (_raising, ("skipped", "the problem is broken: problem 'p' failed in build()"), ("skipped", "")),
    ],
)
def test_problems_of_others_are_checked_too(
    build: Callable[[Network, Any], None], inference: tuple[str, str], training: tuple[str, str]
) -> None:
    checks = installed_problem_checks("p", lambda: small_problem("p", build))
    found = results_of(NumpyFramework(), checks)
    for mode, (status, detail) in (("inference", inference), ("training", training)):
        assert found[f"problem/p/{mode}"].status == status
        assert detail in found[f"problem/p/{mode}"].detail


def test_a_problem_that_a_framework_computes_wrongly_fails() -> None:
    checks = installed_problem_checks("p", lambda: small_problem("p", _two_products))
    framework = faulty_frameworks.with_operators(type("Off", (NumpyOperators,), {"tanh": lambda self, x: x}))
    assert failures(framework, checks) == {"problem/p/inference"}


def test_a_problem_that_cannot_be_imported_is_told() -> None:
    def leave() -> Problem:
        raise SystemExit("not here")

    for found in results_of(NumpyFramework(), installed_problem_checks("p", leave)).values():
        assert (found.status, found.detail) == ("skipped", "the problem is broken: SystemExit: not here")


def test_not_a_number_and_a_wrong_shape_never_pass() -> None:
    import numpy as np

    assert relative_error(np.array([1.0, np.nan]), np.array([1.0, 1.0])) == float("inf")
    with pytest.raises(CheckFailed, match=r"must be \(2,\), got \(1,\)"):
        relative_error(np.array([1.0]), np.array([1.0, 1.0]))


@pytest.mark.parametrize(
    "name", ["numpy", "pytorch", "tensorflow", "mxnet", "chainer", "jax", "paddle", "tinygrad"]
)
def test_the_descriptions_of_the_built_in_plugins_import_no_framework(name: str) -> None:
    assert packages_imported_by(f"benchmarker.plugins.{name}") == set()


def test_a_description_that_imports_an_installed_package_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "heavy_plugin.py").write_text(
        "import numpy\n\ndef benchmarker_framework():\n    return None\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert "numpy" in packages_imported_by("heavy_plugin")


def test_schedules_are_followed_where_weights_are_given_only_when_a_program_is_built() -> None:
    checks = tuple(check for check in CHECKS if check.name == "optimizer/adam/schedule")
    framework = late_faults.with_program(late_faults.FixedWeights)()
    assert [result.status for result in results_of(framework, checks).values()] == ["passed"]


def test_a_description_that_does_not_import_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken_plugin.py").write_text("import no_such_module\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(CheckFailed, match="no_such_module"):
        packages_imported_by("broken_plugin")


def test_the_suite_runs_on_numpy_and_the_standard_library_alone() -> None:
    code = (
        "import sys; before = set(sys.modules); import benchmarker.worker.conformance; "
        "print(*{n.split('.')[0] for n in set(sys.modules) - before "
        "if 'site-packages' in (getattr(sys.modules[n], '__file__', None) or '')})"
    )
    root = Path(__file__).parents[2]
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=root, check=True)
    assert set(child.stdout.split()) <= {"numpy", "benchmarker"}
