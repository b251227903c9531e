"""Compilation with a cold and with a warm cache: which folders a process gets, and what the record says of them."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarker.analysis.text.experiment_table import record_summary
from benchmarker.api.framework import FrameworkPlugin
from benchmarker.api.problem_scheme import ProblemReference
from benchmarker.errors import EnvironmentCreationError
from benchmarker.execution.compile_caches import CompileCache, CompileCacheUse, open_compile_cache
from benchmarker.execution.environments import Interpreter, remove_managed
from benchmarker.experiment.spec import RunSpec
from benchmarker.experiment.suitability import unsupported_reason
from benchmarker.records.schema import validate
from tests.conftest import DISTRIBUTIONS, Command, write_distribution

pytestmark = pytest.mark.framework("numpy")

NAMES = ("THRIFTY_CODE_DIR", "THRIFTY_KERNEL_DIR")
THRIFTY = FrameworkPlugin("thrifty", "thrifty", (), "thrifty:Thrifty", compile_caches=NAMES)
MANAGED = Interpreter("/somewhere/python", "managed", "3.11.0", "thrifty-abc")
NAMED = Interpreter("/elsewhere/python", "path", "3.11.0")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder of benchmarker's own for this test."""
    monkeypatch.setenv("BENCHMARKER_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def thrifty(command: Command, home: Path) -> Command:
    """The command with a framework that keeps what it compiles."""
    source = (DISTRIBUTIONS / "thrifty" / "thrifty_framework.py").read_text()
    folder = write_distribution(
        command.folder / "modules",
        "thrifty",
        {"frameworks": ["thrifty = thrifty_framework"]},
        {"thrifty_framework": source},
    )
    environment = {n: v for n, v in command.environment.items() if n not in NAMES}
    return replace(command, environment={**environment, "BENCHMARKER_HOME": str(home)}).with_path(folder)


def runs(command: Command, *options: str, framework: str = "thrifty") -> list[dict[str, Any]]:
    """Return the records of runs of a few steps."""
    finished = command(
        f"--framework={framework}", "--problem=mnist_mlp", "--mode=inference", "--batch-size=8", "--steps=20",
        "--warmup=3", "--monitors=none", "--json", *options, timeout=3600,
    )  # fmt: skip
    assert "Traceback" not in finished.stderr
    return finished.records


def caches(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [record["execution"]["compile_cache"] for record in records]


# --- the folders -----------------------------------------------------------------------------------


def test_kept_folders_are_one_for_each_interpreter(home: Path) -> None:
    found = []
    for interpreter in (MANAGED, NAMED, MANAGED):
        with open_compile_cache("kept", THRIFTY, interpreter, {}) as cache:
            assert all(Path(folder).is_dir() for folder in cache.folders.values())
            found.append(dict(cache.folders))
    assert found[0] == found[2]
    assert not set(found[0].values()) & set(found[1].values())
    assert found[0]["THRIFTY_CODE_DIR"] == str(home / "compile-caches" / "thrifty-abc" / "THRIFTY_CODE_DIR")
    assert len(set(found[0].values())) == len(NAMES)


def test_cold_folders_are_new_and_empty_and_gone_afterwards(home: Path, tmp_path: Path) -> None:
    found: list[str] = []
    for _ in range(2):
        with open_compile_cache("cold", THRIFTY, MANAGED, {NAMES[0]: str(tmp_path)}) as cache:
            assert set(cache.folders) == set(NAMES)
            assert [list(Path(folder).iterdir()) for folder in cache.folders.values()] == [[], []]
            Path(cache.folders[NAMES[0]], "code").write_text("x")
            assert cache.files() == 1
            found += cache.folders.values()
    assert len(set(found)) == 4
    assert str(tmp_path) not in found
    assert not [folder for folder in found if Path(folder).exists()]


def test_folders_that_the_user_names_are_kept(home: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    (mine / "deep").mkdir(parents=True)
    (mine / "deep" / "code").write_text("x")
    with open_compile_cache("kept", THRIFTY, MANAGED, {name: str(mine) for name in NAMES}) as cache:
        assert set(cache.folders.values()) == {str(mine)}
        assert cache.files() == 1  # once, though both variables name it
    assert (mine / "deep" / "code").exists()


def test_a_framework_that_keeps_nothing_gets_no_folder(home: Path) -> None:
    for kind in ("kept", "cold"):
        with open_compile_cache(kind, replace(THRIFTY, compile_caches=()), MANAGED, {}) as cache:
            assert (dict(cache.folders), cache.files()) == ({}, 0)
    assert not home.exists()


def test_an_environment_is_removed_with_what_was_compiled_in_it(home: Path) -> None:
    names = ("thrifty-abc", "other-abc")
    for name in names:
        (home / "environments" / name).mkdir(parents=True)
        with open_compile_cache("kept", THRIFTY, replace(MANAGED, key=name), {}):
            pass
    assert remove_managed(["thrifty"]) == ["thrifty-abc"]
    assert [(home / "compile-caches" / name).exists() for name in names] == [False, True]


def test_a_folder_that_cannot_be_made_is_told_in_a_sentence(home: Path) -> None:
    home.write_text("a file")
    with (
        pytest.raises(EnvironmentCreationError, match="for compiled code cannot be made: Not a directory"),
        open_compile_cache("kept", THRIFTY, MANAGED, {}),
    ):
        raise AssertionError("it was made")


@pytest.mark.parametrize(
    ("before", "after", "compilations", "state"),
    [
        (0, 9, {"compile": 1}, "cold"),
        (9, 12, {"compile": 1}, "cold"),  # the files were another program's
        (9, 9, {"compile": 1}, "warm"),
        (0, 0, {"compile": 1}, None),  # nothing is kept
        (9, 9, {}, None),  # the files are another program's, and this one compiles nothing
        (9, 10, {}, None),
        (0, 9, None, "cold"),
        (9, 9, None, "warm"),
        (0, 0, None, None),
    ],
)
def test_the_state(before: int, after: int, compilations: dict[str, int] | None, state: str | None) -> None:
    assert CompileCacheUse(CompileCache("kept"), before, after).state(compilations) == state


# --- whole runs ------------------------------------------------------------------------------------


def test_the_first_process_is_cold_and_later_ones_are_warm(thrifty: Command) -> None:
    first, second = runs(thrifty, "--repeats=2")
    (other,) = runs(thrifty, "--set=unit=another")
    assert caches([first, second, other]) == [
        {
            "kind": "kept",
            "files_before": 0,
            "files_after": 2,
            "state": "cold",
            "compilations": {"compile": 1},
        },
        {
            "kind": "kept",
            "files_before": 2,
            "files_after": 2,
            "state": "warm",
            "compilations": {"compile": 1},
        },
        {
            "kind": "kept",
            "files_before": 2,
            "files_after": 4,
            "state": "cold",
            "compilations": {"compile": 1},
        },
    ]
    variables = first["execution"]["environment_variables"]
    home = Path(thrifty.environment["BENCHMARKER_HOME"])
    assert all(Path(variables[name]).is_relative_to(home / "compile-caches") for name in NAMES)
    for record in (first, second, other):
        validate(record)
        assert "compile-cache" not in " ".join(record["command"])
    for record, state in ((first, "cold"), (second, "warm")):
        shown = " ".join(record_summary(record).split())
        assert f"s (compiled, cache {state}), warm-up" in shown


def test_every_cold_process_compiles_and_leaves_nothing(thrifty: Command, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    environment = {**thrifty.environment, NAMES[0]: str(mine), "TMPDIR": str(tmp_path)}
    records = runs(replace(thrifty, environment=environment), "--compile-cache=cold", "--repeats=2")
    for record in records:
        assert record["execution"]["compile_cache"] == {
            "kind": "cold",
            "files_before": 0,
            "files_after": 2,
            "state": "cold",
            "compilations": {"compile": 1},
        }
        assert record["specification"]["compile_cache"] == "cold"
        assert "--compile-cache=cold" in record["command"]
        assert record["execution"]["environment_variables"][NAMES[0]] != str(mine)
    assert not mine.exists()
    assert not list(tmp_path.glob("benchmarker-cold-*"))


def test_the_users_folders_serve_and_are_recorded(thrifty: Command, tmp_path: Path) -> None:
    mine = {name: str(tmp_path / "mine" / name) for name in NAMES}
    (record,) = runs(replace(thrifty, environment={**thrifty.environment, **mine}))
    assert [Path(folder, "deep", "step").exists() for folder in mine.values()] == [True, True]
    assert {name: record["execution"]["environment_variables"][name] for name in NAMES} == mine


def test_both_kinds_in_one_command(thrifty: Command) -> None:
    records = runs(thrifty, "--compile-cache=cold,kept")
    assert {
        r["specification"]["compile_cache"]: r["execution"]["compile_cache"]["kind"] for r in records
    } == {
        "cold": "cold",
        "kept": "kept",
    }


def test_a_warm_servers_workers_share_what_they_compile(thrifty: Command) -> None:
    records = runs(thrifty, "--start=fork", "--repeats=2")
    assert [r["execution"]["shared"]["server_processes"] for r in records] == [1, 2]
    assert [c["state"] for c in caches(records)] == ["cold", "warm"]


def test_a_framework_that_does_not_say_what_it_compiles(thrifty: Command) -> None:
    records = runs(thrifty, "--set=counted=false", "--repeats=2")
    assert [(c["state"], c["compilations"]) for c in caches(records)] == [("cold", None), ("warm", None)]
    assert "(compiled, cache warm), warm-up" in " ".join(record_summary(records[1]).split())


def test_what_compiles_nothing_has_no_state(thrifty: Command) -> None:
    runs(thrifty)
    (record,) = runs(thrifty, "--set=unit=none")
    (cache,) = caches([record])
    assert (cache["files_before"], cache["state"], cache["compilations"]) == (2, None, {})
    assert "compiled" not in record_summary(record)


def test_a_process_that_crashed_has_files_but_no_state(thrifty: Command) -> None:
    runs(thrifty)
    (record,) = runs(thrifty, "--set=ends=true")
    assert record["status"] == "crashed"
    (cache,) = caches([record])
    assert cache == {
        "kind": "kept",
        "files_before": 2,
        "files_after": 2,
        "state": None,
        "compilations": None,
    }


def test_cold_caches_are_refused_for_forks_of_what_keeps_something() -> None:
    run = RunSpec("pytorch", ProblemReference("mnist_mlp"), start="fork", compile_cache="cold")
    assert "--compile-cache=cold is for --start=spawn, not for fork" in str(unsupported_reason(run))
    assert unsupported_reason(replace(run, framework="numpy")) is None
    assert unsupported_reason(replace(run, compile_cache="kept")) is None
    assert unsupported_reason(replace(run, start="spawn")) is None


def test_an_unknown_kind_is_refused(thrifty: Command) -> None:
    finished = thrifty("--framework=thrifty", "--problem=mnist_mlp", "--compile-cache=warm")
    assert (finished.status, finished.stderr) == (
        2,
        "benchmarker run: --compile-cache must be 'kept' or 'cold', got 'warm' (see benchmarker run --help)\n",
    )


# --- the real compiler -----------------------------------------------------------------------------


@pytest.mark.framework
def test_pytorch_compiles_with_a_cold_and_with_a_warm_cache(command: Command, tmp_path: Path) -> None:
    """The folders are the test's own, so that what other tests compiled does not serve."""
    names = ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR")
    mine = {name: str(tmp_path / name) for name in names}
    own = replace(command, environment={**os.environ, **command.environment, **mine})
    cold = runs(own, "--set=compile=true", "--compile-cache=cold", "--repeats=2", framework="pytorch")
    kept = runs(own, "--set=compile=true", "--repeats=2", framework="pytorch")
    assert [(c["kind"], c["files_before"], c["state"]) for c in caches(cold)] == [("cold", 0, "cold")] * 2
    assert [c["state"] for c in caches(kept)] == ["cold", "warm"]
    for record in cold + kept:
        assert record["status"] == "ok"
        assert record["execution"]["compile_cache"]["compilations"] == {"compile": 1}
        assert record["timing"]["compilations"] == 0
    slow = min(record["timing"]["compile_seconds"] for record in [*cold, kept[0]])
    assert kept[1]["timing"]["compile_seconds"] < slow
