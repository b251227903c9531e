"""The names: the other project ``benchmarker`` beside ours is told of, ours under its former name is not."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from benchmarker.version import DISTRIBUTION, FORMER_DISTRIBUTION, namesake
from tests.conftest import ROOT, Command
from tests.execution.test_environments import make_wheel
from tests.support.installing import build_wheel, install, make_venv

OURS = "[console_scripts]\nbenchmarker = benchmarker.cli.main:main\n\n[benchmarker.frameworks]\nx = y\n"


def put(folder: Path, name: str, entry_points: str | None = None) -> Path:
    (folder / name).mkdir(parents=True)
    if entry_points is not None:
        (folder / name / "entry_points.txt").write_text(entry_points)
    return folder


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the Python of an environment with a wheel of ours and one of the other project's name."""
    folder = tmp_path_factory.mktemp("both")
    build_wheel(ROOT, folder / "wheels")
    make_wheel(folder / "wheels", FORMER_DISTRIBUTION, "4.0.1")
    python = make_venv(folder / "venv")
    install(python, "--no-deps", *map(str, (folder / "wheels").glob("*.whl")))
    return python


@pytest.mark.parametrize(
    "arguments", [("-c", "import benchmarker, benchmarker.api; print(1)"), ("-m", "benchmarker", "--help")]
)
def test_the_first_import_names_the_other_project_in_one_sentence(
    both: Path, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    done = subprocess.run([both, *arguments], cwd=tmp_path, capture_output=True, text=True, check=True)
    (packages,) = (both.parent.parent / "lib").glob("*/site-packages")
    assert done.stderr == (
        f"benchmarker: another project's 'benchmarker' 4.0.1 is installed in {packages}, while this one's "
        "distribution is 'benchmarker-dl': remove the other with 'pip uninstall benchmarker'\n"
    )
    assert "benchmarker:" not in done.stdout


@pytest.mark.framework("numpy")
def test_a_run_says_it_once_and_its_record_is_as_ever(command: Command, tmp_path: Path) -> None:
    folder = put(tmp_path / "site-packages", "Benchmarker-3.0-py3.11.egg-info")
    words = [
        "--framework=numpy",
        "--problem=mnist_mlp",
        "--steps=2",
        "--warmup=1",
        "--no-verify",
        "--json",
        "--quiet",
    ]
    process = command.with_path(folder).start(*words)
    told, said = process.communicate(timeout=300)
    assert said.count("\n") == said.count(f"'benchmarker' 3.0 is installed in {folder}") == 1
    assert json.loads(told)["status"] == "ok"


def test_a_worker_says_nothing_of_it(tmp_path: Path) -> None:
    """As its log is that of the framework."""
    folder = put(tmp_path / "site-packages", "benchmarker-4.0.1.dist-info")
    program = f"import sys; sys.path[:0] = [{str(folder)!r}, {str(ROOT)!r}]\n"
    for text, told in (("import benchmarker", True), ("class PackageFinder: ...\nimport benchmarker", False)):
        (tmp_path / "program.py").write_text(program + text)
        done = subprocess.run(
            ["python3", "-I", tmp_path / "program.py"], capture_output=True, text=True, check=True
        )
        assert ("4.0.1" in done.stderr) is told
    assert "class PackageFinder" in (ROOT / "benchmarker/worker/bootstrap.py").read_text()


@pytest.mark.parametrize(
    ("name", "entry_points", "version"),
    [
        ("benchmarker-4.0.1.dist-info", None, "4.0.1"),
        ("Benchmarker-4.0.1.dist-info", "[console_scripts]\nbench = benchmarker:main\n", "4.0.1"),
        ("Benchmarker-3.0.1-py3.11.egg-info", None, "3.0.1"),
        ("benchmarker-0.5.0.dist-info", OURS, None),
        ("benchmarker-0.5.0-py3.11.egg-info", OURS, None),
        ("benchmarker.egg-info", OURS, None),
        ("benchmarker_dl-4.0.1.dist-info", None, None),
        ("benchmarker_example-0.3.dist-info", None, None),
    ],
)
def test_the_other_project_is_told_from_ours(
    tmp_path: Path, name: str, entry_points: str | None, version: str | None
) -> None:
    folders = [str(tmp_path / "absent"), str(put(tmp_path, name, entry_points))]
    assert namesake(folders) == (None if version is None else (str(tmp_path), version))


def test_what_the_former_name_has_left_claims_nothing_twice(command: Command, tmp_path: Path) -> None:
    """An old installation beside a new one."""
    for name, version in ((DISTRIBUTION, "0.6.0"), (FORMER_DISTRIBUTION, "0.5.0")):
        folder = tmp_path / f"{name.replace('-', '_')}-{version}.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        lines = "[benchmarker.collectors]\ncpu = benchmarker.collectors.cpu:CpuCollector\n"
        (folder / "entry_points.txt").write_text(OURS.replace("x = y\n", "") + lines)
    listed = command.with_path(tmp_path)("list", "collectors", "--json")
    assert listed.stderr == ""
    assert [row["origin"] for row in json.loads(listed.stdout) if row["name"] == "cpu"] == [
        f"{DISTRIBUTION} 0.6.0"
    ]
