"""What plugins may import: the committed list of names, which changes only on purpose."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarker import api
from tests.conftest import DISTRIBUTIONS, ROOT

# fmt: off
NAMES = (
    "ANY", "AveragePooling", "Axis", "BenchmarkerError", "Body", "Call", "Chart", "ChartKind", "Choice",
    "COLLECTIVES", "Collective", "CollectiveProgram",
    "Communicator", "CppSource", "CustomOperator", "Dataset", "DatasetReader", "Device", "Distribution",
    "Event", "Flag", "Framework", "FrameworkPlugin", "Gemm", "Given", "Graph", "Handler", "Heat", "Helper", "Input",
    "Interconnect", "Launcher", "MODES", "Mark", "MaxPooling", "Model", "Modifiers", "NativeCollectives",
    "NativeFunction", "NativeScheme",
    "Network", "NoOptions", "Node", "NumpyFunction", "OPERATOR", "OPERATORS", "OPTIMIZERS", "Operators",
    "Optimizer", "Outcome", "PHASES", "PRECISIONS", "Panel", "Parameter", "ParameterPlace", "PlainRecurrent",
    "Problem", "ProblemReference", "ProblemScheme", "Profile", "Program", "Published", "RankSteps", "Readings",
    "Real", "RecipeFile", "Recurrent", "Replica", "Request", "ResolvedProblem", "Rule", "Run", "Scheme",
    "Series", "Served", "ServerAgain", "Sizes", "Slice", "SourceFile", "Suite", "Tensor", "TensorType", "Text",
    "TrainingState",
    "TransposedWindow", "Unavailable", "UnsupportedError", "Update", "UpdateRule", "UsageError", "Whole",
    "Window", "WorkerCommand", "World", "apply_node", "constant", "from_pixels", "part_of", "state_names",
    "walk", "with_defaults",
)
# fmt: on
"""A name that is taken away or renamed breaks plugins: the changelog and the table in docs/plugins.md tell of it."""


def test_these_names_are_what_plugins_may_rely_on() -> None:
    assert sorted(api.__all__) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_each_name_is_there(name: str) -> None:
    assert getattr(api, name) is not None
    assert name in dir(api)


def test_another_name_is_not() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        _ = api.Nothing


def imported_with(statement: str) -> set[str]:
    """Return the modules that a fresh Python has after a statement."""
    program = f"{statement}\nimport sys\nprint(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def test_a_description_is_had_without_the_graph() -> None:
    assert "benchmarker.graph.graph" in imported_with("from benchmarker.api import Problem")
    light = imported_with(
        "from benchmarker.api import ChartKind, DatasetReader, FrameworkPlugin, ProblemScheme, Suite"
    )
    assert not {"numpy", "benchmarker.graph.graph", "benchmarker.graph.operators"} & light


EXAMPLE = DISTRIBUTIONS / "example"
# What installing it has left beside them is a copy.
SOURCES = [
    *sorted(path for path in EXAMPLE.rglob("*.py") if not path.is_relative_to(EXAMPLE / "build")),
    *sorted((ROOT / "examples").rglob("*.py")),
]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_examples_import_nothing_else_of_ours(path: Path) -> None:
    modules = [
        node.module for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom)
    ]
    ours = {module for module in modules if module and module.split(".")[0] == "benchmarker"}
    assert ours <= {"benchmarker.api", "benchmarker.testing", "benchmarker.plugins.numpy.operators"}
