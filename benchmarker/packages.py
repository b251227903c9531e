"""Where the worker finds our side of the code: exactly the top-level packages a run needs."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable
from pathlib import Path

from benchmarker.errors import PluginError
from benchmarker.problem_files import is_problem_file


def package_folders(values: Iterable[str]) -> dict[str, str]:
    """Return the folder that holds each top-level package of these entry points, and our own.

    Works alike for an installed wheel, an editable install and a checkout, since it asks the import
    system of the orchestrator.

    Parameters
    ----------
    values : iterable of str
        Entry points' values, ``module:attribute``, or those of problems that are files and have no package.

    Raises
    ------
    PluginError
        If a package is not in an ordinary folder.
    """
    modules = [value.partition(":")[0] for value in values if not is_problem_file(value)]
    names = {"benchmarker", *(module.split(".")[0] for module in modules)}
    return {name: str(_folder(name)) for name in sorted(names)}


def _folder(name: str) -> Path:
    spec = importlib.util.find_spec(name)
    location = spec.origin if spec else None
    if location is None or not Path(location).is_file():
        raise PluginError(
            f"package '{name}' cannot be shown to a worker: it is not a module in an ordinary folder "
            f"({location}); install it unpacked and with an __init__.py"
        )
    path = Path(location)
    return path.parent.parent if path.name == "__init__.py" else path.parent
