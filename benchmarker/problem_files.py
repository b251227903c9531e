"""Problems that are files of their own: a Python module, or an ONNX model that was unpacked.

While a run is made its problem goes by the file's path. A record, which may leave the machine, has the file's name and
the digest of its content instead: that is enough to know the file again, and tells nothing of folders.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarker.errors import UsageError
from benchmarker.problem import Problem

_PYTHON, ONNX = "file:", "onnx:"
_ENDING = ".py"


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


# --- names, as of ``--problem`` ----------------------------------------------------------------------


def names_file(name: str) -> bool:
    """Tell whether a problem's name is that of a file: ``onnx:MODEL`` or ``FILE.py``."""
    return name.startswith(ONNX) or name.endswith(_ENDING)


def path_of(name: str) -> Path:
    """Return the path in the name of a file."""
    return Path(name.removeprefix(ONNX) if name.startswith(ONNX) else name).expanduser().absolute()


def file_of(name: str) -> Path | None:
    """Return the file that a problem's name is of; None for one that is installed."""
    return path_of(name) if names_file(name) else None


def named(name: str, path: Path | str) -> str:
    """Return the name of the same kind of file at another path."""
    return f"{ONNX}{path}" if name.startswith(ONNX) else str(path)


def located(name: str) -> str:
    """Return a problem's name with an absolute path if it is a file's."""
    return named(name, path_of(name)) if names_file(name) else name


def recorded_name(name: str) -> str:
    """Return a problem's name as records have it: of a file without its folder."""
    return named(name, path_of(name).name) if names_file(name) else name


def commanded_name(name: str) -> str:
    """Return a problem's name as a command has it: of a file below the working directory from there."""
    if not names_file(name):
        return name
    path, here = path_of(name), Path.cwd()
    return named(name, path.relative_to(here) if here in path.parents else path)


# --- values, as of an entry point --------------------------------------------------------------------


def is_problem_file(value: str) -> bool:
    """Tell whether an entry's value is a file's, and not a module's."""
    return value.startswith((_PYTHON, ONNX))


def python_value(path: Path) -> str:
    """Return the value of the entry of a Python file."""
    return f"{_PYTHON}{json.dumps([str(path), python_digest(path)])}"


def python_digest(path: Path) -> str:
    """Return the SHA-256 of a Python file, in hexadecimal."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def onnx_value(folder: Path, path: Path, digest: str) -> str:
    """Return the value of the entry of the model at ``path``, which is unpacked in ``folder``."""
    return f"{ONNX}{json.dumps([str(folder), path.name, digest])}"


def described_value(value: str) -> str:
    """Return an entry's value for people: of a file its path or name."""
    return str(_members(value)[-2]) if is_problem_file(value) else value


def python_files(value: str) -> list[Path]:
    """Return the Python files that only this problem is made of."""
    return [Path(_members(value)[0])] if value.startswith(_PYTHON) else []


def _members(value: str) -> list[str]:
    members: list[str] = json.loads(value.partition(":")[2])
    return members


def load_problem_file(value: str) -> ProblemFile:
    """Return the plugin of a file.

    Raises
    ------
    AttributeError
        If a Python file defines no ``benchmarker_problem()``.
    UsageError
        If a Python file has another content than when its entry was made.
    """
    if value.startswith(_PYTHON):
        path, digest = _members(value)
        return ProblemFile(_from_python(Path(path), digest))
    from benchmarker.onnx_model.problem import imported_problem

    folder, name, digest = _members(value)
    return ProblemFile(imported_problem(Path(folder), f"{ONNX}{name}", digest))


def _from_python(path: Path, digest: str) -> Problem:
    if python_digest(path) != digest:
        raise UsageError(f"'{path.name}' must stay as it is while it runs, and it was changed; run it again")
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
    return replace(described, name=path.name, semantics=int(digest[:12], 16))
