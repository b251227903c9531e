"""The worker imports our own package and the plugin's, and nothing else of the orchestrator's environment."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT, Command
from tests.support.installing import install, make_venv
from tests.support.mirror_framework import SOURCE, seen, with_mirror

pytestmark = [pytest.mark.framework, pytest.mark.cold]
RUN = ("--framework=mirror", "--problem=mnist_mlp", "--batch-size=2", "--steps=2", "--warmup=0", "--json")
DECOY = "raise ImportError('this is the decoy')\n"


def packages_of(python: Path) -> Path:
    (folder,) = (python.parent.parent / "lib").glob("python*/site-packages")
    return folder


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Another environment: NumPy, a ``benchmarker`` of its own and a ``pluggy`` of its own."""
    python = make_venv(tmp_path_factory.mktemp("other") / "venv")
    install(python, "numpy")
    decoy = packages_of(python) / "benchmarker"
    decoy.mkdir()
    (decoy / "__init__.py").write_text(DECOY)
    (packages_of(python) / "pluggy.py").write_text(DECOY)
    return python


@dataclass(frozen=True)
class Installed:
    """A Python that has benchmarker in some way, and where our code then lies."""

    python: Path
    package: Path
    plugin: Path
    python_path: str = ""

    def run(self, folder: Path, *arguments: str, **variables: str) -> dict[str, Any]:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        environment |= {"BENCHMARKER_HOME": str(folder / "home"), **variables}
        environment["PYTHONPATH"] = os.pathsep.join(
            filter(None, [self.python_path, variables.get("PYTHONPATH")])
        )
        command = [str(self.python), "-m", "benchmarker", *arguments]
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        (record,) = map(json.loads, done.stdout.splitlines())
        return seen(record)


def copy_sources(folder: Path) -> tuple[Path, Path]:
    """Copy the sources, so that installing them leaves nothing in the checkout; return both projects."""
    ours, plugin = folder / "ours", folder / "plugin"
    ignored = shutil.ignore_patterns("__pycache__", "*.egg-info", "build")
    shutil.copytree(ROOT / "benchmarker", ours / "benchmarker", ignore=ignored)
    for name in ("setup.cfg", "pyproject.toml", "README.md", "LICENSE"):
        if (ROOT / name).exists():
            shutil.copy(ROOT / name, ours / name)
    shutil.copytree(SOURCE, plugin, ignore=ignored)
    return ours, plugin


def installed_as_wheels(folder: Path, ours: Path, plugin: Path) -> Installed:
    python = make_venv(folder / "venv")
    install(python, str(ours), str(plugin))
    packages = packages_of(python)
    return Installed(python, packages / "benchmarker", packages / "mirror_framework.py")


def installed_as_links(folder: Path, ours: Path, plugin: Path) -> Installed:
    python = make_venv(folder / "venv")
    install(python, "-e", str(ours), "-e", str(plugin))
    return Installed(python, ours / "benchmarker", plugin / "mirror_framework.py")


def not_installed(folder: Path, ours: Path, plugin: Path) -> Installed:
    """A checkout on the path, in an environment that has what it depends on, and the plugin."""
    installed = installed_as_wheels(folder, ours, plugin)
    shutil.rmtree(installed.package)
    (metadata,) = packages_of(installed.python).glob("benchmarker_dl-*.dist-info")
    shutil.rmtree(metadata)
    return replace(installed, package=ours / "benchmarker", python_path=str(ours))


@pytest.fixture(scope="module", params=[not_installed, installed_as_links, installed_as_wheels])
def installed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    folder = tmp_path_factory.mktemp("installed")
    way: Any = request.param
    found: Installed = way(folder, *copy_sources(folder))
    return found


@pytest.fixture(scope="module")
def facts(installed: Installed, other: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a worker under the other environment's Python saw."""
    return installed.run(tmp_path_factory.mktemp("run"), *RUN, f"--env={other}")


def is_below(file: str, folders: Sequence[str | Path]) -> bool:
    return any(Path(file).is_relative_to(folder) for folder in folders)


def test_only_our_package_and_the_plugins_come_from_the_orchestrators_side(
    installed: Installed, other: Path, facts: dict[str, Any]
) -> None:
    assert Path(facts["prefix"]) == other.parent.parent
    own = {name: file for name, file in facts["files"].items() if name.partition(".")[0] == "benchmarker"}
    assert "benchmarker.worker.main" in own
    assert all(is_below(file, [installed.package]) for file in own.values())
    assert facts["files"]["mirror_framework"] == str(installed.plugin)
    places = [facts["standard_library"], packages_of(other), installed.package, installed.plugin]
    places.append(installed.package / "worker" / "bootstrap.py")
    strangers = {n: f for n, f in facts["files"].items() if not is_below(f, places)}
    assert strangers == {}


def test_a_forked_worker_sees_what_a_spawned_one_sees(
    installed: Installed, other: Path, facts: dict[str, Any], tmp_path: Path
) -> None:
    forked = installed.run(tmp_path, *RUN, f"--env={other}", "--start=fork")
    for name in ("path", "origins", "prefix", "standard_library", "flags", "leaked", "affinity"):
        assert forked[name] == facts[name], name
    assert {name: forked["files"][name] for name in facts["files"]} == facts["files"]
    places = [facts["standard_library"], packages_of(other), installed.package, installed.plugin]
    assert [file for file in forked["files"].values() if not is_below(file, places)] == []


def test_what_we_depend_on_is_not_there_unless_the_other_environment_has_it(
    installed: Installed, other: Path, facts: dict[str, Any]
) -> None:
    origins = facts["origins"]
    assert Path(origins["benchmarker"]).parent == installed.package
    assert Path(origins["pluggy"]) == packages_of(other) / "pluggy.py"
    assert Path(origins["numpy"]).is_relative_to(packages_of(other))
    assert [origins[name] for name in ("msgspec", "psutil", "uv")] == [None, None, None]


def test_no_folder_of_the_orchestrator_is_on_the_workers_path(other: Path, facts: dict[str, Any]) -> None:
    base = Path(facts["standard_library"])
    allowed = {str(base), str(base / "lib-dynload"), str(packages_of(other))}
    archives = {path for path in facts["path"] if path.endswith(".zip")}
    assert set(facts["path"]) - archives == allowed


def test_python_path_user_site_and_working_folder_do_not_leak_in(
    installed: Installed, other: Path, tmp_path: Path
) -> None:
    folder, base = tmp_path / "leak", tmp_path / "user"
    user = base / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    for place in (folder, user, tmp_path):
        place.mkdir(parents=True, exist_ok=True)
        (place / "leaked.py").write_text("")
    facts = installed.run(
        tmp_path,
        *RUN,
        f"--env={other}",
        PYTHONPATH=str(folder),
        PYTHONUSERBASE=str(base),
        PYTHONOPTIMIZE="2",
    )
    assert facts["origins"]["leaked"] is None
    assert facts["flags"] == {"no_user_site": 1, "optimize": 0}
    assert facts["leaked"] == ["PYTHONHASHSEED"]


def test_the_current_interpreter_is_closed_to_python_path_too(command: Command, tmp_path: Path) -> None:
    mirrored = with_mirror(command, tmp_path)
    (tmp_path / "mirror" / "leaked.py").write_text("")
    (record,) = mirrored(*RUN, "--env=current").records
    facts = seen(record)
    assert facts["origins"]["leaked"] is None
    assert Path(facts["files"]["mirror_framework"]) == tmp_path / "mirror" / "mirror_framework.py"
    assert str(tmp_path / "mirror") not in facts["path"]
