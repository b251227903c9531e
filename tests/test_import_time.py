"""What answers at once imports nothing heavy; the time itself is measured in ``benchmarks/command.py``."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from benchmarker.registry import KINDS
from tests.conftest import Command

HEAVY = {
    "chainer",
    "cpuinfo",
    "cupy",
    "duckdb",
    "jinja2",
    "msgspec",
    "matplotlib",
    "mxnet",
    "numpy",
    "paddle",
    "pandas",
    "plotly",
    "polars",
    "psutil",
    "pyarrow",
    "pynvml",
    "rich",
    "tensorflow",
    "tinygrad",
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
        ("list", "operators"),
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


LOADED: dict[tuple[str, ...], set[str]] = {}
"""By arguments: several tests ask of the same commands."""


def modules_after(command: Command, *arguments: str) -> set[str]:
    """Return the modules that are loaded once the command with these arguments has ended, run once for all tests."""
    if arguments not in LOADED:
        LOADED[arguments] = loaded(command, *arguments)
    return LOADED[arguments]


def loaded(command: Command, *arguments: str) -> set[str]:
    """Run the command in an interpreter of its own, and return its modules."""
    program = f"""
import sys
from benchmarker.cli.main import main
try:
    main({list(arguments)!r})
except SystemExit:
    pass
print(*sys.modules, file=sys.stderr)
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=command.folder,
        env=command.environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stderr.split())


LISTS = [("list",), *(("list", kind) for kind in KINDS)]


@pytest.mark.parametrize("arguments", [*LISTS, ("run", "--help")], ids=" ".join)
def test_a_list_needs_neither_the_graph_nor_what_runs_workers(
    command: Command, arguments: tuple[str, ...]
) -> None:
    found = modules_after(command, *arguments)
    assert "benchmarker.cli.terminal" in found
    rooms = {name.split(".")[1] for name in found if name.startswith("benchmarker.")}
    assert not rooms & {"graph", "worker", "machine", "orchestration", "collectors", "records"}
    assert not found & {"packaging", "importlib.metadata", "email", "platform", "configparser"}


PLUGINS_NOT_LOADED = [("list", kind) for kind in ("problems", "collectors", "launchers", "problem_schemes")]


@pytest.mark.parametrize("arguments", [*PLUGINS_NOT_LOADED, ("run", "--help")], ids=" ".join)
def test_what_loads_no_plugin_needs_nothing_that_checks_them(
    command: Command, arguments: tuple[str, ...]
) -> None:
    assert not modules_after(command, *arguments) & {"pluggy", "hashlib", "shutil"}


def test_such_an_import_would_be_seen(command: Command) -> None:
    assert "numpy" in imported(command, "-c", "import numpy.linalg")


RUN = """
import sys
from benchmarker.cli.main import main
from benchmarker.orchestration import orchestrator

def note(event, arguments):
    if event == "subprocess.Popen" and any("bootstrap" in str(argument) for argument in arguments[1]):
        print("at the start:", *sys.modules, file=sys.stderr)

def record_of(*arguments):
    before = set(sys.modules)
    found = make_record_of(*arguments)
    print("for the record:", *set(sys.modules) - before, file=sys.stderr)
    return found

sys.addaudithook(note)
make_record_of, orchestrator.record_of = orchestrator.record_of, record_of
main(["--framework=numpy", "--problem=mnist_mlp", "--steps=20", "--warmup=0", "--no-verify", "--quiet"])
print("at the end:", *sys.modules, file=sys.stderr)
"""
LOADED_BY_RUN: dict[str, set[str]] = {}


def modules_of_run(command: Command, moment: str) -> set[str]:
    """Return the modules that are loaded at a moment of a run, which is made once for all tests."""
    if not LOADED_BY_RUN:
        done = subprocess.run(
            [sys.executable, "-c", RUN],
            cwd=command.folder,
            env=command.environment,
            capture_output=True,
            text=True,
            check=True,
        )
        lines = (line.partition(":") for line in done.stderr.splitlines())
        LOADED_BY_RUN.update({name: set(modules.split()) for name, _, modules in lines})
    return LOADED_BY_RUN[moment]


@pytest.mark.framework("numpy")
def test_the_first_worker_starts_before_numpy_or_a_blueprint_is_loaded(command: Command) -> None:
    found = modules_of_run(command, "at the start")
    assert "benchmarker.execution.isolated" in found
    assert not found & {"numpy", "msgspec", "orjson", "packaging", "importlib.metadata", "email", "tomllib"}
    assert not any(name.startswith("benchmarker.experiment.blueprint") for name in found)


@pytest.mark.framework("numpy")
def test_what_makes_a_record_is_loaded_while_the_worker_starts(command: Command) -> None:
    loaded_late = modules_of_run(command, "for the record")
    assert not {name for name in loaded_late if name.startswith(("benchmarker.", "numpy"))}
    at_the_end = modules_of_run(command, "at the end")
    assert {"benchmarker.records.steady_state", "numpy"} <= at_the_end
    assert "numpy.ma" not in at_the_end
