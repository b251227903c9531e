"""Programs of the tests under a framework's own interpreter."""

from __future__ import annotations

import json
import os
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from benchmarker import registry
from benchmarker.execution.environments import resolve
from tests.conftest import CACHE_HOME, ROOT
from tests.support.quick_compilers import QUICK_COMPILERS, kept_compilations


@cache
def interpreter(framework: str, home: Path = CACHE_HOME) -> str:
    """Return the Python of a framework's environment, which is made under ``home`` if it is not there."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BENCHMARKER_HOME", str(home))
        return str(resolve(registry.framework(framework), choice="managed", progress=print).path)


def output(framework: str, *arguments: str, folder: Path | None = None, **variables: str) -> str:
    """Return what Python prints in a framework's environment.

    Parameters
    ----------
    framework : str
        Its name.
    *arguments : str
        After the interpreter: ``-c SCRIPT`` or ``-m MODULE``, with arguments of theirs.
    folder : Path, optional
        The working directory.
    **variables : str
        Environment variables besides those of the plug-in.
    """
    plugin = registry.framework(framework)
    finished = subprocess.run(
        [interpreter(framework), "-s", *arguments],
        cwd=folder,
        env={
            **plugin.environment_defaults,
            **os.environ,
            **plugin.environment,
            **kept_compilations(CACHE_HOME),
            **QUICK_COMPILERS,
            "PYTHONPATH": str(ROOT),
            **variables,
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr[-5000:]
    return finished.stdout


def answer(framework: str, *arguments: str, **options: Any) -> Any:
    """Return the JSON of the last line that Python prints in a framework's environment; see :func:`output`."""
    return json.loads(output(framework, *arguments, **options).splitlines()[-1])


def verdicts(framework: str, module: str, *arguments: str, **options: Any) -> dict[str, str]:
    """Run a module of ``tests.in_framework``; return why each of its checks failed, or an empty text.

    Frameworks print to standard output too, so only its lists count.
    """
    printed = output(framework, "-m", f"tests.in_framework.{module}", *arguments, **options)
    return dict(json.loads(line) for line in printed.splitlines() if line.startswith("["))
