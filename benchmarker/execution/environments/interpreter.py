"""Which interpreter runs a framework: the current one, a managed one, or one that the user names."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarker.api.given_values import expanded
from benchmarker.errors import EnvironmentCreationError, UsageError, did_you_mean
from benchmarker.execution.distributions import installed_version
from benchmarker.execution.environments.containers.reference import is_container
from benchmarker.execution.environments.managed import ManagedEnvironment, create, find_managed, managed_at
from benchmarker.execution.environments.places import find_uv, python_of
from benchmarker.execution.environments.recipe import make_recipe
from benchmarker.execution.environments.requirements import (
    current_python_version,
    faults,
    names,
    of_ranks,
    own_distributions,
    python_suits,
    satisfies_version,
    sufficient,
)
from benchmarker.quick_dataclass import dataclass

if TYPE_CHECKING:
    from benchmarker.api.framework import FrameworkPlugin
    from benchmarker.execution.environments.containers.container import Container

CHOICES = ("auto", "current", "managed")
OLDEST_PYTHON = ">=3.9"
_QUERY_SECONDS = 60
_QUERY = """
import sys
sys.path[:1] = []
facts = {"python": "%d.%d.%d" % tuple(sys.version_info[:3]), "versions": {}}
try:
    from importlib import metadata
except ImportError:
    metadata = None
for name in sys.argv[1:] if metadata else ():
    try:
        facts["versions"][name] = metadata.version(name)
    except metadata.PackageNotFoundError:
        pass
import json
print(json.dumps(facts))
"""


@dataclass(frozen=True)
class Interpreter:
    """A Python that can run a framework.

    Parameters
    ----------
    path : str
        Its executable.
    kind : {"current", "managed", "recorded", "path", "container"}
        Where it comes from; ``recorded`` is a managed one that was made from the package list of a record.
    python_version : str
        E.g. ``"3.11.7"``.
    key : str or None
        Name of the managed environment.
    container : Container or None
        The one that it is in.
    """

    path: str
    kind: str
    python_version: str
    key: str | None = None
    container: Container | None = None


@dataclass(frozen=True)
class Availability:
    """Whether a framework can run here.

    Parameters
    ----------
    ready : bool
        Whether a run can start; a managed environment not made yet counts, for the run makes it.
    where : str
        Which interpreter it would use; empty if none.
    reason : str
        Why it cannot run, or why the current interpreter does not do.
    """

    ready: bool
    where: str
    reason: str


def _silent(_: str) -> None:
    """Say nothing."""


def _faults_of_current(
    plugin: FrameworkPlugin, version: str | None, cuda: bool, ranks: bool = False
) -> list[str]:
    found = []
    if not sys.executable:
        found.append("its path is unknown")
    if not python_suits(plugin.python, current_python_version()):
        found.append(f"Python {plugin.python} is required, this is {current_python_version()}")
    of_each = list(map(faults, sufficient(plugin, version, cuda, ranks)))
    found += of_each[0] if all(of_each) else []
    installed = next(filter(None, map(installed_version, own_distributions(plugin))), "") if cuda else ""
    if installed.endswith("+cpu"):
        found.append(f"{plugin.distribution} {installed} is a CPU build")
    return found


def _current() -> Interpreter:
    return Interpreter(sys.executable, "current", current_python_version())


def _managed(environment: ManagedEnvironment) -> Interpreter:
    return Interpreter(environment.python, "managed", environment.python_version, environment.name)


def resolve(
    plugin: FrameworkPlugin,
    *,
    choice: str = "auto",
    version: str | None = None,
    cuda: bool = False,
    ranks: bool = False,
    progress: Callable[[str], None] = _silent,
) -> Interpreter:
    """Return the interpreter for a framework; a managed one is made if it is not there.

    Parameters
    ----------
    plugin : FrameworkPlugin
        The framework.
    choice : str
        ``"auto"`` (the current interpreter if it satisfies the requirements, else a managed one),
        ``"current"``, ``"managed"``, ``"container:[ENGINE:]IMAGE"``, or the path of an interpreter or of a virtual
        environment.
    version : str, optional
        Version of the framework to use instead of the one that the plugin requires.
    cuda : bool
        Whether the run asks for a CUDA device.
    ranks : bool
        Whether it has several ranks, which need MPI.
    progress : callable
        Takes lines that say what is going on.

    Raises
    ------
    UsageError
        If the current or the named interpreter cannot run the framework.
    EnvironmentCreationError
        If the managed environment cannot be made.
    """
    if is_container(choice):
        return _contained(plugin, choice, version, ranks)
    if choice not in CHOICES:
        return _named(plugin, choice, version, ranks)
    if choice != "managed":
        lacking = _faults_of_current(plugin, version, cuda, ranks)
        if not lacking:
            return _current()
        if choice == "current":
            raise UsageError(
                f"the current interpreter {sys.executable} cannot run '{plugin.name}': {'; '.join(lacking)}; "
                "install what it lacks, or use --env managed"
            )
    return _managed(create(make_recipe(plugin, version=version, cuda=cuda, ranks=ranks), progress))


def locate(
    plugin: FrameworkPlugin, *, version: str | None = None, cuda: bool = False, ranks: bool = False
) -> Interpreter | None:
    """Return what :func:`resolve` with ``"auto"`` would, or None where an environment had to be made first."""
    if not _faults_of_current(plugin, version, cuda, ranks):
        return _current()
    found = find_managed(make_recipe(plugin, version=version, cuda=cuda, ranks=ranks).name)
    return None if found is None else _managed(found)


def availability(plugin: FrameworkPlugin) -> Availability:
    """Return whether a framework can run here, and in which interpreter. Runs nothing, asks no network."""
    lacking = "; ".join(_faults_of_current(plugin, None, False))
    if not lacking:
        return Availability(True, "current interpreter", "")
    if find_managed(make_recipe(plugin).name) is not None:
        return Availability(True, "managed environment", lacking)
    try:
        find_uv()
    except EnvironmentCreationError as error:
        return Availability(False, "", f"{lacking}; {error}")
    return Availability(True, "managed environment, made on first use", lacking)


def _executable(choice: str) -> Path:
    path = expanded(choice)
    if path.is_dir() and python_of(path).exists():
        path = python_of(path)
    if not path.exists() and path.name == choice:
        import shutil

        path = Path(shutil.which(choice) or path)
    if path.is_file() and os.access(path, os.X_OK):
        return path.absolute()  # not resolved: a virtual environment's Python is a link
    if path.exists():
        raise UsageError(
            f"--env: '{choice}' is not an executable file; give the path of a Python interpreter"
        )
    hint = did_you_mean(choice, CHOICES) if path.name == choice else ""
    raise UsageError(
        "--env must be auto, current, managed, container:IMAGE or the path of a Python interpreter; "
        f"there is no '{choice}'" + (hint if "mean" in hint else "")
    )


@cache
def _query(path: str, distributions: tuple[str, ...]) -> dict[str, Any]:
    """Run an interpreter once; return its version and those of the distributions that it holds."""
    import subprocess

    dropped = ("PYTHONPATH", "PYTHONHOME")
    environment = {name: value for name, value in os.environ.items() if name not in dropped}
    try:
        done = subprocess.run(
            [path, "-c", _QUERY, *distributions],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=environment,
            timeout=_QUERY_SECONDS,
            check=False,
        )
        facts = json.loads(done.stdout.decode("utf-8", "replace").strip().rpartition("\n")[2])
        return {"python": str(facts["python"]), "versions": dict(facts["versions"])}
    except subprocess.TimeoutExpired:
        raise UsageError(f"--env: '{path}' did not answer within {_QUERY_SECONDS} s") from None
    except OSError as error:
        raise UsageError(f"--env: '{path}' cannot be run: {error.strerror or error}") from None
    except (ValueError, KeyError, TypeError):
        raise UsageError(f"--env: '{path}' does not answer as a Python interpreter does") from None


def _named(plugin: FrameworkPlugin, choice: str, version: str | None, ranks: bool) -> Interpreter:
    path = str(_executable(choice))
    facts = _query(path, _probed_distributions(plugin, ranks))
    _require(plugin, facts, choice, version, ranks, f"'{choice}' -m pip install")
    known = managed_at(path)
    if known is not None and known.recorded:
        return Interpreter(path, "recorded", facts["python"], known.name)
    return Interpreter(path, "path", facts["python"])


def _contained(plugin: FrameworkPlugin, choice: str, version: str | None, ranks: bool) -> Interpreter:
    from benchmarker.execution.environments.containers.opening import open_image

    container, facts = open_image(choice, _probed_distributions(plugin, ranks))
    _require(plugin, facts, choice, version, ranks, "python3 -m pip install")
    return Interpreter(facts["path"], "container", facts["python"], container=container)


def _probed_distributions(plugin: FrameworkPlugin, ranks: bool) -> tuple[str, ...]:
    """Return the distributions whose versions an interpreter is asked for."""
    return (*own_distributions(plugin), *(sorted(names(of_ranks(plugin))) if ranks else ()))


def _require(
    plugin: FrameworkPlugin,
    facts: Mapping[str, Any],
    choice: str,
    version: str | None,
    ranks: bool,
    installing: str,
) -> None:
    """Refuse an interpreter that is too old, or lacks the framework or what else a run needs."""
    distributions = own_distributions(plugin)
    python = facts["python"]
    for specifier, who in ((OLDEST_PYTHON, "benchmarker"), (plugin.python, f"'{plugin.name}'")):
        if not python_suits(specifier, python):
            raise UsageError(f"--env: {who} needs Python {specifier}, '{choice}' is Python {python}")
    installed = next((facts["versions"][name] for name in distributions if name in facts["versions"]), None)
    pin = f"=={version}" if version else ""
    if installed is None:
        raise UsageError(
            f"--env: '{choice}' has no {' or '.join(distributions)}, which '{plugin.name}' needs; "
            f"install it there ({installing} '{distributions[0]}{pin}'), or use --env managed"
        )
    if version and not satisfies_version(version, installed):
        raise UsageError(
            f"--env: {plugin.name}=={version} was asked for, '{choice}' has {installed}; "
            "leave the version out, or use --env managed"
        )
    lacking = [
        name
        for name in _probed_distributions(plugin, ranks)
        if name not in (*distributions, *facts["versions"])
    ]
    if lacking:
        raise UsageError(
            f"--env: '{choice}' has no {' and no '.join(lacking)}, which runs of several ranks need; "
            f"install it there ({installing} {' '.join(lacking)}), or use --env managed"
        )
