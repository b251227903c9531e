"""Where in a plug-in's own code an error came about."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Optional


def own_place(error: BaseException, module: str) -> str:
    """Return the last line of a plug-in's own that ran before an error.

    Parameters
    ----------
    error : BaseException
        What was raised, with its traceback.
    module : str
        A module of the plug-in; its whole package is the plug-in's, of ours that of one plug-in alone.

    Returns
    -------
    str
        ``" (package/module.py, line 7)"``; empty if no line of the plug-in's own ran.
    """
    code = _code_of(module)
    return "" if code is None else place_below(error, code)


def place_below(error: BaseException, code: Path) -> str:
    """Return the last line that ran of a file, or of any below a folder, as :func:`own_place` does."""
    import traceback

    places = [(frame.filename, frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    if isinstance(error, SyntaxError) and error.filename is not None:
        places.append((error.filename, error.lineno))
    for name, line in reversed(places):
        path = Path(name)
        if path == code or code in path.parents:
            return f" ({path.relative_to(code.parent)}, line {line})"
    return ""


def _code_of(module: str) -> Optional[Path]:
    """Return the folder or file of a plug-in."""
    package = module.rpartition(".")[0] if module.startswith("benchmarker.") else module.partition(".")[0]
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        return None
    if spec is None or spec.origin is None:
        return None
    path = Path(spec.origin)
    return path.parent if path.name == "__init__.py" else path
