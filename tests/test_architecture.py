"""The rules of the architecture: who may import whom, on which Python, and how long a piece of code may be."""

from __future__ import annotations

import ast
import configparser
import functools
import importlib
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from benchmarker import registry
from benchmarker.options import option_types
from tests.conftest import ROOT

PACKAGE = ROOT / "benchmarker"
WORKER_SIDE = (
    "errors",
    "framework",
    "graph",
    "layouts",
    "options",
    "plugins",
    "problem",
    "problems",
    "statistics",
    "straight_line",
    "testing",
    "worker",
)
"""Modules and packages that run inside the worker."""
OWN_FRAMEWORK = {
    "numpy": {"numpy"},
    "pytorch": {"torch"},
    "tensorflow": {"tensorflow"},
    "mxnet": {"mxnet"},
    "chainer": {"chainer", "cupy"},
}
DISTRIBUTIONS = {"cpuinfo": "py-cpuinfo", "pynvml": "nvidia-ml-py"}
"""Where the name of a distribution is not that of its module."""
OPTIONAL = {"pandas"}
LONGEST_FUNCTION = 60
LONGEST_FILE = 450
OLDEST_WORKER_PYTHON = (3, 9)


@dataclass(frozen=True)
class Import:
    """One imported name; ``at_top`` if it is imported when the module is."""

    module: str
    line: int
    at_top: bool


@functools.cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(), str(path))


def files(*names: str) -> list[Path]:
    """Return the files of modules and packages of ours; all without names."""
    if not names:
        return sorted(PACKAGE.rglob("*.py"))
    found = [p for name in names for p in (PACKAGE / name).rglob("*.py")]
    return sorted(found + [p for name in names if (p := PACKAGE / f"{name}.py").is_file()])


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def imports(node: ast.AST, at_top: bool = True) -> Iterator[Import]:
    """Yield all imports below a node but those for the type checker alone."""
    for child in ast.iter_child_nodes(node):
        if is_type_checking(child):
            continue
        if isinstance(child, ast.Import):
            yield from (Import(alias.name, child.lineno, at_top) for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            assert child.level == 0, "imports are absolute"
            yield from (Import(f"{child.module}.{alias.name}", child.lineno, at_top) for alias in child.names)
        inside = isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        yield from imports(child, at_top and not inside)


def first(module: str) -> str:
    return module.partition(".")[0]


def ours(module: str) -> str:
    """Return the second part of a module of ours, e.g. ``graph``."""
    return module.split(".")[1]


def is_third_party(module: str) -> bool:
    return first(module) not in sys.stdlib_module_names and first(module) != "benchmarker"


def broken(found: list[tuple[Path, Import]]) -> list[str]:
    return [f"{name_of(path)}:{item.line} imports {item.module}" for path, item in found]


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
        if is_third_party(i.module) and first(i.module) != "numpy"
    ]
    assert broken(wrong) == []


def test_no_plugin_knows_another_or_a_problem() -> None:
    wrong = [
        (p, i)
        for plugin in OWN_FRAMEWORK
        for p in files(f"plugins/{plugin}")
        for i in imports(tree(p))
        if i.module.startswith("benchmarker.problems")
        or (
            i.module.startswith("benchmarker.plugins.")
            and i.module.split(".")[2] != plugin
            and i.module.split(".")[2] != "numpy"
        )
    ]
    assert broken(wrong) == []


def test_no_problem_knows_a_framework() -> None:
    allowed = {"framework", "graph", "problem", "problems"}
    wrong = [
        (p, i)
        for p in files("problems")
        for i in imports(tree(p))
        if is_third_party(i.module) or (first(i.module) == "benchmarker" and ours(i.module) not in allowed)
    ]
    assert broken(wrong) == []


def test_no_framework_is_imported_by_the_orchestrators_side() -> None:
    frameworks = set().union(*OWN_FRAMEWORK.values()) - {"numpy"}
    rest = set(files()) - set(files("plugins"))
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
    "experiment": {"framework"},
    "statistics": set(),
    "schema": {"statistics", "schema"},
    "hookspecs": set(),
    "store": {"errors", "schema", "results"},
    "registry": {"errors", "framework", "hookspecs", "launchers", "problem", "__version__"},
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


# --- the oldest Python ---------------------------------------------------------------------------

NEWER = {
    "dataclasses": {"KW_ONLY"},
    "contextlib": {"aclosing", "chdir"},
    "datetime": {"UTC"},
    "enum": {"StrEnum"},
    "hashlib": {"file_digest"},
    "inspect": {"get_annotations"},
    "itertools": {"pairwise", "batched"},
    "math": {"cbrt", "exp2", "sumprod"},
    "operator": {"call"},
    "sys": {"stdlib_module_names", "orig_argv", "exception"},
    "tomllib": {"*"},
    "types": {"NoneType", "UnionType", "EllipsisType"},
    "typing": {
        *(
            "Concatenate",
            "LiteralString",
            "Never",
            "NotRequired",
            "ParamSpec",
            "Required",
            "Self",
            "TypeAlias",
        ),
        *(
            "TypeGuard",
            "TypeVarTuple",
            "Unpack",
            "assert_never",
            "assert_type",
            "dataclass_transform",
            "override",
        ),
        *("reveal_type",),
    },
}
"""What came after Python 3.9, by module."""
NEWER_METHODS = {"add_note", "bit_count"}
NEWER_NAMES = {"aiter", "anext", "ExceptionGroup", "BaseExceptionGroup", "EncodingWarning"}
NEWER_KEYWORDS = {("zip", "strict"), ("dataclass", "slots"), ("dataclass", "kw_only"), ("map", "strict")}
TYPE_NAMES = {
    *("int", "str", "float", "bool", "bytes", "dict", "list", "set", "tuple", "type", "object", "complex"),
    *("Any", "Path", "Mapping", "Sequence", "Callable", "Iterable"),
}


def evaluated(node: ast.AST) -> Iterator[ast.AST]:
    """Yield all nodes that run, which annotations do not."""
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not is_type_checking(child):
                yield child
                yield from evaluated(child)


def is_type(node: ast.AST) -> bool:
    if isinstance(node, ast.Constant):
        return node.value is None
    if isinstance(node, ast.Subscript):
        return is_type(node.value)
    return isinstance(node, ast.Name) and node.id in TYPE_NAMES


def callee(node: ast.Call) -> str:
    function = node.func
    return function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")


def too_new(module: ast.Module) -> Iterator[str]:
    """Yield what Python 3.9 would refuse when it runs the module."""
    for item in imports(module):
        head, _, name = item.module.rpartition(".")
        if name in NEWER.get(head, ()) or first(item.module) == "tomllib":
            yield f"line {item.line}: {item.module}"
    for node in evaluated(module):
        line = getattr(node, "lineno", 0)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            if is_type(node.left) or is_type(node.right):
                yield f"line {line}: a union of types that is evaluated"
        elif isinstance(node, ast.Call):
            yield from (
                f"line {line}: {callee(node)}({k.arg}=)"
                for k in node.keywords
                if (callee(node), k.arg) in NEWER_KEYWORDS
            )
        elif isinstance(node, ast.Attribute):
            owner = node.value.id if isinstance(node.value, ast.Name) else ""
            if node.attr in NEWER_METHODS or node.attr in NEWER.get(owner, ()):
                yield f"line {line}: {owner}.{node.attr}"
        elif isinstance(node, ast.Name) and node.id in NEWER_NAMES:
            yield f"line {line}: {node.id}"


@pytest.mark.parametrize("path", [*files(*WORKER_SIDE), PACKAGE / "__init__.py"], ids=name_of)
def test_worker_side_runs_on_the_oldest_python(path: Path) -> None:
    source = path.read_text()
    ast.parse(source, feature_version=OLDEST_WORKER_PYTHON)
    assert list(too_new(tree(path))) == []


@pytest.mark.parametrize(
    "source",
    [
        "x = int | None",
        "def f(a=str | int): pass",
        "isinstance(3, int | str)",
        "Handler = list[int] | None",
        "for a, b in zip(x, y, strict=True): pass",
        "@dataclass(slots=True)\nclass A: pass",
        "from itertools import pairwise",
        "import itertools\nitertools.pairwise(x)",
        "from typing import Self",
        "import tomllib",
        "error.add_note('x')",
        "anext(x)",
    ],
)
def test_what_is_too_new_is_found(source: str) -> None:
    assert len(list(too_new(ast.parse(source)))) >= 1


@pytest.mark.parametrize(
    "source",
    ["def f(a: int | None) -> str | None: pass", "x: int | None = None", "flags = 1 | mask", "d = a | b"],
)
def test_what_is_old_enough_is_not_found(source: str) -> None:
    assert list(too_new(ast.parse(source))) == []


def test_a_match_statement_is_too_new() -> None:
    with pytest.raises(SyntaxError):
        ast.parse("match x:\n    case 1: pass", feature_version=OLDEST_WORKER_PYTHON)


@pytest.mark.parametrize("path", [p for p in files() if p.read_text()], ids=name_of)
def test_annotations_are_never_evaluated(path: Path) -> None:
    names = {i.module for i in imports(tree(path))}
    simple = all(isinstance(node, ast.Expr) for node in tree(path).body)
    assert simple or "__future__.annotations" in names


# --- plugins and packaging -----------------------------------------------------------------------


@functools.cache
def setup() -> configparser.ConfigParser:
    parser = configparser.ConfigParser()
    assert parser.read(ROOT / "setup.cfg")
    return parser


def lines(section: str, option: str) -> list[str]:
    return [line.strip() for line in setup().get(section, option).splitlines() if line.strip()]


ENTRY_POINTS = [
    (group, *(part.strip() for part in line.split("=", 1)))
    for group in setup().options("options.entry_points")
    for line in lines("options.entry_points", group)
]


@pytest.mark.parametrize(
    ("group", "name", "value"), ENTRY_POINTS, ids=[f"{g}-{n}" for g, n, _ in ENTRY_POINTS]
)
def test_every_entry_point_exists(group: str, name: str, value: str) -> None:
    module, _, attribute = value.partition(":")
    found = importlib.import_module(module)
    for part in filter(None, attribute.split(".")):
        found = getattr(found, part)
    assert found is not None


FRAMEWORKS = [name for group, name, _ in ENTRY_POINTS if group == "benchmarker.frameworks"]
PROBLEMS = [name for group, name, _ in ENTRY_POINTS if group == "benchmarker.problems"]


def test_every_built_in_plugin_has_an_entry_point() -> None:
    assert sorted(FRAMEWORKS) == sorted(OWN_FRAMEWORK)
    written = {p.stem for p in (PACKAGE / "problems").glob("*.py")} - {"__init__"}
    assert {v.rpartition(".")[2] for g, _, v in ENTRY_POINTS if g == "benchmarker.problems"} == written


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_an_extra_gives_the_plugins_requirements(name: str) -> None:
    assert sorted(lines("options.extras_require", name)) == sorted(registry.framework(name).requirements)


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_a_plugin_names_an_implementation_of_its_own(name: str) -> None:
    module, _, attribute = registry.framework(name).implementation.partition(":")
    assert module.startswith(f"benchmarker.plugins.{name}.")
    assert isinstance(getattr(importlib.import_module(module), attribute), type)


@pytest.mark.parametrize("name", FRAMEWORKS + PROBLEMS)
def test_options_have_types_that_text_can_give(name: str) -> None:
    options = registry.framework(name).options if name in FRAMEWORKS else registry.problem(name).parameters
    assert set(option_types(options).values()) <= {bool, int, float, str}
    assert options() == options()


def test_the_orchestrator_needs_python_3_10() -> None:
    assert setup().get("options", "python_requires") == ">=3.10"


def test_everything_that_is_imported_is_required() -> None:
    frameworks = set().union(*OWN_FRAMEWORK.values()) - {"numpy"}
    imported = {first(i.module) for p in files() for i in imports(tree(p)) if is_third_party(i.module)}
    needed = {DISTRIBUTIONS.get(name, name) for name in imported - frameworks - OPTIONAL}
    required = {line.partition(">=")[0] for line in lines("options", "install_requires")}
    assert needed == required


def test_every_package_is_a_package() -> None:
    folders = {p.parent for p in files()}
    assert [name_of(folder) for folder in sorted(folders) if not (folder / "__init__.py").is_file()] == []


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
