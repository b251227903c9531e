"""Where the worker finds our side of the code: exactly the top-level packages a run needs."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from benchmarker.errors import PluginError
from benchmarker.execution.distributions import Distribution, InstalledFolder, distributions
from benchmarker.problems.files import module_of


def import_roots(values: Iterable[str]) -> dict[str, str]:
    """Return the folder that holds each top-level package of these entry points, and our own.

    Works alike for an installed wheel, an editable install and a checkout, since it asks the import
    system of the orchestrator.

    Parameters
    ----------
    values : iterable of str
        Entry points' values, ``module:attribute``, or those of problems that are made from files.

    Raises
    ------
    PluginError
        If a package is not in an ordinary folder.
    """
    names = {"benchmarker", *(module_of(value).split(".")[0] for value in values)}
    siblings = _siblings(frozenset(names - {"benchmarker"}), tuple(sys.path))
    return {name: str(_folder(name)) for name in sorted(names | siblings)}


@cache
def _siblings(others: frozenset[str], path: tuple[str, ...]) -> frozenset[str]:
    """Return the other top-level packages of the distributions that have these: a plug-in may consist of several.

    Left out are those that cannot be found and namespace packages, which the distribution may share with others.
    Reading what all distributions hold takes longer than anything else before a worker, so it is done once for a path.
    """
    found = set[str]()
    for distribution in distributions() if others else ():
        own = _top_level(distribution, others)
        if not own.isdisjoint(others):
            found |= {name for name in own if _is_ordinary(name)}
    return frozenset(found)


def _top_level(distribution: Distribution, wanted: frozenset[str]) -> set[str]:
    """Return the names that a distribution has at the top, by its list of files or what setuptools writes.

    None of one whose list of files has no name that is wanted.
    """
    listed = distribution.read_text("top_level.txt")
    if listed is not None:
        return set(filter(str.isidentifier, listed.split()))
    recorded = distribution.read_text("RECORD")
    if recorded is not None and not any(name in recorded for name in wanted):
        return set()  # most of them, of which some list thousands of files
    files = (
        _only_distribution(distribution, wanted)
        if recorded is None
        else [line.partition(",")[0] for line in recorded.splitlines()]
    )
    parts = [file.split("/") for file in files]
    tops = {part[0] if len(part) > 1 else part[0].removesuffix(".py") for part in parts if part[0] != ".."}
    return {name for name in tops if name.isidentifier() and name != "__pycache__"}


def _only_distribution(distribution: Distribution, wanted: frozenset[str]) -> list[str]:
    """Return what lies beside a distribution that lists no files, if it is the only one in its folder.

    Besides the modules that are wanted, only what a module there imports: all else may be anything.
    """
    folder = Path(distribution.path).parent if isinstance(distribution, InstalledFolder) else None
    if folder is None or len([*folder.glob("*-info")]) != 1:
        return []
    modules = {path.stem: path for path in folder.glob("*.py")}
    packages = {path.parent.name: path for path in folder.glob("*/__init__.py")}
    imported = {name for path in {**modules, **packages}.values() for name in _imports(path)}
    needed = wanted | imported
    return [
        *(f"{name}.py" for name in modules if name in needed),
        *(f"{name}/__init__.py" for name in packages if name in needed),
    ]


def _imports(module: Path) -> set[str]:
    """Return the top-level names that a module imports anywhere."""
    return set(re.findall(r"^\s*(?:from|import)\s+(\w+)", module.read_text(errors="replace"), re.MULTILINE))


def _is_ordinary(name: str) -> bool:
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return False
    return spec is not None and spec.origin is not None and Path(spec.origin).is_file()


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
