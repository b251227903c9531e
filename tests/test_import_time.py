"""What answers at once imports nothing heavy; the time itself is measured in ``benchmarks/command.py``."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.conftest import Command

HEAVY = {
    "chainer",
    "cpuinfo",
    "cupy",
    "duckdb",
    "jinja2",
    "jsonschema_rs",
    "matplotlib",
    "mxnet",
    "numpy",
    "pandas",
    "plotly",
    "polars",
    "psutil",
    "pyarrow",
    "pynvml",
    "tensorflow",
    "torch",
}


def imported(command: Command, *arguments: str) -> set[str]:
    """Return the top-level packages that a Python with these arguments imports."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", *arguments],
        cwd=command.folder,
        env=command.environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return set(re.findall(r"^import time:.*\| +(\w+)", done.stderr, re.MULTILINE))


@pytest.mark.parametrize(
    "arguments",
    [
        ("--help",),
        ("list",),
        ("list", "frameworks", "--json"),
        ("run", "--help"),
        ("env", "list"),
        ("report", "--help"),
    ],
    ids=" ".join,
)
def test_a_command_that_runs_nothing_imports_nothing_heavy(
    command: Command, arguments: tuple[str, ...]
) -> None:
    found = imported(command, "-m", "benchmarker", *arguments)
    assert "benchmarker" in found
    assert not found & HEAVY


def test_such_an_import_would_be_seen(command: Command) -> None:
    assert "numpy" in imported(command, "-c", "import numpy.linalg")
