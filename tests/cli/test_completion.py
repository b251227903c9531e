"""A real bash completes what is typed, by the script that the command prints."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarker.cli.candidates import FILES, candidates
from benchmarker.cli.completion import SCRIPTS
from benchmarker.cli.main import COMMANDS
from benchmarker.experiment.options import OPTIONS
from benchmarker.registry import names
from tests.conftest import ROOT, Command

RECORD = "2026-11-23T222037Z_numpy-2.4.6_mnist_mlp_training_09ec9314.json"
PROGRAM = """
eval "${SCRIPT:-$(benchmarker completion bash)}"
COMP_LINE=$1
COMP_POINT=${#COMP_LINE}
compopt() { echo "compopt $1 $2"; }
_benchmarker
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture
def shell(command: Command, tmp_path: Path) -> Command:
    """A command whose name a shell finds, in a folder with a record."""
    program = tmp_path / "bin" / "benchmarker"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m benchmarker "$@"\n')
    program.chmod(0o755)
    (command.folder / "results").mkdir(exist_ok=True)
    (command.folder / "results" / RECORD).write_text("{}")
    path = f"{program.parent}{os.pathsep}{command.environment.get('PATH', os.defpath)}"
    return Command(command.folder, {**command.environment, "PATH": path})


def completed(shell: Command, line: str, script: str) -> list[str]:
    """Return what bash offers at the end of a line, by a script; without one by what the command prints."""
    done = subprocess.run(
        [shutil.which("bash") or "bash", "--norc", "-c", PROGRAM, "bash", line],
        cwd=shell.folder,
        env={**shell.environment, "SCRIPT": script},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout.split("\n")[:-1]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("benchmarker res", ["results"]),
        ("benchmarker results sh", ["show"]),
        ("benchmarker --framew", ["compopt -o nospace", "--framework="]),
        ("benchmarker --framework=mxn", ["mxnet"]),
        ("benchmarker --framework mxn", ["mxnet"]),
        ("benchmarker run --framework=numpy,pyt", ["numpy,pytorch"]),
        ("benchmarker run --framework=numpy --problem=mnist_m", ["mnist_mlp"]),
        ("benchmarker run --scheme=side", [""]),
        ("benchmarker run --scheme=neigh", ["neighbours"]),
        ("benchmarker run --mode=inf", ["inference"]),
        ("benchmarker train digits_m", ["digits_mlp"]),
        ("benchmarker plot time_to", ["time_to_target"]),
        ("benchmarker results show ", ["09ec9314", "last"]),
        ("benchmarker rerun --results=elsewhere ", ["last"]),
        ("benchmarker results list status=time", ["timeout"]),
        ("benchmarker results list framework=mxn", ["mxnet"]),
        ("benchmarker results list --sort=timing.step_seconds.med", ["timing.step_seconds.median"]),
        ("benchmarker validate res", ["compopt -o default", ""]),
        ("benchmarker nonsense --fra", [""]),
    ],
)
def test_bash_completes(shell: Command, line: str, expected: list[str]) -> None:
    assert completed(shell, line, SCRIPTS["bash"]) == expected


def test_bash_takes_the_script_from_the_command(shell: Command) -> None:
    assert completed(shell, "benchmarker res", script="") == ["results"]


@pytest.mark.parametrize(
    "line", ["benchmarker '", 'benchmarker "', "benchmarker \\", "benchmarker", "", "benchmarker -- "]
)
def test_no_line_fails(line: str) -> None:
    begun, offered = candidates(line)
    assert all(name.startswith((begun, ":")) for name in offered)


def test_all_commands_and_all_options_of_a_run_are_offered() -> None:
    assert candidates("benchmarker ")[1] == sorted(COMMANDS)
    offered = {name.rstrip("=") for name in candidates("benchmarker run --")[1]}
    shown = {option.flag for option in OPTIONS.values() if not option.is_switch}
    assert shown | {"--framework", "--problem", "--no-verify", "--json"} <= offered
    assert not [name for name in offered if "_" in name]


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_can_be_completed(name: str) -> None:
    assert candidates(f"benchmarker {name} --hel") == ("--hel", ["--help"])


@pytest.mark.parametrize(
    ("option", "kind"),
    [("framework", "frameworks"), ("problem", "problems"), ("suite", "suites"), ("scheme", "schemes")],
)
def test_names_are_those_of_the_plug_ins(option: str, kind: str) -> None:
    found = candidates(f"benchmarker run --{option}=")[1]
    assert found == sorted(f"--{option}={name}" for name in names(kind))


def test_no_name_is_offered_twice_in_a_list() -> None:
    assert candidates("benchmarker --framework=mxnet,mx")[1] == []


def test_files_are_left_to_the_shell() -> None:
    assert candidates("benchmarker run blueprints/")[1] == [FILES]
    assert candidates("benchmarker report -o pa")[1] == [FILES]


@pytest.mark.parametrize("shell_name", SCRIPTS)
def test_each_shell_can_read_its_script(command: Command, shell_name: str, tmp_path: Path) -> None:
    script = command("completion", shell_name)
    assert script.status == 0
    assert f"benchmarker completion {shell_name} --line" in script.stdout
    program = shutil.which(shell_name)
    if program is not None:  # bash is always there, the others where somebody uses them
        file = tmp_path / "script"
        file.write_text(script.stdout)
        assert subprocess.run([program, "-n", str(file)], capture_output=True, check=False).returncode == 0


def test_completing_names_imports_nothing_heavy(command: Command) -> None:
    line = "benchmarker run --framework=num"
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "benchmarker", "completion", "bash", "--line", line],
        cwd=ROOT,
        env=command.environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "numpy\n"
    imported = set(re.findall(r"^import time:.*\| +(\w+)", done.stderr, re.MULTILINE))
    assert not {"numpy", "rich", "msgspec", "pandas"} & imported
