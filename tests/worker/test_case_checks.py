"""Cases of operators that are checked in one program: what is found is what each would show by itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from benchmarker.api.framework import Device
from benchmarker.errors import UnsupportedError
from benchmarker.graph.attributes import Gemm
from benchmarker.graph.graph import Graph
from benchmarker.plugins.numpy import benchmarker_framework
from benchmarker.plugins.numpy.framework import NumpyFramework
from benchmarker.plugins.numpy.operators import NumpyOperators
from benchmarker.plugins.numpy.program import NumpyProgram
from benchmarker.worker.conformance import Check, Subject, conformance_checks, run_each
from benchmarker.worker.conformance.case_checks import MAX_CASES_OF_A_PROGRAM, CaseMeasure
from tests.support import faulty_frameworks

Array = npt.NDArray[Any]
OF_CASES = tuple(check for check in conformance_checks() if isinstance(check.measure, CaseMeasure))


class Counting(NumpyFramework):
    """NumPy, which notes of how many parts what it builds is."""

    def __init__(self, meaning: type[NumpyOperators] = NumpyOperators) -> None:
        super().__init__()
        self.operators = meaning  # type: ignore[misc]
        self.built: list[str] = []

    def build(self, graph: Graph, *arguments: Any, **options: Any) -> NumpyProgram:
        self.built.append(graph.name)
        return super().build(graph, *arguments, **options)


def subject_of(framework: NumpyFramework) -> Subject:
    device = Device("cpu")
    framework.configure(device, threads=1, seed=0)
    return Subject(framework, benchmarker_framework(), device, seed=0)


def named(*beginnings: str) -> tuple[Check, ...]:
    return tuple(check for check in OF_CASES if check.name.startswith(beginnings))


def test_most_checks_are_of_cases() -> None:
    kinds = {check.name.partition("/")[0] for check in OF_CASES}
    assert kinds == {"forward", "gradient", "upstream"}
    assert len(OF_CASES) > 900


def test_they_share_programs_and_come_in_order() -> None:
    framework = Counting()
    found = list(run_each(OF_CASES, subject_of(framework)))
    assert [result.name for result in found] == [check.name for check in OF_CASES]
    assert {result.status for result in found} == {"passed"}
    assert len(framework.built) < len(OF_CASES) / MAX_CASES_OF_A_PROGRAM + 3


def test_results_are_those_of_programs_of_their_own() -> None:
    checks = named("forward/", "gradient/", "upstream/")[::5]
    subject = subject_of(NumpyFramework())
    assert list(run_each(checks, subject)) == [check.run(subject) for check in checks]


@pytest.mark.parametrize(
    ("meaning", "checks", "found"),
    [
        (faulty_frameworks.NoBias, "forward/conv/", "forward/conv/2d"),
        (faulty_frameworks.KerasGates, "gradient/lstm/", "gradient/lstm/small"),
        (faulty_frameworks.LastAxisSoftmax, "forward/softmax/", "forward/softmax/axis-1-4d"),
    ],
)
def test_a_fault_is_found_among_right_cases(meaning: type[NumpyOperators], checks: str, found: str) -> None:
    subject = subject_of(faulty_frameworks.with_operators(meaning))
    chosen = (*named(checks), *named("forward/relu/", "gradient/tanh/"))
    results = {result.name: result for result in run_each(chosen, subject)}
    assert results[found].status == "failed"
    assert results == {check.name: check.run(subject) for check in chosen}
    assert results["forward/relu/4d"].status == "passed"


class NoProducts(NumpyOperators):
    """Cannot multiply, which it says, and fails at a root."""

    def gemm(self, a: Array, b: Array, c: Array | None = None, *, product: Gemm) -> Array:
        raise UnsupportedError("no products here")

    def sqrt(self, x: Array) -> Array:
        raise ZeroDivisionError("a root")


def test_what_cannot_be_built_or_breaks_costs_the_others_few_programs() -> None:
    framework = Counting(NoProducts)
    checks = named("forward/")
    found = {result.name: result for result in run_each(checks, subject_of(framework))}
    status = {name: result.status for name, result in found.items() if result.status != "passed"}
    assert {name.split("/")[1]: kind for name, kind in status.items()} == {
        "gemm": "skipped",
        "sqrt": "failed",
        "rms_normalization": "failed",
    }
    assert "ZeroDivisionError: a root" in found["forward/sqrt/4d"].detail
    assert len(framework.built) < len(checks) / 4


def test_dropouts_questions_are_asked_of_one_program_a_ratio_and_of_each_subject_anew() -> None:
    checks = tuple(check for check in conformance_checks() if check.name.startswith("dropout/"))
    framework, unscaled = Counting(), Counting(faulty_frameworks.UnscaledDropout)
    for _ in range(2):
        assert {result.status for result in run_each(checks, subject_of(framework))} == {"passed"}
    assert len(framework.built) == 4  # two subjects of two ratios
    failed = {r.name for r in run_each(checks, subject_of(unscaled)) if r.status == "failed"}
    assert failed == {"dropout/mask-0.5", "dropout/mask-0.2"}


class SlightlyOff(NumpyProgram):
    """Tells a loss that is off by more than one case may be, and by less than many may together."""

    def gradients(self, batch: dict[str, Array]) -> tuple[float, dict[str, Array]]:
        loss, gradients = super().gradients(batch)
        wrong = any(node.operator == "tanh" for node in self._graph.nodes)
        return loss + 3e-5 * wrong, gradients


def test_a_loss_that_is_off_does_not_hide_among_others() -> None:
    checks = named("gradient/tanh/", "gradient/sigmoid/", "gradient/relu/")
    results = list(run_each(checks, subject_of(faulty_frameworks.with_program(SlightlyOff))))
    wrong = {result.name for result in results if result.status == "failed"}
    assert wrong == {check.name for check in checks if "tanh" in check.name}


def test_a_program_that_loses_a_parameter_is_found() -> None:
    class Forgetful(NumpyProgram):
        def parameters(self) -> dict[str, Array]:
            return {n: np.zeros_like(a) if n.endswith("w") else a for n, a in super().parameters().items()}

    subject = subject_of(faulty_frameworks.with_program(Forgetful))
    results = list(run_each(named("forward/conv/"), subject))
    assert any(result.status == "failed" and "bit for bit" in result.detail for result in results)
