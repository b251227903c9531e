"""The conformance suite passes the reference, and finds every fault planted into it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarker.api.framework import Device, Framework
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
from benchmarker.worker.conformance.result import CheckFailed, relative_error
from tests.support import faulty_frameworks

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
    (faulty_frameworks.with_program(faulty_frameworks.FirstBatch), "program/each-batch-its-own", "program"),
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


@pytest.mark.parametrize(
    ("framework", "found_by", "only_in"), FAULTS, ids=[fault_name(framework) for framework, _, _ in FAULTS]
)
def test_a_planted_fault_is_found_by_name(framework: Framework, found_by: str, only_in: str) -> None:
    failed = failures(framework)
    assert found_by in failed
    innocent = {
        name
        for name in failed
        if only_in not in name
        and not name.startswith(("program/", "network/", "backward/"))
        and "/state" not in name  # of a network, too
    }
    assert innocent == set()


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
        ("skipped", "the framework does not tell the state of its optimizer")
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


def test_not_a_number_and_a_wrong_shape_never_pass() -> None:
    import numpy as np

    assert relative_error(np.array([1.0, np.nan]), np.array([1.0, 1.0])) == float("inf")
    with pytest.raises(CheckFailed, match=r"must be \(2,\), got \(1,\)"):
        relative_error(np.array([1.0]), np.array([1.0, 1.0]))


@pytest.mark.parametrize("name", ["numpy", "pytorch", "tensorflow", "mxnet", "chainer", "jax"])
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
