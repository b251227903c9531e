"""A blueprint in Python: executed, and its top-level names read as fields."""

from __future__ import annotations

import ast
import inspect
import runpy
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarker.api.containment import contained
from benchmarker.api.given_values import plain
from benchmarker.api.rules import Found, Steps
from benchmarker.errors import BenchmarkerError, UsageError, first_line, nearest, printable
from benchmarker.experiment.blueprint.document import Document, read_text
from benchmarker.experiment.blueprint.fields import FIELDS
from benchmarker.experiment.blueprint.rysia import RYSIA_FIELDS, Translation

_IMPORT = "from benchmarker import blueprint as bp"
_KNOWN = (*FIELDS, *(name for name in RYSIA_FIELDS if name not in FIELDS))


def read_python(path: Path) -> Document:
    """Execute a Python blueprint and read its fields: Rysia's, and those of TOML blueprints.

    Raises
    ------
    UsageError
        If it cannot be read or ends with an exception.
    """
    assigned = _assigned(path, read_text(path))
    values = _executed(path)
    found: list[Found] = [
        ((name,), f"is not a field of a blueprint{nearest(name, _KNOWN)}; a name of your own begins with _")
        for name, value in values.items()
        if name not in _KNOWN and not _is_tool(value)
    ]
    known = {}
    for name in (name for name in values if name in _KNOWN):
        try:
            known[name] = plain(values[name])
        except RecursionError:
            found.append(((name,), "contains itself or is nested too deeply"))
    translation = Translation(known)
    lines: dict[Steps, int] = {(name,): line for name, line in assigned.items()}
    lines.update({steps: assigned[name] for steps, name in translation.names.items() if name in assigned})
    return Document(
        path,
        translation.fields,
        lines,
        (*found, *translation.found),
        tuple(translation.notes),
        translation.names,
    )


def _assigned(path: Path, text: str) -> dict[str, int]:
    """Return the last line that assigns each name outside functions and classes."""
    try:
        tree = ast.parse(text, str(path))
    except SyntaxError as error:
        raise UsageError(f"{path}:{error.lineno}: the blueprint is not Python: {error.msg}") from None
    except (RecursionError, MemoryError):
        raise UsageError(f"the blueprint '{path}' is nested too deeply") from None
    found: dict[str, int] = {}
    nodes: list[ast.AST] = [tree]
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found[node.id] = max(node.lineno, found.get(node.id, 0))
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            nodes += ast.iter_child_nodes(node)
    return found


def _executed(path: Path) -> dict[str, Any]:
    """Run the file; what it prints goes to standard error."""
    try:
        with contained(f"the blueprint '{path}'", None):
            names = runpy.run_path(str(path), run_name="benchmarker_blueprint")
    except ImportError as error:
        if (error.name or "").partition(".")[0] == "rysia":
            message = f"Rysia's layers are here: write '{_IMPORT}' instead of its import"
            raise UsageError(f"{path}:{_line(error, path)}: {message}") from None
        raise UsageError(_sentence(error, path)) from None
    except (Exception, SystemExit) as error:
        raise UsageError(_sentence(error, path)) from None
    return {name: value for name, value in names.items() if not name.startswith("_")}


def _sentence(error: BaseException, path: Path) -> str:
    text = printable(str(error)) if isinstance(error, BenchmarkerError) else first_line(error)
    return f"{path}:{_line(error, path)}: the blueprint ended with {text}"


def _line(error: BaseException, path: Path) -> int | str:
    """Return the line of the blueprint itself at which an exception passed."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if Path(frame.filename) == path and frame.lineno]
    return lines[-1] if lines else "?"


def _is_tool(value: Any) -> bool:
    """Tell whether a name stands for something to work with rather than for a field's value."""
    return isinstance(value, ModuleType) or inspect.isclass(value) or inspect.isroutine(value)
