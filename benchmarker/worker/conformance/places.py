"""Where in a plug-in's own code an error came about."""

from __future__ import annotations

import importlib.util
import traceback
from pathlib import Path

from benchmarker.api.framework import FrameworkPlugin


def own_place(error: BaseException, plugin: FrameworkPlugin) -> str:
    """Return ``" (package/module.py, line 7)"``, the last line of the plug-in's own that ran; empty if none did."""
    code = _code_of(plugin)
    if code is None:
        return ""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        path = Path(frame.filename)
        if path == code or code in path.parents:
            return f" ({path.relative_to(code.parent)}, line {frame.lineno})"
    return ""


def _code_of(plugin: FrameworkPlugin) -> Path | None:
    """Return the folder or file of a plug-in's implementation: its whole package, of ours that of one framework."""
    module = plugin.implementation.partition(":")[0]
    package = module.rpartition(".")[0] if module.startswith("benchmarker.") else module.partition(".")[0]
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        return None
    if spec is None or spec.origin is None:
        return None
    path = Path(spec.origin)
    return path.parent if path.name == "__init__.py" else path
