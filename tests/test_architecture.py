"""The rules of the architecture: who imports whom, how long code may be, and that all that workers send is declared."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarker.execution.events import EVENTS, kinds_of
from benchmarker.worker.job import KINDS
from tests.conftest import ROOT
from tests.support.package_sources import (
    FRONT_ENDS,
    OWN_FRAMEWORK,
    PACKAGE,
    SOURCES,
    WORKER_SIDE,
    broken,
    files,
    first,
    imports_of,
    is_third_party,
    name_of,
    nodes_of,
    ours,
)

pytestmark = pytest.mark.xdist_group(SOURCES)

MAX_FUNCTION_LINES = 60
MAX_FILE_LINES = 450


# --- who imports whom ----------------------------------------------------------------------------

ROOMS = (
    "version",
    "errors",
    "quick_dataclass",
    "files",
    "cache",
    "statistics",
    "graph",
    "api",
    "machine",
    "problems",
    "data",
    "training",
    "distributed",
    "plugins",
    "worker",
    "testing",
    "execution",
    "hookspecs",
    "registry",
    "experiment",
    "collectors",
    "records",
    "orchestration",
    "analysis",
    "cli",
)
"""Every room and loose module, in the one order: each may import what stands above it, and nothing below."""
MAX_LOOSE_MODULES = 8


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def test_every_room_is_in_the_one_list() -> None:
    assert {room_of(path) for path in files()} - {"__init__", "__main__"} == set(ROOMS)


def test_every_room_has_a_folder_of_tests() -> None:
    rooms = [room for room in ROOMS if (PACKAGE / room).is_dir()]
    assert [room for room in rooms if not any((ROOT / "tests" / room).rglob("test_*.py"))] == []
    loose = [room for room in ROOMS if (ROOT / "tests" / f"test_{room}.py").is_file()]
    assert [room for room in loose if room in rooms] == []


def test_imports_point_down_the_one_list() -> None:
    wrong = [
        f"{name_of(path)} imports {item.module}"
        for path in files()
        if room_of(path) in ROOMS
        for item in imports_of(path, types=True)
        if first(item.module) == "benchmarker"
        and ours(item.module) in ROOMS
        and ROOMS.index(ours(item.module)) > ROOMS.index(room_of(path))
    ]
    assert wrong == []


def dependencies() -> dict[str, set[str]]:
    """Return what each of our modules imports of ours, inside functions and for types alone included."""
    ours_by_name = {dotted(path): path for path in files()}
    found = {}
    for module, path in ours_by_name.items():
        named = {item.module for item in imports_of(path, types=True)}
        modules = {name if name in ours_by_name else name.rpartition(".")[0] for name in named}
        found[module] = (modules & set(ours_by_name)) - {module}
    return found


def dotted(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def circle(edges: dict[str, set[str]]) -> list[str]:
    """Return the modules that are left once those that no circle goes through are taken away."""
    left = {module: set(found) for module, found in edges.items()}
    while True:
        needed = set().union(*left.values()) if left else set()
        outside = {module for module, found in left.items() if not found or module not in needed}
        if not outside:
            return sorted(left)
        left = {module: found - outside for module, found in left.items() if module not in outside}


def test_no_import_goes_in_a_circle() -> None:
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}) == ["b", "c"]
    edges = dependencies()
    assert sum(map(len, edges.values())) > 1000
    assert circle(edges) == []


def test_few_modules_stand_loose() -> None:
    loose = {path.stem for path in PACKAGE.glob("*.py")} - {"__init__", "__main__"}
    assert len(loose) <= MAX_LOOSE_MODULES


PURE = {"errors", "quick_dataclass"}
"""What those may import that know no other room."""


def test_the_graph_imports_nothing_of_ours_but_itself_and_errors() -> None:
    found = [(p, i) for p in files("graph") for i in imports_of(p)]
    assert len(found) > 20
    wrong = [
        (p, i)
        for p, i in found
        if (is_third_party(i.module) and not ("onnx" in p.parts and first(i.module) in ("numpy", "onnx")))
        or (first(i.module) == "benchmarker" and ours(i.module) not in {"graph", *PURE})
    ]
    assert broken(wrong) == []


DOTTED_WORKER_SIDE = [
    f"benchmarker.{name.replace('/', '.').removesuffix('.__init__')}"
    for name in WORKER_SIDE
    if not name.endswith("__init__")
]


def is_worker_side(module: str) -> bool:
    return any(f"{module}.".startswith(f"{name}.") for name in DOTTED_WORKER_SIDE)


def test_worker_side_imports_only_worker_side() -> None:
    wrong = [
        (p, i)
        for p in files(*WORKER_SIDE)
        for i in imports_of(p)
        if first(i.module) == "benchmarker"
        and i.module != "benchmarker.version.__version__"
        and not is_worker_side(i.module)
    ]
    assert broken(wrong) == []


def test_worker_side_needs_only_numpy_at_import() -> None:
    wrong = [
        (p, i)
        for p in files(*WORKER_SIDE)
        for i in imports_of(p)
        if i.at_top and is_third_party(i.module) and first(i.module) != "numpy"
    ]
    assert broken(wrong) == []


def may_use_onnx(path: Path) -> bool:
    return any("onnx" in part for part in path.parts)


OVER_MPI = {"mpi_communicator": {"mpi4py"}, "mpi_collectives": {"mpi4py"}}
"""What ranks alone import, in an environment that has MPI."""


def test_a_plugin_imports_its_own_framework_only_and_inside_functions() -> None:
    folders = {p.name for p in (PACKAGE / "plugins").iterdir() if p.is_dir()}
    assert folders - {"__pycache__", "common"} == set(OWN_FRAMEWORK)
    wrong = [
        (p, i)
        for plugin, own in OWN_FRAMEWORK.items()
        for p in files(f"plugins/{plugin}")
        for i in imports_of(p)
        if is_third_party(i.module) and first(i.module) not in own | {"numpy"}
    ]
    assert broken(wrong) == []
    others = [p for p in files(*WORKER_SIDE) if "plugins" not in p.parts]
    wrong = [
        (p, i)
        for p in others
        for i in imports_of(p)
        if is_third_party(i.module)
        and first(i.module)
        not in {"numpy", *(["onnx"] if may_use_onnx(p) else []), *OVER_MPI.get(p.stem, ())}
    ]
    assert broken(wrong) == []


def test_no_plugin_knows_a_problem_or_another_but_those_it_is_over() -> None:
    wrong = [
        (p, i)
        for plugin in OWN_FRAMEWORK
        for p in files(f"plugins/{plugin}")
        for i in imports_of(p)
        if i.module.startswith("benchmarker.problems")
        or (
            i.module.startswith("benchmarker.plugins.")
            and i.module.split(".")[2] not in {plugin, "common", "numpy", *FRONT_ENDS.get(plugin, ())}
        )
    ]
    assert broken(wrong) == []


def test_no_problem_knows_a_framework() -> None:
    allowed = {"graph", "api", "problems", *PURE}
    wrong = [
        (p, i)
        for p in files("problems")
        for i in imports_of(p)
        if is_third_party(i.module) or (first(i.module) == "benchmarker" and ours(i.module) not in allowed)
    ]
    assert broken(wrong) == []


def test_no_framework_is_imported_by_the_orchestrators_side() -> None:
    frameworks = set().union(*OWN_FRAMEWORK.values()) - {"numpy"}
    rest = {p for p in set(files()) - set(files("plugins")) if not may_use_onnx(p)}
    wrong = [(p, i) for p in sorted(rest) for i in imports_of(p) if first(i.module) in frameworks]
    assert broken(wrong) == []


def test_nothing_imports_the_command_line() -> None:
    may = {PACKAGE / "__main__.py", *files("cli")}
    wrong = [
        (p, i)
        for p in files()
        if p not in may
        for i in imports_of(p)
        if i.module.startswith("benchmarker.cli")
    ]
    assert broken(wrong) == []


ALONE = """
import importlib, sys

class Only:
    def find_spec(self, name, path=None, target=None):
        first = name.partition(".")[0]
        if first in sys.stdlib_module_names or first in ("numpy", "benchmarker"):
            parts = name.split(".")
            allowed = sys.argv[1].split(",")
            inside = (f"{w}." for w in allowed if f"{w}.".startswith(f"{name}.") or f"{name}.".startswith(f"{w}."))
            if first != "benchmarker" or len(parts) == 1 or any(inside):
                return None
        raise ImportError(f"{name} is not for the worker")

sys.meta_path.insert(0, Only())
for name in sys.argv[2:]:
    importlib.import_module(name)
"""


def modules(*names: str) -> list[str]:
    return [dotted(path) for path in files(*names)]


def test_every_module_of_the_worker_imports_with_numpy_alone() -> None:
    # The bootstrap is a script and runs when it is imported.
    wanted = [name for name in modules(*WORKER_SIDE) if name != "benchmarker.worker.bootstrap"]
    assert len(wanted) > 60
    command = [sys.executable, "-c", ALONE, ",".join(DOTTED_WORKER_SIDE), *wanted]
    child = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert child.returncode == 0, child.stderr


# --- size ----------------------------------------------------------------------------------------


def test_files_stay_short() -> None:
    lengths = {name_of(path): len(path.read_text().splitlines()) for path in files()}
    assert {name: lines for name, lines in lengths.items() if lines > MAX_FILE_LINES} == {}


def test_functions_stay_short() -> None:
    long = [
        f"{name_of(path)}: {node.name}: {node.end_lineno - node.lineno + 1} lines"
        for path in files()
        for node in nodes_of(path)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        and node.end_lineno is not None
        and node.end_lineno - node.lineno + 1 > MAX_FUNCTION_LINES
    ]
    assert long == []


# --- what workers send ---------------------------------------------------------------------------


def sent() -> Iterator[tuple[Path, str, set[str]]]:
    """Yield every event that workers send, and the members that are named where it is sent."""
    for path in files("worker"):
        for node in nodes_of(path):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
                continue
            channel = ast.unparse(node.func.value).rpartition(".")[2].lstrip("_")
            if node.func.attr == "send" and (channel == "channel" or path.stem == "channel"):
                kind = node.args[0]
                assert isinstance(kind, ast.Constant), path
                assert isinstance(kind.value, str), path
                yield path, kind.value, {keyword.arg for keyword in node.keywords if keyword.arg}


def test_every_event_and_member_that_workers_send_is_declared() -> None:
    declared: dict[str, set[str]] = {}
    for job in EVENTS:
        for kind, event in kinds_of(job).items():
            declared.setdefault(kind, set()).update(event.__struct_fields__)
    found = list(sent())
    assert {kind for _, kind, _ in found} == set(declared)
    undeclared = {str(path): names - declared[kind] for path, kind, names in found if names - declared[kind]}
    assert undeclared == {}


def test_every_member_of_what_the_timed_part_gives_is_declared() -> None:
    measured = next(
        node
        for node in nodes_of(PACKAGE / "worker" / "measurement" / "timing_protocol.py")
        if isinstance(node, ast.FunctionDef) and node.name == "to_json"
    )
    (given,) = (node for node in ast.walk(measured) if isinstance(node, ast.Dict))
    names = {key.value for key in given.keys if isinstance(key, ast.Constant)}
    assert names <= set(kinds_of("run")["result"].__struct_fields__)


def test_every_kind_of_job_has_its_events() -> None:
    assert set(EVENTS) == set(KINDS)


def test_one_module_has_msgspec_read_values() -> None:
    """It has threads meet types one after the other, without which they crash."""
    reading = {"msgspec.convert", "msgspec.json.decode", "msgspec.json.Decoder"}
    found = {
        name_of(path)
        for path in files()
        for node in nodes_of(path)
        if isinstance(node, ast.Attribute)
        and node.attr in ("convert", "decode", "Decoder")
        and ast.unparse(node) in reading
    }
    assert found == {"benchmarker/machine/typed_values.py"}
