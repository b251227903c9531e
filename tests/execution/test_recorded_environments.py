"""Environments made again from a record's list of packages: real uv, wheels made here, no network."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from benchmarker.cli.main import main
from benchmarker.errors import EnvironmentCreationError, UsageError
from benchmarker.execution.environments import resolve
from benchmarker.execution.environments.recorded import recorded_environment, recorded_recipe
from benchmarker.execution.environments.requirements import current_python_version
from tests.execution.test_environments import left_in, make_plugin, make_wheel, own_home  # noqa: F401 - a fixture

PYTHON = current_python_version()


def recorded(packages: dict[str, str | None] | None, **more: Any) -> dict[str, Any]:
    return {"packages": packages, "python": PYTHON, "implementation": "cpython", **more}


def make(packages: dict[str, str | None]) -> str:
    """Return the interpreter of an environment that was made."""
    return recorded_environment(make_plugin(), recorded(packages), {"benchmarker"}, lambda line: None).python


def test_it_holds_the_list_and_nothing_else(tmp_path: Path) -> None:
    make_wheel(tmp_path / "wheels", "eager-net", "2.0", "demo-net", "never-made")
    python = make({"eager_net": "2.0", "Demo.Net": "1.0", "benchmarker": "9.9"})
    listing = "from importlib import metadata; print(*sorted(d.name for d in metadata.distributions()))"
    # Isolated: neither the working folder nor PYTHONPATH, where a checkout with an egg-info may lie.
    asked = subprocess.run([python, "-I", "-c", listing], capture_output=True, text=True, check=True)
    assert asked.stdout.split() == ["demo-net", "eager-net"]
    version = [python, "-c", "import demo_net; print(demo_net.VERSION)"]
    assert subprocess.run(version, capture_output=True, text=True, check=True).stdout == "1.0\n"
    assert make({"demo-net": "1.0", "eager-net": "2.0"}) == python  # the same list, the same environment
    assert make({"demo-net": "1.1", "eager-net": "2.0"}) != python


def test_it_is_known_by_its_path_and_listed_by_its_size(capsys: pytest.CaptureFixture[str]) -> None:
    python = make({"demo-net": "1.0"})
    found = resolve(make_plugin(), choice=python)
    assert (found.kind, found.path, found.key) == ("recorded", python, Path(python).parent.parent.name)
    made = resolve(make_plugin("demo-net==1.0"), choice="managed")
    assert resolve(make_plugin(), choice=made.path).kind == "path"
    assert main(["env", "list"]) == 0
    listing = capsys.readouterr().out
    assert "recorded, 1 package" in listing
    assert "demo-net==1.0" in listing  # of the one that was made from requirements


def test_every_package_that_cannot_be_had_is_named_and_nothing_is_left(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentCreationError) as raised:
        make({"demo-net": "1.0", "absent": "1.0", "demo.other": "2.0+local", "zealous": "3"})
    message = str(raised.value)
    named = message.partition("not available: ")[2].partition(" (")[0]
    assert sorted(named.split(", ")) == ["absent==1.0", "demo-other==2.0+local", "zealous==3"]
    assert "\n" not in message
    assert left_in(tmp_path / "home") == []


def test_another_version_of_a_package_is_not_taken_for_it() -> None:
    with pytest.raises(EnvironmentCreationError, match=r"not available: demo-net==1\.0\.7 \("):
        make({"demo-net": "1.0.7"})


def test_a_python_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UV_PYTHON_DOWNLOADS", "never")
    environment = recorded({"demo-net": "1.0"}, python="3.99.4")
    with pytest.raises(EnvironmentCreationError, match=r"no Python 3\.99 for 'demo' .*--env auto"):
        recorded_environment(make_plugin(), environment, (), lambda line: None)


def test_the_build_of_pytorch_is_the_recorded_one() -> None:
    def build(version: str) -> str:
        return recorded_recipe(make_plugin(), recorded({"torch": version})).build

    assert (build("2.13.0+cpu"), build("2.13.0+cu126"), build("2.13.0")) == ("cpu", "cu126", "")


@pytest.mark.parametrize(
    ("environment", "lacks"),
    [
        (recorded(None), "list of packages"),
        (recorded({}), "list of packages"),
        (recorded({"demo-net": "1.0"}, python=None), "version of Python"),
        (recorded({"demo-net": None, "other": "1"}), "version of demo-net"),
    ],
)
def test_a_record_that_says_too_little(environment: dict[str, Any], lacks: str) -> None:
    with pytest.raises(UsageError, match=lacks):
        recorded_recipe(make_plugin(), environment)
