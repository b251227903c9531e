"""Interpreters for frameworks: real uv, real processes, real signals; wheels made here, no network."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarker import registry
from benchmarker.api.framework import FrameworkPlugin
from benchmarker.cache import home
from benchmarker.cli import env as env_command
from benchmarker.cli.main import main
from benchmarker.errors import EnvironmentCreationError, UsageError
from benchmarker.execution.environments import (
    Interpreter,
    availability,
    interpreter,
    list_managed,
    locate,
    recipe,
    remove_managed,
    resolve,
)
from benchmarker.execution.environments.interpreter import OLDEST_PYTHON
from benchmarker.execution.environments.places import find_uv
from benchmarker.execution.environments.recipe import make_recipe
from benchmarker.execution.environments.requirements import MPI_REQUIREMENTS, current_python_version
from benchmarker.execution.environments.uv import run

PATIENCE_SECONDS = 60
CHILD = """
import sys, time
from pathlib import Path
from benchmarker.execution.environments import resolve
from benchmarker.api.framework import FrameworkPlugin

gate, stop_at = Path(sys.argv[1]), sys.argv[2]

def progress(line):
    print(line, flush=True)
    while stop_at and line.startswith(stop_at) and not gate.exists():
        time.sleep(0.01)

plugin = FrameworkPlugin("demo", "demo-net", ("demo-net==1.0",), "nowhere:Nothing")
print("at", resolve(plugin, choice="managed", progress=progress).path, flush=True)
"""


def make_plugin(*requirements: str, **more: Any) -> FrameworkPlugin:
    wanted = requirements or ("demo-net==1.0",)
    return FrameworkPlugin("demo", "demo-net", wanted, "nowhere:Nothing", **more)


def make_wheel(folder: Path, name: str, version: str, *requires: str) -> Path:
    module, tag = name.replace("-", "_"), "py3-none-any"
    information = f"{module}-{version}.dist-info"
    metadata = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
    metadata += [f"Requires-Dist: {item}" for item in requires]
    files = {
        f"{module}.py": f"VERSION = {version!r}\n",
        f"{information}/METADATA": "\n".join(metadata) + "\n",
        f"{information}/WHEEL": f"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: {tag}\n",
    }
    files[f"{information}/RECORD"] = "".join(f"{path},,\n" for path in [*files, f"{information}/RECORD"])
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{module}-{version}-{tag}.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for inside, text in files.items():
            archive.writestr(inside, text)
    return path


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home in the test's folder and no settings of pip and uv but a folder of wheels."""
    for name in list(os.environ):
        if name.startswith(("PIP_", "UV_")) and name != "UV_CACHE_DIR":
            monkeypatch.delenv(name)
    for version in ("1.0", "1.1"):
        make_wheel(tmp_path / "wheels", "demo-net", version)
    monkeypatch.setenv("BENCHMARKER_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    return tmp_path / "home"


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[str], subprocess.Popen[str]]]:
    """Starts processes that make the environment, each until its progress says a certain word."""
    started: list[subprocess.Popen[str]] = []
    package = Path(env_command.__file__).parents[2]

    def start_one(stop_at: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", CHILD, str(tmp_path / "gate"), stop_at],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(package)},
        )
        started.append(process)
        return process

    yield start_one
    for process in started:
        process.kill()
        process.communicate()


def read_until(process: subprocess.Popen[str], start: str) -> str:
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith(start):
            return line.strip()
    raise AssertionError(f"the process ended without a line that starts with {start!r}")


def version_in(python: str) -> str:
    command = [python, "-c", "import demo_net; print(demo_net.VERSION)"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def left_in(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "environments").glob("*") if path.name != ".locks")


def second_python() -> str:
    """Return a specifier that this Python does not satisfy and another one does."""
    specifier = f"{OLDEST_PYTHON},!={'.'.join(current_python_version().split('.')[:2])}.*"
    run([find_uv(), "python", "find", specifier], doing="looking", progress=lambda _: None)
    return specifier


def test_an_environment_is_made_from_link_folders_alone_and_used_again(own_home: Path) -> None:
    lines: list[str] = []
    made = resolve(make_plugin(), progress=lines.append)
    assert made.kind == "managed"
    assert made.python_version == current_python_version()
    assert Path(made.path) == own_home / "environments" / str(made.key) / "bin" / "python"
    assert version_in(made.path) == "1.0"
    assert any(line.startswith("Resolved 1 package") for line in lines)
    lines.clear()
    assert resolve(make_plugin(), progress=lines.append) == made
    assert lines == []


def test_settings_of_the_project_the_user_stands_in_are_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = (
        '[project]\nname = "p"\nversion = "1"\n[tool.uv]\nconstraint-dependencies = ["demo-net==1.1"]\n'
    )
    (tmp_path / "pyproject.toml").write_text(settings)
    monkeypatch.chdir(tmp_path)
    assert version_in(resolve(make_plugin()).path) == "1.0"


def test_its_modules_are_compiled_where_they_stay() -> None:
    folder = Path(resolve(make_plugin()).path).parents[1]
    (compiled,) = folder.glob("lib/*/site-packages/__pycache__/demo_net.*.pyc")
    assert str(folder).encode() in compiled.read_bytes()


def test_two_processes_at_once_end_with_one_good_environment(
    own_home: Path, tmp_path: Path, start: Callable[[str], subprocess.Popen[str]]
) -> None:
    first = start("Resolved")
    read_until(first, "Resolved")
    second = start("")
    waiting = read_until(second, "")
    assert waiting.startswith("waiting for another process that makes the environment demo-")
    (tmp_path / "gate").touch()
    place = read_until(first, "at ")
    said = second.communicate(timeout=PATIENCE_SECONDS)[0].splitlines()
    assert said[-1] == place
    assert not any(line.startswith(("making", "Resolved")) for line in said)
    assert version_in(place.removeprefix("at ")) == "1.0"
    assert len(left_in(own_home)) == 1


@pytest.mark.parametrize("moment", ["making", "Resolved", "Installed"])
def test_a_killed_creation_is_never_used(
    own_home: Path, moment: str, start: Callable[[str], subprocess.Popen[str]]
) -> None:
    killed = start(moment)
    read_until(killed, moment)
    half_made = left_in(own_home)
    killed.send_signal(signal.SIGKILL)
    killed.wait(PATIENCE_SECONDS)
    assert locate(make_plugin()) is None
    assert list_managed() == []
    assert all(name.startswith(".") for name in half_made)
    made = resolve(make_plugin())
    assert version_in(made.path) == "1.0"
    assert left_in(own_home) == [made.key]


def test_left_overs_of_the_living_stay(
    own_home: Path, tmp_path: Path, start: Callable[[str], subprocess.Popen[str]]
) -> None:
    busy = start("Installed")
    read_until(busy, "Installed")
    other = resolve(make_plugin("demo-net==1.1"))
    assert len(left_in(own_home)) == 2
    (tmp_path / "gate").touch()
    assert version_in(read_until(busy, "at ").removeprefix("at ")) == "1.0"
    assert version_in(other.path) == "1.1"


def test_a_folder_that_is_not_whole_is_made_anew(own_home: Path) -> None:
    made = resolve(make_plugin())
    folder = own_home / "environments" / str(made.key)
    (folder / "bin" / "python").unlink()
    assert locate(make_plugin()) is None
    assert version_in(resolve(make_plugin()).path) == "1.0"
    (folder / "environment.json").write_text("{")
    assert locate(make_plugin()) is None
    assert version_in(resolve(make_plugin()).path) == "1.0"
    assert left_in(own_home) == [made.key]


def test_what_cannot_be_installed_is_one_sentence_and_leaves_nothing(own_home: Path) -> None:
    with pytest.raises(EnvironmentCreationError) as caught:
        resolve(make_plugin("demo-net==9.9"))
    message = str(caught.value)
    assert message.startswith(
        "the environment for 'demo' (demo-net==9.9) could not be installed: No solution"
    )
    assert "\n" not in message
    assert left_in(own_home) == []


def test_an_interrupted_creation_leaves_nothing(own_home: Path) -> None:
    def interrupt(line: str) -> None:
        if line.startswith("Resolved"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        resolve(make_plugin(), progress=interrupt)
    assert left_in(own_home) == []


def test_a_home_that_cannot_be_written_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("BENCHMARKER_HOME", str(tmp_path / "file" / "home"))
    with pytest.raises(
        EnvironmentCreationError, match="set BENCHMARKER_HOME to a folder that can be written"
    ):
        resolve(make_plugin())


def test_a_python_that_does_not_suit_is_replaced_by_one_that_does() -> None:
    plugin = make_plugin(python=second_python())
    made = resolve(plugin)
    shown = subprocess.run([made.path, "-V"], capture_output=True, text=True, check=True).stdout
    assert shown.strip() == f"Python {made.python_version}"
    assert made.python_version.split(".")[:2] != current_python_version().split(".")[:2]
    assert version_in(made.path) == "1.0"


def test_the_name_follows_from_all_that_decides_the_contents() -> None:
    base = make_recipe(make_plugin("demo-net==1.0", "other"))
    assert base.name == make_recipe(make_plugin("other", "demo-net==1.0")).name
    plugins = [
        make_plugin("demo-net==1.1", "other"),
        make_plugin("demo-net==1.0", "other", build_constraints=("setuptools<80",)),
        make_plugin("demo-net==1.0", "other", python=f"!={current_python_version()}"),
    ]
    names = {make_recipe(plugin).name for plugin in plugins}
    names.add(make_recipe(make_plugin("demo-net==1.0", "other"), version="1.2").name)
    assert len(names | {base.name}) == 5


def test_the_cpu_build_in_the_users_link_folder_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recipe, "nvidia_driver_present", lambda: False)
    for version in ("2.13.0", "2.13.0+cpu"):
        make_wheel(tmp_path / "wheels", "torch", version)
    python = resolve(FrameworkPlugin("pytorch", "torch", ("torch==2.13.0",), "nowhere:Nothing")).path
    command = [python, "-c", "import torch; print(torch.VERSION)"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "2.13.0+cpu\n"


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the usual index's PyTorch is the CPU build")
@pytest.mark.parametrize("driver", [False, True])
def test_pytorchs_index_is_asked_for_the_cpu_build_where_no_driver_is(
    driver: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No index but this test's has version 0.0.1, so the question ends without one, online or not."""
    monkeypatch.setattr(recipe, "nvidia_driver_present", lambda: driver)
    wheel = make_wheel(tmp_path / "index" / "torch", "torch", "0.0.1")
    (wheel.parent / "index.html").write_text(f'<a href="{wheel.name}">{wheel.name}</a>')
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setenv("PIP_INDEX_URL", (tmp_path / "index").as_uri())
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    lines: list[str] = []
    plugin = FrameworkPlugin("pytorch", "torch", ("torch==0.0.1",), "nowhere:Nothing")
    resolve(plugin, choice="managed", progress=lines.append)
    asked = [line for line in lines if "CPU build" in line]
    assert [line.split(" ")[0] for line in asked] == ([] if driver else ["asking", "no"])


def test_current_is_used_when_it_satisfies() -> None:
    plugin = FrameworkPlugin("packager", "packaging", ("packaging",), "nowhere:Nothing")
    expected = Interpreter(sys.executable, "current", current_python_version())
    assert resolve(plugin) == resolve(plugin, choice="current") == locate(plugin) == expected
    assert availability(plugin).where == "current interpreter"
    from packaging import __version__

    assert resolve(plugin, version=__version__).kind == "current"
    with pytest.raises(UsageError, match=r"packaging==0\.1 is required"):
        resolve(plugin, choice="current", version="0.1")


def test_another_build_for_cuda_does_as_well_where_it_is_there_already() -> None:
    more: dict[str, Any] = {"cuda_requirements": ("no-such-build",), "cuda_alternatives": (("packaging",),)}
    plugin = FrameworkPlugin("packager", "packaging", ("packaging",), "nowhere:Nothing", **more)
    assert resolve(plugin, choice="current", cuda=True).kind == "current"
    assert make_recipe(plugin, cuda=True).requirements == ("no-such-build",)
    without = FrameworkPlugin(
        "packager", "packaging", ("packaging",), "nowhere:Nothing", **{**more, "cuda_alternatives": ()}
    )
    with pytest.raises(UsageError, match="no-such-build is not installed"):
        resolve(without, choice="current", cuda=True)


def test_current_names_all_that_is_missing() -> None:
    plugin = make_plugin("demo-net==1.0", "packaging<0", python="<3.9")
    with pytest.raises(UsageError) as caught:
        resolve(plugin, choice="current")
    message = str(caught.value)
    for part in ("Python <3.9 is required", "demo-net==1.0 is not installed", "packaging<0 is required, "):
        assert part in message
    assert "--env managed" in message


def test_availability_before_and_after(monkeypatch: pytest.MonkeyPatch) -> None:
    before = availability(make_plugin())
    assert (before.ready, before.where) == (True, "managed environment, made on first use")
    assert before.reason == "demo-net==1.0 is not installed"
    resolve(make_plugin())
    assert availability(make_plugin()).where == "managed environment"
    remove_managed()
    monkeypatch.setitem(sys.modules, "uv", None)
    find_uv.cache_clear()
    after = availability(make_plugin())
    assert (after.ready, after.where) == (False, "")
    assert "which" in after.reason
    assert "pip install uv" in after.reason


def test_a_named_interpreter_needs_the_framework_only() -> None:
    made = resolve(make_plugin())
    asked = make_plugin("demo-net==1.0", "never-installed")
    expected = Interpreter(made.path, "path", made.python_version)
    assert resolve(asked, choice=made.path) == expected
    assert resolve(asked, choice=str(Path(made.path).parents[1])) == expected
    assert resolve(asked, choice=made.path, version="1.0") == expected
    with pytest.raises(UsageError, match=r"demo==1.1 was asked for, .* has 1.0"):
        resolve(asked, choice=made.path, version="1.1")
    with pytest.raises(UsageError, match=r"'demo' needs Python <3\.9"):
        resolve(make_plugin(python="<3.9"), choice=made.path)
    absent = FrameworkPlugin("absent", "absent-net", (), "nowhere:Nothing")
    with pytest.raises(UsageError, match="has no absent-net"):
        resolve(absent, choice=made.path)


def test_names_that_are_no_interpreter_end_in_one_sentence(tmp_path: Path) -> None:
    def refusal(choice: str) -> str:
        with pytest.raises(UsageError) as caught:
            resolve(make_plugin(), choice=choice)
        assert "\n" not in str(caught.value)
        return str(caught.value)

    assert refusal(str(tmp_path / "absent")).endswith(f"there is no '{tmp_path / 'absent'}'")
    assert refusal("mangaed").endswith("there is no 'mangaed'; did you mean 'managed'?")
    (tmp_path / "text").write_text("text")
    assert "is not an executable file" in refusal(str(tmp_path / "text"))
    assert "is not an executable file" in refusal(str(tmp_path))
    assert "does not answer as a Python interpreter does" in refusal(str(shutil.which("true")))
    broken = tmp_path / "broken"
    broken.write_bytes(b"\x7fELF nothing")
    broken.chmod(0o755)
    assert "cannot be run: Exec format error" in refusal(str(broken))


def test_an_old_python_is_told_by_its_version(tmp_path: Path) -> None:
    old = tmp_path / "python"
    old.write_text('#!/bin/sh\necho \'{"python": "3.6.15", "versions": {}}\'\n')
    old.chmod(0o755)
    with pytest.raises(UsageError, match=r"benchmarker needs Python >=3.9, .* is Python 3.6.15"):
        resolve(make_plugin(), choice=str(old))


def test_listing_checking_and_removing(own_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert home() == own_home
    keys = [resolve(make_plugin(f"demo-net=={version}")).key for version in ("1.0", "1.1")]
    found = {item.name: item for item in list_managed()}
    assert set(found) == set(keys)
    first = found[str(keys[0])]
    assert (first.framework, first.requirements) == ("demo", ("demo-net==1.0",))
    assert first.size_bytes > 1000
    assert main(["env", "check", "demo"]) == 0
    assert capsys.readouterr().out == "".join(f"{key} is as it was installed\n" for key in sorted(found))
    with pytest.raises(UsageError, match="there is no managed environment 'dem'"):
        remove_managed(["dem"])
    assert remove_managed([str(keys[0])]) == [keys[0]]
    assert left_in(own_home) == [keys[1]]
    assert remove_managed(["demo"]) == [keys[1]]
    assert remove_managed() == left_in(own_home) == []


def test_the_command(
    own_home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(registry, "framework", lambda name: make_plugin())

    def command(*words: str) -> tuple[int, str, str]:
        parser = argparse.ArgumentParser()
        env_command.add_arguments(parser)
        status = env_command.main(parser.parse_args(words))
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    assert command("list")[:2] == (0, f"no managed environments in {own_home}\n")
    assert command("path", "demo")[0] == 1
    status, created, progress = command("create", "demo==1.1")
    assert status == 0
    assert version_in(created.strip()) == "1.1"
    assert "Resolved" in progress
    assert command("path", "demo==1.1")[1] == created
    folder, _, titles, _, *rows = command("list")[1].splitlines()
    (listed,) = json.loads(command("list", "--json")[1])
    assert folder == f"in {Path(listed['path']).parent}"
    assert titles.split()[:3] == ["name", "Python", "size"]
    assert rows[0].startswith(f"{listed['name']}  ")
    assert "demo-net==1.1" in " ".join(rows)
    assert listed["python"] == created.strip()
    assert command("remove", "--all")[1] == f"removed {listed['name']}\n"
    assert json.loads(command("remove", "--all", "--json")[1]) == []


def test_several_ranks_need_mpi_and_what_the_plugin_names_for_them() -> None:
    plugin = make_plugin("demo-net==1.0", rank_requirements=("seven-wires==3",), build_constraints=("x<2",))
    single, several = make_recipe(plugin), make_recipe(plugin, ranks=True)
    assert single.requirements == ("demo-net==1.0",)
    assert several.requirements == tuple(sorted(("demo-net==1.0", "seven-wires==3", *MPI_REQUIREMENTS)))
    assert several.build_constraints == single.build_constraints
    assert single.name != several.name
    assert make_recipe(plugin, version="1.1", ranks=True).requirements[0] == "demo-net==1.1"
    with pytest.raises(UsageError, match="seven-wires==3 is not installed"):
        resolve(make_plugin("packaging", rank_requirements=("seven-wires==3",)), choice="current", ranks=True)


def test_a_named_interpreter_of_several_ranks_needs_mpi_too() -> None:
    made = resolve(make_plugin())
    with pytest.raises(
        UsageError, match=r"has no mpi4py and no mpich, which runs of several ranks need; .* -m pip"
    ):
        resolve(make_plugin(), choice=made.path, ranks=True)
    for name in ("mpi4py", "mpich"):
        folder = next(Path(made.path).parents[1].glob("lib/python*/site-packages")) / f"{name}-9.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 9\n")
    interpreter._query.cache_clear()
    assert resolve(make_plugin(), choice=made.path, ranks=True).path == made.path
    assert locate(make_plugin(), ranks=True) is None


@pytest.mark.timeout(30)
@pytest.mark.parametrize("manifest", ["[]", "[" * 100_000, "pipe"])
def test_an_environment_whose_manifest_is_damaged_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, manifest: str
) -> None:
    monkeypatch.setenv("BENCHMARKER_HOME", str(tmp_path))
    folder = tmp_path / "environments" / "numpy-1"
    folder.mkdir(parents=True)
    if manifest == "pipe":
        os.mkfifo(folder / "environment.json")
    else:
        (folder / "environment.json").write_text(manifest)
    assert list_managed() == []
