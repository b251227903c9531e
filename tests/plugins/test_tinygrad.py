"""tinygrad: what must hold inside its programs, what is missing without clang, and real runs in its own environment."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarker.plugins.tinygrad import benchmarker_framework
from tests.conftest import Command
from tests.in_framework.tinygrad_programs import CHECKS
from tests.support.framework_process import verdicts

MISSING = "framework 'tinygrad' needs the program 'clang', which is missing; install it or set PATH"


def test_what_it_starts_must_be_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert benchmarker_framework().missing_program() == MISSING
    (tmp_path / "clang").touch(0o755)
    assert benchmarker_framework().missing_program() is None


@pytest.mark.parametrize(
    "arguments",
    [
        ("--problem=mnist_mlp", "--framework=tinygrad"),
        ("train", "digits_mlp", "--framework=tinygrad"),
        ("check", "tinygrad"),
    ],
)
def test_a_run_without_clang_is_refused_before_anything_starts(
    command: Command, arguments: tuple[str, ...]
) -> None:
    command.environment["PATH"] = str(command.folder)
    refused = command(*arguments)
    assert (refused.status, refused.stderr.strip()) == (2, f"benchmarker: {MISSING}")
    assert not refused.records


# --- in tinygrad's environment -------------------------------------------------------------------


@pytest.fixture(scope="module")
def failures(cache_home: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Run every check in tinygrad's environment; return why each failed, or an empty text."""
    return verdicts(
        "tinygrad",
        "tinygrad_programs",
        folder=tmp_path_factory.mktemp("tinygrad"),
        OMP_NUM_THREADS="1",
    )


@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", CHECKS)
def test_program(failures: dict[str, str], name: str) -> None:
    assert failures[name] == ""


# --- runs ----------------------------------------------------------------------------------------


@pytest.mark.framework
@pytest.mark.timeout(300)
def test_a_problem_runs_in_each_mode(command: Command) -> None:
    run = ("--framework=tinygrad", "--problem=mnist_mlp", "--batch-size=4", "--threads=2", "--start=fork")
    finished = command(*run, "--mode=inference,gradient,training", "--steps=2", "--warmup=1", "--json")
    assert finished.status == 0, finished.stderr
    told = {record["mode"]: record["verification"]["status"] for record in finished.records}
    assert told == dict.fromkeys(("inference", "gradient", "training"), "passed")
    for record in finished.records:
        assert record["framework"]["composed_operators"] == []
        libraries = record["framework"]["libraries"]
        assert "clang version" in libraries["clang"]
        # It has one thread, whatever the number of threads.
        assert (libraries["threads"], record["execution"]["threads"]) == ("1", 2)
        assert record["execution"]["environment_variables"]["CACHELEVEL"] == "0"
