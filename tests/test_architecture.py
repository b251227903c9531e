"""The rules of the architecture: who may import whom, and how long a piece of code may be."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.sources import (
    FRONT_ENDS,
    OWN_FRAMEWORK,
    PACKAGE,
    WORKER_SIDE,
    broken,
    files,
    first,
    imports,
    is_third_party,
    name_of,
    ours,
    tree,
)

LONGEST_FUNCTION = 60
LONGEST_FILE = 450


# --- who imports whom ----------------------------------------------------------------------------


def test_the_graph_imports_nothing_of_ours_but_itself_and_errors() -> None:
    found = [(p, i) for p in files("graph") for i in imports(tree(p))]
    assert len(found) > 20
    wrong = [
        (p, i)
        for p, i in found
        if is_third_party(i.module)
        or (first(i.module) == "benchmarker" and ours(i.module) not in ("graph", "errors"))
    ]
    assert broken(wrong) == []


def test_worker_side_imports_only_worker_side() -> None:
    wrong = [
        (p, i)
        for p in files(*WORKER_SIDE)
        for i in imports(tree(p))
        if first(i.module) == "benchmarker" and ours(i.module) not in WORKER_SIDE
    ]
    assert broken(wrong) == []


def test_worker_side_needs_only_numpy_at_import() -> None:
    wrong = [
        (p, i)
        for p in files(*WORKER_SIDE)
        for i in imports(tree(p))
        if i.at_top and is_third_party(i.module) and first(i.module) != "numpy"
    ]
    assert broken(wrong) == []


def test_a_plugin_imports_its_own_framework_only_and_inside_functions() -> None:
    assert {p.name for p in (PACKAGE / "plugins").iterdir() if p.is_dir()} - {"__pycache__"} == set(
        OWN_FRAMEWORK
    )
    wrong = [
        (p, i)
        for plugin, own in OWN_FRAMEWORK.items()
        for p in files(f"plugins/{plugin}")
        for i in imports(tree(p))
        if is_third_party(i.module) and first(i.module) not in own | {"numpy"}
    ]
    assert broken(wrong) == []
    others = [p for p in files(*WORKER_SIDE) if "plugins" not in p.parts]
    wrong = [
        (p, i)
        for p in others
        for i in imports(tree(p))
        if is_third_party(i.module)
        and first(i.module) not in ({"numpy", "onnx"} if "onnx_model" in p.parts else {"numpy"})
    ]
    assert broken(wrong) == []


def test_no_plugin_knows_a_problem_or_another_but_those_it_is_over() -> None:
    wrong = [
        (p, i)
        for plugin in OWN_FRAMEWORK
        for p in files(f"plugins/{plugin}")
        for i in imports(tree(p))
        if i.module.startswith("benchmarker.problems")
        or (
            i.module.startswith("benchmarker.plugins.")
            and i.module.split(".")[2] not in {plugin, "numpy", *FRONT_ENDS.get(plugin, ())}
        )
    ]
    assert broken(wrong) == []


def test_no_problem_knows_a_framework() -> None:
    allowed = {"errors", "framework", "graph", "layers", "problem", "problems"}
    wrong = [
        (p, i)
        for p in files("problems", "layers")
        for i in imports(tree(p))
        if is_third_party(i.module) or (first(i.module) == "benchmarker" and ours(i.module) not in allowed)
    ]
    assert broken(wrong) == []


def test_no_framework_is_imported_by_the_orchestrators_side() -> None:
    frameworks = set().union(*OWN_FRAMEWORK.values()) - {"numpy"}
    rest = set(files()) - set(files("plugins", "onnx_model"))
    wrong = [(p, i) for p in sorted(rest) for i in imports(tree(p)) if first(i.module) in frameworks]
    assert broken(wrong) == []


def test_nothing_imports_the_command_line() -> None:
    may = {PACKAGE / "__main__.py", *files("cli")}
    wrong = [
        (p, i)
        for p in files()
        if p not in may
        for i in imports(tree(p))
        if i.module.startswith("benchmarker.cli")
    ]
    assert broken(wrong) == []


LAYERS: dict[str, set[str]] = {
    "errors": set(),
    "experiment": {"framework", "problem_files"},
    "statistics": set(),
    "schema": {"errors", "statistics", "schema"},
    "hookspecs": set(),
    "store": {"errors", "new_files", "schema", "results"},
    "registry": {
        "errors",
        "framework",
        "hookspecs",
        "launchers",
        "onnx_files",
        "problem",
        "problem_files",
        "suite",
        "__version__",
    },
    "environments": {"environments", "errors", "framework"},
    "launchers": {"errors", "launchers"},
}


@pytest.mark.parametrize("name", LAYERS)
def test_imports_point_one_way(name: str) -> None:
    wrong = [
        (p, i)
        for p in files(name)
        for i in imports(tree(p))
        if first(i.module) == "benchmarker" and ours(i.module) not in LAYERS[name]
    ]
    assert broken(wrong) == []


def test_only_the_command_line_uses_the_orchestrator() -> None:
    wrong = [
        (p, i)
        for p in files()
        if "cli" not in p.parts
        for i in imports(tree(p))
        if i.module.startswith("benchmarker.orchestrator")
    ]
    assert broken(wrong) == []


ALONE = """
import importlib, sys

class Only:
    def find_spec(self, name, path=None, target=None):
        first = name.partition(".")[0]
        if first in sys.stdlib_module_names or first in ("numpy", "benchmarker"):
            parts = name.split(".")
            if first != "benchmarker" or len(parts) == 1 or parts[1] in sys.argv[1].split(","):
                return None
        raise ImportError(f"{name} is not for the worker")

sys.meta_path.insert(0, Only())
for name in sys.argv[2:]:
    importlib.import_module(name)
"""


def modules(*names: str) -> list[str]:
    found = []
    for path in files(*names):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found.append(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    return found


def test_every_module_of_the_worker_imports_with_numpy_alone() -> None:
    # The bootstrap is a script and runs when it is imported.
    wanted = [name for name in modules(*WORKER_SIDE) if name != "benchmarker.worker.bootstrap"]
    assert len(wanted) > 60
    command = [sys.executable, "-c", ALONE, ",".join(WORKER_SIDE), *wanted]
    child = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert child.returncode == 0, child.stderr


# --- size ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", files(), ids=name_of)
def test_files_and_functions_stay_short(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= LONGEST_FILE
    long = [
        f"{node.name}: {node.end_lineno - node.lineno + 1} lines"
        for node in ast.walk(tree(path))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        and node.end_lineno is not None
        and node.end_lineno - node.lineno + 1 > LONGEST_FUNCTION
    ]
    assert long == []
