"""``benchmarker new plugin``: each kind installs into a fresh environment and passes its own tests there."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from benchmarker.cli.new import KINDS
from tests.conftest import ROOT, Command
from tests.support.installing import install, make_fresh, run_module


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the Python of an environment with benchmarker and pytest."""
    return make_fresh(tmp_path_factory.mktemp("fresh"), [ROOT], "pytest")


def run(python: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run_module(python, folder, *arguments, timeout=250)


def counted(told: str, what: str) -> int:
    """Return how many tests had an outcome, of pytest's last line."""
    words = told.splitlines()[-1].replace(",", "").split()
    return int(words[words.index(what) - 1]) if what in words else 0


@pytest.mark.framework("numpy")
@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_installs_and_passes_its_tests_at_once(fresh: Path, tmp_path: Path, kind: str) -> None:
    name = f"my_{kind}"
    written = run(fresh, tmp_path, "benchmarker", "new", "plugin", name, f"--{kind}")
    assert (written.returncode, written.stderr) == (0, "")
    folder = tmp_path / f"benchmarker-my-{kind}"
    assert f"cd {folder.name}" in written.stdout
    install(fresh, "-e", str(folder))
    tested = run(fresh, folder, "pytest", "-q", "-p", "no:cacheprovider")
    assert tested.returncode == 0, tested.stdout
    assert counted(tested.stdout, "passed") >= 2
    assert counted(tested.stdout, "skipped") == 0 or kind == "framework"
    listed = run(fresh, tmp_path, "benchmarker", "list", f"{kind}s")
    assert name in listed.stdout


@pytest.mark.framework("numpy")
def test_check_runs_a_new_framework_and_tells_what_is_missing(fresh: Path, tmp_path: Path) -> None:
    assert run(fresh, tmp_path, "benchmarker", "new", "plugin", "arrays", "--framework").returncode == 0
    install(fresh, "-e", str(tmp_path / "benchmarker-arrays"))
    checked = run(fresh, tmp_path, "benchmarker", "check", "arrays", "--threads=1")
    assert checked.returncode == 0, checked.stdout
    assert " 0 failed, " in checked.stdout.splitlines()[-1]
    assert "no native meaning of " in checked.stdout
    assert "conv (" in checked.stdout


@pytest.mark.framework("numpy")
def test_a_fault_in_a_new_framework_is_found_by_its_tests(fresh: Path, tmp_path: Path) -> None:
    assert run(fresh, tmp_path, "benchmarker", "new", "plugin", "wrong", "--framework").returncode == 0
    folder = tmp_path / "benchmarker-wrong"
    module = folder / "benchmarker_wrong" / "framework.py"
    module.write_text(module.read_text().replace("return a + b", "return a - b"))
    install(fresh, "-e", str(folder))
    tested = run(fresh, folder, "pytest", "-q", "-p", "no:cacheprovider", "-k", "forward")
    assert tested.returncode == 1
    assert "forward/add/same" in tested.stdout
    assert "forward/mul/same" not in tested.stdout


def test_what_is_written_is_only_what_was_asked_for(command: Command) -> None:
    done = command("new", "plugin", "two_words", "--dataset")
    assert done.status == 0
    found = sorted(str(p.relative_to(command.folder)) for p in command.folder.rglob("*") if p.is_file())
    assert found == [
        "benchmarker-two-words/README.md",
        "benchmarker-two-words/benchmarker_two_words/__init__.py",
        "benchmarker-two-words/benchmarker_two_words/dataset.py",
        "benchmarker-two-words/pyproject.toml",
        "benchmarker-two-words/tests/test_two_words.py",
    ]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            ("Mine", "--problem"),
            "must be lower-case letters, digits and underscores, a letter first and 40 at most, got 'Mine'",
        ),
        (("class", "--problem"), "the name of a plug-in must be"),
        (("../up", "--problem"), "the name of a plug-in must be"),
        (("resnet50", "--problem"), "there is a problem 'resnet50' already, from benchmarker"),
        (("mine",), "one of --framework, --problem, "),
        (("mine", "--problem", "--chart"), "argument --chart: not allowed with argument --problem"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(
    command: Command, arguments: tuple[str, ...], told: str
) -> None:
    done = command("new", "plugin", *arguments)
    assert (done.status, done.stdout) == (2, "")
    assert told in done.stderr
    assert done.stderr.count("\n") == 1
    assert list(command.folder.iterdir()) == []


def test_a_folder_that_is_there_is_refused(command: Command) -> None:
    kept = command.folder / "benchmarker-mine" / "kept"
    kept.parent.mkdir()
    kept.touch()
    done = command("new", "plugin", "mine", "--problem")
    assert (done.status, done.stderr) == (
        2,
        "benchmarker: 'benchmarker-mine' already exists; choose another name, or remove it\n",
    )
    assert [*kept.parent.iterdir()] == [kept]
