"""The worker's side runs on Python 3.9, so that releases of years ago can be measured too."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

import pytest

from tests.support.package_sources import (
    PACKAGE,
    SOURCES,
    WORKER_SIDE,
    files,
    first,
    imports,
    imports_of,
    is_type_checking,
    name_of,
    tree,
)

pytestmark = pytest.mark.xdist_group(SOURCES)

OLDEST_WORKER_PYTHON = (3, 9)
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


def evaluated(module: ast.AST) -> list[ast.AST]:
    """Return all nodes that run, which annotations do not."""
    found: list[ast.AST] = []
    for node in itertools.chain([module], found):  # which grows
        for field, value in ast.iter_fields(node):
            if field not in ("annotation", "returns"):
                children = value if isinstance(value, list) else [value]
                found += [n for n in children if isinstance(n, ast.AST) and not is_type_checking(n)]
    return found


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


def test_worker_side_runs_on_the_oldest_python() -> None:
    found: dict[str, list[str]] = {}
    for path in (*files(*WORKER_SIDE), PACKAGE / "__init__.py"):
        ast.parse(path.read_text(), name_of(path), feature_version=OLDEST_WORKER_PYTHON)
        found[name_of(path)] = list(too_new(tree(path)))
    assert {name: faults for name, faults in found.items() if faults} == {}


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


def has_annotations(module: ast.Module) -> bool:
    return any(getattr(node, name, None) for node in ast.walk(module) for name in ("annotation", "returns"))


# The structs of a record are read from their annotations, in an interpreter of the orchestrator's.
UNEVALUATED = [path for path in files() if "schema" not in path.parts]


def test_annotations_are_never_evaluated() -> None:
    evaluated = [
        name_of(path)
        for path in UNEVALUATED
        if "__future__.annotations" not in {i.module for i in imports_of(path)}
        and has_annotations(tree(path))
    ]
    assert evaluated == []


def test_annotations_are_seen() -> None:
    assert any(has_annotations(tree(path)) for path in UNEVALUATED)
    assert has_annotations(ast.parse("def f(a: int): pass"))
    assert not has_annotations(ast.parse("def f(a): pass"))
