"""The ONNX project's node tests: they pass, they catch planted faults, and the table and the page tell it."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarker.analysis.text.onnx_nodes import node_test_page, node_test_table
from benchmarker.api.framework import Device, Framework
from benchmarker.graph.onnx.reader.importer import HANDLERS
from benchmarker.orchestration.jobs import unpack_onnx
from benchmarker.orchestration.jobs.conformance import CheckReport
from benchmarker.plugins.numpy import benchmarker_framework
from benchmarker.plugins.numpy.framework import NumpyFramework
from benchmarker.plugins.numpy.operators import NumpyOperators
from benchmarker.worker.conformance.onnx_cases import read_cases
from benchmarker.worker.conformance.onnx_nodes import CaseResult, run_cases
from tests.conftest import ROOT, Command, write_distribution
from tests.graph.test_onnx_compositions import MODELS
from tests.support import faulty_frameworks


@pytest.fixture(scope="module")
def folder(cache_home: Path) -> Path:
    """Return where the node tests are unpacked."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BENCHMARKER_HOME", str(cache_home))
        return unpack_onnx.node_tests()


def results_of(framework: Framework, folder: Path) -> list[CaseResult]:
    results: list[CaseResult] = []
    plugin, device = benchmarker_framework(), Device("cpu")
    run_cases(framework, plugin, folder, device=device, threads=1, seed=0, progress=results.append)
    return results


def test_the_reference_fails_none_and_passes_hundreds(folder: Path) -> None:
    results = results_of(NumpyFramework(), folder)
    counts = Counter(result.status for result in results)
    assert [result for result in results if result.status == "failed"] == []
    assert counts["passed"] > 1250
    assert all(result.detail for result in results if result.status == "unsupported")
    passed = {result.operator for result in results if result.status == "passed"}
    # ONNX has no test of these that can run here.
    untested = {
        "Cast",
        "CastLike",
        "Not",
        "Optional",
        "OptionalGetElement",
        "OptionalHasElement",
        "Shape",
        "Size",
    }
    composed = set(re.findall(r"= ([\w.]+) [<(]", "".join(MODELS.values())))
    assert set(HANDLERS) - passed - untested - composed == set()


def test_every_test_of_a_claimed_operator_is_there(folder: Path) -> None:
    rows = json.loads((folder / "cases.json").read_text())
    single = {
        row["name"]
        for row in rows
        if "model" in row and [n["operator"] in HANDLERS for n in row["model"]["nodes"]] == [True]
    }
    read = {case.name for case in read_cases(folder)}
    assert single <= read
    assert any(name.endswith("_expanded") for name in read)


class FirstAxisSoftmax(NumpyOperators):
    """Takes the softmax along another axis."""

    def softmax(self, x: Any, *, axis: int = -1) -> Any:
        return super().softmax(x, axis=0)


class MeanWithoutScale(NumpyOperators):
    """Forgets the scale of a layer normalization."""

    def layer_normalization(
        self, x: Any, scale: Any, b: Any, *, axis: int = -1, epsilon: float = 1e-5
    ) -> Any:
        return super().layer_normalization(x, np.ones_like(scale), b, axis=axis, epsilon=epsilon)


@pytest.mark.parametrize(
    ("operators", "operator"), [(FirstAxisSoftmax, "Softmax"), (MeanWithoutScale, "LayerNormalization")]
)
def test_a_planted_fault_fails_the_tests_of_its_operator(
    operators: type[NumpyOperators], operator: str, folder: Path
) -> None:
    with np.errstate(invalid="ignore"):  # Infinities that are masked along one axis meet along another.
        results = results_of(faulty_frameworks.with_operators(operators), folder)
    failed = [result for result in results if result.status == "failed"]
    assert operator in {result.operator for result in failed}
    assert "Conv" not in {result.operator for result in failed}
    assert "elements, first at" in failed[0].detail


REPORT = CheckReport(
    "numpy",
    "2.0",
    (
        {"name": "test_a", "operator": "Relu", "status": "passed", "detail": ""},
        {"name": "test_b", "operator": "Relu", "status": "unsupported", "detail": "Relu over integers"},
        {"name": "test_c", "operator": "Abs", "status": "folded", "detail": ""},
    ),
    None,
    "",
)
OTHER = CheckReport(
    "other",
    "1.0",
    (
        {"name": "test_a", "operator": "Relu", "status": "failed", "detail": "'y' differs"},
        {"name": "test_b", "operator": "Relu", "status": "unsupported", "detail": "Relu over integers"},
        {"name": "test_c", "operator": "Abs", "status": "folded", "detail": ""},
    ),
    None,
    "",
)


def test_the_table_counts_each_operator() -> None:
    lines = node_test_table(REPORT.results, 80).splitlines()
    assert [line.split() for line in lines[2:]] == [["Abs", "1", "1"], ["Relu", "1", "1", "2"]]


def test_the_page_tells_counts_and_reasons_and_who_did_not_run() -> None:
    page = node_test_page([REPORT, OTHER], {"third": "it is not there"}, 10)
    assert "Of 10 tests, 3 are of the 2 operators that are imported." in page
    assert "| numpy 2.0 | 1 | 0 | 1 | 1 | 3 |" in page
    assert "| Relu | 2 | 1 | 0 |" in page
    assert "- Relu: over integers (1)" in page
    assert "- `test_a` failed: 'y' differs" in page
    assert "- third did not run: it is not there" in page


DYING = """
import os
import signal
from dataclasses import replace

from benchmarker.plugins.numpy import benchmarker_framework as numpy_framework
from benchmarker.plugins.numpy.framework import NumpyFramework


class Dying(NumpyFramework):
    def build(self, graph, *arguments, **named):
        if "softplus" in graph.operators:
            os.kill(os.getpid(), signal.SIGSEGV)
        return super().build(graph, *arguments, **named)


def benchmarker_framework():
    return replace(numpy_framework(), name="dying", implementation="benchmarker_dying:Dying")
"""


def test_the_command_prints_a_table_or_pure_json_whatever_dies(
    command: Command, folder: Path, tmp_path: Path
) -> None:
    told = command("check", "numpy", "--onnx")
    assert told.status == 0, told.stderr
    assert told.stdout.splitlines()[0].split() == [
        "operator",
        "passed",
        "failed",
        "unsupported",
        "folded",
        "tests",
    ]
    assert "numpy" in told.stdout.splitlines()[-1]
    points = {"frameworks": ["dying = benchmarker_dying"]}
    place = write_distribution(tmp_path / "dying", "benchmarker-dying", points, {"benchmarker_dying": DYING})
    command.environment["PYTHONPATH"] = os.pathsep.join([str(place), str(ROOT)])
    (report,) = [json.loads(command("check", "dying", "--onnx", "--env=current", "--json").stdout)]
    assert {"name", "operator", "status", "detail"} == set(report["results"][0])
    assert [result["name"] for result in report["results"]] == [case.name for case in read_cases(folder)]
    failed = [result for result in report["results"] if result["status"] == "failed"]
    assert {"test_softplus", "test_softplus_example"} <= {result["name"] for result in failed}
    assert {result["operator"] for result in failed} == {"Mish", "Softplus"}
    assert all("was ended by SIGSEGV in stage 'check'" in result["detail"] for result in failed)
    assert report["failure"] is None


def test_the_documentation_is_of_these_tests(folder: Path) -> None:
    page = (ROOT / "docs" / "onnx.md").read_text()
    rows = json.loads((folder / "cases.json").read_text())
    claimed = sum(1 for _ in read_cases(folder))
    assert f"Of {len(rows):,} tests, {claimed:,} are of the" in page
    assert all(f"| {name} |" in page for name in ("Conv", "LSTM", "Attention"))
