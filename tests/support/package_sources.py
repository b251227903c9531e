"""The package's own source, read for the tests of its rules."""

from __future__ import annotations

import ast
import functools
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import ROOT

PACKAGE = ROOT / "benchmarker"
SOURCES = "sources"
"""The group of tests that parse all of ours: one process does it for all."""
WORKER_SIDE = (
    "version",
    "errors",
    "quick_dataclass",
    "files",
    "cache",
    "statistics",
    "graph",
    "api",
    "machine/procfs",
    "problems",
    "data/__init__",
    "data/augmentation",
    "data/augmentation_steps",
    "data/resized_crop",
    "data/batch_inputs",
    "data/batches",
    "data/evaluation",
    "data/feeding",
    "data/feeding_child",
    "data/feeding_process",
    "data/latency/__init__",
    "data/latency/timing",
    "data/named_options",
    "data/page_cache",
    "data/sample_draws",
    "data/samplers",
    "data/shared_slots",
    "data/splits",
    "data/stored",
    "data/training_batches",
    "data/values",
    "training",
    "distributed",
    "plugins",
    "worker",
    "testing",
)
"""Modules and packages that run inside the worker."""
OWN_FRAMEWORK = {
    "numpy": {"numpy"},
    "pytorch": {"torch"},
    "tensorflow": {"tensorflow"},
    "mxnet": {"mxnet"},
    "chainer": {"chainer", "chainermn", "cupy"},
    "cudnn": set(),
    "cupy": {"cupy", "cupyx"},
    "iree": {"iree", "onnx"},
    "onednn": set(),
    "onnxruntime": {"onnxruntime", "onnx"},
    "opencv": {"cv2"},
    "openblas": {"scipy_openblas32"},
    "openvino": {"openvino"},
    "jax": {"jax", "jaxlib"},
    "paddle": {"paddle"},
    "tinygrad": {"tinygrad"},
    "keras": {"keras", "jax", "jaxlib", "tensorflow", "torch"},
}

FRONT_ENDS = {"keras": {"jax", "pytorch", "tensorflow"}}
"""Plugins over others, whose profilers they use."""


@dataclass(frozen=True)
class Import:
    """One imported name; ``at_top`` if it is imported when the module is."""

    module: str
    line: int
    at_top: bool


@functools.cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(), str(path))


@functools.cache
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    """Return all nodes of a file."""
    return tuple(ast.walk(tree(path)))


@functools.cache
def imports_of(path: Path, *, types: bool = False) -> tuple[Import, ...]:
    """Return all imports of a file; those for the type checker alone too if ``types``."""
    return tuple(imports(tree(path), types=types))


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


def imports(node: ast.AST, at_top: bool = True, types: bool = False) -> Iterator[Import]:
    """Yield all imports below a node; those for the type checker alone too if ``types``."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr) or (not types and is_type_checking(child)):
            continue
        if isinstance(child, ast.Import):
            yield from (Import(alias.name, child.lineno, at_top) for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            assert child.level == 0, "imports are absolute"
            yield from (Import(f"{child.module}.{alias.name}", child.lineno, at_top) for alias in child.names)
        inside = isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef))
        yield from imports(child, at_top and not inside, types)


def first(module: str) -> str:
    return module.partition(".")[0]


def ours(module: str) -> str:
    """Return the second part of a module of ours, e.g. ``graph``."""
    return module.partition(".")[2].partition(".")[0]


def is_third_party(module: str) -> bool:
    return first(module) not in sys.stdlib_module_names and first(module) != "benchmarker"


def broken(found: list[tuple[Path, Import]]) -> list[str]:
    return [f"{name_of(path)}:{item.line} imports {item.module}" for path, item in found]
