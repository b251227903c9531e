"""Problems that are files of their own: a Python module, or an ONNX model that was unpacked."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarker.problem import Problem

_PYTHON, _ONNX = "file:", "onnx:"


@dataclass(frozen=True)
class ProblemFile:
    """A plugin made from a file.

    Parameters
    ----------
    problem : Problem
        Named after the file; its semantics are the file's content, so that others are not compared with it.
    """

    problem: Problem

    def benchmarker_problem(self) -> Problem:
        """Return the problem."""
        return self.problem


def is_problem_file(value: str) -> bool:
    """Tell whether an entry's value is a file's, and not a module's."""
    return value.startswith((_PYTHON, _ONNX))


def python_value(path: Path) -> str:
    """Return the value of the entry of a Python file."""
    return f"{_PYTHON}{path}"


def onnx_value(folder: Path, path: Path, digest: str) -> str:
    """Return the value of the entry of the model at ``path``, which is unpacked in ``folder``."""
    return f"{_ONNX}{json.dumps([str(folder), str(path), digest])}"


def onnx_name(path: Path) -> str:
    """Return the name of the problem of the model at ``path``."""
    return f"{_ONNX}{path}"


def python_files(value: str) -> list[Path]:
    """Return the Python files that only this problem is made of."""
    return [Path(value[len(_PYTHON) :])] if value.startswith(_PYTHON) else []


def load_problem_file(value: str) -> ProblemFile:
    """Return the plugin of a file.

    Raises
    ------
    AttributeError
        If a Python file defines no ``benchmarker_problem()``.
    """
    if value.startswith(_PYTHON):
        return ProblemFile(_from_python(Path(value[len(_PYTHON) :])))
    from benchmarker.onnx_model.problem import imported_problem

    folder, path, digest = json.loads(value[len(_ONNX) :])
    return ProblemFile(imported_problem(Path(folder), onnx_name(Path(path)), digest))


def _from_python(path: Path) -> Problem:
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    spec = importlib.util.spec_from_file_location(f"benchmarker_problem_{digest[:16]}", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"'{path}' is no Python file")
    module: Any = importlib.util.module_from_spec(spec)
    # Annotations of its dataclasses are looked up there.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    described: Any = module.benchmarker_problem()
    if not isinstance(described, Problem):
        raise TypeError(f"benchmarker_problem() returned {type(described).__name__}, not Problem")
    return replace(described, name=str(path), semantics=int(digest[:12], 16))
